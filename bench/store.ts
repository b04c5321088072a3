// Fills a store with a year of rows by way of a journal and asks it for reports, in a process of its own whose CPU is
// counted. argv: folder, number of rows, URL of a PostgreSQL or nothing for SQLite. Sends what it found over IPC.
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Findings } from '../config/findings.ts';
import { databaseOf } from '../config/resolve/database.ts';
import { beginLine, settleLine } from '../proxy/record/line.ts';
import { segmentPath } from '../proxy/store/segments.ts';
import type { Facet } from '../proxy/store/store.ts';
import { WorkerStore } from '../proxy/store/worker-store.ts';
import { yearOfRows } from './harness/year.ts';

/** What one store did. */
export interface Filled {
  readonly rows: number;
  readonly rowsPerSecond: number;
  /** CPU of this process, server not included. */
  readonly cpuUsPerRow: number;
  /** Of the embedded database; null for a server. */
  readonly bytesPerRow: number | null;
  /** One month, by what. */
  readonly reports: readonly { readonly by: string; readonly groups: number; readonly ms: number }[];
}

const SEGMENT_ROWS = 10_000; // some 19 MB: about what the journal holds in a file
const MONTH = { startDay: '2026-05-01', endDay: '2026-05-31' };
const REPORTS: readonly (readonly (Facet | 'day')[])[] = [
  ['day'],
  ['apiKeyHash'],
  ['team'],
  ['user'],
  ['model'],
  ['tag'],
  ['session'],
  ['day', 'apiKeyHash', 'modelGroup'],
];

const [folder = '.', count = '0', url = ''] = process.argv.slice(2);
const findings = new Findings({
  kind: 'map',
  file: { name: 'argv', lineStarts: null },
  offset: 0,
  members: new Map(),
});
const database = databaseOf(url, {}, findings);
const file = join(folder, 'throughline.db');
const store = new WorkerStore({
  place: database === null ? { file } : { database },
  journal: { dir: folder, id: 'bench', writer: 'bench' },
  saltKey: null,
  onEvent: ({ message }) => console.error(message),
});

async function fill(): Promise<Pick<Filled, 'rows' | 'rowsPerSecond' | 'cpuUsPerRow'>> {
  const rows = yearOfRows(Number(count));
  let [shipped, wallMs, cpuUs] = [0, 0, 0];
  for (let segment = 1, more = true; more; segment += 1) {
    let text = '';
    let offset = 0;
    const path = segmentPath(folder, segment);
    for (let n = 0; n < SEGMENT_ROWS; n += 1) {
      const next = rows.next();
      if (next.done === true) {
        more = false;
        break;
      }
      text += beginLine(next.value) + settleLine(next.value);
    }
    writeFileSync(path, text);
    offset = statSync(path).size;
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    shipped += (await store.ship({ segment, offset })).rows;
    wallMs += performance.now() - startedAt;
    const { user, system } = process.cpuUsage(cpu);
    cpuUs += user + system;
    rmSync(path);
  }
  return { rows: shipped, rowsPerSecond: (shipped / wallMs) * 1000, cpuUsPerRow: cpuUs / shipped };
}

async function report(by: readonly (Facet | 'day')[]): Promise<Filled['reports'][number]> {
  const startedAt = performance.now();
  const groups = await store.activity(MONTH, by, 100_000);
  return { by: by.join(', '), groups: groups.length, ms: performance.now() - startedAt };
}

await store.ship({ segment: 0, offset: 0 }); // opened and migrated before the clock runs
const filled = await fill();
const reports: Filled['reports'][number][] = [];
for (const by of REPORTS) reports.push(await report(by));
await store.close();
const bytesPerRow = database === null ? statSync(file).size / filled.rows : null;
process.send?.({ ...filled, bytesPerRow, reports } satisfies Filled);
