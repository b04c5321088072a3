// A worker's connection to its supervisor: all calls in both directions. The worker obeys the supervisor alone; system
// signals go to all processes of a service at once and would be obeyed twice.
import cluster from 'node:cluster';
import type { BrakeQuestion, BrakeReport } from '../access/brake/brake.ts';
import type {
  SharedConfig,
  Welcome,
  WholeReport,
  WholeStatus,
  WorkerDuties,
  WorkerRole,
} from '../active-config/cluster-peers.ts';
import type { Counters } from '../access/counters.ts';
import type { SharedKeys } from '../access/shared-keys.ts';
import { Channel } from './channel.ts';
import type { OfSupervisor, OfWorker, Serving } from './protocol.ts';
import { SupervisedCounters } from './supervised-counters.ts';
import { SupervisedFiles } from './supervised-files.ts';
import { SupervisedHealth } from './supervised-health.ts';
import { SupervisedKeys } from './supervised-keys.ts';

type SupervisorSignal = 'stop' | 'interrupt' | 'reload';

/** Whether this process was started by a supervisor. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** The other workers, as this one reaches them. */
export class WorkerClient implements WorkerRole {
  readonly welcome: Welcome;
  readonly counters: Counters;
  readonly keys: SharedKeys;
  readonly health: SupervisedHealth;
  readonly opened: SupervisedFiles;
  /** The supervisor is gone, and this worker stops by itself. */
  readonly orphaned: Promise<void>;
  readonly #channel: Channel<OfSupervisor, OfWorker>;
  readonly #handlers = new Map<SupervisorSignal, () => void>();
  readonly #pendingSignals: SupervisorSignal[] = [];

  /** Joins the supervisor. Only in a process for which `isWorker` holds. */
  static async join(): Promise<WorkerClient> {
    const self = cluster.worker;
    if (self === undefined) throw new Error('only a worker can join');
    const channel = new Channel<OfSupervisor, OfWorker>(self);
    const orphaned = new Promise<void>((resolve) => {
      self.on('disconnect', () => {
        self.exitedAfterDisconnect = true; // else node:cluster ends the process here, in the middle of its requests
        resolve();
      });
    });
    return new WorkerClient(channel, orphaned, await channel.ask('join', null));
  }

  private constructor(channel: Channel<OfSupervisor, OfWorker>, orphaned: Promise<void>, welcome: Welcome) {
    this.#channel = channel;
    this.counters = new SupervisedCounters(channel);
    this.keys = new SupervisedKeys(channel);
    this.health = new SupervisedHealth(channel);
    this.opened = new SupervisedFiles(channel, welcome.opened);
    this.welcome = welcome;
    this.orphaned = this.#endAfter(orphaned);
  }

  /** Calls back at each stop or reload that the supervisor asks for, those included that came before. */
  onSignal(kind: SupervisorSignal, act: () => void): void {
    this.#handlers.set(kind, act);
    for (const signal of this.#pendingSignals.filter((one) => one === kind)) {
      this.#pendingSignals.splice(this.#pendingSignals.indexOf(signal), 1);
      act();
    }
  }

  /** From now on the supervisor's calls are served. */
  answer(duties: WorkerDuties): void {
    this.#channel.answer({
      ping: () => null,
      adopt: (shared) => settled(duties.adopt(shared)),
      status: () => duties.status(),
      labels: () => duties.labels(),
      figures: (named) => duties.figures(named),
      report: () => duties.report(),
      brake: (question) => duties.brake(question),
      cooldown: (news) => settled(this.health.heard(news)),
      opened: (file) => settled(this.opened.heard(file)),
      flush: async () => settled(await duties.flush()),
      records: (requestIds) => duties.records(requestIds),
      stop: () => settled(this.#deliver('stop')),
      interrupt: () => settled(this.#deliver('interrupt')),
      reload: () => settled(this.#deliver('reload')),
    });
  }

  /** This worker takes connections. */
  async serving(serving: Serving): Promise<void> {
    await this.#channel.ask('serving', serving).catch(() => null); // without a supervisor it is stopping already
  }

  async inTurn<T>(change: () => Promise<T>): Promise<T> {
    await this.#channel.ask('turn', null);
    try {
      return await change();
    } finally {
      this.#channel.ask('endTurn', null).catch(() => null); // a turn ends with its supervisor, too
    }
  }

  async spread(shared: SharedConfig): Promise<void> {
    await this.#channel.ask('spread', shared).catch(() => null); // without a supervisor there are no others
  }

  status(): Promise<WholeStatus> {
    return this.#channel.ask('status', null);
  }

  scrape(): Promise<string> {
    return this.#channel.ask('scrape', null);
  }

  reports(): Promise<WholeReport> {
    return this.#channel.ask('reports', null);
  }

  brake(question: BrakeQuestion): Promise<readonly BrakeReport[]> {
    return this.#channel.ask('brake', question);
  }

  /** @throws Error when another worker cannot bring its rows into the store */
  async flushOthers(): Promise<void> {
    await this.#channel.ask('flush', null);
  }

  /** No connections arrive any more, and the next supervisor needs the journals: stop as fast as possible. */
  async #endAfter(orphaned: Promise<void>): Promise<void> {
    await orphaned;
    this.#deliver('interrupt');
    this.#deliver('interrupt');
  }

  #deliver(signal: SupervisorSignal): void {
    const act = this.#handlers.get(signal);
    if (act === undefined) this.#pendingSignals.push(signal);
    else act();
  }
}

const settled = (_nothing: void): null => null;
