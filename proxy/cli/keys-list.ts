// `throughline keys list`: the keys of a running proxy as a table.
import { AdminCalls, ADMIN_FLAGS, stated, textOf, type PrintFlags, type Answer } from './admin-call.ts';
import { allKeys, dollars, statusOf } from './key-rows.ts';
import { printRows } from './print.ts';
import type { Define, Terminal } from './terminal.ts';

interface Flags extends PrintFlags {
  readonly team?: string | undefined;
  readonly user?: string | undefined;
}

const HEADER = ['alias', 'key', 'status', 'team', 'user', 'expires', 'spent USD', 'budget USD', 'SHA-256'];
const NUMBERS: readonly string[] = ['spent USD', 'budget USD'];
const HASH_LENGTH = 64;

export const keysList: Define = (command, terminal) => {
  command
    .summary('show the keys')
    .description('Prints the keys with their status, spend and budget; never their values.')
    .option('--team <id>', 'only keys of this team')
    .option('--user <id>', 'only keys of this user')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(...ADMIN_FLAGS.json)
    .action((flags) => list(flags, terminal));
};

async function list(flags: Flags, terminal: Terminal): Promise<void> {
  const filters = stated({ team_id: flags.team, user_id: flags.user }) as Readonly<Record<string, string>>;
  const rows = await allKeys(new AdminCalls(flags, terminal), filters);
  const nowMs = Date.now();
  const table = {
    header: HEADER,
    numbers: NUMBERS,
    cellsOf: (row: Answer) => cellsOf(row, nowMs),
    none: 'such keys',
    widest: HASH_LENGTH,
  };
  printRows(rows, flags, table, terminal);
}

const cellsOf = (row: Answer, nowMs: number): string[] => [
  textOf(row['key_alias']),
  textOf(row['key_name']),
  statusOf(row, nowMs),
  textOf(row['team_id']),
  textOf(row['user_id']),
  textOf(row['expires']),
  dollars(row['spend']),
  dollars(row['max_budget']),
  textOf(row['token']),
];
