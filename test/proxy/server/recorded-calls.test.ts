// What the spend store says of calls, asked as one question.
import t from 'tap';
import { recordsOf } from '../../../proxy/server/recorded-calls.ts';
import { ledgerOf } from '../spend/journal/fixture/ledgers.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

t.test('records of many calls are one query, and those without one are left out', async (t) => {
  let flushes = 0;
  const flushOthers = async (): Promise<void> => void (flushes += 1);
  const { ledger } = await ledgerOf(t, tempDir(t), { flushOthers });
  for (const [i, spendPico] of [7, null, 9].entries()) {
    const begin = beginOf(`r${i}`);
    await ledger.begin(begin);
    await ledger.settle(settleOf(begin, { spendPico }));
  }
  const records = await recordsOf(ledger, ['r0', 'none', 'r1']);
  t.same(records.map(({ requestId, pico }) => [requestId, pico]).toSorted(), [
    ['r0', 7n],
    ['r1', 0n],
  ]);
  t.equal(flushes, 1);
});
