// What the gateways behind us say of their models (`GET {base}/model/info`, the dialect's own listing): fetched when a client
// asks for ours, kept for some minutes, and never a reason to fail. Only LiteLLM-like gateways have that listing.
import type { Deployment } from '../../config/snapshot.ts';
import { isModelFact } from '../../config/model-facts.ts';
import { asObject, listIn, objectIn } from '../bodies/json.ts';
import type { Log } from '../observability/logger.ts';
import { GatewayPoll, type AskedDeployment } from './gateway-poll.ts';

const KEPT_MS = 300_000;
/** A gateway that did not tell is not asked again by each client that comes. */
const FAILED_MS = 60_000;
/** A client waits for this at most. */
const TIMEOUT_MS = 2_000;
const MAX_BYTES = 16 << 20;

export type Facts = Readonly<Record<string, unknown>>;

type ByModel = ReadonlyMap<string, Facts>;

export class GatewayFacts {
  readonly #poll: GatewayPoll<ByModel>;
  readonly #log: Log;

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number, log: Log) {
    this.#poll = new GatewayPoll(mono);
    this.#log = log;
  }

  /** What its gateway said of a deployment's model; null = nothing. */
  of(config: Deployment): Facts | null {
    if (!listsFacts(config)) return null;
    return this.#poll.of(config)?.answer?.get(config.upstreamModel) ?? null;
  }

  /** Asks the gateways whose facts are missing or old. Resolves within some seconds, whatever they do. */
  async refresh(deployments: Iterable<AskedDeployment>): Promise<void> {
    await this.#poll.refresh(deployments, QUESTION, { keptMs: KEPT_MS, failedMs: FAILED_MS });
    for (const { apiBase, error, failures } of this.#poll.takeChanges()) {
      const about = { upstream: apiBase };
      if (error !== null)
        this.#log.warn({ ...about, why: error }, 'a gateway could not be asked for the facts of its models');
      else if (failures > 0) this.#log.info(about, 'a gateway tells the facts of its models again');
    }
  }
}

const listsFacts = ({ gateway }: Deployment): boolean => gateway.listsFacts === true;

const QUESTION = {
  name: 'model/info',
  isFor: listsFacts,
  pathOf: ({ pathPrefix }: Deployment): string => `${pathPrefix}/model/info`,
  timeoutMs: TIMEOUT_MS,
  maxBytes: MAX_BYTES,
  read: (text: string): ByModel | null => factsOf(JSON.parse(text)),
};

/** By model name, the first entry of each; null when the listing has another form. */
function factsOf(listing: unknown): ByModel | null {
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
