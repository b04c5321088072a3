// Starts the workers, replaces those that die, spreads configuration changes, and stops them in order. Serves nothing,
// reads no configuration and keeps no record, so that nothing that crashes a worker can crash it too.
import cluster from 'node:cluster';
import { setTimeout as wait } from 'node:timers/promises';
import { asError } from '../base/as-error.ts';
import { boundedTimer } from '../base/bounded-timer.ts';
import { HostCounters } from '../access/host-counters.ts';
import { HostKeys } from '../access/host-keys.ts';
import type { Clock } from '../base/clock.ts';
import { OneForAll } from '../base/one-for-all.ts';
import type { Log } from '../observability/logger.ts';
import { WorkerFigures } from '../observability/worker-figures.ts';
import type { SharedConfig, WholeStatus, Welcome } from '../active-config/cluster-peers.ts';
import { HostCooldowns, type CooldownNews } from '../routing/host-cooldowns.ts';
import { ConfigWatcher } from '../server/config-watcher.ts';
import { STOP_MS } from '../server/stop-times.ts';
import { NoAnswer, type Answers } from './channel.ts';
import type { OfSupervisor, OfWorker, Serving } from './protocol.ts';
import { Restarts } from './restarts.ts';
import { LOOK_MS, StuckWorkers } from './stuck-workers.ts';
import { Turns } from './turns.ts';
import { brakesOf, reportsOf, scrapeOf, statusesOf } from './whole.ts';
import { WorkerProcess, type Ended } from './worker-process.ts';

/** 10,000 models take a second to be prepared, some on a machine without a free core; one that needs longer is stuck. */
const ADOPT_MS = 30_000;
/** Shipping what was written in 0.2 s takes some 20 ms; a reader must not wait for a worker that is stuck. */
const FLUSH_MS = 5_000;
/** A worker that is not stuck takes a connection within some milliseconds; one that is older than this is not taken. */
const SWEEP_MS = 500;
/** A store that is away is asked again for what calls did cost. */
const RECORDS_AGAIN_MS = 1_000;
/** After the drain, or the second signal that ends it: a worker has ended by then, however busy the machine is. */
const CUT_MS = STOP_MS + 3_000;

/** What a supervisor is made with. */
interface SupervisorOptions {
  /** Workers, at least 1. */
  readonly count: number;
  readonly log: Log;
  readonly clock: Clock;
}

type Phase =
  | { readonly is: 'starting' }
  /** Every worker has served: from now on one that ends is replaced. */
  | { readonly is: 'serving' }
  | {
      readonly is: 'stopping';
      signals: number;
      /** Of the process, when all have ended: not 0 when the end of one was not clean. */
      exitCode: number;
      /** Closes connections that come to workers which have just closed the port. */
      readonly sweep: NodeJS.Timeout;
    };

/** The parent of the workers. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  /** By number. */
  readonly #processes = new Map<number, WorkerProcess>();
  readonly #restarts = new Restarts();
  readonly #turns = new Turns();
  readonly #figures: WorkerFigures;
  /** What a scrape decides about names is for the values that workers have named in it: another one would come in between. */
  readonly #scrapes = new OneForAll(() => scrapeOf(this.#serving(), this.#figures));
  readonly #watcher: ConfigWatcher;
  readonly #counters: HostCounters;
  readonly #keys: HostKeys;
  readonly #cooldowns: HostCooldowns;
  /** Files of shared items that a worker has opened. */
  readonly #opened = new Set<string>();
  /** Calls that workers of a number reserved for and did not settle before they ended. */
  readonly #unsettled = new Map<number, string[]>();
  readonly #over = Promise.withResolvers<number>();
  /** What all serve; null until the first one serves. */
  #shared: SharedConfig | null = null;
  /** Where the first one serves metrics and administration. */
  #adminWanted: Welcome['adminWanted'] = null;
  #phase: Phase = { is: 'starting' };
  #lost = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#counters = new HostCounters(options.clock.mono);
    this.#keys = new HostKeys(options.clock.mono);
    this.#cooldowns = new HostCooldowns(options.clock.mono);
    this.#figures = new WorkerFigures(() => ({
      configured: options.count,
      serving: this.#serving().length,
      lost: this.#lost,
    }));
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
    const stuck = new StuckWorkers(this.#options.log);
    const looks = setInterval(() => stuck.look(this.#serving(), this.#phase.is !== 'stopping'), LOOK_MS);
    try {
      const first = await this.#started([1]);
      const rest = Array.from({ length: this.#options.count - 1 }, (_, i) => i + 2);
      if (first !== null && (await this.#started(rest)) !== null) {
        if (this.#phase.is === 'starting') this.#phase = { is: 'serving' };
        const [leader] = first;
        this.#options.log.info({ workers: this.#options.count, url: leader?.url }, 'all workers serve');
        if (leader !== undefined) onServing(leader);
      }
      return await this.#over.promise;
    } finally {
      clearInterval(looks);
      if (this.#phase.is === 'stopping') clearInterval(this.#phase.sweep);
      this.#watcher.close();
    }
  }

  /** The first call lets running requests end; the second one ends them. */
  stop(how: 'stop' | 'interrupt' = 'stop'): void {
    this.#stop(how, 0);
  }

  /** Has one worker read the configuration again, which takes it to the others: the newest, for one that dies of it is that again. */
  reload(): void {
    const worker = this.#serving().at(-1);
    if (worker !== undefined) this.#send(worker, 'reload');
    else this.#options.log.warn('no worker serves: a changed configuration is read when one does');
  }

  /** null when the supervisor ended instead. */
  #started(numbers: readonly number[]): Promise<Serving[] | null> {
    if (this.#phase.is === 'stopping') return Promise.resolve(null);
    const serving = numbers.map((number) => new Promise<Serving>((resolve) => this.#begin(number, resolve)));
    return Promise.race([Promise.all(serving), this.#over.promise.then(() => null)]);
  }

  #begin(number: number, onServing: (serving: Serving) => void): void {
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
        } else this.#take(this.#shared); // who was to read a changed file may have died before
        for (const news of this.#cooldowns.all) this.#tellCooldown(worker, news);
        onServing(serving);
        return null;
      },
      opened: (file) => {
        this.#opened.add(file);
        for (const other of this.#processes.values())
          if (other !== worker && other.joined) other.channel.ask('opened', file).catch(() => undefined);
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
      scrape: () => this.#scrapes.ask(),
      reports: () => reportsOf(this.#serving()),
      brake: (question) => brakesOf(this.#serving(), question),
      reserve: (call) => this.#counters.reserve(worker.id, call),
      seed: ({ counter, pico, counted }) => {
        this.#counters.seed(counter, pico, counted);
        return null;
      },
      count: (told) => {
        this.#counters.tell(told);
        return null;
      },
      spent: (counter) => this.#counters.read(counter),
      keyClaim: ({ key, call }) => this.#keys.claim(worker.id, key, call),
      cooldown: (news) => {
        if (this.#cooldowns.told(news))
          for (const other of this.#processes.values())
            if (other !== worker && other.joined) this.#tellCooldown(other, news);
        return null;
      },
      cooldownTrial: (id) => this.#cooldowns.mayTry(worker.id, id),
      keyOver: async (key) => {
        await this.#keys.over(key);
        return null;
      },
      keyEnd: ({ key, ending, windowMs }) => {
        this.#keys.end(worker.id, key, ending, windowMs);
        return null;
      },
      flush: async () => {
        const others = [...this.#processes.keys()].filter((number) => number !== worker.number);
        await Promise.all(others.map((number) => this.#flush(number)));
        return null;
      },
    };
  }

  #welcome(number: number): Welcome {
    const adminWanted = this.#adminWanted;
    const opened = [...this.#opened];
    return { number, count: this.#options.count, served: this.#shared, adminWanted, opened };
  }

  #take(shared: SharedConfig): void {
    this.#shared = shared;
    this.#watcher.follow(shared.state.read);
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
      const about = { worker: worker.number, why: asError(error).message };
      this.#options.log.error(
        about,
        'a worker does not take the configuration over; it is killed and replaced',
      );
      worker.kill();
    }
  }

  async #status(): Promise<WholeStatus> {
    return { configured: this.#options.count, workers: await statusesOf(this.#serving()) };
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
    this.#keys.ended(worker.id);
    this.#cooldowns.ended(worker.id);
    this.#unsettled.set(number, [...(this.#unsettled.get(number) ?? []), ...this.#counters.ended(worker.id)]);
    if (this.#phase.is === 'stopping') {
      if (this.#phase.exitCode === 0) this.#phase.exitCode = code ?? 0; // its log and last sentence say why
      if (this.#processes.size === 0) {
        log.info('all workers have stopped');
        this.#over.resolve(this.#phase.exitCode);
      }
      return;
    }
    if (this.#phase.is === 'starting') {
      if (signal !== null) log.error({ worker: number, pid, signal }, 'a worker was killed before it served');
      this.#stop('stop', code ?? 1); // the worker has logged the reason itself
      return;
    }
    this.#lost += 1;
    const pauseMs = this.#restarts.pauseAfter(
      number,
      servingSince === null ? null : clock.mono() - servingSince,
    );
    log.error(
      { worker: number, pid, code, signal, restart_in_ms: pauseMs },
      'a worker ended; it is replaced',
    );
    this.#restarts.startIn(pauseMs, number, () => this.#begin(number, () => this.#replaced(number)));
  }

  /** @param exitCode of the process; the first call decides */
  #stop(how: 'stop' | 'interrupt', exitCode: number): void {
    const phase: Phase & { is: 'stopping' } =
      this.#phase.is === 'stopping'
        ? this.#phase
        : { is: 'stopping', signals: 0, exitCode, sweep: this.#sweep() };
    this.#phase = phase;
    phase.signals += 1;
    const workers = this.#processes.size;
    if (workers > 0)
      this.#options.log.info({ workers }, phase.signals === 1 ? 'stopping' : 'stopping at once');
    this.#restarts.cancel();
    for (const worker of this.#processes.values()) this.#send(worker, how);
    const drainMs = phase.signals === 1 ? (this.#shared?.drainMs ?? 0) : 0;
    if (phase.signals <= 2) setTimeout(() => this.#kill(), boundedTimer(drainMs + CUT_MS)).unref();
    if (workers === 0) this.#over.resolve(phase.exitCode);
  }

  #sweep(): NodeJS.Timeout {
    return setInterval(() => {
      for (const worker of this.#processes.values()) worker.dropStale();
    }, SWEEP_MS);
  }

  #replaced(number: number): void {
    const worker = this.#processes.get(number);
    this.#options.log.info({ worker: number, pid: worker?.pid }, 'the replaced worker serves');
    if (worker !== undefined) void this.#recover(worker);
  }

  /** It has recovered the journal of the one before: what that one reserved is what the records say, once the store has them. */
  async #recover(worker: WorkerProcess): Promise<void> {
    const requestIds = this.#unsettled.get(worker.number) ?? [];
    if (requestIds.length === 0) return;
    for (let tries = 1; !worker.gone; tries += 1) {
      try {
        const records = await worker.channel.ask('records', requestIds);
        this.#unsettled.delete(worker.number);
        this.#counters.recovered(requestIds, records);
        return;
      } catch (error) {
        const about = { worker: worker.number, calls: requestIds.length, why: asError(error).message };
        if (tries === 1)
          this.#options.log.warn(
            about,
            'what a worker had reserved of budgets when it ended stays reserved until the store says what its calls did cost',
          );
        await wait(RECORDS_AGAIN_MS, undefined, { ref: false });
      }
    }
  }

  #tellCooldown({ channel }: WorkerProcess, news: CooldownNews): void {
    channel.ask('cooldown', news).catch(() => undefined); // a worker that is gone learns it when it begins again
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
