// One writer per data directory. The lock is a transaction held open on `lock.db`, so the operating system releases it
// at whatever end of the process (kill -9 included) and no stale file can keep a restart out.
import { closeSync, existsSync, openSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const WAIT_MS = 500; // a holder that starts at the same moment needs some milliseconds to write its name
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** Another process writes to this data directory. The message names it and how to fix it. */
export class DirectoryLocked extends Error {
  override readonly name = 'DirectoryLocked';
  readonly dir: string;
  /** `pid 4711 on host-a`. */
  readonly holder: string;

  constructor(dir: string, holder: string) {
    super(
      `the data directory ${dir} is in use by another Throughline process (${holder}) - ` +
        `stop that process, or give this one a directory of its own with --data-dir`,
    );
    this.dir = dir;
    this.holder = holder;
  }
}

/** A held lock. */
export interface DirectoryLock {
  /** Idempotent. */
  release(): void;
}

/**
 * Takes the lock of an existing data directory.
 * @throws DirectoryLocked when another process (or another ledger of this one) holds it
 */
export function lockDirectory(dir: string): DirectoryLock {
  const file = join(dir, 'lock.db');
  closeSync(openSync(file, 'a', 0o600)); // SQLite would make it readable for all
  const db = new DatabaseSync(file, { timeout: WAIT_MS });
  try {
    // RESERVED, not EXCLUSIVE: one writer, while others can still read who it is.
    db.exec('BEGIN IMMEDIATE');
    db.exec('CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT) STRICT');
    db.prepare('INSERT INTO holder VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET name = excluded.name').run(
      `pid ${process.pid} on ${hostname()}`,
    );
    db.exec('COMMIT');
    db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    const code = (error as { errcode?: number }).errcode;
    const holder = code === SQLITE_BUSY ? holderOf(db) : '';
    db.close();
    if (code === SQLITE_BUSY) throw new DirectoryLocked(dir, holder);
    if (code !== SQLITE_CORRUPT && code !== SQLITE_NOTADB) throw error;
    throw new Error('lock.db is damaged; it holds no data: remove it while no proxy runs there', {
      cause: error,
    });
  }
  return {
    release: () => {
      if (db.isOpen) db.close();
    },
  };
}

function holderOf(db: DatabaseSync): string {
  try {
    if (db.isTransaction) db.exec('ROLLBACK');
    return String(db.prepare('SELECT name FROM holder').get()?.['name'] ?? 'unknown');
  } catch {
    return 'unknown'; // its first commit is under way
  }
}

/** Who holds the lock of a data directory; null = nobody. Changes nothing, and never keeps a process from starting. */
export function lockHolder(dir: string): string | null {
  const file = join(dir, 'lock.db');
  if (!existsSync(file)) return null;
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec('BEGIN IMMEDIATE');
    db.exec('ROLLBACK');
    return null;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return holderOf(db);
    throw error;
  } finally {
    db.close();
  }
}
