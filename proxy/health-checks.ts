// Asks the upstreams of the serving configuration for their model lists, round after round, so that one that is down is
// left out before a request finds out. Never a paid call. Off unless `background_health_checks` is on.
import type { Live, Target } from './live.ts';
import type { Log } from './observe/logger.ts';
import { probe } from './upstream/probe.ts';

/** Replicas that were started together must not ask together for ever. */
const SPREAD = 0.1;

export class HealthChecks {
  readonly #live: () => Live;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /** @param live gives the configuration that serves */
  constructor(live: () => Live) {
    this.#live = live;
  }

  /** Takes up what the serving configuration says: a round now and more to come, or none. */
  follow(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const live = this.#live();
    if (live.snapshot.routing.healthCheckMs !== null) void this.#round();
    else for (const { state } of live.targets.values()) state.ailment = null;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #round(): Promise<void> {
    const live = this.#live();
    const targets = [...live.targets.values()];
    live.enter(); // its pools stay open meanwhile
    const found = await probe(targets).finally(() => live.leave());
    const { healthCheckMs } = this.#live().snapshot.routing;
    if (this.#closed || healthCheckMs === null) return; // switched off meanwhile: nobody would take an ailment back
    targets.forEach((target, i) => note(target, found[i] ?? null, live.house.log));
    if (this.#timer !== null) return; // a round that was begun later has seen to it
    const waitMs = healthCheckMs * (1 + live.house.random() * SPREAD);
    this.#timer = setTimeout(() => this.#again(), waitMs).unref();
  }

  #again(): void {
    this.#timer = null;
    void this.#round();
  }
}

function note({ route, state }: Target, ailment: string | null, log: Log): void {
  const place = { model: route.group, model_id: route.id, upstream: route.apiBase };
  if (ailment !== null && state.ailment === null)
    log.warn({ ...place, why: ailment }, 'entry does not answer');
  if (ailment === null && state.ailment !== null) log.info(place, 'entry answers again');
  state.ailment = ailment;
}
