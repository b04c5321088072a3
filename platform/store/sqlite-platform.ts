// The wing's embedded store as the main thread sees it: questions to a worker thread, answers as promises. No disk is
// waited for on the thread that serves LLM calls. A worker that dies is replaced by the next question.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CallName, Calls, Question, Reply } from './sqlite-worker.ts';
import {
  PlatformStoreUnavailable,
  type Change,
  type Filter,
  type Kind,
  type Part,
  type PlatformStore,
} from './store.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: PlatformStoreUnavailable) => void;
}

// Built, this file's neighbours end in .js; run unbuilt, in .ts.
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './sqlite-worker.ts' : './sqlite-worker.js',
  import.meta.url,
);

/** SQLite behind the `PlatformStore` interface. */
export class SqlitePlatform implements PlatformStore {
  readonly #file: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #lastId = 0;
  #closed = false;

  /** @param file path of the database; its directory must exist */
  constructor(file: string) {
    this.#file = file;
  }

  get(kind: Kind, ids: readonly string[]): Promise<Calls['get']['value']> {
    return ids.length === 0 ? Promise.resolve([]) : this.#ask('get', { kind, ids });
  }

  search(filter: Filter, part: Part): Promise<Calls['search']['value']> {
    return this.#ask('search', { filter, part });
  }

  count(filter: Filter): Promise<number> {
    return this.#ask('count', filter);
  }

  scan(kind: Kind, after: string, limit: number): Promise<Calls['scan']['value']> {
    return this.#ask('scan', { kind, after, limit });
  }

  apply(changes: readonly Change[]): Promise<'applied' | 'conflict'> {
    return this.#ask('apply', changes);
  }

  /** Nobody else writes to the file. */
  news(): Promise<null> {
    return Promise.resolve(null);
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
    if (this.#closed) return Promise.reject(new PlatformStoreUnavailable('the store is closed'));
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
    // Nothing of the process is inherited but the compile cache: neither its secrets nor a test runner's loaders.
    const cache = getCompileCacheDir();
    const env = cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
    const workerData = { file: this.#file };
    const worker = new Worker(WORKER_URL, { workerData, env, execArgv: [], name: 'throughline-platform' });
    worker.unref();
    worker.on('message', (reply: Reply) => this.#receive(reply));
    worker.on('error', (error: Error) => this.#lose(worker, error.message));
    worker.on('exit', (code) => this.#lose(worker, `it ended with code ${code}`));
    return worker;
  }

  #receive(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if ('trouble' in reply) waiting?.reject(new PlatformStoreUnavailable(reply.trouble));
    else waiting?.resolve(reply.value);
  }

  #lose(worker: Worker, cause: string): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    const error = new PlatformStoreUnavailable(`the store's thread was lost: ${cause}`);
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
