// One budget and many processes, killed with -9 in between: what the rows add up to never exceeds it, and nothing stays held.
// `THROUGHLINE_CALLS=20000` makes it the long run, as `npm run battery -- --only budget` does.
import t, { type Test } from 'tap';
import { folder } from '../support/cli.ts';
import { sharedBudgetRun, workersBudgetRun, type BudgetRun } from './fixture/budget-runs.ts';

const CALLS = Number(process.env['THROUGHLINE_CALLS'] ?? 600);
const KILLS = CALLS > 2000 ? 10 : 2;

function judge(t: Test, { spentPico, budgetPico, statuses }: BudgetRun): void {
  t.comment(`spent ${spentPico} of ${budgetPico} pico-dollars; ${JSON.stringify([...statuses])}`);
  t.ok(spentPico <= budgetPico, `${spentPico} of ${budgetPico}`);
  t.ok(spentPico * 10n > budgetPico * 5n, 'most of it was spent');
  t.ok((statuses.get(422) ?? 0) > 0, 'the rest was refused');
}

t.test('four servers never spend more than their budget together, whoever is killed', async (t) => {
  const run = await sharedBudgetRun(t, { calls: CALLS, kills: KILLS, seed: 11, folder: folder(t) });
  if (run === null) return t.comment('NEEDS VALKEY OR REDIS, AND POSTGRESQL: not tested here');
  judge(t, run);
});

t.test('three workers never spend more than their budget, whoever is killed', async (t) => {
  const run = await workersBudgetRun(t, { calls: CALLS, kills: KILLS, seed: 12, folder: folder(t) });
  judge(t, run);
  t.equal(run.counted.reservedUsd, 0, 'nothing is held when all calls have ended');
  t.equal(run.counted.spentUsd, Number(run.spentPico) / 1e12, 'what is counted is what the rows say');
  t.equal(run.verified.code, 0, run.verified.out);
});
