// Starts the workers, replaces those that die, spreads configuration changes, and stops them in order. Serves nothing,
// reads no configuration and keeps no record, so that nothing that crashes a worker can crash it too.
import cluster from 'node:cluster';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../observability/logger.ts';
import { WorkerFigures, type Figures } from '../observability/worker-figures.ts';
import type { SharedConfig, WholeStatus, Welcome } from '../active-config/cluster-peers.ts';
import { ConfigWatcher } from '../server/config-watcher.ts';
import { NoAnswer, type Answers } from './channel.ts';
import type { OfSupervisor, OfWorker, Serving } from './protocol.ts';
import { Turns } from './turns.ts';
import { WorkerProcess, type Ended } from './worker-process.ts';

/** 10,000 models take a second to be prepared, some on a machine without a free core; one that needs longer is stuck. */
const ADOPT_MS = 30_000;
/** Shipping what was written in 0.2 s takes some 20 ms; a reader must not wait for a worker that is stuck. */
const FLUSH_MS = 5_000;
/** Health probes and scrapes must not wait either: a probe has one second by default. */
const LOOK_MS = 500;
/** A worker that has served so long is replaced at once when it ends; one that has not, after growing pauses. */
const SOUND_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A worker that is not stuck takes a connection within some milliseconds; one that is older than this is not taken. */
const SWEEP_MS = 500;
/** After the second signal: 3 s for final responses, and at most 10 s to ship records. */
const CUT_MS = 15_000;

/** What a supervisor is made with. */
interface SupervisorOptions {
  /** Workers, at least 1. */
  readonly count: number;
  readonly log: Log;
  readonly clock: Clock;
}

/** The parent of the workers. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  /** By number. */
  readonly #processes = new Map<number, WorkerProcess>();
  readonly #restarts = new Map<number, NodeJS.Timeout>();
  /** Ends in a row without having served for long, by number. */
  readonly #failures = new Map<number, number>();
  readonly #turns = new Turns();
  readonly #figures: WorkerFigures;
  readonly #watcher: ConfigWatcher;
  readonly #over = Promise.withResolvers<number>();
  /** What all serve; null until the first one serves. */
  #shared: SharedConfig | null = null;
  /** Where the first one serves metrics and administration. */
  #adminWanted: Welcome['adminWanted'] = null;
  /** Every worker has served: from now on one that ends is replaced. */
  #up = false;
  #stops = 0;
  /** While stopping: connections that come to workers which have just closed the port. */
  #sweep: NodeJS.Timeout | null = null;
  #exitCode = 0;
  #lost = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#figures = new WorkerFigures(() => ({ serving: this.#serving().length, lost: this.#lost }));
    this.#watcher = new ConfigWatcher(() => this.reload());
    cluster.setupPrimary({ serialization: 'advanced' }); // same program, same arguments; Maps and Buffers as they are
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /**
   * Runs until all have ended. The first worker starts alone: a broken configuration or machine is reported
   * once, and one process makes or migrates the store.
   * @param onServing called when all serve
   * @returns the exit code: of the worker that could not start, else 0
   */
  async run(onServing: (first: Serving) => void): Promise<number> {
    try {
      const first = await this.#started([1]);
      const rest = Array.from({ length: this.#options.count - 1 }, (_, i) => i + 2);
      if (first !== null && (await this.#started(rest)) !== null) {
        this.#up = true;
        const [leader] = first;
        this.#options.log.info({ workers: this.#options.count, url: leader?.url }, 'all workers serve');
        if (leader !== undefined) onServing(leader);
      }
      return await this.#over.promise;
    } finally {
      clearInterval(this.#sweep ?? undefined);
      this.#watcher.close();
    }
  }

  /** The first call lets running requests end; the second one ends them. */
  stop(how: 'stop' | 'interrupt' = 'stop'): void {
    this.#stops += 1;
    const workers = this.#processes.size;
    if (workers > 0) this.#options.log.info({ workers }, this.#stops === 1 ? 'stopping' : 'stopping at once');
    for (const timer of this.#restarts.values()) clearTimeout(timer);
    this.#restarts.clear();
    for (const worker of this.#processes.values()) this.#send(worker, how);
    this.#sweep ??= setInterval(() => {
      for (const worker of this.#processes.values()) worker.dropStale();
    }, SWEEP_MS);
    if (this.#stops === 2) setTimeout(() => this.#kill(), CUT_MS).unref();
    if (this.#processes.size === 0) this.#over.resolve(this.#exitCode);
  }

  /** Has one worker read the configuration again, which takes it to the others. */
  reload(): void {
    const [worker] = this.#serving();
    if (worker !== undefined) this.#send(worker, 'reload');
    else
      this.#options.log.warn('no worker serves, so the configuration was not read again - try again later');
  }

  /** null when the supervisor ended instead. */
  #started(numbers: readonly number[]): Promise<Serving[] | null> {
    if (this.#stops > 0) return Promise.resolve(null);
    const serving = numbers.map((number) => new Promise<Serving>((resolve) => this.#begin(number, resolve)));
    return Promise.race([Promise.all(serving), this.#over.promise.then(() => null)]);
  }

  #begin(number: number, onServing: (serving: Serving) => void): void {
    this.#restarts.delete(number);
    const worker = new WorkerProcess(number);
    this.#processes.set(number, worker);
    worker.channel.answer(this.#answers(worker, onServing));
    void worker.ended.then((ended) => this.#ended(worker, ended));
  }

  #answers(worker: WorkerProcess, onServing: (serving: Serving) => void): Answers<OfSupervisor> {
    return {
      join: () => {
        worker.joined = true;
        return this.#welcome(worker.number);
      },
      serving: (serving) => {
        worker.servingSince = this.#options.clock.mono();
        if (this.#shared === null) {
          this.#adminWanted = serving.adminWanted;
          this.#take(serving.shared);
        }
        onServing(serving);
        return null;
      },
      turn: async () => {
        if (!worker.gone) await this.#turns.take(worker); // its last messages may come after its end
        return null;
      },
      endTurn: () => {
        this.#turns.end(worker);
        return null;
      },
      spread: async (shared) => {
        if (!worker.gone) await this.#spread(worker, shared);
        return null;
      },
      status: () => this.#status(),
      scrape: () => this.#scrape(),
      flush: async () => {
        const others = [...this.#processes.keys()].filter((number) => number !== worker.number);
        await Promise.all(others.map((number) => this.#flush(number)));
        return null;
      },
    };
  }

  #welcome(number: number): Welcome {
    const adminWanted = this.#adminWanted;
    return { number, count: this.#options.count, served: this.#shared, adminWanted };
  }

  #take(shared: SharedConfig): void {
    this.#shared = shared;
    this.#watcher.follow(shared.source.files);
  }

  async #spread(from: WorkerProcess, shared: SharedConfig): Promise<void> {
    this.#take(shared);
    const others = [...this.#processes.values()].filter((one) => one !== from && one.joined);
    await Promise.all(others.map((worker) => this.#adopt(worker, shared)));
  }

  async #adopt(worker: WorkerProcess, shared: SharedConfig): Promise<void> {
    try {
      await worker.channel.ask('adopt', shared, ADOPT_MS);
    } catch (error) {
      if (worker.gone) return; // its replacement starts with the newest
      const about = { worker: worker.number, why: (error as Error).message };
      this.#options.log.error(
        about,
        'a worker does not take the configuration over; it is killed and replaced',
      );
      worker.kill();
    }
  }

  async #status(): Promise<WholeStatus> {
    const ledgers = await Promise.all(
      this.#serving().map(({ channel }) => channel.ask('status', null, LOOK_MS).catch(() => null)),
    );
    return { configured: this.#options.count, ledgers: ledgers.filter((one) => one !== null) };
  }

  async #scrape(): Promise<string> {
    const asked = await Promise.all(
      this.#serving().map(async (worker) => {
        const figures = await worker.channel.ask('figures', null, LOOK_MS).catch(() => null);
        return [worker, figures] as const;
      }),
    );
    const here = asked.filter(([worker]) => !worker.gone);
    return this.#figures.scrape(new Map<number, Figures | null>(here.map(([{ id }, one]) => [id, one])));
  }

  /** A worker that dies meanwhile leaves its rows to the one that replaces it, which is asked then. */
  async #flush(number: number): Promise<void> {
    for (;;) {
      const worker = this.#processes.get(number);
      if (worker === undefined) return; // it keeps failing; its rows come with its recovery
      try {
        await worker.channel.ask('flush', null, FLUSH_MS);
        return;
      } catch (error) {
        if (!(error instanceof NoAnswer && error.gone)) throw error;
        await worker.ended;
      }
    }
  }

  #ended(worker: WorkerProcess, { code, signal }: Ended): void {
    const { log, clock } = this.#options;
    const { number, pid, servingSince } = worker;
    this.#processes.delete(number);
    this.#turns.end(worker);
    this.#figures.ended(worker.id);
    if (this.#stops > 0) {
      if (this.#processes.size === 0) this.#over.resolve(this.#exitCode);
      return;
    }
    if (!this.#up) {
      this.#exitCode = code ?? 1; // the worker has logged the reason itself
      if (signal !== null) log.error({ worker: number, pid, signal }, 'a worker was killed before it served');
      this.stop();
      return;
    }
    this.#lost += 1;
    const sound = servingSince !== null && clock.mono() - servingSince >= SOUND_MS;
    const failures = sound ? 0 : (this.#failures.get(number) ?? 0);
    this.#failures.set(number, failures + 1);
    const pauseMs = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
    log.error(
      { worker: number, pid, code, signal, restart_in_ms: pauseMs },
      'a worker ended; it is replaced',
    );
    if (pauseMs === 0) this.#begin(number, () => this.#replaced(number));
    else {
      const again = (): void => this.#begin(number, () => this.#replaced(number));
      this.#restarts.set(number, setTimeout(again, pauseMs));
    }
  }

  #replaced(number: number): void {
    const pid = this.#processes.get(number)?.pid;
    this.#options.log.info({ worker: number, pid }, 'the replaced worker serves');
  }

  #serving(): WorkerProcess[] {
    return [...this.#processes.values()].filter(({ servingSince, gone }) => servingSince !== null && !gone);
  }

  #send(worker: WorkerProcess, signal: keyof OfWorker & ('stop' | 'interrupt' | 'reload')): void {
    worker.channel.ask(signal, null).catch(() => undefined); // a worker that is gone needs neither
  }

  #kill(): void {
    for (const worker of this.#processes.values()) {
      this.#options.log.error(
        { worker: worker.number, pid: worker.pid },
        'a worker does not end; it is killed',
      );
      worker.kill();
    }
  }
}
