// A gateway dialect is data: in which headers a gateway reads whose call it is, which headers steer it, and where its
// response states cost and call id. A new one is one file beside this one and one line in table.ts.
import type { Dialect } from '../../dialect.ts';

/** Header names are lower-case; null = this gateway has no such header. */
export interface Gateway {
  readonly name: string;
  readonly session: string | null;
  readonly user: string | null;
  /** Other headers from which this gateway would read an end user. */
  readonly userSynonyms?: readonly string[];
  /** Body members from which this gateway would read a session; null = none. */
  readonly sessionMembers: SessionMembers | null;
  readonly tags: Written | null;
  readonly metadata: Written | null;
  /** Response headers that state the cost in US dollars, best first. */
  readonly cost: readonly string[];
  /** Response headers that state the gateway's own call id, best first. */
  readonly callId: readonly string[];
  /** Usage objects may state the cost: `usage.cost` as a number, or `usage.cost.total_cost`. */
  readonly costInUsage: boolean;
  /** It lists facts of its models at `/model/info`. */
  readonly listsFacts?: boolean;
}

/**
 * How several values are written.
 * - `list`: one header, values joined by commas;
 * - `json`: one header with a JSON object; of tags and metadata that name the same header one object is made;
 * - `each`: one header per value, `name` is its prefix; a tag `key:value` becomes `<prefix>key: value`, and tags that
 *   have no key are listed in `<prefix>tags`.
 */
export interface Written {
  readonly as: 'list' | 'json' | 'each';
  readonly name: string;
  /** Member of the JSON object that holds the end user. */
  readonly userMember?: string;
}

/** Where a body states a session. */
export interface SessionMembers {
  /** Top-level members. */
  readonly names: readonly string[];
  /** Top-level objects, and the members of them. */
  readonly objects: readonly string[];
  readonly objectNames: readonly string[];
}

/**
 * Request headers that steer one kind of gateway: route, address, credentials, retries, clocks, callbacks, caches. Names
 * are lower-case with dashes; a trailing `*` makes a prefix.
 */
export interface Steering {
  /** The kind, as `explain` prints it. */
  readonly kind: string;
  readonly steers: readonly string[];
  /** Names under a prefix of `steers` that only describe the call: an allowlist. */
  readonly describes: readonly string[];
}

export type GatewayMaker = (dialect: Dialect) => Gateway;
