// A store as the main thread sees it: questions to a worker thread, answers as promises. No database work happens on
// this thread, so no request ever waits for a disk or a server. A worker that dies is replaced by the next question.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { DatabaseSettings } from '../../../config/snapshot.ts';
import type { Secret } from '../../../config/secret.ts';
import type { GuestTables } from './extension-tables.ts';
import type { JournalPlace } from './journal-chunk.ts';
import type { DatabaseData } from './postgres/settings.ts';
import { databaseData } from './postgres/settings.ts';
import type { Answers, Method, Question, Reply } from './serve-store.ts';
import { axisOf } from './sql/spend-sql.ts';
import { StoreUnavailable } from './store.ts';
import type { Store, StoreEvent } from './store.ts';

/** What a store is opened with. */
export interface WorkerStoreOptions {
  /** The embedded database's path, whose directory must exist, or a PostgreSQL server. */
  readonly place: { readonly file: string } | { readonly database: DatabaseSettings };
  readonly journal: JournalPlace;
  /** Encrypts runtime models; null: they cannot be stored. */
  readonly saltKey: Secret | null;
  readonly onEvent: (event: StoreEvent) => void;
}

/** What the worker of the embedded database is started with. */
export interface SqliteData {
  readonly file: string;
  readonly journal: JournalPlace;
  readonly saltKey: string | null;
}

/** What the worker of a PostgreSQL store is started with. */
export interface PostgresData {
  readonly database: DatabaseData;
  readonly journal: JournalPlace;
  readonly saltKey: string | null;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: StoreUnavailable) => void;
}

// Built, this file's neighbours end in .js; run unbuilt, in .ts.
/** V8 lets it grow to 48 MB under load by itself; with half of that the thread costs no more CPU. */
const YOUNG_MB = 24;

const UNBUILT = import.meta.url.endsWith('.ts');
const SQLITE = new URL(UNBUILT ? './sqlite/worker.ts' : './sqlite/worker.js', import.meta.url);
const POSTGRES = new URL(UNBUILT ? './postgres/worker.ts' : './postgres/worker.js', import.meta.url);

/** The `Store` interface over a thread of its own. */
export class WorkerStore implements Store {
  readonly #options: WorkerStoreOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = 0;
  #closed = false;
  /** Tables of others in the same database; null: it is a file of this store's own. */
  readonly guests: GuestTables | null;

  constructor(options: WorkerStoreOptions) {
    this.#options = options;
    this.guests =
      'file' in options.place
        ? null
        : {
            migrateGuest: (...args) => this.#ask('migrateGuest', args),
            transact: (...args) => this.#ask('transact', args),
          };
  }

  ship(...args: Parameters<Store['ship']>): ReturnType<Store['ship']> {
    return this.#ask('ship', args);
  }

  query(...args: Parameters<Store['query']>): ReturnType<Store['query']> {
    return this.#ask('query', args);
  }

  summarize(...args: Parameters<Store['summarize']>): ReturnType<Store['summarize']> {
    return this.#ask('summarize', args);
  }

  async activity(...args: Parameters<Store['activity']>): ReturnType<Store['activity']> {
    axisOf(args[0], args[1]); // here, so that a question without an answer is not taken for a store in trouble
    return this.#ask('activity', args);
  }

  totals(...args: Parameters<Store['totals']>): ReturnType<Store['totals']> {
    return args[0].length === 0 ? Promise.resolve([]) : this.#ask('totals', args);
  }

  findByUpstreamId(...args: Parameters<Store['findByUpstreamId']>): ReturnType<Store['findByUpstreamId']> {
    return this.#ask('findByUpstreamId', args);
  }

  listModels(): ReturnType<Store['listModels']> {
    return this.#ask('listModels', []);
  }

  putModel(...args: Parameters<Store['putModel']>): ReturnType<Store['putModel']> {
    return this.#ask('putModel', args);
  }

  deleteModel(...args: Parameters<Store['deleteModel']>): ReturnType<Store['deleteModel']> {
    return this.#ask('deleteModel', args);
  }

  prune(...args: Parameters<Store['prune']>): ReturnType<Store['prune']> {
    return this.#ask('prune', args);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const worker = this.#worker;
    const closing = worker === null ? Promise.resolve() : this.#ask('close', []);
    this.#closed = true;
    await closing.catch(() => undefined);
    await worker?.terminate();
  }

  #ask<K extends Method>(name: K, args: Parameters<(Store & GuestTables)[K]>): Promise<Answers[K]> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('unavailable', 'the store is closed'));
    const worker = (this.#worker ??= this.#start());
    const id = ++this.#lastId;
    if (this.#waiting.size === 0) worker.ref(); // an awaited answer keeps the process alive, an idle worker does not
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (value) => resolve(value as Answers[K]), reject });
      worker.postMessage({ id, name, args } satisfies Question);
    });
  }

  #start(): Worker {
    const { place, journal, saltKey } = this.#options;
    const shared = { journal, saltKey: saltKey?.reveal() ?? null };
    const embedded = 'file' in place;
    const workerData: SqliteData | PostgresData = embedded
      ? { file: place.file, ...shared }
      : { database: databaseData(place.database), ...shared };
    // Nothing of the process is inherited, neither its environment (secrets) nor loaders of a test runner, but the
    // compile cache: without it each thread that strips types holds 15 MB for that.
    const cache = getCompileCacheDir();
    const env = cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
    const worker = new Worker(embedded ? SQLITE : POSTGRES, {
      workerData,
      env,
      execArgv: [],
      name: 'throughline-store',
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    worker.unref();
    worker.on('message', (reply: Reply) => this.#receive(worker, reply));
    worker.on('error', (error: Error) => this.#lose(worker, error.message));
    worker.on('exit', (code) => this.#lose(worker, `it ended with code ${code}`));
    return worker;
  }

  #receive(worker: Worker, reply: Reply): void {
    if ('event' in reply) {
      this.#options.onEvent(reply.event);
      return;
    }
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) worker.unref();
    if ('trouble' in reply) waiting?.reject(new StoreUnavailable(reply.trouble, reply.message));
    else waiting?.resolve(reply.value);
  }

  #lose(worker: Worker, cause: string): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    const error = new StoreUnavailable('unavailable', `the store's thread was lost: ${cause}`);
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
