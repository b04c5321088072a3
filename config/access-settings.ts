// Types of the resolved configuration that say who may call what, and where administration is served.
import type { Secret } from './secret.ts';

/** A key that makes LLM calls and reads listings, and nothing else. */
export interface InferenceKey {
  readonly key: Secret;
  /** What rows call it; null = it has no name. */
  readonly name: string | null;
}

/** What may be spent and how fast; null = no limit. USD. */
export interface FileTerms {
  readonly maxBudget: number | null;
  readonly softBudget: number | null;
  readonly budgetDuration: string | null;
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly maxParallel: number | null;
  /** By model name. */
  readonly modelRpm: Readonly<Record<string, number>>;
  readonly modelTpm: Readonly<Record<string, number>>;
  readonly tags: readonly string[];
  readonly blocked: boolean;
}

/** A virtual key of the file. */
export interface FileKey extends FileTerms {
  /** Lower-case hex, of its value. */
  readonly sha256: string;
  /** '' = the file has its hash alone. */
  readonly lastFour: string;
  readonly alias: string;
  readonly type: 'default' | 'llm_api' | 'management' | 'read_only';
  readonly allowedRoutes: readonly string[];
  readonly models: readonly string[];
  /** Its own names for models. */
  readonly aliases: Readonly<Record<string, string>>;
  readonly teamId: string | null;
  readonly userId: string | null;
  /** What holds for each of its conversations, by the names that a key's metadata have. */
  readonly ofSessions: Readonly<Record<string, number>>;
  /** null = never. */
  readonly expiresMs: number | null;
  /** It may ask for faults by name. */
  readonly allowsChaos: boolean;
}

export interface FileTeam extends FileTerms {
  readonly id: string;
  readonly alias: string | null;
  readonly models: readonly string[];
  readonly modelAliases: Readonly<Record<string, string>>;
  readonly members: readonly { readonly userId: string; readonly role: 'admin' | 'user' }[];
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
  /** Virtual keys and teams that stand in the file. */
  readonly keys: readonly FileKey[];
  readonly teams: readonly FileTeam[];
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
  /** Who may ask for faults by name: null = virtual keys that say so, true = the master key as well, false = nobody. */
  readonly allowsChaos: boolean | null;
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
