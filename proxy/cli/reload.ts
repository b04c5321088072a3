// `throughline reload`: has a running proxy read its configuration again, or say what that would change.
import type { Change } from '../../config/diff.ts';
import { AdminCalls, ADMIN_FLAGS, recordOf, recordsIn, textOf, type PrintFlags } from './admin-call.ts';
import { changesText } from './changes-text.ts';
import { jsonText } from './print.ts';
import type { Define, Terminal } from './terminal.ts';

const DESCRIPTION = `Has the running proxy read its configuration again. With --dry-run it only says what would change for callers.
Exit code 0 when the configuration is served or would be, 1 when it is refused; what served before serves on then.`;

interface Flags extends PrintFlags {
  readonly dryRun?: true | undefined;
}

const SENTENCES: Readonly<Record<string, string>> = {
  applied: 'applied',
  unchanged: 'nothing has changed',
  would_apply: 'this would be applied; nothing was changed',
};

export const reload: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option('--dry-run', 'say what would change, and change nothing')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(...ADMIN_FLAGS.json)
    .action(async (flags) => terminal.exitWith(await run(flags, terminal)));
};

async function run(flags: Flags, terminal: Terminal): Promise<number> {
  const body = flags.dryRun === true ? { dry_run: true } : {};
  const answer = recordOf(await new AdminCalls(flags, terminal).post('/config/reload', body));
  const result = textOf(answer['result']);
  const code = result === 'refused' ? 1 : 0;
  if (flags.json === true) {
    terminal.out(jsonText(answer));
    return code;
  }
  const issues = Array.isArray(answer['issues']) ? answer['issues'].map(String) : [];
  for (const issue of issues) terminal.out(`${issue}\n`);
  terminal.out(changesText(recordsIn(answer['changes']) as unknown as readonly Change[]));
  if (code === 0) terminal.out(`${SENTENCES[result] ?? result}\n`);
  else terminal.err('the configuration is refused; what served before serves on\n');
  return code;
}
