// The embedded store as the main thread sees it: questions to a worker thread, answers as promises. No database work
// happens on this thread, so no request ever waits for a disk. A worker that dies is replaced by the next question.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Secret } from '../../config/secret.ts';
import type { Position } from './segments.ts';
import type { JournalPlace } from './sqlite-spend.ts';
import type { CallName, Calls, Question, Reply, WorkerSettings } from './sqlite-worker.ts';
import { StoreUnavailable } from './store.ts';
import type { Store, StoreEvent } from './store.ts';

/** What an embedded store is opened with. */
export interface SqliteStoreOptions {
  /** Path of the database; its directory must exist. */
  readonly file: string;
  readonly journal: JournalPlace;
  /** Encrypts runtime models; null: they cannot be stored. */
  readonly saltKey: Secret | null;
  readonly onEvent: (event: StoreEvent) => void;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: StoreUnavailable) => void;
}

// Built, this file's neighbours end in .js; run unbuilt, in .ts.
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './sqlite-worker.ts' : './sqlite-worker.js',
  import.meta.url,
);

/** SQLite behind the `Store` interface. */
export class SqliteStore implements Store {
  readonly #options: SqliteStoreOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = 0;
  #closed = false;

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
  }

  ship(to: Position): Promise<Calls['ship']['value']> {
    return this.#ask('ship', to);
  }

  query(
    filter: Calls['query']['args']['filter'],
    paging: Calls['query']['args']['paging'],
  ): Promise<Calls['query']['value']> {
    return this.#ask('query', { filter, paging });
  }

  summarize(filter: Calls['summarize']['args']): Promise<Calls['summarize']['value']> {
    return this.#ask('summarize', filter);
  }

  findByUpstreamId(upstreamId: string): Promise<Calls['findByUpstreamId']['value']> {
    return this.#ask('findByUpstreamId', upstreamId);
  }

  totals(sessionIds: readonly string[]): Promise<Calls['totals']['value']> {
    return sessionIds.length === 0 ? Promise.resolve([]) : this.#ask('totals', sessionIds);
  }

  listModels(): Promise<Calls['listModels']['value']> {
    return this.#ask('listModels', null);
  }

  async putModel(id: string, entry: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#ask('putModel', { id, entry });
  }

  deleteModel(id: string): Promise<boolean> {
    return this.#ask('deleteModel', id);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const worker = this.#worker;
    const closing = worker === null ? Promise.resolve(null) : this.#ask('close', null);
    this.#closed = true;
    await closing.catch(() => null);
    await worker?.terminate();
  }

  #ask<K extends CallName>(name: K, args: Calls[K]['args']): Promise<Calls[K]['value']> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('unavailable', 'the store is closed'));
    const worker = (this.#worker ??= this.#start());
    const id = ++this.#lastId;
    if (this.#waiting.size === 0) worker.ref(); // an awaited answer keeps the process alive, an idle worker does not
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (value) => resolve(value as Calls[K]['value']), reject });
      const question = { id, name, args } as Question;
      worker.postMessage(question);
    });
  }

  #start(): Worker {
    const { file, journal, saltKey } = this.#options;
    const workerData: WorkerSettings = { file, journal, saltKey: saltKey?.reveal() ?? null };
    // Nothing of the process is inherited, neither its environment (secrets) nor loaders of a test runner, but the
    // compile cache: without it each thread that strips types holds 15 MB for that.
    const cache = getCompileCacheDir();
    const env = cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
    const worker = new Worker(WORKER_URL, { workerData, env, execArgv: [], name: 'throughline-store' });
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
