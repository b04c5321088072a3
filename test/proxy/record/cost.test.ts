// Costs are exact or null with a reason; they are never guessed.
import t from 'tap';
import type { Prices } from '../../../config/snapshot.ts';
import { costOf, dollarsOf, picoDollars } from '../../../proxy/record/cost.ts';
import { NO_TOKENS, type Tokens } from '../../../proxy/wire/usage.ts';

const NO_PRICES: Prices = { input: null, output: null, cacheRead: null, cacheWrite: null, perRequest: null };
const prices = (some: Partial<Prices>): Prices => ({ ...NO_PRICES, ...some });
const tokens = (some: Partial<Tokens>): Tokens => ({ ...NO_TOKENS, ...some });
const PLAIN = prices({ input: 3_000_000, output: 15_000_000 });
const USED = tokens({ prompt: 1000, completion: 200, total: 1200 });

t.test('a decimal of dollars is read exactly', async (t) => {
  const cases: readonly (readonly [string, number | null])[] = [
    ['0.00125', 1_250_000_000],
    ['1.5e-05', 15_000_000],
    ['1E-6', 1_000_000],
    ['0', 0],
    ['0.0', 0],
    ['3', 3_000_000_000_000],
    ['+2.5', 2_500_000_000_000],
    ['.5', 500_000_000_000],
    ['5.', 5_000_000_000_000],
    [' 0.1 ', 100_000_000_000],
    ['0.000000000001', 1],
    ['0.0000000000014', 1],
    ['0.0000000000015', 2],
    ['4.9e-13', 0],
    ['0.1234567890123456789', 123_456_789_012],
    ['9007.199254740991', Number.MAX_SAFE_INTEGER],
    ['9007.199254740992', null],
    ['1e30', null],
    ['1e999', null],
    ['1e-99999999999', null],
    ['None', null],
    ['', null],
    ['.', null],
    ['e5', null],
    ['-0.5', null],
    ['NaN', null],
    ['Infinity', null],
    ['0x10', null],
    ['1,5', null],
    ['1 2', null],
    ['1'.repeat(1000), null],
  ];
  for (const [text, pico] of cases) t.equal(picoDollars(text), pico, JSON.stringify(text.slice(0, 30)));
});

t.test('pico-dollars become the nearest double of dollars', async (t) => {
  t.equal(dollarsOf(1_250_000_000), 0.00125);
  t.equal(dollarsOf(1), 1e-12);
  t.equal(dollarsOf(12_345_678_901_234_567_890n), 12345678.901234567);
});

t.test("the entry's prices come before the upstream's header, the header before the catalogue", async (t) => {
  const entry = costOf(USED, PLAIN, '0.5', prices({ input: 1, output: 1 }), 'm');
  t.same(entry, { spendPico: 1000 * 3_000_000 + 200 * 15_000_000, costSource: 'entry', costReason: '' });
  t.same(costOf(USED, null, '0.5', PLAIN, 'm'), {
    spendPico: 500_000_000_000,
    costSource: 'upstream_header',
    costReason: '',
  });
  t.match(costOf(USED, null, 'None', PLAIN, 'm'), { spendPico: 6_000_000_000, costSource: 'catalogue' });
  t.match(costOf(USED, NO_PRICES, null, PLAIN, 'm'), { spendPico: 6_000_000_000, costSource: 'catalogue' });
});

t.test('cached tokens are part of the prompt and are billed once, at their own rate', async (t) => {
  const cached = tokens({ prompt: 1000, completion: 0, cacheRead: 800, cacheWrite: 100 });
  const rates = prices({ input: 10, output: 50, cacheRead: 1, cacheWrite: 12 });
  t.equal(costOf(cached, rates, null, null, 'm').spendPico, 100 * 10 + 800 * 1 + 100 * 12);
  t.equal(costOf(cached, prices({ input: 10, output: 50 }), null, null, 'm').spendPico, 1000 * 10);
  const absurd = tokens({ prompt: 10, completion: 0, cacheRead: 5000, cacheWrite: 5000 });
  t.equal(costOf(absurd, rates, null, null, 'm').spendPico, 10, 'buckets never exceed the prompt');
});

t.test('a price per request is added to the tokens, and stands alone without usage', async (t) => {
  t.equal(costOf(USED, prices({ input: 1, output: 1, perRequest: 7 }), null, null, 'm').spendPico, 1207);
  t.same(costOf(NO_TOKENS, prices({ perRequest: 7 }), null, null, 'm'), {
    spendPico: 7,
    costSource: 'entry',
    costReason: '',
  });
});

t.test('a count that is not stated follows from the others', async (t) => {
  const rates = prices({ input: 10, output: 50 });
  t.equal(costOf(tokens({ prompt: 8, total: 8 }), rates, null, null, 'm').spendPico, 80, 'embeddings');
  t.equal(costOf(tokens({ prompt: 8, total: 10 }), rates, null, null, 'm').spendPico, 180);
  t.equal(costOf(tokens({ completion: 2, total: 10 }), rates, null, null, 'm').spendPico, 180);
});

t.test('a free model costs nothing, whatever the usage', async (t) => {
  const free = prices({ input: 0, output: 0 });
  t.match(costOf(NO_TOKENS, free, null, null, 'm'), { spendPico: 0, costSource: 'entry' });
});

t.test('an unknown cost is null and says why', async (t) => {
  const reason = (...args: Parameters<typeof costOf>): string => {
    const cost = costOf(...args);
    t.equal(cost.spendPico, null);
    t.equal(cost.costSource, 'none');
    return cost.costReason;
  };
  t.equal(reason(NO_TOKENS, PLAIN, null, null, 'm'), 'the upstream sent no usage');
  t.equal(
    reason(tokens({ completion: 5 }), PLAIN, null, null, 'm'),
    'the upstream sent no count of prompt tokens',
  );
  t.equal(reason(USED, null, null, null, 'm-1'), 'no price is known for model m-1');
  t.equal(reason(USED, prices({ input: 1 }), null, null, 'm'), 'no output price is known for model m');
  t.equal(reason(USED, prices({ output: 1 }), null, null, 'm'), 'no input price is known for model m');
  t.equal(
    reason(tokens({ prompt: 1e12, completion: 1e12 }), PLAIN, null, null, 'm'),
    'the cost is too large to be recorded exactly',
  );
  t.equal(
    reason(tokens({ prompt: -4, completion: Number.NaN }), PLAIN, null, null, 'm'),
    'the upstream sent no usage',
  );
});

t.test("without usage the upstream's own figure is better than none", async (t) => {
  t.match(costOf(NO_TOKENS, PLAIN, '0.25', null, 'm'), {
    spendPico: 250_000_000_000,
    costSource: 'upstream_header',
  });
});
