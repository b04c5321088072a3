// `throughline teams list`: the teams of a running proxy as a table.
import { textTable } from '../spend/report/text-table.ts';
import { AdminCalls, ADMIN_FLAGS, recordsIn, textOf, type AdminFlags, type Answer } from './admin-call.ts';
import { dollars } from './key-rows.ts';
import type { Define, Terminal } from './terminal.ts';

interface Flags extends AdminFlags {
  readonly json?: true | undefined;
}

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

async function list(flags: Flags, terminal: Terminal): Promise<void> {
  const rows = recordsIn(await new AdminCalls(flags, terminal).get('/team/list'));
  if (flags.json === true) return terminal.out(`${JSON.stringify(rows, null, 2)}\n`);
  if (rows.length === 0) return terminal.err('there are no teams\n');
  terminal.out(
    textTable(
      [HEADER, ...rows.map(cellsOf)],
      HEADER.map((name) => NUMBERS.includes(name)),
    ),
  );
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
