// One budget under full load while processes are killed with -9: four servers on one Valkey and one PostgreSQL, and one server of
// three workers. What the rows add up to stays within the budget, nothing stays held, and counters say what the rows say.
import { sharedBudgetRun, workersBudgetRun, type BudgetRun } from '../../crash/fixture/budget-runs.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';

const hostOf = (
  scenario: ScenarioRun,
): { teardown(act: () => unknown): void; comment(text: string): void } => ({
  teardown: (act) => scenario.teardown(act),
  comment: (text) => void scenario.notes.push(text),
});

function judged(result: ResultRow, { spentPico, budgetPico, statuses }: BudgetRun): void {
  const calls = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  result.pass(calls);
  result.check(spentPico <= budgetPico, () => `spent ${spentPico} of ${budgetPico} pico-dollars`);
  result.check(spentPico * 2n > budgetPico, () => `only ${spentPico} of ${budgetPico} could be spent`);
  result.check((statuses.get(422) ?? 0) > 0, () => 'no call was refused');
  const ends = [...statuses].map(([status, count]) => `${status === 0 ? 'broken off' : status}: ${count}`);
  result.notes.push(
    `${result.what}: ${usd(spentPico)} of ${usd(budgetPico)} USD spent; answers ${ends.join(', ')}.`,
  );
}

const usd = (pico: bigint): string => (Number(pico) / 1e12).toFixed(6);

export const budget: Scenario = {
  name: 'budget',
  about: 'one budget, many processes, kill -9 in between: never more is spent than the budget',
  run: async (scenario) => {
    const { seed, rounds, executions } = scenario.options;
    const calls = scenario.count(20_000, 300, executions);
    const kills = scenario.count(10, 1, rounds);
    const results: ResultRow[] = [];
    const host = hostOf(scenario);
    const workers = new ResultRow(`three workers, ${kills} killed`, [], seed);
    const run = await workersBudgetRun(host, { calls, kills, seed, folder: scenario.folder() });
    judged(workers, run);
    const { spentUsd, reservedUsd } = run.counted;
    workers.check(reservedUsd === 0, () => `${reservedUsd} USD stay held`);
    workers.check(
      spentUsd === Number(run.spentPico) / 1e12,
      () => `${spentUsd} USD are counted, not ${usd(run.spentPico)}`,
    );
    workers.check(run.verified.code === 0, () => `spend verify: ${run.verified.out}`);
    results.push(workers);
    const shared = await sharedBudgetRun(host, { calls, kills, seed, folder: scenario.folder() });
    if (shared === null)
      scenario.notes.push('Four servers: needs Valkey or Redis, and PostgreSQL; not tried here.');
    else {
      const servers = new ResultRow(`four servers, ${kills} killed`, [], seed);
      judged(servers, shared);
      results.push(servers);
    }
    return results;
  },
};
