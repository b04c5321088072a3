// `throughline keys revoke`: from then on calls with these keys are refused.
import { AdminCalls, ADMIN_FLAGS, textOf, type AdminFlags, type Answer } from './admin-call.ts';
import { keyNamed, shownName } from './key-rows.ts';
import type { Define, Terminal } from './terminal.ts';

interface Flags extends AdminFlags {
  readonly block?: true | undefined;
}

export const keysRevoke: Define = (command, terminal) => {
  command
    .summary('delete keys, or block them')
    .description(
      'Deletes keys for ever; with --block they can be unblocked. When one is not there, none is touched. Spend stays.',
    )
    .argument('<names...>', 'their aliases or SHA-256')
    .option('--block', 'block them instead')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .action((names, flags) => revoke(names, flags, terminal));
};

async function revoke(names: readonly string[], flags: Flags, terminal: Terminal): Promise<void> {
  const calls = new AdminCalls(flags, terminal);
  const rows: Answer[] = [];
  for (const name of names) rows.push(await keyNamed(calls, name));
  const tokens = rows.map(({ token }) => textOf(token));
  if (flags.block === true) for (const key of tokens) await calls.post('/key/block', { key });
  else await calls.post('/key/delete', { keys: tokens });
  for (const row of rows)
    terminal.err(
      `${flags.block === true ? 'blocked' : 'deleted'} ${shownName(row)} (${textOf(row['token'])})\n`,
    );
}
