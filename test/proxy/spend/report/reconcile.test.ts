// Two ledgers side by side: every call once, joined by the best there is, and sums that are exact. Properties first.
import fc from 'fast-check';
import t from 'tap';
import { picoOfDollarText } from '../../../../proxy/spend/record/dollars.ts';
import { joinLedgers, SAME_CALL_MS } from '../../../../proxy/spend/report/join-ledgers.ts';
import { entriesOf, isWithoutCost, type LedgerEntry } from '../../../../proxy/spend/report/ledger-entry.ts';
import { reconcile, type Reconciliation } from '../../../../proxy/spend/report/reconcile.ts';
import { reconciliationText } from '../../../../proxy/spend/report/reconcile-text.ts';
import { toleranceOf } from '../../../../proxy/spend/report/tolerance.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';

const START_MS = Date.parse('2026-11-01T00:00:00Z');
const DAY_MS = 86_400_000;
const NOVEMBER = { startMs: START_MS, endMs: START_MS + 30 * DAY_MS };
const EXACT = { pico: 0n };

function entry(id: string, more: Partial<LedgerEntry> = {}): LedgerEntry {
  return {
    id,
    callIds: [`call-${id}`],
    answerIds: [`answer-${id}`],
    session: 's',
    startMs: START_MS + 1000,
    model: 'm',
    tags: [],
    promptTokens: 10,
    completionTokens: 5,
    spendPico: 1_000n,
    ...more,
  };
}

/** Few ids, sessions and moments, so that many collide. */
const arbitrary = (side: string): fc.Arbitrary<LedgerEntry[]> =>
  fc
    .array(
      fc.record({
        call: fc.option(fc.integer({ min: 0, max: 12 }), { freq: 3 }),
        answer: fc.option(fc.integer({ min: 0, max: 6 }), { freq: 3 }),
        session: fc.constantFrom('', 'a', 'b'),
        seconds: fc.integer({ min: -200, max: 400 }),
        model: fc.constantFrom('m', 'n'),
        tags: fc.subarray(['x', 'y']),
        tokens: fc.integer({ min: 0, max: 3 }),
        spend: fc.option(fc.bigInt({ min: 0n, max: 10n ** 18n }), { freq: 5 }),
      }),
      { maxLength: 25 },
    )
    .map((rows) =>
      rows.map((row, i) => ({
        id: `${side}-${i}`,
        callIds: row.call === null ? [] : [`call-${row.call}`],
        answerIds: row.answer === null ? [] : [`answer-${row.answer}`],
        session: row.session,
        startMs: START_MS + row.seconds * 1000,
        model: row.model,
        tags: row.tags,
        promptTokens: row.tokens,
        completionTokens: 0,
        spendPico: row.spend,
      })),
    );

t.test('every entry is in one pair or alone, and pairs have what they were joined by', (t) => {
  fc.assert(
    fc.property(arbitrary('h'), arbitrary('t'), (here, there) => {
      const { pairs, onlyHere, onlyThere } = joinLedgers(here, there);
      const ids = (some: readonly LedgerEntry[]): string[] => some.map(({ id }) => id).sort();
      t.strictSame(ids([...pairs.map((pair) => pair.here), ...onlyHere]), ids(here));
      t.strictSame(ids([...pairs.map((pair) => pair.there), ...onlyThere]), ids(there));
      for (const { here: one, there: other, by } of pairs) {
        const share = (a: readonly string[], b: readonly string[]): boolean => a.some((id) => b.includes(id));
        if (by === 'call_id') t.ok(share(one.callIds, other.callIds));
        else if (by === 'answer_id') t.ok(share(one.answerIds, other.answerIds));
        else {
          t.equal(one.session, other.session);
          t.ok(one.session !== '' && Math.abs(one.startMs - other.startMs) <= SAME_CALL_MS);
        }
      }
      for (const one of onlyHere) {
        t.notOk(
          onlyThere.some((other) => one.callIds.some((id) => other.callIds.includes(id))),
          'no two that share an id are left alone',
        );
      }
    }),
    { numRuns: 200 },
  );
  t.end();
});

t.test('the order in which ledgers are read changes nothing', (t) => {
  fc.assert(
    fc.property(
      arbitrary('h').chain((here) =>
        fc.tuple(fc.constant(here), fc.shuffledSubarray(here, { minLength: here.length })),
      ),
      arbitrary('t').chain((there) =>
        fc.tuple(fc.constant(there), fc.shuffledSubarray(there, { minLength: there.length })),
      ),
      ([here, hereShuffled], [there, thereShuffled]) => {
        const one = reconcile(here, there, NOVEMBER, EXACT);
        t.strictSame(reconcile(hereShuffled, thereShuffled, NOVEMBER, EXACT), one);
      },
    ),
    { numRuns: 100 },
  );
  t.end();
});

t.test('sums are exact: all calls are the sum of their parts, and differences are there minus here', (t) => {
  fc.assert(
    fc.property(arbitrary('h'), arbitrary('t'), (here, there) => {
      const result = reconcile(here, there, NOVEMBER, EXACT);
      const sum = (
        some: readonly { readonly [K in 'here_spend' | 'there_spend' | 'difference']: string | null }[],
        of: 'here_spend' | 'there_spend' | 'difference',
      ): bigint => some.reduce((all, one) => all + picoOfDollarText(one[of] ?? '0'), 0n);
      for (const parts of [result.by_model, result.by_session, result.by_day]) {
        for (const amount of ['here_spend', 'there_spend', 'difference'] as const)
          t.equal(sum(parts, amount), picoOfDollarText(result.total[amount]));
        t.equal(
          parts.reduce((all, { matched }) => all + matched, 0),
          result.total.matched,
        );
      }
      t.equal(sum(result.differences, 'difference'), picoOfDollarText(result.total.difference));
      t.equal(
        picoOfDollarText(result.total.there_spend) - picoOfDollarText(result.total.here_spend),
        picoOfDollarText(result.total.difference),
      );
      t.equal(result.agrees, result.differences.length === 0);
    }),
    { numRuns: 200 },
  );
  t.end();
});

t.test('what was changed in a copy of a ledger is found, and nothing else', (t) => {
  const plan = fc.array(fc.constantFrom('same', 'cost', 'tokens', 'here', 'there'), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(plan, fc.bigInt({ min: 1n, max: 10n ** 15n }), (kinds, more) => {
      const here: LedgerEntry[] = [];
      const there: LedgerEntry[] = [];
      for (const [i, kind] of kinds.entries()) {
        const one = entry(String(i), { startMs: START_MS + i * 300_000 }); // further apart than one call
        if (kind !== 'there') here.push(one);
        if (kind === 'here') continue;
        const spendPico = kind === 'cost' ? 1_000n + more : one.spendPico;
        there.push({ ...one, id: `t${i}`, spendPico, promptTokens: kind === 'tokens' ? 11 : 10 });
      }
      const { differences, agrees } = reconcile(here, there, NOVEMBER, EXACT);
      const planted = kinds.flatMap((kind, i) => {
        if (kind === 'same') return [];
        const told = { here: 'only_here', there: 'only_there', cost: 'cost', tokens: 'tokens' }[kind];
        return [`${told} ${kind === 'there' ? `t${i}` : i}`];
      });
      t.strictSame(
        differences.map(({ kind, here_id, there_id }) => `${kind} ${here_id ?? there_id}`).sort(),
        planted.sort(),
      );
      t.equal(agrees, planted.length === 0);
    }),
    { numRuns: 100 },
  );
  t.end();
});

t.test('of calls without a common id the likely ones are joined: model and tokens, then time', (t) => {
  const bare = { callIds: [], answerIds: [] };
  const at = (seconds: number, more: Partial<LedgerEntry>): LedgerEntry =>
    entry(`${seconds} ${JSON.stringify(more)}`, { ...bare, startMs: START_MS + seconds * 1000, ...more });
  const here = [at(0, { promptTokens: 7 }), at(10, { promptTokens: 9 }), at(500, {})];
  const there = [at(2, { promptTokens: 9 }), at(11, { promptTokens: 7 }), at(700, {})];
  const { pairs, onlyHere, onlyThere } = joinLedgers(here, there);
  t.same(
    pairs.map((pair) => [pair.here.promptTokens, pair.there.promptTokens, pair.by]),
    [
      [7, 7, 'session_and_time'],
      [9, 9, 'session_and_time'],
    ],
  );
  t.equal(onlyHere.length, 1, 'more than two minutes apart is another call');
  t.equal(onlyThere.length, 1);
  t.same(
    joinLedgers([at(0, { session: '' })], [at(0, { session: '' })]).pairs,
    [],
    'no session is no common one',
  );
  t.end();
});

t.test('an id that a gateway gives to every answer joins the nearest calls', (t) => {
  const same = (n: number, id: string): LedgerEntry =>
    entry(id, { callIds: [], answerIds: ['chatcmpl-1'], session: '', startMs: START_MS + n * 60_000 });
  const here = Array.from({ length: 200 }, (_, n) => same(n, `h${n}`));
  const there = Array.from({ length: 200 }, (_, n) => same(n + 0.01, `t${n}`));
  const { pairs } = joinLedgers(here, there);
  t.same(
    pairs.map((pair) => `${pair.here.id} ${pair.there.id}`),
    here.map((_, n) => `h${n} t${n}`),
  );
  t.end();
});

t.test('what began before or after the period completes pairs and counts nowhere', (t) => {
  const edge = START_MS + 30 * DAY_MS;
  const here = [
    entry('a', { startMs: edge - 5 }),
    entry('b', { startMs: edge + 5 }),
    entry('c', { startMs: START_MS - 5 }),
  ];
  const there = [
    entry('a', { startMs: edge + 5 }),
    entry('b', { startMs: edge - 5 }),
    entry('d', { startMs: START_MS - 5 }),
  ];
  const { total, agrees } = reconcile(here, there, NOVEMBER, EXACT);
  t.match(total, { matched: 1, only_here: 0, only_there: 0 });
  t.ok(agrees);
  t.end();
});

t.test('the tolerance is an amount or a part of the larger cost, and what is not known differs', (t) => {
  const verdict = (here: bigint | null, there: bigint | null, tolerance: string): boolean =>
    reconcile(
      [entry('a', { spendPico: here })],
      [entry('a', { spendPico: there })],
      NOVEMBER,
      toleranceOf(tolerance) ?? t.bailout('no tolerance') ?? EXACT,
    ).agrees;
  t.ok(verdict(1_000n, 1_001n, '0.000000000001'));
  t.notOk(verdict(1_000n, 1_002n, '0.000000000001'));
  t.ok(verdict(1_000n, 1_005n, '0.5%'));
  t.notOk(verdict(1_000n, 1_006n, '0.5%'));
  t.ok(verdict(10n ** 18n, 10n ** 18n, '0'));
  t.notOk(verdict(null, 1_000n, '100%'));
  t.notOk(verdict(1_000n, null, '1'));
  t.ok(verdict(null, null, '0'));
  for (const wrong of ['', 'x', '-1', '5 %', '1.23456%', '1000%', 'NaN'])
    t.equal(toleranceOf(wrong), null, wrong);
  t.end();
});

t.test('calls with nothing to pay may stand in one ledger alone', (t) => {
  const free = { spendPico: 0n, promptTokens: 0, completionTokens: null };
  const result = reconcile([entry('a', free)], [entry('b', { ...free, spendPico: null })], NOVEMBER, EXACT);
  t.match(
    result,
    { agrees: true, without_cost: { here: 0, there: 0 }, total: { matched: 1 } },
    'one session: one call',
  );
  const apart = reconcile([entry('a', { ...free, session: 'x' })], [entry('b', free)], NOVEMBER, EXACT);
  t.match(apart, { agrees: true, without_cost: { here: 1, there: 1 }, total: { matched: 0, only_here: 0 } });
  t.ok(isWithoutCost(entry('c', free)));
  t.notOk(isWithoutCost(entry('d', { spendPico: null })), 'tokens of unknown cost cost something');
  t.end();
});

t.test(
  'a row tells what the gateway should know: nothing of a refused call, each attempt of a retried one',
  (t) => {
    const begin = beginOf('id-1', { sessionId: '0F8FAD5B-D9CB-469F-A165-70867728950E' });
    const attempt = {
      modelId: 'd',
      model: 'first',
      apiBase: 'https://other.example',
      startMs: begin.startMs + 1,
      durationMs: 5,
      status: 500,
      error: 'server',
      usage: { input_tokens: 3, output_tokens: 1 },
      spendPico: 250,
    };
    const last = {
      ...attempt,
      model: 'gpt-4.1',
      apiBase: begin.apiBase ?? '',
      startMs: begin.startMs + 9,
      spendPico: 750,
    };
    const record = settleOf(begin, { attempts: 2, attemptLog: [attempt, last], spendPico: 1_000 });
    t.match(entriesOf(record, null), [
      {
        id: 'id-1 attempt 1',
        callIds: [],
        model: 'first',
        promptTokens: 3,
        completionTokens: 1,
        spendPico: 250n,
      },
      {
        id: 'id-1',
        callIds: ['their-call', 'id-1'],
        answerIds: ['chatcmpl-static-1'],
        session: '0f8fad5bd9cb469fa16570867728950e',
        startMs: begin.startMs + 9,
        spendPico: 750n,
      },
    ]);
    t.same(
      entriesOf(record, 'https://other.example').map(({ id }) => id),
      ['id-1 attempt 1'],
    );
    t.same(entriesOf(settleOf(begin, { endReason: 'refused' }), null), []);
    t.end();
  },
);

t.test('the report says the verdict first, then where the difference lies', (t) => {
  const here = [
    entry('a'),
    entry('b', { startMs: START_MS + 5 * DAY_MS, model: '\u001b[2Jm', tags: ['x', 'y'] }),
  ];
  const there = [entry('a', { spendPico: 2_500_000_000n })];
  const compared = {
    here: 'here',
    there: 'there',
    start_date: '2026-11-01',
    end_date: '2026-11-30',
    tolerance: '0 USD',
  };
  const text = reconciliationText(reconcile(here, there, NOVEMBER, EXACT), compared);
  t.match(text, /^The ledgers DIFFER: 2 calls above 0 USD\.$/m);
  t.match(text, /^cost differs +1 +0\.000000 +0\.002500 +\+0\.002500$/m);
  t.match(text, /^2026-11-06 +0 +0 +1 +0 /m);
  t.match(text, /^only here .* b +�\[2Jm /m, 'no escape sequence of a name reaches the terminal');
  const same: Reconciliation = reconcile(here, here, NOVEMBER, EXACT);
  t.match(reconciliationText(same, compared), /^The ledgers agree: no difference above 0 USD a call\.$/m);
  t.end();
});
