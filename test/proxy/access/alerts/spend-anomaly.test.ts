// Spend that is not usual, found in a real ledger with a clock that the test moves: leaks and loops are told of, habits,
// however dear, are not.
import t from 'tap';
import type { Test } from 'tap';
import type { SpendAnomalySettings } from '../../../../config/alert-settings.ts';
import { SpendAnomalies } from '../../../../proxy/access/alerts/spend-anomaly.ts';
import { blankKey } from '../../../../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../../../../proxy/access/objects/directory.ts';
import type { SpendAnomalyEvent } from '../../../../proxy/access/events.ts';
import { ledgerOf } from '../../spend/journal/fixture/ledgers.ts';
import { beginOf, settleOf } from '../../spend/record/fixture/records.ts';
import { tempDir } from '../../spend/store/fixture/temp-dir.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Friday. */
const NOW = Date.parse('2026-11-20T10:40:00Z');
const USD = 1_000_000_000_000;
const RULE: SpendAnomalySettings = {
  minPico: 10n * BigInt(USD),
  factor: 4,
  scopes: new Set(['key', 'team', 'proxy']),
  days: 14,
};

interface Bench {
  /** A row that began so long before `NOW`. */
  spent(agoMs: number, usd: number, key?: string, team?: string | null): Promise<void>;
  look(rule?: SpendAnomalySettings, nowMs?: number): Promise<readonly string[]>;
  readonly told: readonly SpendAnomalyEvent[];
}

async function bench(t: Test): Promise<Bench> {
  const { ledger } = await ledgerOf(t, tempDir(t));
  const directory = new AccessDirectory();
  directory.put({ ...blankKey('k1', 'aaaa', 1), former: [{ id: 'k0', untilMs: 1 }] });
  const told: SpendAnomalyEvent[] = [];
  const emit = (event: unknown): void => void told.push(event as SpendAnomalyEvent);
  const anomalies = new SpendAnomalies({ ledger, directory, events: { emit } });
  let rows = 0;
  return {
    told,
    spent: async (agoMs, usd, apiKeyHash = 'k1', teamId = 'red') => {
      const begin = beginOf(`row-${(rows += 1)}`, { startMs: NOW - agoMs, apiKeyHash, teamId });
      await ledger.settle(settleOf(begin, { spendPico: Math.round(usd * USD) }));
    },
    look: async (rule = RULE, nowMs = NOW) => {
      const before = told.length;
      await anomalies.look(rule, nowMs);
      return told.slice(before).map(({ scope: { kind, id } }) => (id === '' ? kind : `${kind} ${id}`));
    },
  };
}

t.test('an hour that costs far more than the same hour of other days is told of, once a day', async (t) => {
  const { spent, look, told } = await bench(t);
  for (let day = 1; day <= 14; day += 1) await spent(day * DAY, 3);
  await spent(0, 12);
  t.same(await look(), [], 'four times as much as usual is not more than that');
  await spent(0, 0.5);
  t.same(await look(), ['key k1', 'team red', 'proxy']);
  t.match(told[0], { spentPico: 12_500_000_000_000n, usualPico: 3_000_000_000_000n, atMs: NOW });
  t.equal(told[0]?.hourMs, Date.parse('2026-11-20T10:00:00Z'));
  await spent(0, 100);
  t.same(await look(), [], 'told already');
});

t.test('days that were as dear once, or as cheap, change nothing: the median counts', async (t) => {
  const { spent, look } = await bench(t);
  for (let day = 1; day <= 14; day += 1) await spent(day * DAY, day % 5 === 0 ? 500 : 3);
  await spent(0, 13);
  t.same(await look(), ['key k1', 'team red', 'proxy']);
});

t.test('what happens once a week is usual', async (t) => {
  const { spent, look } = await bench(t);
  for (let day = 1; day <= 14; day += 1) await spent(day * DAY + 3 * HOUR, 1);
  for (const day of [7, 14]) await spent(day * DAY, 40);
  await spent(0, 60);
  t.same(await look(), []);
  const once = await bench(t);
  for (let day = 1; day <= 14; day += 1) await once.spent(day * DAY + 3 * HOUR, 1);
  await once.spent(7 * DAY, 40); // an anomaly of last week hides none of today
  await once.spent(0, 60);
  t.same(await once.look(), ['key k1', 'team red', 'proxy']);
});

t.test('other hours of a day are not compared, cheap hours never count', async (t) => {
  const { spent, look } = await bench(t);
  for (let day = 1; day <= 14; day += 1) await spent(day * DAY - 30 * 60_000, 1_000);
  await spent(0, 9.999999);
  t.same(await look(), []);
  await spent(0, 0.000001);
  t.same(await look(), ['key k1', 'team red', 'proxy']);
});

t.test(
  'a proxy with too few days says nothing; a new key of an old one is judged by the floor',
  async (t) => {
    const { spent, look } = await bench(t);
    for (const day of [1, 5]) await spent(day * DAY, 20, 'old', null);
    await spent(0, 20, 'old', null);
    await spent(0, 20, 'fresh', null);
    t.same(await look(), []);
    await spent(3 * DAY + 5 * HOUR, 20, 'old', null);
    t.same(await look(), ['key fresh'], 'days on which nobody called do not count');
  },
);

t.test('the hour that has just ended is looked at once more; a regenerated key is one key', async (t) => {
  const { spent, look } = await bench(t);
  for (let day = 1; day <= 14; day += 1) await spent(day * DAY + 40 * 60_000 + 1, 0, 'k0');
  for (let day = 1; day <= 14; day += 1) await spent(day * DAY, 1, 'k0');
  await spent(HOUR, 6, 'k0');
  await spent(HOUR, 6, 'k1');
  const only = { ...RULE, scopes: new Set(['key'] as const) };
  t.same(await look(only), ['key k1']);
  await spent(0, 12);
  t.same(await look(only, NOW + HOUR), [], 'told today already');
  t.same(await look(only, NOW + DAY), []);
});

t.test('a call of the present is seen before it is stored', async (t) => {
  const { spent, look } = await bench(t);
  for (let day = 1; day <= 3; day += 1) await spent(day * DAY, 1);
  void spent(0, 50);
  t.same(await look({ ...RULE, scopes: new Set(['proxy'] as const) }), ['proxy']);
});
