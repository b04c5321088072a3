// `throughline capsule list`: what is recorded now, and the files.
import { grouped, textTable } from '../spend/report/text-table.ts';
import {
  AdminCalls,
  ADMIN_FLAGS,
  recordOf,
  recordsIn,
  textOf,
  type PrintFlags,
  type Answer,
} from './admin-call.ts';
import { jsonText } from './print.ts';
import type { Define, Terminal } from './terminal.ts';

const WIDEST = 64;

export const capsuleList: Define = (command, terminal) => {
  command
    .summary('show what is recorded, and the files')
    .description(
      'Prints the recordings under way and the files of the server that answers, the newest first.',
    )
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(...ADMIN_FLAGS.json)
    .action((flags) => list(flags, terminal));
};

async function list(flags: PrintFlags, terminal: Terminal): Promise<void> {
  const answer = recordOf(await new AdminCalls(flags, terminal).get('/capsules'));
  if (flags.json === true) return terminal.out(jsonText(answer));
  const [orders, files] = [recordsIn(answer['orders']), recordsIn(answer['capsules'])];
  if (orders.length > 0)
    terminal.out(
      textTable(
        [['recording', 'of', 'until', 'bodies'], ...orders.map(orderCells)],
        [false, false, false, false],
        false,
        WIDEST,
      ),
    );
  else terminal.err('nothing is recorded now\n');
  if (files.length > 0) {
    const cells = files.map((one) => [
      textOf(one['id']),
      textOf(one['written_at']),
      grouped(Number(one['bytes'])),
    ]);
    terminal.out(`\n${textTable([['capsule', 'written', 'bytes'], ...cells], [false, false, true])}`);
  }
  const { busy, write_failed: failed } = recordOf(answer['dropped']);
  if (Number(busy) + Number(failed) > 0)
    terminal.err(`lost: ${textOf(busy)} too many at once, ${textOf(failed)} could not be written\n`);
}

const orderCells = (order: Answer): string[] => [
  textOf(order['id']),
  order['key_hash'] === null ? `session ${textOf(order['session_id'])}` : `key ${textOf(order['key_hash'])}`,
  textOf(order['until']),
  order['bodies'] === true ? 'yes' : 'no',
];
