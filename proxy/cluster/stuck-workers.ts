// Finds workers that do nothing any more: an endless loop, a stopped process. Such a one does not end by itself, holds its calls
// and its turn for ever, and is no worker of those that were asked for.
import type { Log } from '../observability/logger.ts';
import type { WorkerProcess } from './worker-process.ts';

/** The pause between two looks. */
export const LOOK_MS = 1_000;

/**
 * A worker that answers nothing through so many looks is killed. Looks are counted, not the time: a machine that slept, or that has no
 * core for its processes, lets no looks happen either. Nothing that a worker does in one step takes a tenth of this; 10,000 models
 * take a second.
 */
export const STUCK_LOOKS = 60;

export class StuckWorkers {
  readonly #log: Log;
  /** Looks since a worker was asked, of those that have not answered. */
  readonly #unanswered = new WeakMap<WorkerProcess, number>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Kills those among these that are stuck. @param workers that serve @param replaces those that end */
  look(workers: readonly WorkerProcess[], replaces: boolean): void {
    for (const worker of workers) {
      const looks = this.#unanswered.get(worker);
      if (looks === undefined) this.#ask(worker);
      else {
        this.#unanswered.set(worker, looks + 1);
        if (looks + 1 === STUCK_LOOKS) this.#kill(worker, replaces);
      }
    }
  }

  #ask(worker: WorkerProcess): void {
    this.#unanswered.set(worker, 0);
    worker.channel.ask('ping', null).then(
      () => this.#unanswered.delete(worker),
      () => undefined, // it is gone
    );
  }

  #kill(worker: WorkerProcess, replaces: boolean): void {
    const { number, pid } = worker;
    this.#log.error(
      { worker: number, pid, silent_ms: STUCK_LOOKS * LOOK_MS },
      replaces ? 'a worker is stuck; it is killed and replaced' : 'a worker is stuck; it is killed',
    );
    worker.kill();
  }
}
