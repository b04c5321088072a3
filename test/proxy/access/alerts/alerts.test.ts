// Alerts against a receiver that is down, slow, broken and up again: nothing is lost, nothing is told twice by intention, and
// each receiver gets its alerts in order.
import { createHmac } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ALERT_KINDS, type AlertChannel, type AlertKind } from '../../../../config/alert-settings.ts';
import { Secret } from '../../../../config/secret.ts';
import { alertOf, type NameDirectory } from '../../../../proxy/access/alerts/alert.ts';
import { Alerts } from '../../../../proxy/access/alerts/alerts.ts';
import { Outbox } from '../../../../proxy/access/alerts/outbox.ts';
import { RaisedEvents } from '../../../../proxy/access/alerts/raised-events.ts';
import type { AccessEvent, BudgetEvent } from '../../../../proxy/access/events.ts';
import { openLog } from '../../../../proxy/observability/logger.ts';
import { ManualClock } from '../../../support/clock.ts';
import { folder } from '../../../support/cli.ts';
import { receiver } from '../../../support/alert-receiver.ts';

const NAMES: NameDirectory = { key: () => null, team: () => null, user: () => null };
const NOW = Date.UTC(2026, 10, 22);

const usedUp = (id: string, more: Partial<BudgetEvent> = {}): BudgetEvent => ({
  kind: 'budget_used_up',
  scope: { kind: 'team', id },
  budget: '30d',
  spentPico: 10_000_000_000_001n,
  limitPico: 10_000_000_000_000n,
  windowStartMs: NOW,
  resetMs: NOW + 86_400_000,
  atMs: NOW,
  ...more,
});

const channel = (name: string, url: string, more: Partial<AlertChannel> = {}): AlertChannel => ({
  name,
  format: 'json',
  url: new Secret(url),
  secret: null,
  kinds: new Set<AlertKind>(ALERT_KINDS),
  ...more,
});

interface Started {
  readonly alerts: Alerts;
  readonly outcomes: string[];
  readonly logged: AccessEvent[];
  /** Settles when so many outcomes of this kind have been counted. */
  counted(outcome: string, times?: number): Promise<void>;
}

/** Alerts on a folder, as a process opens them. */
async function start(
  dir: string,
  channels: readonly AlertChannel[],
  { clock = new ManualClock(NOW), number = 1, count = 1, giveUpMs = 86_400_000 } = {},
): Promise<Started> {
  const outcomes: string[] = [];
  const logged: AccessEvent[] = [];
  const looks = new Set<() => void>();
  const alerts = new Alerts({
    outbox: await Outbox.open(dir, { number, count }),
    raised: await RaisedEvents.open(join(dir, 'told')),
    history: null,
    settings: () => ({ channels, keyExpiryMs: 0, spendAnomaly: null }),
    directory: NAMES,
    post: async (url, headers, body) => {
      const pairs: [string, string][] = [];
      for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i] ?? '', headers[i + 1] ?? '']);
      return (await fetch(url, { method: 'POST', headers: pairs, body: new Uint8Array(body) })).status;
    },
    clock,
    log: openLog('silent').log,
    logged: { emit: (event) => void logged.push(event) },
    count: (kind, outcome) => {
      outcomes.push(`${kind} ${outcome}`);
      looks.forEach((look) => look());
    },
    times: { firstMs: 1, mostMs: 4, giveUpMs },
  });
  alerts.start();
  return {
    alerts,
    outcomes,
    logged,
    counted: (outcome, times = 1) =>
      new Promise((settle) => {
        const look = (): void => {
          if (outcomes.filter((one) => one.endsWith(` ${outcome}`)).length < times) return;
          looks.delete(look);
          settle();
        };
        looks.add(look);
        look();
      }),
  };
}

t.test('a receiver gets the members of the dialect, signed, with an id and a time', async (t) => {
  const dir = folder(t);
  const hook = await receiver(t);
  const started = await start(dir, [
    channel('a', `${hook.url}/in?x=1`, { secret: new Secret('s'.repeat(16)) }),
  ]);
  started.alerts.emit(usedUp('core'));
  await started.counted('delivered');
  const [seen] = hook.seen;
  const body = seen?.body ?? '';
  t.equal(seen?.path, '/in?x=1');
  t.match(JSON.parse(body), {
    id: /^evt_[0-9a-f]{32}$/,
    kind: 'budget_used_up',
    event: 'budget_crossed',
    event_group: 'team',
    event_message: 'Budget used up: team core has spent 10.000000000001 of 10 USD (30d); calls are refused. ',
    spend: 10.000000000001,
    max_budget: 10,
    spent_usd: '10.000000000001',
    team_id: 'core',
    token: null,
    resets_at: '2026-11-23T00:00:00.000Z',
    projected_spend: null,
  });
  const timestamp = String(seen?.headers['x-throughline-timestamp']);
  t.equal(timestamp, String(NOW / 1000));
  const digest = createHmac('sha256', 's'.repeat(16)).update(`${timestamp}.${body}`).digest('hex');
  t.equal(seen?.headers['x-throughline-signature'], `sha256=${digest}`);
  t.equal(seen?.headers['x-throughline-event-id'], (JSON.parse(body) as { id: string }).id);
  await started.alerts.close();
});

t.test('Slack gets one text, in which names are no markup; each channel gets its kinds', async (t) => {
  const dir = folder(t);
  const [slack, other] = [await receiver(t), await receiver(t)];
  const started = await start(dir, [
    channel('slack', slack.url, { format: 'slack' }),
    channel('other', other.url, { kinds: new Set<AlertKind>(['brake']) }),
  ]);
  started.alerts.emit(usedUp('<!channel>\n&'));
  await started.counted('delivered');
  t.same(
    slack.seen.map(({ body }) => JSON.parse(body) as unknown),
    [
      {
        text: 'Budget used up: team &lt;!channel&gt;\ufffd&amp; has spent 10.000000000001 of 10 USD (30d); calls are refused. It begins anew at 2026-11-23T00:00:00.000Z.',
      },
    ],
  );
  t.equal(slack.seen[0]?.headers['x-throughline-signature'], undefined);
  t.same(other.seen, []);
  await started.alerts.close();
});

t.test(
  'a receiver that fails gets the alert until it takes it, the next one after it; others do not wait',
  async (t) => {
    const dir = folder(t);
    const [broken, well] = [await receiver(t), await receiver(t)];
    broken.answers(500, 429, 'cut', 302, 404);
    const started = await start(dir, [channel('broken', broken.url), channel('well', well.url)]);
    started.alerts.emit(usedUp('one'));
    started.alerts.emit(usedUp('two'));
    await started.counted('delivered', 4);
    const teams = (seen: readonly { readonly body: string }[]): string[] =>
      seen.map(({ body }) => (JSON.parse(body) as { team_id: string }).team_id);
    t.same(teams(broken.seen), ['one', 'one', 'one', 'one', 'one', 'one', 'two']);
    t.same(teams(well.seen), ['one', 'two']);
    t.equal(new Set(broken.seen.slice(0, 6).map(({ body }) => body)).size, 1, 'the same body, the same id');
    t.equal(started.outcomes.filter((one) => one.endsWith(' failed')).length, 5);
    await started.alerts.close();
    t.equal(started.alerts.waiting, 0);
  },
);

t.test('what a receiver will never take is given up at once, what is too old later', async (t) => {
  const dir = folder(t);
  const hook = await receiver(t);
  hook.answers(400);
  const clock = new ManualClock(NOW);
  const started = await start(dir, [channel('a', hook.url)], { clock });
  started.alerts.emit(usedUp('never'));
  await started.counted('refused');
  hook.answersAlways(503);
  started.alerts.emit(usedUp('old'));
  await started.counted('failed', 3);
  clock.advance(86_400_000);
  await started.counted('expired');
  await started.alerts.close();
  t.equal(started.alerts.waiting, 0);
});

t.test(
  'an alert that was not taken is sent by the next process, whatever the last one left behind',
  async (t) => {
    const dir = folder(t);
    const hook = await receiver(t);
    hook.answersAlways(503);
    const before = await start(dir, [channel('a', hook.url), channel('gone', hook.url)]);
    before.alerts.emit(usedUp('kept'));
    before.alerts.emit(usedUp('too'));
    await before.counted('failed', 4);
    await before.alerts.close();
    const file = join(dir, 'outbox-1.jsonl');
    t.equal((readFileSync(file, 'utf8').match(/\n/g) ?? []).length, 2);
    appendFileSync(file, '\n[1]\nnull\n{"alert":{"id":"half'); // a crash in the middle of a line
    hook.answersAlways(200);
    const seen = hook.seen.length;
    const after = await start(dir, [channel('a', hook.url)]);
    await after.counted('delivered', 2);
    await after.counted('abandoned', 2);
    t.same(
      hook.seen.slice(seen).map(({ body }) => (JSON.parse(body) as { team_id: string }).team_id),
      ['kept', 'too'],
    );
    await after.alerts.close();
    t.equal(readFileSync(file, 'utf8'), '');
    const third = await start(dir, [channel('a', hook.url)]);
    t.equal(third.alerts.waiting, 0);
    await third.alerts.close();
  },
);

t.test(
  'an event is told once, by whichever process and after a restart; another window is another event',
  async (t) => {
    const dir = folder(t);
    const hook = await receiver(t);
    const channels = [channel('a', hook.url)];
    const [one, two] = [await start(dir, channels), await start(dir, channels, { number: 2, count: 2 })];
    for (const { alerts } of [one, two, one]) alerts.emit(usedUp('core'));
    await Promise.race([one.counted('delivered'), two.counted('delivered')]);
    await Promise.all([one.alerts.close(), two.alerts.close()]);
    t.equal(hook.seen.length, 1);
    t.equal(one.logged.length + two.logged.length, 1);
    const after = await start(dir, channels);
    after.alerts.emit(usedUp('core'));
    after.alerts.emit(usedUp('core', { windowStartMs: NOW + 1 }));
    await after.counted('delivered');
    await after.alerts.close();
    t.equal(hook.seen.length, 2);
    t.match(after.logged, [{ kind: 'budget_used_up', windowStartMs: NOW + 1 }]);
  },
);

t.test('a crash between the file and the mark of an event sends it, and queues it once', async (t) => {
  const dir = folder(t);
  const hook = await receiver(t);
  hook.answersAlways(503);
  const before = await start(dir, [channel('a', hook.url)]);
  before.alerts.emit(usedUp('core'));
  await before.counted('failed');
  await before.alerts.close();
  rmSync(join(dir, 'told'), { recursive: true });
  const after = await start(dir, [channel('a', hook.url)]);
  after.alerts.emit(usedUp('core')); // the budget finds its mark again at the start
  await after.counted('raised');
  t.equal(after.alerts.waiting, 1);
  hook.answersAlways(200);
  const seen = hook.seen.length;
  await after.counted('delivered');
  await after.alerts.close();
  t.ok(hook.seen.length > seen);
  t.equal(after.outcomes.filter((one) => one.endsWith(' delivered')).length, 1);
});

t.test('the first worker sends what workers that are no more have left', async (t) => {
  const dir = folder(t);
  const hook = await receiver(t);
  hook.answersAlways(503);
  const third = await start(dir, [channel('a', hook.url)], { number: 3, count: 3 });
  third.alerts.emit(usedUp('left'));
  await third.counted('failed');
  await third.alerts.close();
  hook.answersAlways(200);
  const first = await start(dir, [channel('a', hook.url)], { number: 1, count: 2 });
  await first.counted('delivered');
  await first.alerts.close();
  t.notOk(existsSync(join(dir, 'outbox-3.jsonl')));
});

t.test('without a disk alerts are sent all the same', async (t) => {
  const dir = folder(t);
  const hook = await receiver(t);
  const started = await start(dir, [channel('a', hook.url)]);
  started.alerts.emit(usedUp('first'));
  await started.counted('delivered');
  await started.alerts.close(); // its file is closed, and its folder gone
  rmSync(dir, { recursive: true });
  const again = await start(dir, [channel('a', hook.url)]);
  rmSync(dir, { recursive: true });
  writeFileSync(dir, '');
  again.alerts.emit(usedUp('second'));
  await again.counted('delivered');
  t.match(hook.seen[1]?.body, /second/);
  await again.alerts.close();
});

t.test('a folder that somebody removes is made again, and each event is told once on', async (t) => {
  const dir = folder(t);
  const hook = await receiver(t);
  const started = await start(dir, [channel('a', hook.url)]);
  rmSync(dir, { recursive: true });
  for (const id of ['first', 'second', 'first', 'third']) started.alerts.emit(usedUp(id));
  await started.counted('delivered', 3);
  await started.alerts.close();
  t.equal(readdirSync(join(dir, 'told')).length, 3);
  t.equal(started.outcomes.filter((one) => one.endsWith(' raised')).length, 3);
  t.ok(existsSync(join(dir, 'outbox-1.jsonl')));
});

t.test('an event that cannot be told holds up no other one', async (t) => {
  const hook = await receiver(t);
  const started = await start(folder(t), [channel('a', hook.url)]);
  started.alerts.emit(usedUp('no time', { resetMs: NaN }));
  started.alerts.emit(usedUp('beside'));
  await started.counted('raised');
  started.alerts.emit(usedUp('later'));
  await started.counted('delivered', 2);
  await started.alerts.close();
});

t.test('a stop writes what has come behind several of them', async (t) => {
  const started = await start(folder(t), [channel('a', 'http://127.0.0.1:1')]);
  for (const name of ['one', 'two', 'three', 'four']) started.alerts.emit(usedUp(name, { resetMs: NaN }));
  started.alerts.emit(usedUp('beside'));
  await started.alerts.close();
  t.same(started.outcomes, ['budget_used_up raised']);
});

t.test('each kind of event and scope has a text and says whom it is about', (t) => {
  const key = { alias: 'ci', name: 'sk-...abcd', teamId: 'core', userId: 'ada', organizationId: 'acme' };
  const names = {
    key: (id: string) => (id === 'k' ? key : null),
    team: (id: string) => ({ alias: 'Core', organizationId: id === 'core' ? null : 'globex' }),
    user: () => ({ email: 'ada@example.com' }),
  } as unknown as NameDirectory;
  t.match(alertOf({ kind: 'key_expiring', atMs: NOW, keyHash: 'k', expiresMs: NOW + 1 }, names), {
    text: 'Key about to expire: key ci expires at 2026-11-22T00:00:00.001Z.',
    members: {
      token: 'k',
      key_alias: 'ci',
      team_alias: 'Core',
      user_email: 'ada@example.com',
      organization_id: 'acme',
    },
  });
  const lent = { ...names, key: () => ({ ...key, teamId: 'lent' }) } as unknown as NameDirectory;
  t.match(
    alertOf({ kind: 'key_expiring', atMs: NOW, keyHash: 'k', expiresMs: NOW + 1 }, lent),
    { members: { organization_id: 'globex' } },
    'the one that pays for its calls: its team has one',
  );
  const stop = {
    kind: 'brake',
    atMs: NOW,
    conversation: 'c1',
    keyHash: 'unknown',
    rule: 'repeated_step',
    level: 'stop',
    count: 8,
    text: 'The same step 8 times.',
  } as const;
  t.match(alertOf(stop, names), {
    text: 'Conversation stopped: c1, key unknown. The same step 8 times.',
    members: { event: 'brake_stopped', conversation: 'c1', rule: 'repeated_step', level: 'stop', count: 8 },
  });
  const scopes = [
    ['member', '4:core/ada', 'user ada in team core', { team_id: 'core', user_id: 'ada' }],
    ['team', 'lent', 'team Core', { team_id: 'lent', organization_id: 'globex' }],
    ['proxy', '', 'the proxy', { event_group: 'proxy' }],
    ['end_user', 'bob', 'end user bob', { customer_id: 'bob' }],
    ['organization', 'acme', 'organization acme', { organization_id: 'acme' }],
    ['conversation', 'c1', 'conversation c1', { scope: 'conversation', scope_id: 'c1' }],
  ] as const;
  for (const [kind, id, name, members] of scopes) {
    const alert = alertOf(usedUp('', { scope: { kind, id }, resetMs: null, kind: 'soft_budget' }), names);
    t.match(alert.text, `Soft budget reached: ${name} has spent`);
    t.match(alert.members, { ...members, event: 'soft_budget_crossed', soft_budget: 10, max_budget: null });
  }
  t.end();
});

t.test('a file of many alerts that wait is not written anew for each one that is taken', async (t) => {
  const dir = folder(t);
  const outbox = await Outbox.open(dir, { number: 1, count: 1 });
  t.teardown(() => outbox.close());
  const long = { ...alertOf(usedUp('core'), NAMES), text: 'x'.repeat(1 << 20) };
  for (let n = 0; n < 12; n += 1) await outbox.put({ ...long, id: `evt_${n}` }, ['a']);
  const file = join(dir, 'outbox-1.jsonl');
  const files = new Set([statSync(file).ino]);
  for (const pending of outbox.waiting) {
    await outbox.taken(pending);
    files.add(statSync(file).ino);
  }
  t.ok(files.size <= 4, `${files.size - 1} times for 12 alerts`);
  t.ok(statSync(file).size < 1_000, 'nothing waits');
});
