// The embedded database's own thread: opens it, takes over the journal, answers questions, one message at a time.
// Must never touch the journal's segments but to read them. The main thread speaks to it through worker-store.ts.
import { closeSync, openSync, renameSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { Secret } from '../../../../config/secret.ts';
import { serveStore } from '../serve-store.ts';
import type { Position } from '../segments.ts';
import { migrate } from './migrations.ts';
import { SqliteModels } from './models.ts';
import { SqliteSpend } from './spend.ts';
import { StoreUnavailable } from '../store.ts';
import type {
  Activity,
  ActivityFilter,
  DaySpend,
  Facet,
  MadeBy,
  Pruned,
  SessionTotals,
  Shipped,
  SpendFilter,
  SpendPage,
  SpendPaging,
  Store,
  StoredModel,
  StoreEvent,
} from '../store.ts';
import type { SqliteData } from '../worker-store.ts';

interface Opened {
  readonly db: DatabaseSync;
  readonly inode: number;
  readonly spend: SqliteSpend;
  readonly models: SqliteModels;
}

// https://www.sqlite.org/rescode.html
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const BUSY_WAIT_MS = 2_000;

class Database {
  readonly #settings: SqliteData;
  readonly #tell: (event: StoreEvent) => void;
  #opened: Opened | null = null;

  constructor(settings: SqliteData, tell: (event: StoreEvent) => void) {
    this.#settings = settings;
    this.#tell = tell;
  }

  /** Runs `task` on the open database. A database that failed is opened anew by the next call. */
  run<T>(task: (opened: Opened) => T): T {
    try {
      return task(this.#open());
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      const code = (error as { errcode?: number }).errcode ?? 0;
      const corrupt = (code & 0xff) === SQLITE_CORRUPT || (code & 0xff) === SQLITE_NOTADB;
      // Another process may have moved it aside already; what has the name now is the new one.
      if (corrupt && (this.#opened?.inode ?? inodeOf(this.#settings.file)) === inodeOf(this.#settings.file))
        this.#moveAside(error as Error);
      this.close();
      throw new StoreUnavailable('unavailable', this.#explain(error as Error));
    }
  }

  close(): void {
    const opened = this.#opened;
    this.#opened = null;
    try {
      opened?.db.close();
    } catch {
      // a database that failed may fail to close too; its file handle goes with the object
    }
  }

  #open(): Opened {
    // Rows put into a file that somebody deleted would be gone without an error.
    if (this.#opened !== null && inodeOf(this.#settings.file) !== this.#opened.inode) this.close();
    return (this.#opened ??= this.#openAnew());
  }

  #openAnew(): Opened {
    const { file, journal, saltKey } = this.#settings;
    closeSync(openSync(file, 'a', 0o600)); // SQLite would make it readable for all
    const db = new DatabaseSync(file, { timeout: BUSY_WAIT_MS });
    try {
      // FULL: a position that is durable must mean that its rows are, because segments are deleted by it.
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;');
      // The pages that a few seconds of rows touch stay in memory and are checkpointed together.
      db.exec('PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 4000;');
      migrate(db);
      const models = new SqliteModels(db, saltKey === null ? null : new Secret(saltKey));
      return { db, inode: inodeOf(file), spend: new SqliteSpend(db, journal), models };
    } catch (error) {
      db.close();
      throw error;
    }
  }

  #moveAside(cause: Error): void {
    const { file } = this.#settings;
    this.close();
    const aside = `${file}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
    for (const suffix of ['', '-wal', '-shm']) {
      try {
        renameSync(file + suffix, aside + suffix);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    this.#tell({
      level: 'error',
      name: 'store_moved_aside',
      message:
        `the database ${file} is damaged (${cause.message}); it was moved to ${aside} and a new one is made. ` +
        `Runtime models ${this.#salvageModels(aside) ? 'were copied' : 'could not be read from it'}; rows that the ` +
        `journal still holds are taken over again, older ones are in the moved file - ` +
        `recover them with: sqlite3 ${aside} .recover`,
    });
  }

  // Often only pages of the large spend table are hurt, and models are what requests need.
  #salvageModels(aside: string): boolean {
    try {
      const { db } = this.#open();
      db.prepare('ATTACH ? AS aside').run(aside);
      db.exec(`BEGIN;
        INSERT INTO meta SELECT name, value FROM aside.meta;
        INSERT INTO models SELECT id, sealed, created_ms, updated_ms FROM aside.models ORDER BY rowid;
        COMMIT;`);
      return true;
    } catch {
      return false;
    } finally {
      this.close(); // undoes a half-made copy
    }
  }

  #explain(cause: Error): string {
    const what =
      'errcode' in cause ? `the database ${this.#settings.file} cannot be used` : 'the store failed';
    return (
      `${what}: ${cause.message} - ` +
      `see that its directory exists, is writable and has room; the journal keeps all records meanwhile`
    );
  }
}

function inodeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.ino ?? -1;
}

class SqliteStore implements Store {
  readonly #database: Database;

  constructor(settings: SqliteData, tell: (event: StoreEvent) => void) {
    this.#database = new Database(settings, tell);
  }

  // In chunks with a pause after each, so that a question need not wait for the end of a long backlog.
  async ship(to: Position): Promise<Shipped> {
    let rows = 0;
    let damaged = 0;
    for (;;) {
      const chunk = this.#database.run(({ spend }) => spend.shipChunk(to));
      rows += chunk.rows;
      damaged += chunk.damaged;
      if (chunk.done) return { position: chunk.position, rows, damaged };
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  async query(filter: SpendFilter, paging: SpendPaging): Promise<SpendPage> {
    return this.#database.run(({ spend }) => spend.query(filter, paging));
  }

  async summarize(filter: SpendFilter): Promise<readonly DaySpend[]> {
    return this.#database.run(({ spend }) => spend.summarize(filter));
  }

  async activity(
    filter: ActivityFilter,
    groupBy: readonly (Facet | 'day')[],
    limit: number,
  ): Promise<readonly Activity[]> {
    return this.#database.run(({ spend }) => spend.activity(filter, groupBy, limit));
  }

  async totals(sessionIds: readonly string[]): Promise<readonly (SessionTotals | null)[]> {
    return this.#database.run(({ spend }) => spend.totals(sessionIds));
  }

  async findByUpstreamId(upstreamId: string): Promise<MadeBy | null> {
    return this.#database.run(({ spend }) => spend.findByUpstreamId(upstreamId));
  }

  async listModels(): Promise<readonly StoredModel[]> {
    return this.#database.run(({ models }) => models.list());
  }

  async putModel(id: string, entry: StoredModel['entry']): Promise<void> {
    this.#database.run(({ models }) => models.put(id, entry, Date.now()));
  }

  async deleteModel(id: string): Promise<boolean> {
    return this.#database.run(({ models }) => models.delete(id));
  }

  async prune(beforeMs: number): Promise<Pruned> {
    return this.#database.run(({ spend }) => spend.prune(beforeMs));
  }

  async close(): Promise<void> {
    this.#database.close();
  }
}

const { file, journal, saltKey } = workerData as SqliteData;
serveStore((tell) => new SqliteStore({ file, journal, saltKey }, tell));
