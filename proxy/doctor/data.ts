// The data directory and the store: kind and space of the disk, who holds the lock, lines that were damaged, rows that
// wait. Reads only.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../config/error-code.ts';
import type { DatabaseSettings } from '../../config/database-settings.ts';
import { asError } from '../base/as-error.ts';
import { allJournals, journalId } from '../spend/journal/journal-directories.ts';
import { storeBackend, type StorePlace } from '../spend/store/backends.ts';
import { lockHolder } from '../spend/store/lock.ts';
import type { StoreReader } from '../spend/store/reader.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import { listSegments, segmentPath, type Position } from '../spend/store/segments.ts';
import type { Reporter } from './finding.ts';
import { diskOf } from './machine.ts';
import { bounded } from './bounded.ts';

const MIB = 1024 * 1024;
const LITTLE_SPACE = 1024 * MIB;
const NO_SPACE = 64 * MIB;
/** Some 50,000 rows: what a store that works takes over in seconds. */
const BACKLOG_BYTES = 64 * MIB;

/** What helps where the store cannot be reached: an SQLite file has no address, and a server is not this disk's. */
export const storeFix = (database: DatabaseSettings | null): string =>
  database === null
    ? 'Free space on the disk of the data directory, and give throughline.db in it to the user of the process.'
    : 'See database_url, its credential, and the network policy towards it.';

interface DataQuestion {
  readonly dataDir: string;
  readonly database: DatabaseSettings | null;
  readonly timeoutMs: number;
}

export async function checkData(
  { dataDir, database, timeoutMs }: DataQuestion,
  report: Reporter,
): Promise<void> {
  const isThere = checkDirectory(dataDir, report);
  if (isThere) {
    checkDisk(dataDir, report);
    checkLock(dataDir, report);
    checkDamaged(dataDir, report);
  }
  const file = join(dataDir, 'throughline.db');
  if (database === null && !existsSync(file))
    return report.skipped('store', 'there is no database file yet; the first start makes it');
  const place = database === null ? { file } : { database };
  await checkStore({ place, fix: storeFix(database) }, isThere ? dataDir : null, timeoutMs, report);
}

function checkDirectory(dir: string, report: Reporter): boolean {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found === undefined) {
    report.skipped('directory', 'it is not there yet; the first start makes it');
    return false;
  }
  if (!found.isDirectory()) {
    const fix = `name a folder with --data-dir or THROUGHLINE_DATA_DIR, or move what is at ${dir} away`;
    report.found('directory', 'TL-1201', { seen: 'it is no folder', fix });
    return false;
  }
  const owner = process.geteuid?.();
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const seen = errorCode(error) ?? asError(error).message;
    report.found('directory', 'TL-1201', {
      seen: `${seen}; owner uid ${found.uid}, this process has uid ${owner ?? 'unknown'}`,
      fix: `chown -R ${owner ?? 'USER'} ${dir}; in Kubernetes set securityContext.fsGroup. Run the doctor as the user of the proxy`,
    });
    return false;
  }
  report.passed('directory', 'can be read and written');
  return true;
}

function checkDisk(dir: string, report: Reporter): void {
  const { network, freeBytes, totalBytes } = diskOf(dir);
  if (network === null) report.passed('file system', 'a local disk');
  else report.found('file system', 'TL-1202', { seen: `the file system is ${network}` });
  const free = `${Math.round(freeBytes / MIB)} MiB of ${Math.round(totalBytes / MIB)} MiB are free`;
  if (freeBytes < NO_SPACE) report.found('space', 'TL-1203', { seen: free, level: 'error' });
  else if (freeBytes < LITTLE_SPACE) report.found('space', 'TL-1203', { seen: free });
  else report.passed('space', free);
}

function checkLock(dir: string, report: Reporter): void {
  try {
    const holder = lockHolder(dir);
    report.passed('lock', holder === null ? 'no process uses it' : `in use by ${holder}`);
  } catch (error) {
    report.found('lock', 'TL-1201', { seen: `lock.db cannot be opened: ${asError(error).message}` });
  }
}

function checkDamaged(dir: string, report: Reporter): void {
  const damaged = allJournals(dir).filter((journal) => existsSync(join(journal, 'damaged.log')));
  if (damaged.length === 0) return report.passed('journal', 'no damaged line');
  for (const journal of damaged)
    report.found('journal', 'TL-1204', { seen: `${join(journal, 'damaged.log')} holds damaged lines` });
}

async function checkStore(
  { place, fix }: { readonly place: StorePlace; readonly fix: string },
  dataDir: string | null,
  timeoutMs: number,
  report: Reporter,
): Promise<void> {
  let reader: StoreReader | null = null;
  const opening = storeBackend(place)
    .openReader()
    .then(async (opened) => {
      reader = opened;
      return { positions: await opened.positions(), shown: opened.shown };
    });
  try {
    const { positions, shown } = await bounded(opening, timeoutMs);
    report.passed('store', `${shown} answers`);
    if (dataDir === null) return;
    const waiting = allJournals(dataDir).reduce((sum, journal) => sum + waitingIn(journal, positions), 0);
    const seen = `${Math.round(waiting / 1024)} KiB of the journal wait for the store`;
    if (waiting > BACKLOG_BYTES) report.found('backlog', 'TL-1205', { seen });
    else report.passed('backlog', seen);
  } catch (error) {
    const seen = asError(error).message;
    if (error instanceof StoreUnavailable && error.code === 'damaged')
      report.found('store', 'TL-1209', { seen });
    else report.found('store', 'TL-1206', { seen, fix });
  } finally {
    void opening.then(
      () => reader?.close(),
      () => undefined,
    );
  }
}

/** Bytes of a journal that the store has not got. */
function waitingIn(journal: string, positions: ReadonlyMap<string, Position>): number {
  const { segment: reached, offset } = positions.get(journalId(journal)) ?? { segment: 0, offset: 0 };
  const sizes = listSegments(journal).map((segment) => {
    if (segment < reached) return 0;
    const { size } = statSync(segmentPath(journal, segment));
    return segment === reached ? Math.max(0, size - offset) : size;
  });
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
