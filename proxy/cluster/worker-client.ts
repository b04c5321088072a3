// A worker's place among its siblings: everything it says to the supervisor and hears from it. Obeys the supervisor
// alone; signals of the system go to all processes of a service at once and would be obeyed twice.
import cluster from 'node:cluster';
import type {
  SharedConfig,
  Welcome,
  WholeStatus,
  WorkerDuties,
  WorkerRole,
} from '../active-config/cluster-peers.ts';
import { Channel } from './channel.ts';
import type { OfSupervisor, OfWorker, Serving } from './protocol.ts';

type Word = 'stop' | 'interrupt' | 'reload';

/** Whether this process was started by a supervisor. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** The other workers, as this one reaches them. */
export class WorkerClient implements WorkerRole {
  readonly welcome: Welcome;
  /** The supervisor is gone, and this worker stops by itself. */
  readonly orphaned: Promise<void>;
  readonly #channel: Channel<OfSupervisor, OfWorker>;
  readonly #acts = new Map<Word, () => void>();
  readonly #unheard: Word[] = [];

  /** Asks for a place. Only in a process for which `isWorker` holds. */
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
    this.welcome = welcome;
    this.orphaned = this.#endAfter(orphaned);
  }

  /** Calls back at each stop or reload that the supervisor asks for, those included that came before. */
  onSignal(kind: Word, act: () => void): void {
    this.#acts.set(kind, act);
    for (const word of this.#unheard.filter((one) => one === kind)) {
      this.#unheard.splice(this.#unheard.indexOf(word), 1);
      act();
    }
  }

  /** From now on the supervisor's questions are answered. */
  answer(duties: WorkerDuties): void {
    this.#channel.answer({
      adopt: (shared) => settled(duties.adopt(shared)),
      status: () => duties.status(),
      figures: () => duties.figures(),
      flush: async () => settled(await duties.flush()),
      stop: () => settled(this.#tell('stop')),
      interrupt: () => settled(this.#tell('interrupt')),
      reload: () => settled(this.#tell('reload')),
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

  /** @throws Error when another worker cannot bring its rows into the store */
  async flushOthers(): Promise<void> {
    await this.#channel.ask('flush', null);
  }

  /** Nobody brings connections any more, and the next supervisor must find the journals free: the quick end. */
  async #endAfter(orphaned: Promise<void>): Promise<void> {
    await orphaned;
    this.#tell('interrupt');
    this.#tell('interrupt');
  }

  #tell(word: Word): void {
    const act = this.#acts.get(word);
    if (act === undefined) this.#unheard.push(word);
    else act();
  }
}

const settled = (_nothing: void): null => null;
