// Types of the resolved configuration that say who may call what, and where administration is served.
import type { Secret } from './secret.ts';

/** A key that makes LLM calls and reads listings, and nothing else. */
export interface InferenceKey {
  readonly key: Secret;
  /** What rows call it; null = it has no name. */
  readonly name: string | null;
}

/** An address, or all that share its first `bits`. */
export interface AddressRange {
  readonly address: string;
  readonly bits: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Who may call what. */
export interface AccessSettings {
  readonly inferenceKeys: readonly InferenceKey[];
  /** Rows name the master key instead of holding its SHA-256. */
  readonly hidesMasterKey: boolean;
  /** Whether `/metrics` asks for the master key; null = on the proxy's port, not on the admin port. */
  readonly metricsNeedKey: boolean | null;
  /** null = every address may call. */
  readonly allowedAddresses: readonly AddressRange[] | null;
  /** Proxies whose `X-Forwarded-For` is believed; empty = nobody's. */
  readonly trustedProxies: readonly AddressRange[];
  /** LLM calls must state an end user. */
  readonly requiresEndUser: boolean;
  /** LLM calls must not state tags. */
  readonly refusesClientTags: boolean;
  readonly blockedEndUsers: ReadonlySet<string>;
  /** Whether rows hold the end user. */
  readonly recordsEndUsers: boolean;
}

/** The listener of metrics and administration. */
export interface AdminSettings {
  /** 0 = any free port. */
  readonly port: number;
  /** null = the proxy's host. */
  readonly host: string | null;
}
