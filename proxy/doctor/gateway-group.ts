// Entries that share a gateway: the same address, key and headers. They share what is asked of it.
import { createHash } from 'node:crypto';
import type { Deployment } from '../../config/snapshot.ts';
import { deploymentHeaders } from '../headers/upstream-headers.ts';
import type { Pool } from '../upstream/pool.ts';
import type { Pools } from '../upstream/pools.ts';
import { ask, type Asked, type Question } from './ask.ts';
import type { Entry } from './entries.ts';
import { DOCTOR_AGENT } from './identity.ts';

export interface GatewayGroup {
  /** The address with its entries, and which key where one address has several. */
  readonly subject: string;
  readonly entries: readonly Entry[];
  /** Of the first entry; address, key and headers are those of all. */
  readonly deployment: Deployment;
  /** What every request carries, flat. */
  readonly headers: readonly string[];
}

/** How long one question may take. */
export interface GatewayLimits {
  readonly timeoutMs: number;
  /** Epoch ms. */
  readonly now: () => number;
}

export function groupsOf(entries: readonly Entry[]): readonly GatewayGroup[] {
  const groups = Map.groupBy(entries, ({ deployment }) => identityOf(deployment));
  const perBase = Map.groupBy([...groups.values()], ([first]) => first?.deployment.apiBase ?? '');
  return [...groups.values()].flatMap((members): GatewayGroup[] => {
    const [first] = members;
    if (first === undefined) return [];
    const { deployment } = first;
    const isOneOfSeveral = (perBase.get(deployment.apiBase)?.length ?? 0) > 1;
    const key = isOneOfSeveral ? ` (key of ${first.keyPlace ?? deployment.group})` : '';
    const { fixed } = deploymentHeaders(deployment, DOCTOR_AGENT);
    return [
      {
        subject: `${deployment.apiBase}${key}, ${namesOf(members)}`,
        entries: members,
        deployment,
        headers: fixed,
      },
    ];
  });
}

const NAMES_SHOWN = 3;

/** `entry gpt-4o`, `entries a, b, c and 7 more`. */
export function namesOf(entries: readonly Entry[]): string {
  const names = [...new Set(entries.map(({ deployment }) => deployment.group))];
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  return `${names.length === 1 ? 'entry' : 'entries'} ${shown}${more}`;
}

function identityOf(deployment: Deployment): string {
  const { origin, pathPrefix, apiKey, staticHeaders, refuseLinkLocal, tls } = deployment;
  const headers = staticHeaders.map(([name, value]) => `${name}:${value.sha256()}`).join();
  const where = [origin, pathPrefix, tls?.sha256 ?? '', String(refuseLinkLocal)];
  const text = [...where, apiKey?.sha256() ?? '', headers].join(' ');
  return createHash('sha256').update(text).digest('hex');
}

/** Asks one gateway, over a pool of the proxy. */
export class GatewayClient {
  readonly group: GatewayGroup;
  readonly #pools: Pools;
  readonly #mono: () => number;
  readonly #pool: Pool;

  constructor(group: GatewayGroup, pools: Pools, mono: () => number) {
    this.group = group;
    this.#pools = pools;
    this.#mono = mono;
    this.#pool = pools.acquire(group.deployment);
  }

  /** @param path below the origin. @param more further headers, flat */
  ask(
    question: Omit<Question, 'headers'>,
    { timeoutMs, maxBytes }: { readonly timeoutMs: number; readonly maxBytes: number },
    more: readonly string[] = [],
  ): Promise<Asked> {
    const headers = [...this.group.headers, ...more];
    return ask(this.#pool, { ...question, headers }, { timeoutMs, maxBytes, mono: this.#mono });
  }

  close(): void {
    this.#pools.release(this.group.deployment);
  }
}
