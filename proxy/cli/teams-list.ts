// `throughline teams list`: the teams of a running proxy as a table.
import { AdminCalls, ADMIN_FLAGS, recordsIn, textOf, type PrintFlags, type Answer } from './admin-call.ts';
import { dollars } from './key-rows.ts';
import { printRows } from './print.ts';
import type { Define, Terminal } from './terminal.ts';

const HEADER = ['team', 'alias', 'status', 'members', 'keys', 'spent USD', 'budget USD', 'models'];
const NUMBERS: readonly string[] = ['members', 'keys', 'spent USD', 'budget USD'];

export const teamsList: Define = (command, terminal) => {
  command
    .summary('show the teams')
    .description('Prints the teams with their members, keys, spend and budget.')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(...ADMIN_FLAGS.json)
    .action((flags) => list(flags, terminal));
};

async function list(flags: PrintFlags, terminal: Terminal): Promise<void> {
  const rows = recordsIn(await new AdminCalls(flags, terminal).get('/team/list'));
  printRows(rows, flags, { header: HEADER, numbers: NUMBERS, cellsOf, none: 'teams' }, terminal);
}

function cellsOf(row: Answer): string[] {
  const models = Array.isArray(row['models']) ? row['models'].map(textOf) : [];
  return [
    textOf(row['team_id']),
    textOf(row['team_alias']),
    row['blocked'] === true ? 'blocked' : 'active',
    String(recordsIn(row['members_with_roles']).length),
    String(recordsIn(row['keys']).length),
    dollars(row['spend']),
    dollars(row['max_budget']),
    models.length === 0 ? 'all' : models.join(' '),
  ];
}
