// `throughline capsule on` and `off`: begins and ends a recording at a running proxy.
import {
  AdminCalls,
  ADMIN_FLAGS,
  amountOf,
  recordOf,
  stated,
  textOf,
  type AdminFlags,
  type PrintFlags,
} from './admin-call.ts';
import { checkKeyName } from './key-rows.ts';
import { jsonText } from './print.ts';
import { UsageError, type Define, type Terminal } from './terminal.ts';

interface Flags extends PrintFlags {
  readonly key?: string | undefined;
  readonly session?: string | undefined;
  readonly minutes?: number | undefined;
  readonly bodies?: true | undefined;
}

export const capsuleOn: Define = (command, terminal) => {
  command
    .summary('record the calls of a key or a conversation')
    .description('Records from now on, in all workers and servers; prints the id that ends it.')
    .option('--key <name>', 'the alias or the SHA-256 of a key')
    .option('--session <id>', 'a conversation')
    .option('--minutes <n>', 'for so long (default: 15, at most 1440)', amountOf('--minutes'))
    .option('--bodies', 'keep what is said, sealed for general_settings.capsules.public_key')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(...ADMIN_FLAGS.json)
    .action((flags) => begin(flags, terminal));
};

async function begin(flags: Flags, terminal: Terminal): Promise<void> {
  const { key, session, minutes, bodies } = flags;
  if ((key === undefined) === (session === undefined))
    throw new UsageError('which calls? - give --key NAME or --session ID');
  if (key !== undefined) checkKeyName(key);
  const answer = recordOf(
    await new AdminCalls(flags, terminal).post(
      '/capsules',
      stated({ key, session_id: session, minutes, bodies }),
    ),
  );
  if (flags.json === true) return terminal.out(jsonText(answer));
  terminal.err(
    `recording until ${textOf(answer['until'])}, ${answer['bodies'] === true ? 'with' : 'without'} bodies\n`,
  );
  terminal.out(`${textOf(answer['id'])}\n`);
}

export const capsuleOff: Define = (command, terminal) => {
  command
    .summary('end a recording, or remove its files')
    .description('Ends recordings; the files stay. The id of a file removes that file.')
    .argument('<ids...>', 'as `on` and `list` print them')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .action((ids, flags) => end(ids, flags, terminal));
};

async function end(ids: readonly string[], flags: AdminFlags, terminal: Terminal): Promise<void> {
  const calls = new AdminCalls(flags, terminal);
  for (const id of ids) {
    await calls.delete(`/capsules/${encodeURIComponent(id)}`);
    terminal.err(`${id.startsWith('order-') ? 'ended' : 'removed'} ${id}\n`);
  }
}
