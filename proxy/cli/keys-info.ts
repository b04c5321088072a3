// `throughline keys info`: what a running proxy knows of one key.
import { printable } from '../../config/printable.ts';
import { AdminCalls, ADMIN_FLAGS, recordOf, type PrintFlags } from './admin-call.ts';
import { keyNamed } from './key-rows.ts';
import { jsonText } from './print.ts';
import type { Define, Terminal } from './terminal.ts';

export const keysInfo: Define = (command, terminal) => {
  command
    .summary('show one key')
    .description('Prints the members of a key that are set; --json prints all. Its value is not known.')
    .argument('<name>', 'its alias or its SHA-256')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(...ADMIN_FLAGS.json)
    .action((name, flags) => info(name, flags, terminal));
};

async function info(name: string, flags: PrintFlags, terminal: Terminal): Promise<void> {
  const calls = new AdminCalls(flags, terminal);
  const { token } = await keyNamed(calls, name);
  const answer = recordOf(recordOf(await calls.get('/key/info', { key: String(token) }))['info']);
  const shown = { token, ...answer };
  if (flags.json === true) return terminal.out(jsonText(shown));
  for (const [member, value] of Object.entries(shown))
    if (!isEmpty(value))
      terminal.out(`${member}: ${typeof value === 'string' ? printable(value) : JSON.stringify(value)}\n`);
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
