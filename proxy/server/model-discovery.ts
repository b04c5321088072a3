// Asks the gateways of entries with `discover_models` what they serve, in the background: at the start, after a reload, and
// when a list is old.
import type { ActiveConfig } from '../active-config/active-config.ts';
import { RepeatedRound } from './repeated-round.ts';

/** Lists are looked at this often, so that a gateway that failed is asked again. */
const TICK_MS = 15_000;

export class ModelDiscovery {
  readonly #active: () => ActiveConfig;
  readonly #rounds: RepeatedRound;

  /** @param active returns the active configuration */
  constructor(active: () => ActiveConfig) {
    this.#active = active;
    this.#rounds = new RepeatedRound({
      random: () => active().services.random(),
      round: () => this.#round(),
    });
  }

  /** Follows the active configuration: asks now and again, or stops. */
  follow(): void {
    this.#rounds.start();
  }

  close(): void {
    this.#rounds.close();
  }

  async #round(): Promise<number | null> {
    const active = this.#active();
    const { discoveredModels, log } = active.services;
    active.enter(); // keeps its pools open
    const asked = [...active.deployments.values()];
    await discoveredModels.refresh(asked, active.snapshot.discovery).finally(() => active.leave());
    if (this.#rounds.isClosed) return null;
    for (const { apiBase, answer, error } of discoveredModels.takeChanges()) {
      const about = { upstream: apiBase, models: answer?.ids.size ?? null };
      if (error !== null)
        log.warn({ ...about, why: error }, 'the models of a gateway could not be asked for');
      else log.info({ ...about, left_out: answer?.left ?? 0 }, 'the models of a gateway are known');
    }
    return asked.some(({ config }) => config.discovers) ? TICK_MS : null;
  }
}
