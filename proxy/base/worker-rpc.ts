// RPC to a worker thread: a typed client on this side, an object with methods on the other. Arguments and results are
// structured clones. The thread starts with the first call; when it dies, pending calls reject and the next call starts
// another one. A thread that was closed in order can serve another client, see `keepThreads`. Knows no method by name.
import { getCompileCacheDir } from 'node:module';
import { dirname, extname } from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';
import type { MessagePort, ResourceLimits, Transferable } from 'node:worker_threads';
import { asError } from './as-error.ts';

/** The methods of `M` as callers see them: each returns a promise. */
type RemoteMethods<M> = {
  readonly [K in keyof M]: M[K] extends (...args: infer A) => infer R
    ? (...args: A) => Promise<Awaited<R>>
    : never;
};

/** What a worker implements for callers of `M`: at once or by a promise. */
export type Implementation<M> = {
  readonly [K in keyof M]: M[K] extends (...args: infer A) => infer R
    ? (...args: A) => Awaited<R> | Promise<Awaited<R>>
    : never;
};

/** What is transferred of an error. */
export interface ErrorData {
  /** `RangeError`; `WorkerLost` when the thread died, `WorkerClosed` for what `close` did not wait for and for later calls. */
  readonly name: string;
  readonly message: string;
  /** The error's `code`, where it is a text. */
  readonly code: string | null;
}

interface WorkerOptions<Event> {
  /** The worker's file, see `workerFile`. It must call `serveCalls`. */
  readonly file: URL;
  /** Name of the thread, for profilers and `ps -T`. */
  readonly name: string;
  /** Made for each thread; secrets in it are plain text. */
  readonly data?: () => unknown;
  /** Nothing else of the process's environment is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: ResourceLimits;
  /** A thread without calls for so long is closed, and the next call starts another: one is 10 MB. Absent: it stays. */
  readonly idleMs?: number;
  /** Makes what a call rejects with. */
  readonly toError: (data: ErrorData) => Error;
  readonly onEvent?: (event: Event) => void;
  /** A thread died by itself, whether or not calls were pending. */
  readonly onLost?: (error: Error) => void;
}

interface Request {
  readonly id: number;
  /** null: close; the one argument says whether the thread is kept for another client. */
  readonly method: string | null;
  readonly args: readonly unknown[];
}

/** The first message of a client to a thread that another one has closed. */
interface Reopening {
  readonly reopenWith: unknown;
}

type Message =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorData }
  | { readonly event: unknown };

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A worker beside the module at `importMetaUrl`: its name ends in `.ts` unbuilt and in `.js` built, as the module's. */
export function workerFile(path: string, importMetaUrl: string): URL {
  return new URL(`${path}${extname(importMetaUrl)}`, importMetaUrl);
}

/** Closed threads of this process, by what they were started as. */
class IdleThreads {
  readonly #byKind = new Map<string, Worker[]>();
  /** Whether any are kept. */
  isOn = false;

  add(kind: string, worker: Worker): void {
    const idle = this.#byKind.get(kind) ?? [];
    idle.push(worker);
    this.#byKind.set(kind, idle);
    worker.once('exit', () => idle.splice(idle.indexOf(worker), 1));
  }

  take(kind: string): Worker | undefined {
    return this.#byKind.get(kind)?.pop();
  }
}

const idleThreads = new IdleThreads();

/**
 * From now on a closed thread serves the next client of its kind in this process, where its file allows it. For a process
 * that opens and closes many: a thread costs 60 ms of CPU to start, and its code runs cold.
 */
export function keepThreads(): void {
  idleThreads.isOn = true;
}

/** Removes what a client listens to; more listeners are Node's own. */
function forget(worker: Worker): void {
  for (const event of ['message', 'messageerror', 'error', 'exit']) worker.removeAllListeners(event);
  worker.unref();
}

/** One worker thread at a time, and the calls to it. */
export class WorkerRpc<M extends object, Event = never> {
  /** The methods of `M`, and `close` of this object. */
  readonly calls: RemoteMethods<M> & { close(): Promise<void> };
  readonly #options: WorkerOptions<Event>;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  /** Settles when the last thread that was idle for long has ended. */
  #ended: Promise<void> = Promise.resolve();
  #lastId = 0;
  #closed = false;

  constructor(options: WorkerOptions<Event>) {
    this.#options = options;
    const methods = new Map<string | symbol, unknown>([
      ['close', () => this.close()],
      ['then', undefined], // a promise may resolve to this object
    ]);
    const call =
      (name: string) =>
      (...args: readonly unknown[]): Promise<unknown> =>
        this.#post(name, args, []);
    this.calls = new Proxy({} as typeof this.calls, {
      get: (_, name) => {
        if (typeof name === 'string' && !methods.has(name)) methods.set(name, call(name));
        return methods.get(name);
      },
    });
  }

  /** As `calls[method](...args)`, but moves these buffers to the thread in place of copying them. */
  transfer<K extends keyof M & string>(
    method: K,
    args: Parameters<RemoteMethods<M>[K]>,
    moved: readonly Transferable[],
  ): ReturnType<RemoteMethods<M>[K]> {
    return this.#post(method, args, moved) as ReturnType<RemoteMethods<M>[K]>;
  }

  /** Has the worker close what it holds, then ends the thread. Idempotent; later calls reject. */
  async close(): Promise<void> {
    if (this.#closed) return;
    const worker = this.#worker;
    if (worker === null) {
      this.#closed = true;
      return this.#ended;
    }
    const closing = this.#post(null, [idleThreads.isOn], []);
    this.#closed = true;
    const stays = await closing.catch(() => false);
    const isIdle = this.#pending.size === 0; // a late answer would be taken for one to the next client
    this.#drop(worker, 'it was closed', 'WorkerClosed');
    if (stays === true && isIdle) {
      forget(worker);
      idleThreads.add(this.#kind, worker);
    } else await worker.terminate();
    await this.#ended;
  }

  /** Ends the thread as it is; what is pending rejects, and the next call starts another thread. */
  async terminate(): Promise<void> {
    const worker = this.#worker;
    if (worker !== null) this.#drop(worker, 'it was ended');
    await worker?.terminate();
  }

  #post(method: string | null, args: readonly unknown[], moved: readonly Transferable[]): Promise<unknown> {
    if (this.#closed) {
      const data = {
        name: 'WorkerClosed',
        message: `the thread ${this.#options.name} is closed`,
        code: null,
      };
      return Promise.reject(this.#options.toError(data));
    }
    let worker: Worker;
    try {
      worker = this.#worker ??= this.#start();
    } catch (error) {
      const message = `it cannot be started (${asError(error).message}) - may there be as many processes and threads? See ulimit -u and pids.max`;
      return Promise.reject(this.#options.toError({ name: 'WorkerLost', message, code: null }));
    }
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      worker.postMessage({ id, method, args } satisfies Request, moved);
      clearTimeout(this.#idle ?? undefined);
      if (this.#pending.size === 0) worker.ref(); // a pending call keeps the process alive, an idle worker does not
      this.#pending.set(id, { resolve, reject });
    });
  }

  /** Threads of one kind may take each other's place. */
  get #kind(): string {
    const { file, name, env, limits } = this.#options;
    return JSON.stringify([file.href, name, env, limits]);
  }

  #start(): Worker {
    const kept = idleThreads.take(this.#kind);
    if (kept !== undefined) forget(kept);
    kept?.postMessage({ reopenWith: this.#options.data?.() } satisfies Reopening);
    return this.#listen(kept ?? this.#startAnew());
  }

  #startAnew(): Worker {
    const { file, name, data, env, limits } = this.#options;
    // Neither the environment (secrets) nor a test runner's loaders are inherited, but the compile cache is: without it
    // each thread that strips types holds 15 MB for that.
    const cache = getCompileCacheDir();
    return new Worker(file, {
      name,
      workerData: data?.(),
      env: { ...env, ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }) },
      execArgv: [],
      ...(limits === undefined ? {} : { resourceLimits: limits }),
    });
  }

  #listen(worker: Worker): Worker {
    const { onLost } = this.#options;
    const lost = (cause: string): void => {
      const error = this.#drop(worker, cause);
      if (error !== null) onLost?.(error);
    };
    worker.unref();
    worker.on('message', (message: Message) => this.#receive(worker, message));
    worker.on('messageerror', (error) => lost(error.message));
    worker.on('error', (error: Error) => lost(error.message));
    worker.on('exit', (code) => {
      // A thread that has nothing left to do may end before `close` has ended it.
      if (this.#closed && code === 0) this.#drop(worker, 'it was closed', 'WorkerClosed');
      else lost(`it ended with code ${code}`);
    });
    return worker;
  }

  #receive(worker: Worker, message: Message): void {
    if ('event' in message) {
      this.#options.onEvent?.(message.event as Event);
      return;
    }
    if (this.#worker !== worker) return;
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (this.#pending.size === 0) this.#rest(worker);
    if ('error' in message) pending?.reject(this.#options.toError(message.error));
    else pending?.resolve(message.value);
  }

  /** No call is pending. */
  #rest(worker: Worker): void {
    worker.unref();
    const { idleMs } = this.#options;
    if (idleMs !== undefined && !this.#closed)
      this.#idle = setTimeout(() => this.#endIdle(worker), idleMs).unref();
  }

  /** Closes a thread that has no calls. Those that come meanwhile go to another one. */
  #endIdle(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#ended = this.#closeIdle(worker);
  }

  async #closeIdle(worker: Worker): Promise<void> {
    forget(worker);
    worker.ref(); // what it holds is closed before the process ends
    const closed = new Promise<boolean>((settle) => {
      worker.on('message', (message: Message) => {
        if ('event' in message) this.#options.onEvent?.(message.event as Event);
        else settle('value' in message && message.value === true);
      });
      for (const event of ['messageerror', 'error', 'exit']) worker.on(event, () => settle(false));
    });
    worker.postMessage({ id: 0, method: null, args: [idleThreads.isOn] } satisfies Request);
    const stays = await closed;
    forget(worker);
    if (stays) idleThreads.add(this.#kind, worker);
    else await worker.terminate();
  }

  /** Forgets the thread and rejects pending calls; null when it was forgotten before. */
  #drop(worker: Worker, cause: string, name = 'WorkerLost'): Error | null {
    if (this.#worker !== worker) return null;
    this.#worker = null;
    clearTimeout(this.#idle ?? undefined);
    const error = this.#options.toError({ name, message: cause, code: null });
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    return error;
  }
}

interface ServeOptions<M> {
  /** Called for each call, so that what failed can be opened again. What it throws, the call throws. */
  readonly methods: () => Implementation<M>;
  /** Translates an error for the caller; default: the error itself. */
  readonly onError?: (error: Error) => Error;
  readonly onClose?: () => void | Promise<void>;
  /** Called after `onClose`, before the calls of another client. Absent: the thread serves one client only. */
  readonly onReopen?: (data: unknown) => void;
}

/** Serves calls on this worker's port until the client closes it. */
export function serveCalls<M extends object>(options: ServeOptions<M>): void {
  const port = parentPort;
  if (port === null) throw new Error('calls are served by a worker thread only');
  port.on('message', (message: Request | Reopening) => {
    if ('reopenWith' in message) options.onReopen?.(message.reopenWith);
    else void respond(message, options, port);
  });
}

/** Sends an event to the client's `onEvent`. */
export function postEvent(event: unknown): void {
  parentPort?.postMessage({ event } satisfies Message);
}

async function respond<M extends object>(
  request: Request,
  options: ServeOptions<M>,
  port: MessagePort,
): Promise<void> {
  const message = await resultOf(request, options);
  try {
    port.postMessage(message);
  } catch (error) {
    const { id } = request; // a value that cannot be cloned
    port.postMessage({ id, error: dataOf(asError(error)) } satisfies Message);
  }
  if (request.method === null && !isKept(request, options)) port.close();
}

const isKept = <M extends object>({ args }: Request, { onReopen }: ServeOptions<M>): boolean =>
  args[0] === true && onReopen !== undefined;

async function resultOf<M extends object>(request: Request, options: ServeOptions<M>): Promise<Message> {
  const { id, method, args } = request;
  const { methods, onError = (error: Error) => error, onClose } = options;
  try {
    if (method === null) {
      await onClose?.();
      return { id, value: isKept(request, options) };
    }
    const implementation: Implementation<M> = methods();
    const named: unknown = Reflect.get(implementation, method);
    if (typeof named !== 'function') throw new TypeError(`the worker has no method ${method}`);
    return { id, value: await Reflect.apply(named, implementation, args) };
  } catch (error) {
    return { id, error: dataOf(onError(asError(error))) };
  }
}

function dataOf(error: Error): ErrorData {
  const { name, message, code } = error as Error & { readonly code?: unknown };
  return { name, message, code: typeof code === 'string' ? code : null };
}
