// Fills a store with a year of rows by way of a journal and asks it for reports, in a process of its own whose CPU is
// counted. argv: folder, number of rows, URL of a PostgreSQL or nothing for SQLite. Sends what it found over IPC.
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Diagnostics } from '../config/diagnostics.ts';
import { databaseOf } from '../config/resolve/database.ts';
import { beginLine, settleLine } from '../proxy/spend/record/line.ts';
import { segmentPath } from '../proxy/spend/store/segments.ts';
import { REPORT_BY, spendReport, type ReportBy } from '../proxy/spend/report/spend-report.ts';
import { storeBackend } from '../proxy/spend/store/backends.ts';
import { yearOfRows } from './harness/year.ts';

/** What one store did. */
export interface Filled {
  readonly rows: number;
  readonly rowsPerSecond: number;
  /** CPU of this process, server not included. */
  readonly cpuUsPerRow: number;
  /** Of the embedded database; null for a server. */
  readonly bytesPerRow: number | null;
  /** `spend report` of one month, by what. */
  readonly reports: readonly Reported[];
}

/** One report: its rows, and what it took; `cpuMs` of this process alone. */
export interface Reported {
  readonly by: string;
  readonly groups: number;
  readonly ms: number;
  readonly cpuMs: number;
}

const SEGMENT_ROWS = 10_000; // some 19 MB: about what the journal holds in a file
const MONTH = { startDay: '2026-05-01', endDay: '2026-05-31' };
/** Most rows of a report: what `spend report` prints unless told otherwise. */
const LIMIT = 10_000;

const [folder = '.', count = '0', url = ''] = process.argv.slice(2);
const diagnostics = new Diagnostics({
  kind: 'map',
  file: { name: 'argv', lineStarts: null },
  offset: 0,
  members: new Map(),
});
const database = databaseOf(url, {}, diagnostics);
const file = join(folder, 'throughline.db');
const place = database === null ? { file } : { database };
const backend = storeBackend(place);
const { store } = backend.openStore({
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

/** As the command does it, from opening the store to the rows of the report. */
async function report(by: ReportBy): Promise<Reported> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const reader = await backend.openReader();
  const { rows } = await spendReport(reader, by, MONTH, LIMIT);
  await reader.close();
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  return { by, groups: rows.length, ms, cpuMs: (user + system) / 1000 };
}

await store.ship({ segment: 0, offset: 0 }); // opened and migrated before the clock runs
const filled = await fill();
const reports: Reported[] = [];
await store.close();
for (const by of Object.keys(REPORT_BY) as ReportBy[]) reports.push(await report(by));
const bytesPerRow = database === null ? statSync(file).size / filled.rows : null;
process.send?.({ ...filled, bytesPerRow, reports } satisfies Filled);
