// What the gateways behind us say of their models (`GET {base}/model/info`, the dialect's own listing): fetched when a client
// asks for ours, kept for some minutes, and never a reason to fail. Only LiteLLM-like gateways have that listing.
import type { Deployment } from '../../config/snapshot.ts';
import { isModelFact } from '../../config/model-facts.ts';
import { asObject, listIn, objectIn } from '../bodies/json.ts';
import { get } from '../upstream/get.ts';
import type { Pool } from '../upstream/pool.ts';

const KEPT_MS = 300_000;
/** A gateway that did not tell is not asked again by each client that comes. */
const FAILED_MS = 60_000;
/** A client waits for this at most. */
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 16 << 20;

export type Facts = Readonly<Record<string, unknown>>;

/** What is needed of a deployment to ask its gateway. */
export interface AskedDeployment {
  readonly config: Deployment;
  readonly pool: Pool;
  readonly headers: { readonly fixed: readonly string[] };
}

interface Told {
  readonly byModel: ReadonlyMap<string, Facts>;
  /** Monotonic ms. */
  readonly until: number;
}

export class GatewayFacts {
  readonly #mono: () => number;
  /** By address and key: another key may see other models. */
  readonly #told = new Map<string, Told>();
  readonly #running = new Map<string, Promise<void>>();

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number) {
    this.#mono = mono;
  }

  /** What its gateway said of a deployment's model; null = nothing. */
  of(config: Deployment): Facts | null {
    if (config.gateway.listsFacts !== true) return null;
    return this.#told.get(placeOf(config))?.byModel.get(config.upstreamModel) ?? null;
  }

  /** Asks the gateways whose facts are missing or old. Resolves within some seconds, whatever they do. */
  async refresh(deployments: Iterable<AskedDeployment>): Promise<void> {
    const places = new Map<string, AskedDeployment>();
    for (const one of deployments)
      if (one.config.gateway.listsFacts === true) places.set(placeOf(one.config), one);
    for (const place of this.#told.keys()) if (!places.has(place)) this.#told.delete(place); // of an earlier configuration
    const now = this.#mono();
    const old = [...places].filter(([place]) => (this.#told.get(place)?.until ?? 0) <= now);
    await Promise.all(
      old.map(([place, one]) => {
        const running = this.#running.get(place) ?? this.#ask(place, one);
        this.#running.set(place, running);
        return running;
      }),
    );
  }

  async #ask(place: string, { config, pool, headers }: AskedDeployment): Promise<void> {
    let told: ReadonlyMap<string, Facts> | null = null;
    try {
      const path = `${config.pathPrefix}/model/info`;
      const options = { path, headers: headers.fixed, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
      const { status, body } = await get(pool, options);
      if (status === 200 && body !== null) told = factsOf(JSON.parse(body.toString()));
    } catch {
      // what it last said is kept, and it is asked again later
    }
    this.#running.delete(place);
    const until = this.#mono() + (told === null ? FAILED_MS : KEPT_MS);
    this.#told.set(place, { byModel: told ?? this.#told.get(place)?.byModel ?? new Map(), until });
  }
}

const placeOf = ({ origin, pathPrefix, apiKey }: Deployment): string =>
  `${origin}${pathPrefix} ${apiKey?.sha256() ?? ''}`;

/** By model name, the first entry of each; null when the listing has another form. */
function factsOf(listing: unknown): ReadonlyMap<string, Facts> | null {
  const data = listIn(asObject(listing), 'data');
  if (data === null) return null;
  const byModel = new Map<string, Facts>();
  for (const one of data) {
    const item = asObject(one);
    const name = item?.['model_name'];
    const info = objectIn(item, 'model_info');
    if (typeof name !== 'string' || info === null || byModel.has(name)) continue;
    byModel.set(name, Object.fromEntries(Object.entries(info).filter(([k, v]) => isModelFact(k, v))));
  }
  return byModel;
}
