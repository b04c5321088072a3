// The embedded database's own thread: opens it, takes over the journal, answers questions, one message at a time.
// Must never touch the journal's segments but to read them. The main thread speaks to it through sqlite-store.ts.
import { closeSync, openSync, renameSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { Secret } from '../../config/secret.ts';
import { migrate } from './migrations.ts';
import { SqliteModels } from './sqlite-models.ts';
import { SqliteSpend } from './sqlite-spend.ts';
import type { JournalPlace } from './sqlite-spend.ts';
import type { Position } from './segments.ts';
import { StoreUnavailable } from './store.ts';
import type {
  DaySpend,
  SessionTotals,
  Shipped,
  SpendFilter,
  SpendPage,
  SpendPaging,
  SpendReader,
  StoredModel,
  StoreEvent,
  StoreTrouble,
} from './store.ts';

/** What the worker is started with. */
export interface WorkerSettings {
  readonly file: string;
  readonly journal: JournalPlace;
  readonly saltKey: string | null;
}

/** The questions a worker answers: arguments and value of each. */
export interface Calls {
  ship: { readonly args: Position; readonly value: Shipped };
  query: {
    readonly args: { readonly filter: SpendFilter; readonly paging: SpendPaging };
    readonly value: SpendPage;
  };
  summarize: { readonly args: SpendFilter; readonly value: readonly DaySpend[] };
  findByUpstreamId: {
    readonly args: string;
    readonly value: Awaited<ReturnType<SpendReader['findByUpstreamId']>>;
  };
  totals: { readonly args: readonly string[]; readonly value: readonly (SessionTotals | null)[] };
  listModels: { readonly args: null; readonly value: readonly StoredModel[] };
  putModel: { readonly args: StoredModel; readonly value: null };
  deleteModel: { readonly args: string; readonly value: boolean };
  close: { readonly args: null; readonly value: null };
}

export type CallName = keyof Calls;
export type Question = {
  [K in CallName]: { readonly id: number; readonly name: K; readonly args: Calls[K]['args'] };
}[CallName];

/** What comes back: an answer to a question, or an event for the log. */
export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly trouble: StoreTrouble; readonly message: string }
  | { readonly event: StoreEvent };

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
  readonly #settings: WorkerSettings;
  readonly #tell: (event: StoreEvent) => void;
  #opened: Opened | null = null;

  constructor(settings: WorkerSettings, tell: (event: StoreEvent) => void) {
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
      if (corrupt) this.#moveAside(error as Error);
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

function serve(): void {
  const port = parentPort;
  if (port === null) throw new Error('sqlite-worker runs as a worker thread only');
  const database = new Database(workerData as WorkerSettings, (event) =>
    port.postMessage({ event } satisfies Reply),
  );
  port.on('message', (question: Question) => {
    void respond(database, question, port);
  });
}

async function respond(database: Database, question: Question, port: MessagePort): Promise<void> {
  port.postMessage(await answer(database, question));
  if (question.name === 'close') port.close();
}

async function answer(database: Database, question: Question): Promise<Reply> {
  const { id } = question;
  try {
    const value = question.name === 'ship' ? await ship(database, question.args) : ask(database, question);
    return { id, value };
  } catch (error) {
    const trouble = error instanceof StoreUnavailable ? error.trouble : 'unavailable';
    return { id, trouble, message: (error as Error).message };
  }
}

// In chunks with a pause after each, so that a question need not wait for the end of a long backlog.
async function ship(database: Database, to: Position): Promise<Shipped> {
  let rows = 0;
  let damaged = 0;
  for (;;) {
    const chunk = database.run(({ spend }) => spend.shipChunk(to));
    rows += chunk.rows;
    damaged += chunk.damaged;
    if (chunk.done) return { position: chunk.position, rows, damaged };
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function ask(database: Database, question: Exclude<Question, { name: 'ship' }>): unknown {
  switch (question.name) {
    case 'query':
      return database.run(({ spend }) => spend.query(question.args.filter, question.args.paging));
    case 'summarize':
      return database.run(({ spend }) => spend.summarize(question.args));
    case 'totals':
      return database.run(({ spend }) => spend.totals(question.args));
    case 'findByUpstreamId':
      return database.run(({ spend }) => spend.findByUpstreamId(question.args));
    case 'listModels':
      return database.run(({ models }) => models.list());
    case 'putModel':
      database.run(({ models }) => models.put(question.args.id, question.args.entry, Date.now()));
      return null;
    case 'deleteModel':
      return database.run(({ models }) => models.delete(question.args));
    case 'close':
      database.close();
      return null;
  }
}

serve();
