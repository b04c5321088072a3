// The thread on which an item store's SQLite runs. Opens the database with the first call, and again after an error, so
// that a disk that works again needs no restart.
import { closeSync, openSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { fileIdAt } from '../base/file-id.ts';
import { postEvent, serveCalls } from '../base/worker-rpc.ts';
import { SqliteItems } from './sqlite-items.ts';
import type { ItemCalls, SqliteItemsData } from './sqlite-store.ts';

const BUSY_MS = 5_000; // a backup tool may hold the database for a moment, as another process that writes

class Database {
  #data: SqliteItemsData;
  #db: DatabaseSync | null = null;
  #items: SqliteItems | null = null;
  #fileId: string | null = null;

  constructor(data: SqliteItemsData) {
    this.#data = data;
  }

  open(): SqliteItems {
    // Changes that go into a file without a name are lost without an error.
    if (this.#items !== null && fileIdAt(this.#data.file) !== this.#fileId) this.close();
    return (this.#items ??= this.#openAnew());
  }

  #openAnew(): SqliteItems {
    const { file, sharing, makes } = this.#data;
    if (!makes && fileIdAt(file) === null)
      throw new Error(
        `the database ${file} was removed while it was in use - put it back, or restart the proxy to begin without what it held`,
      );
    closeSync(openSync(file, 'a', 0o600)); // SQLite would make it readable for all
    this.#db ??= new DatabaseSync(file, { timeout: BUSY_MS });
    // FULL: a change that was answered is on the disk; some changes a second at most, so the sync costs nobody.
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;');
    const items = new SqliteItems(this.#db, basename(file), sharing);
    this.#fileId = fileIdAt(file);
    if (makes) {
      this.#data = { ...this.#data, makes: false };
      postEvent('opened');
    }
    return items;
  }

  /** What a caller gets to know of an error. The next call opens the database again. */
  failed(error: Error): Error {
    this.close();
    if (!('errcode' in error || 'syscall' in error)) return error;
    return new Error(
      `the database ${this.#data.file} cannot be used: ${error.message} - see that it is whole and writable and that its disk has space; ` +
        `a backup of it may take its place`,
    );
  }

  /** Another database from the next call on; the present one is closed. */
  moveTo(data: SqliteItemsData): void {
    this.close();
    this.#data = data;
  }

  close(): void {
    this.#db?.close();
    this.#db = null;
    this.#items = null;
  }
}

const database = new Database(workerData as SqliteItemsData);
serveCalls<ItemCalls>({
  methods: () => database.open(),
  onError: (error) => database.failed(error),
  onClose: () => database.close(),
  onReopen: (data) => database.moveTo(data as SqliteItemsData),
});
