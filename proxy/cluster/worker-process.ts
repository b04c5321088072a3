// One worker as the supervisor sees it: a process with a number, a channel, and one end.
import cluster from 'node:cluster';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Channel } from './channel.ts';
import type { OfSupervisor, OfWorker } from './protocol.ts';

/** How a process ended: one of the two is null. */
export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The handle that node:cluster sends with a connection; `fd` is negative once it is closed in this process. */
interface Connection {
  readonly fd: number;
  close(): void;
}

export class WorkerProcess {
  /** Counts from 1; a replacement gets the same number. */
  readonly number: number;
  readonly pid: number;
  readonly channel: Channel<OfWorker, OfSupervisor>;
  readonly ended: Promise<Ended>;
  /** Knows the configuration that was served when it joined, and must hear of every later one. */
  joined = false;
  /** Monotonic milliseconds; null until it takes connections. */
  servingSince: number | null = null;
  gone = false;
  readonly #worker: ReturnType<typeof cluster.fork>;
  readonly #sent = new Set<Connection>();
  #stale: ReadonlySet<Connection> = new Set();

  /** Starts it with the arguments of `cluster.setupPrimary`. */
  constructor(number: number) {
    this.number = number;
    // Spares stripping and compiling at each start, and the 15 MB that stripping holds.
    const cache = getCompileCacheDir();
    this.#worker = cluster.fork(cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) });
    this.pid = this.#worker.process.pid ?? 0;
    this.channel = new Channel(this.#worker);
    this.#watchConnections();
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: string | null): void => {
        this.gone = true;
        this.dropUntaken();
        resolve({ code, signal });
      };
      this.#worker.once('exit', end);
      this.#worker.once('error', () => this.pid === 0 && end(null, null)); // it could not be started
    });
  }

  /** Names the process; no other one ever has the same. */
  get id(): number {
    return this.#worker.id;
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  /**
   * Closes connections that were sent to this worker and not accepted. node:cluster forgets one when its worker dies before
   * it answers, and when the last worker that listened refuses it: the client would wait for ever.
   */
  dropUntaken(): void {
    for (const connection of this.#sent) connection.close(); // what was taken is closed here already; the worker has it
    this.#sent.clear();
  }

  /** Closes those that were already pending at the last call: a worker that stops may still accept new ones. */
  dropStale(): void {
    for (const connection of this.#sent) {
      if (!this.#stale.has(connection)) continue;
      connection.close();
      this.#sent.delete(connection);
    }
    this.#stale = new Set(this.#sent);
  }

  #watchConnections(): void {
    const child = this.#worker.process;
    const send = child.send.bind(child) as (...args: readonly unknown[]) => boolean;
    child.send = (...args: readonly unknown[]) => {
      for (const connection of this.#sent) if (connection.fd < 0) this.#sent.delete(connection); // closed: taken
      const [, handle] = args;
      if (typeof handle === 'object' && handle !== null && 'fd' in handle)
        this.#sent.add(handle as Connection);
      return send(...args);
    };
  }
}
