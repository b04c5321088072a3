// `throughline keys create`: makes a key and prints its value, once.
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
import { choice, type Define, type Terminal } from './terminal.ts';

const TYPES = ['default', 'llm_api', 'management', 'read_only'] as const;

interface Flags extends PrintFlags, TermFlags {
  readonly alias?: string | undefined;
  readonly team?: string | undefined;
  readonly user?: string | undefined;
  readonly duration?: string | undefined;
  readonly type?: (typeof TYPES)[number] | undefined;
  readonly allowChaos?: true | undefined;
}

export const keysCreate: Define = (command, terminal) => {
  command
    .summary('make a key and print it once')
    .description('Makes a key. Its value alone is printed to stdout; nobody can read it again.')
    .option('--alias <name>', 'a name to find it by, unique')
    .option('--team <id>', 'the team that it belongs to')
    .option('--user <id>', 'the user that it belongs to')
    .option(...TERM_FLAGS.model)
    .option('--duration <time>', 'how long it is valid, such as 90d (default: for ever)')
    .addOption(choice('--type <type>', 'what it may call', TYPES))
    .option(...TERM_FLAGS.maxBudget)
    .option(...TERM_FLAGS.softBudget)
    .option(...TERM_FLAGS.budgetDuration)
    .option(...TERM_FLAGS.rpm)
    .option(...TERM_FLAGS.tpm)
    .option(...TERM_FLAGS.parallel)
    .option('--allow-chaos', 'it may ask for faults by name (docs/find-a-fault.md)')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(ADMIN_FLAGS.json[0], 'print the whole answer, the key included, as JSON')
    .action((flags) => create(flags, terminal));
};

async function create(flags: Flags, terminal: Terminal): Promise<void> {
  const answer = await new AdminCalls(flags, terminal).post(
    '/key/generate',
    stated({
      key_alias: flags.alias,
      team_id: flags.team,
      user_id: flags.user,
      duration: flags.duration,
      key_type: flags.type,
      metadata: flags.allowChaos === true ? { allow_chaos: true } : undefined,
      ...termMembers(flags),
    }),
  );
  const { key, token, expires, warnings } = recordOf(answer);
  if (flags.json === true) return terminal.out(jsonText(answer));
  terminal.err(
    `made key ${textOf(token)}, valid ${expires === null ? 'for ever' : `until ${textOf(expires)}`}\n`,
  );
  if (Array.isArray(warnings)) for (const warning of warnings) terminal.err(`warning: ${textOf(warning)}\n`);
  terminal.out(`${textOf(key)}\n`);
}
