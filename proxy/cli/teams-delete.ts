// `throughline teams delete`: deletes teams, with their keys and memberships.
import { CannotStart } from '../errors/cannot-start.ts';
import { AdminCalls, ADMIN_FLAGS, recordsIn, textOf, type AdminFlags, type Answer } from './admin-call.ts';
import type { Define, Terminal } from './terminal.ts';

export const teamsDelete: Define = (command, terminal) => {
  command
    .summary('delete teams with their keys')
    .description(
      'Deletes teams, their keys and their memberships. When one is not there, none is touched. Spend stays.',
    )
    .argument('<ids...>', 'ids of the teams')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .action((ids, flags) => deleteTeams(ids, flags, terminal));
};

async function deleteTeams(ids: readonly string[], flags: AdminFlags, terminal: Terminal): Promise<void> {
  const calls = new AdminCalls(flags, terminal);
  const rows: Answer[] = [];
  for (const id of ids) {
    const [row] = recordsIn(await calls.get('/team/list', { team_id: id }));
    if (row === undefined) throw new CannotStart(`there is no team with the id ${id}`);
    rows.push(row);
  }
  await calls.post('/team/delete', { team_ids: ids });
  for (const row of rows) {
    const count = recordsIn(row['keys']).length;
    terminal.err(`deleted ${textOf(row['team_id'])} with ${count} ${count === 1 ? 'key' : 'keys'}\n`);
  }
}
