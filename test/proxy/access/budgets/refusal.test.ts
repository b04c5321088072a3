import t from 'tap';
import { capsOf } from '../../../../proxy/access/budgets/caps.ts';
import { refusalText } from '../../../../proxy/access/budgets/refusal.ts';
import { NO_BUDGET } from '../../../../proxy/access/objects/objects.ts';

const [cap] = capsOf({ kind: 'team', id: 'core' }, { ...NO_BUDGET, maxBudget: 1 });
const need = { budget: 'team:core ever', windowStartMs: 0, capPico: 1_000_000_000_000n };
const refusal = { need, spentPico: 0n, reservedPico: 0n, leftPico: 1_000_000_000_000n };

t.test('a cost that no row can say is told as more than the most that one can', async (t) => {
  if (cap === undefined) throw new Error('no cap');
  const text = (pico: bigint): string =>
    refusalText({ cap, refusal, pico, fitting: null, keyName: '', resetMs: null });
  t.match(text(BigInt(Number.MAX_SAFE_INTEGER)), /may cost more than 9007\.199254740991 USD, 1 USD are left/);
  t.match(text(2_000_000_000_000n), /may cost 2 USD, 1 USD are left/);
});
