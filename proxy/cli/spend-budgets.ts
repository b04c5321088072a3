// `throughline spend budgets`: every budget of a running proxy, those first that will be used up first.
import { ADMIN_FLAGS, AdminCalls, recordOf, textOf, type PrintFlags, type Answer } from './admin-call.ts';
import { dollars } from './key-rows.ts';
import { printRows } from './print.ts';
import type { Define, Terminal } from './terminal.ts';

const HEADER = ['of', 'name', 'budget', 'spent USD', 'of USD', 'used', 'begins anew', 'used up', 'between'];
const NUMBERS: readonly string[] = ['spent USD', 'of USD', 'used'];

export const spendBudgets: Define = (command, terminal) => {
  command
    .summary('budgets, and when they will be used up')
    .description(
      'Prints every budget of a running proxy, those first that will be used up first: by the rate of the last day, with the fastest and the slowest of the last six hours, day and week.',
    )
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(...ADMIN_FLAGS.json)
    .action((flags) => print(flags, terminal));
};

async function print(flags: PrintFlags, terminal: Terminal): Promise<void> {
  const rows = (await allBudgets(new AdminCalls(flags, terminal))).toSorted(bySoonest);
  printRows(rows, flags, { header: HEADER, numbers: NUMBERS, cellsOf, none: 'budgets' }, terminal);
}

/** Of a running proxy. */
export const allBudgets = (calls: AdminCalls): Promise<readonly Answer[]> =>
  calls.pages('/spend/budgets', 'budgets', { size: '300' });

/** Those that are used up last, or never, by how much of them is used. */
function bySoonest(a: Answer, b: Answer): number {
  const [first, second] = [usedUpAt(a), usedUpAt(b)];
  if (first !== second) return first < second ? -1 : 1;
  return shareOf(b) - shareOf(a);
}

const NEVER = '~';
const usedUpAt = ({ forecast }: Answer): string => textOf(recordOf(forecast)['used_up_at']) || NEVER;

function shareOf({ current_spend: spent, max_budget: most }: Answer): number {
  return typeof most === 'number' && most > 0 ? Number(spent) / most : 0;
}

function cellsOf(row: Answer): string[] {
  const { earliest, latest } = recordOf(row['forecast']);
  const isCapped = typeof row['max_budget'] === 'number';
  const band = textOf(earliest) === '' ? '' : `${moment(earliest)} - ${moment(latest) || 'later'}`;
  return [
    textOf(row['scope']).replaceAll('_', ' '),
    textOf(row['alias']) || textOf(row['scope_id']),
    textOf(row['budget']),
    dollars(row['current_spend']),
    dollars(isCapped ? row['max_budget'] : row['soft_budget']),
    isCapped ? `${Math.floor(100 * shareOf(row) + 1e-9)} %` : 'soft',
    moment(row['budget_reset_at']) || 'never',
    isCapped ? moment(recordOf(row['forecast'])['used_up_at']) || 'no' : '',
    band,
  ];
}

/** `2026-11-22 10:30`, UTC. */
const moment = (iso: unknown): string => textOf(iso).slice(0, 16).replace('T', ' ');
