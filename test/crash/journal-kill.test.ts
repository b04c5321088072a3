// kill -9 at random points: every request whose begin was promised has exactly one row, every promised settle is the
// row, every promised model is there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { allRows, ledgerOf } from '../proxy/spend/journal/fixture/ledgers.ts';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';
import { RUN, RUN_MARK } from '../support/process-cleanup.ts';

const WRITER = fileURLToPath(new URL('./fixture/journal-writer.ts', import.meta.url));
/** Every fourth one is killed while it opens. */
const ROUNDS = 8;

interface Promised {
  readonly begun: Set<string>;
  readonly settled: Set<string>;
  readonly models: Set<string>;
}

/** Runs the writer and kills it once it has said `lines` lines (0: while it opens the ledger). */
async function killAfter(dataDir: string, prefix: string, lines: number, promised: Promised): Promise<void> {
  const child = spawn(process.execPath, [WRITER, dataDir, prefix], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { [RUN_MARK]: RUN },
  });
  const exit = once(child, 'exit');
  let seen = 0;
  for await (const line of createInterface(child.stdout)) {
    const [kind, id = ''] = line.split(' ');
    if (kind === 'b') promised.begun.add(id);
    if (kind === 's') promised.settled.add(id);
    if (kind === 'm') promised.models.add(id);
    if (seen++ === lines) child.kill('SIGKILL'); // what it said until then is still read
  }
  const [, signal] = (await exit) as [number | null, string | null];
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself (${signal})`);
}

t.test('a process killed at any point loses nothing that it promised and doubles nothing', async (t) => {
  const dataDir = tempDir(t);
  const promised: Promised = { begun: new Set(), settled: new Set(), models: new Set() };
  for (let round = 0; round < ROUNDS; round++) {
    const any = round % 4 === 3 ? 0 : Math.floor(Math.random() * 600) + 2;
    const lines = round === 0 ? 500 : any; // all lanes say 323 lines at most before one of their models is stored
    await killAfter(dataDir, `r${round}`, lines, promised);
  }
  const { ledger, events } = await ledgerOf(t, dataDir);
  const rows = await allRows(ledger);
  const byId = new Map(rows.map((row) => [row.requestId, row]));
  t.equal(byId.size, rows.length, 'one row per request');
  t.ok(
    promised.begun.size > 50,
    `${promised.begun.size} begins, ${promised.settled.size} settles were promised`,
  );
  t.same(
    [...promised.begun].filter((id) => !byId.has(id)),
    [],
    'every promised begin has a row',
  );
  t.same(
    [...promised.settled].filter((id) => byId.get(id)?.endReason !== 'complete'),
    [],
    'every promised settle is the row',
  );
  const open = [...promised.begun].filter((id) => id.endsWith('-open'));
  t.ok(open.length > 0, `${open.length} begins without an end were promised`);
  t.same(
    open.filter((id) => byId.get(id)?.endReason !== 'interrupted'),
    [],
    'what had not ended is interrupted',
  );
  t.notOk(events.names().includes('journal_damaged'));
  t.match(ledger.status, { damaged: 0, rowsAtRisk: 0, rowsLost: 0 });
  const stored = new Set((await ledger.models.listModels()).map(({ id }) => id));
  t.ok(promised.models.size > 0, `${promised.models.size} models were promised`);
  t.same(
    [...promised.models].filter((name) => !stored.has(name)),
    [],
    'every promised model is there',
  );
});
