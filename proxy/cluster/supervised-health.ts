// The cooldowns of a worker's deployments: what it finds the other workers hear from the supervisor, and the other way round. No
// call waits for it.
import type { SharedHealth } from '../active-config/cluster-peers.ts';
import type { BreakerPeers } from '../routing/breaker.ts';
import type { HealthRegistry } from '../routing/deployment-health.ts';
import type { CooldownNews } from '../routing/host-cooldowns.ts';
import type { Channel } from './channel.ts';
import type { OfSupervisor, OfWorker } from './protocol.ts';

/** Shortest time between two questions whether this worker may try a deployment. */
const ASK_AGAIN_MS = 100;

interface Trial {
  isMine: boolean;
  askedMs: number;
}

export class SupervisedHealth implements SharedHealth {
  readonly #channel: Channel<OfSupervisor, OfWorker>;
  readonly #trials = new Map<string, Trial>();
  readonly #early: CooldownNews[] = [];
  #followed: {
    readonly registry: HealthRegistry;
    readonly mono: () => number;
    readonly learned: (id: string) => void;
  } | null = null;

  constructor(channel: Channel<OfSupervisor, OfWorker>) {
    this.#channel = channel;
  }

  follow(registry: HealthRegistry, mono: () => number, learned: (id: string) => void): void {
    this.#followed = { registry, mono, learned };
    for (const news of this.#early.splice(0)) this.heard(news);
  }

  peersOf(id: string): BreakerPeers {
    return {
      opened: (untilMs) => this.#tell({ id, leftMs: Math.max(0, untilMs - this.#mono()) }),
      closed: () => this.#tell({ id, leftMs: null }),
      mayTry: () => this.#mayTry(id),
    };
  }

  /** Another worker has found this. */
  heard(news: CooldownNews): void {
    if (this.#followed === null) {
      this.#early.push(news);
      return;
    }
    const { registry, mono, learned } = this.#followed;
    const { id, leftMs } = news;
    this.#trials.delete(id);
    const breaker = registry.find(id)?.breaker;
    if (breaker === undefined) return;
    if (leftMs === null) breaker.closeByPeer();
    else {
      breaker.openByPeer(mono() + leftMs);
      learned(id);
    }
  }

  #mono(): number {
    return this.#followed?.mono() ?? 0;
  }

  #tell(news: CooldownNews): void {
    this.#trials.delete(news.id);
    this.#channel.ask('cooldown', news).catch(() => null); // without a supervisor this worker is ending
  }

  #mayTry(id: string): boolean {
    const trial = this.#trials.get(id) ?? { isMine: false, askedMs: -Infinity };
    this.#trials.set(id, trial);
    if (trial.isMine || this.#mono() - trial.askedMs < ASK_AGAIN_MS) return trial.isMine;
    trial.askedMs = this.#mono();
    this.#channel.ask('cooldownTrial', id).then(
      (isMine) => (trial.isMine = isMine),
      () => (trial.isMine = true),
    );
    return false;
  }
}
