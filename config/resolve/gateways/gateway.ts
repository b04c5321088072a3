// A gateway dialect is data: in which headers a gateway reads whose call it is, and where its response states cost and
// call id. A new one is one file beside this one and one line in table.ts.
import type { Dialect } from '../../dialect.ts';

/** Header names are lower-case; null = this gateway has no such header. */
export interface Gateway {
  readonly name: string;
  readonly session: string | null;
  readonly user: string | null;
  /** Other headers from which this gateway would read an end user. */
  readonly userSynonyms?: readonly string[];
  readonly tags: Written | null;
  readonly metadata: Written | null;
  /** Response headers that state the cost in US dollars, best first. */
  readonly cost: readonly string[];
  /** Response headers that state the gateway's own call id, best first. */
  readonly callId: readonly string[];
  /** Usage objects may state the cost: `usage.cost` as a number, or `usage.cost.total_cost`. */
  readonly costInUsage: boolean;
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

export type GatewayMaker = (dialect: Dialect) => Gateway;
