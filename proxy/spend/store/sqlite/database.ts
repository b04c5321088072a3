// The embedded database's file: opened when it is needed, opened again after an error, moved aside when it is damaged.
// Runs in the worker only. Never touches the journal.
import { closeSync, openSync, renameSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { errorCode } from '../../../../config/error-code.ts';
import { Secret } from '../../../../config/secret.ts';
import { fileIdAt } from '../../../base/file-id.ts';
import type { SpendEvent } from '../../event.ts';
import { StoreUnavailable } from '../store.ts';
import { ThreadHeap } from '../thread-heap.ts';
import type { SqliteWorkerData } from './backend.ts';
import { isDamage } from './damage.ts';
import { migrate } from './migrations.ts';
import { SqliteStore } from './store.ts';

interface Opened {
  readonly db: DatabaseSync;
  readonly fileId: string | null;
  readonly store: SqliteStore;
}

const BUSY_WAIT_MS = 2_000;

export class Database {
  #settings: SqliteWorkerData;
  readonly #tell: (event: SpendEvent) => void;
  readonly #heap = new ThreadHeap();
  #opened: Opened | null = null;

  constructor(settings: SqliteWorkerData, tell: (event: SpendEvent) => void) {
    this.#settings = settings;
    this.#tell = tell;
  }

  /** The store, opened if it is not. */
  open(): SqliteStore {
    // Rows written to a deleted file would be lost without an error.
    if (!this.#hasItsName) this.#leaveRemoved();
    return (this.#opened ??= this.#openAnew()).store;
  }

  /** What a caller gets to know of an error of `open` or of the store. The next call opens the database again. */
  failed(error: Error): Error {
    if (error instanceof StoreUnavailable || error instanceof RangeError) return error;
    // Another process may have moved it aside already; what has the name now is the new one.
    if (isDamage(error) && this.#hasItsName) this.#moveAside(error);
    this.close();
    return new StoreUnavailable('unavailable', this.#explain(error));
  }

  /** Another database from the next call on; the present one is closed. */
  moveTo(settings: SqliteWorkerData): void {
    this.close();
    this.#settings = settings;
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

  /** What is open, if anything is, is what has the name. */
  get #hasItsName(): boolean {
    return this.#opened === null || fileIdAt(this.#settings.file) === this.#opened.fileId;
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
      const store = new SqliteStore(db, journal, saltKey === null ? null : new Secret(saltKey), this.#heap);
      return { db, fileId: fileIdAt(file), store };
    } catch (error) {
      db.close();
      throw error;
    }
  }

  #leaveRemoved(): void {
    const { file } = this.#settings;
    this.close();
    this.#tell({
      level: 'error',
      name: 'store_removed',
      message:
        `the database ${file} was removed or replaced while it was in use; the one of that name is used from now on, made if there is none. ` +
        `It gets the rows that the journal still holds; older ones and runtime models are in the former one alone - ` +
        `to have them, stop the proxy and put that one or a backup back`,
    });
  }

  #moveAside(cause: Error): void {
    const { file } = this.#settings;
    this.close();
    const aside = `${file}.damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
    for (const suffix of ['', '-wal', '-shm']) {
      try {
        renameSync(file + suffix, aside + suffix);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
      }
    }
    this.#tell({
      level: 'error',
      name: 'store_moved_aside',
      message:
        `the database ${file} is damaged (${cause.message}); it was moved to ${aside} and a new one is made. ` +
        `Runtime models ${this.#salvageModels(aside) ? 'were copied' : 'could not be read from it'}; rows that the ` +
        `journal still holds are taken over again, older ones are in the moved file - ` +
        `read them with: sqlite3 ${aside} .dump (docs/operating.md, "A damaged database")`,
    });
  }

  // Often only pages of the large spend table are hurt, and models are what requests need.
  #salvageModels(aside: string): boolean {
    try {
      const { db } = (this.#opened ??= this.#openAnew());
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
      `see that its directory exists, is writable and has space; the journal keeps all records meanwhile`
    );
  }
}
