// Which models the gateways behind us list (`GET {base}/models`), for entries with `discover_models`. Asked in the background,
// never while a call or a listing waits; what a gateway said last is kept while it cannot be asked.
import type { Deployment } from '../../config/snapshot.ts';
import { patternOf } from '../../config/resolve/groups.ts';
import { ownPath } from '../../config/upstream-path.ts';
import { asObject, isStated, listIn } from '../bodies/json.ts';
import type { DiscoveryFigure } from '../observability/discovery-metrics.ts';
import { failureOf } from '../upstream/failures.ts';
import { get, GetTimeout } from '../upstream/get.ts';
import type { AskedDeployment } from './gateway-facts.ts';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 8 << 20;
/** A gateway that did not answer is asked again after so long. */
const RETRY_MS = 60_000;
/** Visible ASCII: a name goes into listings, logs and headers. */
const NAME = /^[\x21-\x7e]{1,256}$/;

/** What one gateway lists for one key. */
export interface GatewayList {
  /** Names, without patterns; null = it has never answered. */
  readonly ids: ReadonlySet<string> | null;
  /** Patterns among its names: it serves more than it lists. */
  readonly patterns: readonly RegExp[];
  /** Names beyond `max_models`, which are not kept. */
  readonly left: number;
  /** Why it did not answer the last time; null = it did. */
  readonly error: string | null;
}

interface Kept extends GatewayList {
  readonly apiBase: string;
  readonly failures: number;
  /** Monotonic ms. */
  readonly until: number;
}

interface DiscoveryLimits {
  readonly refreshMs: number;
  readonly maxModels: number;
}

/** Pages of these lists are short unless more is asked for. */
const PAGE: Readonly<Partial<Record<Deployment['kind'], string>>> = {
  anthropic: 'limit=1000',
  gemini: 'pageSize=1000',
};

const NOTHING: GatewayList = { ids: null, patterns: [], left: 0, error: null };

export class DiscoveredModels {
  readonly #mono: () => number;
  /** By address and key: another key may see other models. */
  readonly #lists = new Map<string, Kept>();
  readonly #running = new Map<string, Promise<void>>();
  #version = 0;

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number) {
    this.#mono = mono;
  }

  /** Another number whenever a list has changed. */
  get version(): number {
    return this.#version;
  }

  /** What the gateway of a deployment lists. */
  of(deployment: Deployment): GatewayList {
    return this.#lists.get(placeOf(deployment)) ?? NOTHING;
  }

  /** Of each gateway that is asked. */
  *figures(): Generator<DiscoveryFigure> {
    for (const { apiBase, ids, failures } of this.#lists.values())
      yield { apiBase, models: ids?.size ?? 0, failures };
  }

  /** Asks the gateways whose lists are missing or old, and forgets those of no deployment. Never rejects. */
  async refresh(deployments: Iterable<AskedDeployment>, limits: DiscoveryLimits): Promise<void> {
    const places = new Map<string, AskedDeployment>();
    for (const one of deployments) if (one.config.discovers) places.set(placeOf(one.config), one);
    for (const place of this.#lists.keys()) if (!places.has(place)) this.#lists.delete(place);
    const now = this.#mono();
    const old = [...places].filter(([place]) => (this.#lists.get(place)?.until ?? 0) <= now);
    await Promise.all(
      old.map(([place, one]) => {
        const running = this.#running.get(place) ?? this.#ask(place, one, limits);
        this.#running.set(place, running);
        return running;
      }),
    );
  }

  async #ask(
    place: string,
    { config, pool, headers }: AskedDeployment,
    { refreshMs, maxModels }: DiscoveryLimits,
  ): Promise<void> {
    const path = pathOf(config);
    let found: GatewayList | null = null;
    let error: string | null = null;
    try {
      const options = { path, headers: headers.fixed, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
      const { status, body } = await get(pool, options);
      if (status !== 200) error = `GET ${config.apiBase} models answered ${status}`;
      else found = body === null ? null : readList(body.toString(), maxModels);
      if (status === 200 && found === null) error = `GET ${config.apiBase} models answered no list`;
    } catch (cause) {
      error =
        cause instanceof GetTimeout ? `no answer within ${TIMEOUT_MS} ms` : reasonOf(cause, config.apiBase);
    }
    this.#running.delete(place);
    const before = this.#lists.get(place);
    const { ids, patterns, left } = found ?? before ?? NOTHING;
    const failures = (before?.failures ?? 0) + (error === null ? 0 : 1);
    const until = this.#mono() + (error === null ? refreshMs : Math.min(RETRY_MS, refreshMs));
    this.#lists.set(place, { ids, patterns, left, error, failures, until, apiBase: config.apiBase });
    if (found !== null && !isSame(found, before)) this.#version += 1;
  }
}

function pathOf(config: Deployment): string {
  const path = ownPath(config, 'models');
  const page = PAGE[config.kind];
  if (page === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${page}`;
}

function reasonOf(cause: unknown, apiBase: string): string {
  return cause instanceof SyntaxError ? 'its list is no JSON' : failureOf(cause, apiBase).message;
}

const placeOf = ({ origin, pathPrefix, apiKey }: Deployment): string =>
  `${origin}${pathPrefix} ${apiKey?.sha256() ?? ''}`;

/** `data[].id`, or Gemini's `models[].name`; null = no list. @throws SyntaxError */
function readList(text: string, most: number): GatewayList | null {
  const listing = asObject(JSON.parse(text));
  const items = listIn(listing, isStated(listing?.['data']) ? 'data' : 'models');
  if (items === null) return null;
  const ids = new Set<string>();
  const patterns: RegExp[] = [];
  let left = 0;
  for (const item of items) {
    const model = asObject(item);
    const id = model?.['id'] ?? stripped(model?.['name']);
    if (typeof id !== 'string' || !NAME.test(id) || ids.has(id)) continue;
    if (ids.size + patterns.length >= most) left += 1;
    else if (id.includes('*')) patterns.push(patternOf(id));
    else ids.add(id);
  }
  return { ids, patterns, left, error: null };
}

const stripped = (name: unknown): unknown =>
  typeof name === 'string' ? name.replace(/^models\//, '') : undefined;

function isSame(found: GatewayList, before: GatewayList | undefined): boolean {
  const ids = before?.ids;
  if (ids === null || ids === undefined || found.ids === null) return false;
  const sources = (list: readonly RegExp[]): string => list.map(({ source }) => source).join('\n');
  return (
    ids.size === found.ids.size &&
    [...found.ids].every((id) => ids.has(id)) &&
    sources(found.patterns) === sources(before?.patterns ?? [])
  );
}
