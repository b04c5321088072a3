// `throughline teams create`: makes a team and prints its id.
import {
  AdminCalls,
  ADMIN_FLAGS,
  recordOf,
  stated,
  termMembers,
  TERM_FLAGS,
  textOf,
  type PrintFlags,
  type TermFlags,
} from './admin-call.ts';
import { jsonText } from './print.ts';
import type { Define, Terminal } from './terminal.ts';

interface Flags extends PrintFlags, TermFlags {
  readonly id?: string | undefined;
  readonly alias?: string | undefined;
  readonly organization?: string | undefined;
}

export const teamsCreate: Define = (command, terminal) => {
  command
    .summary('make a team')
    .description('Makes a team and prints its id.')
    .option('--id <id>', 'its id (default: a UUID)')
    .option('--alias <name>', 'a name for people')
    .option('--organization <id>', 'the organization that it belongs to')
    .option(...TERM_FLAGS.model)
    .option(...TERM_FLAGS.maxBudget)
    .option(...TERM_FLAGS.softBudget)
    .option(...TERM_FLAGS.budgetDuration)
    .option(...TERM_FLAGS.rpm)
    .option(...TERM_FLAGS.tpm)
    .option(...TERM_FLAGS.parallel)
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(ADMIN_FLAGS.json[0], 'print the whole answer as JSON')
    .action((flags) => create(flags, terminal));
};

async function create(flags: Flags, terminal: Terminal): Promise<void> {
  const answer = await new AdminCalls(flags, terminal).post(
    '/team/new',
    stated({
      team_id: flags.id,
      team_alias: flags.alias,
      organization_id: flags.organization,
      ...termMembers(flags),
    }),
  );
  if (flags.json === true) terminal.out(jsonText(answer));
  else terminal.out(`${textOf(recordOf(answer)['team_id'])}\n`);
}
