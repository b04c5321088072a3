// Prices that were wrong are mended afterwards: a record has all that its cost follows from, and what does not follow
// from prices stays.
import t from 'tap';
import { pricesOf } from '../../../../config/resolve/prices.ts';
import { interrupted } from '../../../../proxy/spend/record/record.ts';
import { FREE, priceOf, reprice, wholeCost } from '../../../../proxy/spend/record/reprice.ts';
import { beginOf, settleOf } from './fixture/records.ts';
import { NO_TOKENS } from '../../../../proxy/protocols/usage.ts';

const DEARER = {
  deployment: pricesOf(
    {
      model: 'm',
      input_cost_per_token: 1e-6,
      output_cost_per_token: 1e-5,
      cache_read_input_token_cost: 1e-7,
      input_cost_per_token_priority: 1e-6,
      cache_read_input_token_cost_priority: 1e-7,
      output_cost_per_token_priority: 3e-5,
    },
    undefined,
  ),
  catalogue: null,
};

t.test('a record is priced anew from what it holds: buckets, units, tier', async (t) => {
  const record = settleOf(beginOf('id'));
  const again = reprice(record, DEARER);
  t.match(again, {
    requestId: 'id',
    spendPico: 70 * 1e6 + 30 * 1e5 + 20 * 3e7,
    costSource: 'entry',
    costReason: 'no price of a web search (1 not charged) is known for model gpt-4.1',
    priceVersion: DEARER.deployment?.version,
    costs: { entry: 673_000_000 },
  });
  t.same(reprice(again, DEARER), again, 'the same prices change nothing');
  t.same({ ...again, ...pickCost(record) }, record, 'nothing but the cost is touched');
});

t.test('what the upstream stated stays, and counts where there are no prices', async (t) => {
  const record = settleOf(beginOf('id'), { costs: { upstream_header: 5, entry: 9 } });
  t.match(reprice(record, { deployment: null, catalogue: null }), {
    spendPico: 5,
    costSource: 'upstream_header',
    costs: { upstream_header: 5 },
    priceVersion: null,
  });
});

t.test('what replaced attempts cost stays in the sum, and is known to be missing', async (t) => {
  const attempt = {
    modelId: 'a',
    model: 'm',
    apiBase: 'https://gateway.example',
    startMs: 1,
    durationMs: 1,
    status: 500,
    error: 'server',
    usage: null,
  };
  const before = [
    { ...attempt, spendPico: 7 },
    { ...attempt, spendPico: null },
  ];
  const record = settleOf(beginOf('id'), {
    attempts: 3,
    attemptLog: [...before, { ...attempt, error: null, spendPico: 1 }],
    spendPico: 8,
  });
  const again = reprice(record, DEARER);
  t.match(again, {
    spendPico: 673_000_007,
    costReason: 'of 1 replaced attempt the cost is not known',
    costs: { entry: 673_000_000 },
  });
  t.same(
    again.attemptLog.map(({ spendPico }) => spendPico),
    [7, null, 673_000_000],
  );
  t.same(reprice(again, DEARER), again);
  const huge = [{ ...attempt, spendPico: Number.MAX_SAFE_INTEGER }, ...record.attemptLog.slice(-1)];
  t.match(
    reprice({ ...record, attemptLog: huge }, DEARER),
    { spendPico: null, costSource: 'none', costReason: /too large/ },
    'a sum that no number holds exactly is not rounded',
  );
});

t.test('what was never asked, or came to nothing, keeps its cost', async (t) => {
  const begin = beginOf('id');
  const refused = settleOf(begin, {
    status: 'failure',
    endReason: 'refused',
    spendPico: 0,
    costSource: 'none',
    attempts: 0,
  });
  const broken = settleOf(begin, {
    status: 'failure',
    endReason: 'upstream_broken',
    usage: null,
    usageSource: 'none',
    tokens: NO_TOKENS,
    costs: {},
    spendPico: null,
    costSource: 'none',
  });
  for (const record of [refused, broken, interrupted(begin, begin.startMs)])
    t.equal(reprice(record, { ...DEARER, catalogue: DEARER.deployment }), record, record.endReason);
});

t.test('what was unknown, free, or failed with usage is priced by the new prices', async (t) => {
  const begin = beginOf('id');
  const unknown = settleOf(begin, { spendPico: null, costSource: 'none', costs: {}, priceVersion: null });
  const free = settleOf(begin, { spendPico: 0, costSource: 'entry', costs: { entry: 0 } });
  const failed = settleOf(begin, { status: 'failure', endReason: 'truncated', costs: {}, spendPico: null });
  const stated = settleOf(begin, {
    status: 'failure',
    usageSource: 'none',
    usage: null,
    tokens: NO_TOKENS,
    costs: { upstream_header: 7 },
    spendPico: null,
  });
  for (const record of [unknown, free, failed])
    t.match(reprice(record, DEARER), { spendPico: 673_000_000, costSource: 'entry' });
  t.match(reprice(stated, DEARER), { spendPico: 7, costSource: 'upstream_header' });
});

t.test('a refusal of the upstream is free, unless it states a usage or a cost', async (t) => {
  const refused = { ...settleOf(beginOf('id')), endReason: 'upstream_error', usage: null } as const;
  t.same(priceOf(refused, null, DEARER), {
    spendPico: 0,
    costSource: 'none',
    costReason: '',
    costs: {},
    priceVersion: null,
  });
  t.equal(priceOf(refused, null, DEARER), FREE);
  t.match(priceOf(refused, 5, { deployment: null, catalogue: null }), { spendPico: 5 });
  t.match(priceOf({ ...refused, usage: {} }, null, DEARER), { spendPico: 673_000_000 });
  t.match(priceOf({ ...refused, endReason: 'truncated' }, null, DEARER), { spendPico: 673_000_000 });
});

t.test('of an estimate the upstream’s own statement comes first', async (t) => {
  const record = settleOf(beginOf('id'), { costs: { upstream_header: 5 }, usageSource: 'estimate' });
  t.match(reprice(record, DEARER), { spendPico: 5, costSource: 'upstream_header' });
  t.match(reprice({ ...record, usageSource: 'upstream' }, DEARER), { costSource: 'entry' });
});

t.test('what a whole call cost says what is missing in it', async (t) => {
  const attempt = {
    modelId: 'a',
    model: 'm',
    apiBase: 'http://a',
    startMs: 1,
    durationMs: 1,
    status: 500,
    error: 'server',
    usage: null,
  };
  const last = { spendPico: 10, costSource: 'entry', costReason: '' } as const;
  const before = (...picos: readonly (number | null)[]) =>
    picos.map((spendPico) => ({ ...attempt, spendPico }));
  t.same(wholeCost(last, []), last);
  t.same(wholeCost(last, before(5, 0)), { ...last, spendPico: 15 });
  t.same(wholeCost(last, before(null)), {
    ...last,
    costReason: 'of 1 replaced attempt the cost is not known',
  });
  t.same(wholeCost(last, before(null, 5, null)), {
    ...last,
    spendPico: 15,
    costReason: 'of 2 replaced attempts the cost is not known',
  });
  const reasoned = { ...last, costReason: 'as it is' };
  const both = 'as it is; of 1 replaced attempt the cost is not known';
  t.same(
    wholeCost(reasoned, before(null)),
    { ...reasoned, costReason: both },
    'a reason that is there stays',
  );
  const unknown = { spendPico: null, costSource: 'none', costReason: 'why' } as const;
  t.same(wholeCost(unknown, before(5)), unknown);
  const largest = Number.MAX_SAFE_INTEGER;
  t.equal(wholeCost(last, before(largest - 10)).spendPico, largest);
  t.equal(wholeCost(last, before(largest - 9)).spendPico, null);
});

function pickCost({
  spendPico,
  costSource,
  costReason,
  costs,
  priceVersion,
}: ReturnType<typeof settleOf>): object {
  return { spendPico, costSource, costReason, costs, priceVersion };
}

t.test(
  'a row of several attempts that wrote one answer is priced by the last one’s own tokens',
  async (t) => {
    const own = { ...NO_TOKENS, prompt: 5, completion: 1, total: 6 };
    const attempt = {
      modelId: 'a',
      model: 'm',
      apiBase: 'http://a',
      startMs: 1,
      durationMs: 1,
      status: 200,
      error: null,
      usage: null,
    };
    const record = settleOf(beginOf('id'), {
      tokens: { ...NO_TOKENS, prompt: 100, completion: 11, total: 111 },
      units: null,
      serviceTier: null,
      spendPico: 1,
      attemptLog: [
        {
          ...attempt,
          error: 'stream_broken',
          spendPico: 1_000,
          continued: true,
          tokens: { ...own, prompt: 95 },
        },
        { ...attempt, spendPico: 1, tokens: own },
      ],
    });
    const again = reprice(record, DEARER);
    t.equal(again.spendPico, 1_000 + 5 * 1e6 + 1e7);
    t.match(again, { tokens: record.tokens, attemptLog: [{ spendPico: 1_000 }, { spendPico: 15_000_000 }] });
  },
);
