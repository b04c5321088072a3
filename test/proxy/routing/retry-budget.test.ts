import fc from 'fast-check';
import t from 'tap';
import { RetryBudget } from '../../../proxy/routing/retry-budget.ts';

t.test('retries never exceed the reserve and their share of the requests, in whatever order', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { maxLength: 2_000 }),
      fc.constantFrom(0.05, 0.2, 0.5, 1),
      (isRequest, ratio) => {
        const budget = new RetryBudget();
        let [requests, retries] = [0, 0];
        for (const one of isRequest) {
          if (one) {
            requests += 1;
            budget.earn(ratio);
          } else if (budget.spend(ratio)) retries += 1;
          if (retries > 10 + ratio * requests + 1e-6) return false;
        }
        return true;
      },
    ),
  );
  t.pass('property held');
});

t.test('an outage of everything: 20% more traffic, not 200%', async (t) => {
  const budget = new RetryBudget();
  let retries = 0;
  for (let i = 0; i < 10_000; i += 1) {
    budget.earn(0.2);
    for (let attempt = 0; attempt < 2; attempt += 1) if (budget.spend(0.2)) retries += 1;
  }
  t.ok(retries >= 1_990 && retries <= 2_010, String(retries));
});

t.test('quiet hours save up 100 retries at most; a ratio of 0 allows none', async (t) => {
  const budget = new RetryBudget();
  for (let i = 0; i < 100_000; i += 1) budget.earn(0.2);
  let saved = 0;
  while (budget.spend(0.2)) saved += 1;
  t.equal(saved, 100);
  t.notOk(new RetryBudget().spend(0));
});
