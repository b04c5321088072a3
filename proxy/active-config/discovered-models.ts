// Which models the gateways behind us list (`GET {base}/models`), for entries with `discover_models`. Asked in the background,
// never while a call or a listing waits; what a gateway said last is kept while it cannot be asked.
import type { Deployment } from '../../config/snapshot.ts';
import { patternOf } from '../../config/resolve/groups.ts';
import { ownPath } from '../../config/upstream-path.ts';
import { asObject, isStated, listIn } from '../bodies/json.ts';
import type { DiscoveryFigure } from '../observability/discovery-metrics.ts';
import { GatewayPoll, type AskedDeployment, type Said } from './gateway-poll.ts';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 8 << 20;
/** A gateway that did not answer is asked again after so long. */
const RETRY_MS = 60_000;
/** Visible ASCII: a name goes into listings, logs and headers. */
const NAME = /^[\x21-\x7e]{1,256}$/;

/** What a gateway has listed. */
interface Listed {
  /** Names, without patterns. */
  readonly ids: ReadonlySet<string>;
  /** Patterns among its names: it serves more than it lists. */
  readonly patterns: readonly RegExp[];
  /** Names beyond `max_models`, which are not kept. */
  readonly left: number;
}

/** What one gateway lists for one key. */
export interface GatewayList extends Omit<Listed, 'ids'> {
  /** null = it has never answered. */
  readonly ids: Listed['ids'] | null;
  /** Why it did not answer the last time; null = it did. */
  readonly error: string | null;
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

const NOTHING = { ids: null, patterns: [], left: 0 } as const;

export class DiscoveredModels {
  readonly #poll: GatewayPoll<Listed>;
  #version = 0;

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number) {
    this.#poll = new GatewayPoll(mono);
  }

  /** Another number whenever a list has changed. */
  get version(): number {
    return this.#version;
  }

  /** What the gateway of a deployment lists. */
  of(deployment: Deployment): GatewayList {
    const said = this.#poll.of(deployment);
    return { ...(said?.answer ?? NOTHING), error: said?.error ?? null };
  }

  /** Whether the gateway of a deployment lists that name. */
  has(deployment: Deployment, name: string): boolean {
    return this.#poll.of(deployment)?.answer?.ids.has(name) === true;
  }

  /** Of each gateway that is asked. */
  *figures(): Generator<DiscoveryFigure> {
    for (const { apiBase, answer, failures } of this.#poll.all)
      yield { apiBase, models: answer?.ids.size ?? 0, failures };
  }

  /** See `GatewayPoll`. */
  takeChanges(): readonly Said<Listed>[] {
    return this.#poll.takeChanges();
  }

  /** Asks the gateways whose lists are missing or old, and forgets those of no deployment. Never rejects. */
  refresh(deployments: Iterable<AskedDeployment>, { refreshMs, maxModels }: DiscoveryLimits): Promise<void> {
    return this.#poll.refresh(
      deployments,
      {
        name: 'models',
        isFor: ({ discovers }) => discovers,
        pathOf,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
        read: (text) => readList(text, maxModels),
        onAnswer: (found, before) => {
          if (!isSame(found, before)) this.#version += 1;
        },
      },
      { keptMs: refreshMs, failedMs: Math.min(RETRY_MS, refreshMs) },
    );
  }
}

function pathOf(config: Deployment): string {
  const path = ownPath(config, 'models');
  const page = PAGE[config.kind];
  if (page === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${page}`;
}

/** `data[].id`, or Gemini's `models[].name`; null = no list. @throws SyntaxError */
function readList(text: string, most: number): Listed | null {
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
  return { ids, patterns, left };
}

const stripped = (name: unknown): unknown =>
  typeof name === 'string' ? name.replace(/^models\//, '') : undefined;

function isSame(found: Listed, before: Listed | null): boolean {
  if (before === null) return false;
  const sources = (list: readonly RegExp[]): string => list.map(({ source }) => source).join('\n');
  return (
    before.ids.size === found.ids.size &&
    [...found.ids].every((id) => before.ids.has(id)) &&
    sources(found.patterns) === sources(before.patterns)
  );
}
