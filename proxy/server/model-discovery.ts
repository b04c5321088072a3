// Asks the gateways of entries with `discover_models` what they serve, in the background: at the start, after a reload, and
// when a list is old.
import type { ActiveConfig } from '../active-config/active-config.ts';
import type { GatewayList } from '../active-config/discovered-models.ts';
import type { Deployment } from '../../config/snapshot.ts';

/** Lists are looked at this often, so that a gateway that failed is asked again. */
const TICK_MS = 15_000;
/** Jitter, so that replicas started together do not ask together. */
const SPREAD = 0.1;

export class ModelDiscovery {
  readonly #active: () => ActiveConfig;
  readonly #told = new Map<string, string | null>();
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /** @param active returns the active configuration */
  constructor(active: () => ActiveConfig) {
    this.#active = active;
  }

  /** Follows the active configuration: asks now and again, or stops. */
  follow(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    void this.#round();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #round(): Promise<void> {
    const active = this.#active();
    const { discoveredModels } = active.services;
    active.enter(); // keeps its pools open
    const asked = [...active.deployments.values()];
    await discoveredModels.refresh(asked, active.snapshot.discovery).finally(() => active.leave());
    if (this.#closed) return;
    const discovering = asked.filter(({ config }) => config.discovers);
    for (const { config } of discovering) this.#tell(config, discoveredModels.of(config), active);
    if (discovering.length === 0 || this.#timer !== null) return; // a later round has set it
    const waitMs = TICK_MS * (1 + active.services.random() * SPREAD);
    this.#timer = setTimeout(() => this.#again(), waitMs).unref();
  }

  #again(): void {
    this.#timer = null;
    void this.#round();
  }

  /** Once per gateway and change. */
  #tell({ apiBase }: Deployment, { ids, error, left }: GatewayList, { services }: ActiveConfig): void {
    const before = this.#told.get(apiBase);
    if (before === error) return;
    this.#told.set(apiBase, error);
    const about = { upstream: apiBase, models: ids?.size ?? null };
    if (error !== null)
      services.log.warn({ ...about, why: error }, 'the models of a gateway could not be asked for');
    else services.log.info({ ...about, left_out: left }, 'the models of a gateway are known');
  }
}
