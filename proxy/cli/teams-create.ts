// `throughline teams create`: makes a team and prints its id.
import {
  AdminCalls,
  ADMIN_FLAGS,
  amountOf,
  recordOf,
  stated,
  termMembers,
  textOf,
  type AdminFlags,
  type TermFlags,
} from './admin-call.ts';
import type { Define, Terminal } from './terminal.ts';

interface Flags extends AdminFlags, TermFlags {
  readonly id?: string | undefined;
  readonly alias?: string | undefined;
  readonly organization?: string | undefined;
  readonly json?: true | undefined;
}

export const teamsCreate: Define = (command, terminal) => {
  command
    .summary('make a team')
    .description('Makes a team and prints its id.')
    .option('--id <id>', 'its id (default: a UUID)')
    .option('--alias <name>', 'a name for people')
    .option('--organization <id>', 'the organization that it belongs to')
    .option('--model <names...>', 'models, patterns or access groups it may call (default: all)')
    .option('--max-budget <usd>', 'what it may spend', amountOf('--max-budget'))
    .option('--soft-budget <usd>', 'alert at this amount', amountOf('--soft-budget'))
    .option('--budget-duration <time>', 'after which the budget begins anew, such as 30d')
    .option('--rpm <n>', 'requests per minute', amountOf('--rpm'))
    .option('--tpm <n>', 'tokens per minute', amountOf('--tpm'))
    .option('--parallel <n>', 'calls at the same time', amountOf('--parallel'))
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
  if (flags.json === true) terminal.out(`${JSON.stringify(answer, null, 2)}\n`);
  else terminal.out(`${textOf(recordOf(answer)['team_id'])}\n`);
}
