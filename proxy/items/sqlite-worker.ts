// The thread on which an item store's SQLite runs. Opens the database with the first call, and again after an error, so
// that a disk that works again needs no restart.
import { closeSync, openSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { serveCalls } from '../base/worker-rpc.ts';
import { SqliteItems } from './sqlite-items.ts';
import type { ItemCalls, SqliteItemsData } from './sqlite-store.ts';

const BUSY_MS = 5_000; // a backup tool may hold the database for a moment, as another process that writes

class Database {
  #data: SqliteItemsData;
  #db: DatabaseSync | null = null;
  #items: SqliteItems | null = null;

  constructor(data: SqliteItemsData) {
    this.#data = data;
  }

  open(): SqliteItems {
    if (this.#items !== null) return this.#items;
    const { file, sharing } = this.#data;
    closeSync(openSync(file, 'a', 0o600)); // SQLite would make it readable for all
    this.#db ??= new DatabaseSync(file, { timeout: BUSY_MS });
    // FULL: a change that was answered is on the disk; some changes a second at most, so the sync costs nobody.
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;');
    return (this.#items = new SqliteItems(this.#db, basename(file), sharing));
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
  onError: (error) => {
    database.close();
    return error;
  },
  onClose: () => database.close(),
  onReopen: (data) => database.moveTo(data as SqliteItemsData),
});
