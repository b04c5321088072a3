// When lines are written: at the end of a turn of the event loop, and before it where there are many. What becomes of them when a
// disk fails is tested with the ledger.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { Journal } from '../../../../proxy/spend/journal/journal.ts';
import { segmentPath } from '../../../../proxy/spend/store/segments.ts';
import { tempDir } from '../store/fixture/temp-dir.ts';

const SETTINGS = { fsyncIntervalMs: 100, segmentBytes: 1 << 20, whenUnwritable: 'block' } as const;

for (const [count, isEarly] of [
  [63, false],
  [64, true],
  [200, true],
] as const)
  void t.test(
    `${count} settle entries of a turn ${isEarly ? 'do not wait' : 'wait'} for its end`,
    async (t) => {
      const dir = tempDir(t);
      const journal = new Journal({
        dir,
        segment: 1,
        settings: SETTINGS,
        calls: () => count,
        onEvent: () => undefined,
        onWritten: () => undefined,
      });
      t.teardown(() => journal.close());
      const told: string[] = [];
      let isOver = false;
      setImmediate(() => (isOver = true));
      const settled = Array.from({ length: count }, (_, n) => {
        const id = `id-${n}`;
        return journal.settle(id, JSON.stringify({ requestId: id }), false, () => told.push(id));
      });
      t.same(told, [], 'nobody is told before the call has returned');
      await settled[0];
      t.equal(isOver, !isEarly);
      await Promise.all(settled);
      const lines = readFileSync(segmentPath(dir, 1), 'utf8').trimEnd().split('\n');
      t.same(
        lines.map((line) => /"id-\d+"/.exec(line)?.[0]),
        Array.from({ length: count }, (_, n) => `"id-${n}"`),
      );
      t.equal(told.length, count);
      t.equal(journal.rows, count);
    },
  );

t.test(
  'what waits for a disk whose syncs fail is not written whole with each try, and is there once',
  async (t) => {
    const program = join(import.meta.dirname, 'fixture/failing-sync.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--no-warnings',
      program,
      tempDir(t),
      '4',
    ]);
    const { during, after, stored } = JSON.parse(stdout) as Readonly<Record<string, object>>;
    t.match(during, { rowsAtRisk: 500, writable: false, told: 0 }, 'none is said to be safe');
    t.match(during, { linesWritten: 500 + 3 }, 'once, and one line with each further try');
    t.match(after, { rowsAtRisk: 0, rowsLost: 0, written: 500, told: 500 });
    t.match(after, { names: ['journal_unwritable', 'journal_writable'] }, 'the outage is told once');
    t.same(stored, { rows: 500, ids: 500 });
  },
);

for (const [end, after] of [
  ['fail', { failure: 'EIO: i/o error, fdatasync', rows: 0, atRisk: 3, lost: 0, told: [] }],
  ['succeed', { failure: '', rows: 3, atRisk: 0, lost: 0, told: ['id-0', 'id-1', 'id-2'] }],
] as const)
  void t.test(
    `a close while the sync of a retry hangs counts each row once, also where the syncs then ${end}`,
    async (t) => {
      const program = join(import.meta.dirname, 'fixture/hanging-sync.ts');
      const { stdout } = await promisify(execFile)(process.execPath, [
        '--no-warnings',
        program,
        tempDir(t),
        end,
      ]);
      t.same(JSON.parse(stdout), after);
    },
  );
