// Types of the resolved configuration, computed at load and frozen: it is replaced, never edited, and a request only reads.
import type { Prices } from './price-table.ts';
import type { AlertSettings } from './alert-settings.ts';
import type { ValkeySettings } from './valkey-settings.ts';
import type { BrakeSettings } from './brake-settings.ts';
import type { CapsuleSettings } from './capsule-settings.ts';
import type { AccessSettings, AdminSettings } from './access-settings.ts';
import type { BudgetSettings } from './budget-settings.ts';
import type { ConsoleSettings } from './console-settings.ts';
import type { DatabaseSettings } from './database-settings.ts';
import type { Dialect } from './dialect.ts';
import type { DiscoverySettings } from './discovery-settings.ts';
import type { IdempotencySettings } from './idempotency-settings.ts';
import type { Issue } from './issue.ts';
import type { KeyGenerationSettings } from './key-generation-settings.ts';
import type { CredentialHeader, KindName } from './kind-names.ts';
import type { Gateway } from './resolve/gateways/gateway.ts';
import type { OtelSettings } from './otel-settings.ts';
import type { PlatformSettings } from './platform-settings.ts';
import type { DisabledModel } from './runtime-models.ts';
import type { SteeringTable } from './resolve/gateways/parameters.ts';
import type { Secret } from './secret.ts';
import type { StatedMembers } from './stated-members.ts';
import type { ListenerTls, UpstreamTls } from './tls-settings.ts';

export type {
  KubernetesSettings,
  PlatformSettings,
  SandboxSettings,
  SandboxSpec,
} from './platform-settings.ts';

/** The timeouts of one upstream call, milliseconds; 0 switches a timeout off. */
export interface Clocks {
  /** Until the TCP/TLS connection is open. */
  readonly connectMs: number;
  /** From sending the request to the response's status line, for calls that do not stream. */
  readonly firstByteMs: number;
  /** The same for streamed calls. */
  readonly streamFirstByteMs: number;
  /** Longest silence between two chunks of the response. */
  readonly idleMs: number;
  /** From sending the request to the first token of a streamed response; the client gets nothing before it. */
  readonly firstTokenMs: number;
  /** From the start of an attempt without a valid response until a hedged attempt starts. */
  readonly hedgeAfterMs: number;
  /** From the first attempt to the last byte. */
  readonly totalMs: number;
}

/** Whom a deployment's requests are attributed to (`model_info`), for gateways with one key per team. */
export interface Attribution {
  readonly teamId: string | null;
  readonly userId: string | null;
  readonly profile: string | null;
  readonly tags: readonly string[];
}

/** Limits for reading a response to its end, for the usage, after its client has left. */
export interface ReadOn {
  /** At most this long, ms. */
  readonly ms: number;
  /** At most this many at once in this process. */
  readonly most: number;
}

/** One resolved `model_list` entry: where its requests go and under which rules. */
export interface Deployment {
  /** Deployment id: `model_info.id`, else a SHA-256 over the entry (stable over restarts). */
  readonly id: string;
  /** `model_name`: the name that clients request; may contain `*`. */
  readonly group: string;
  /** `runtime` = added through `/model/new`. */
  readonly source: 'config' | 'runtime';
  readonly kind: KindName;
  /** The prefix as written, e.g. `litellm_proxy` or `openai`; recorded as `custom_llm_provider`. */
  readonly provider: string;
  /** The upstream's name for the model, verbatim; may contain `*` for wildcards. */
  readonly upstreamModel: string;
  /** `litellm_params.model` as written, for model info. */
  readonly model: string;
  /** `scheme://host[:port]`: key of the connection pool, together with `allowH2`. */
  readonly origin: string;
  /** Offer HTTP/2 over TLS. */
  readonly allowH2: boolean;
  /** Authorities and client certificate; null = as Node does by itself. */
  readonly tls: UpstreamTls | null;
  /** No connection is opened to link-local and metadata addresses; see link-local.ts. */
  readonly refuseLinkLocal: boolean;
  /** Path to which the endpoint (`/chat/completions`) is appended: ends in `/v1` or similar, never in a slash. */
  readonly pathPrefix: string;
  /** Most endpoints stand below `deployments/MODEL` of it; see upstream-path.ts. */
  readonly modelInPath: boolean;
  /** Query of every request, without the question mark; '' = none. */
  readonly upstreamQuery: string;
  /** api_base as configured, without query and credentials; shown in headers, rows and model info. */
  readonly apiBase: string;
  readonly apiKey: Secret | null;
  /** Where `apiKey` goes. */
  readonly credentialHeader: CredentialHeader;
  /** What this kind of upstream wants with every call, lower-case names; the operator's headers win. */
  readonly vendorHeaders: readonly (readonly [name: string, value: string])[];
  /** Values that stand in list headers of every call, beside those of operator and client; lower-case names. */
  readonly joinedHeaders: readonly (readonly [name: string, value: string])[];
  /** Headers of clients that belong to the body: they go even while forwarding is off. */
  readonly passedHeaders: ReadonlySet<string>;
  /** What the entry states of its requests; null = nothing. */
  readonly statedMembers: StatedMembers | null;
  /** Members of bodies that this kind of upstream refuses. */
  readonly refusedMembers: ReadonlySet<string>;
  /** It takes `name` in messages of the role `tool` alone. */
  readonly namesToolsAlone: boolean;
  /** The operator's headers with lower-case names; the entry's own win over router-wide ones. Values may be secrets. */
  readonly staticHeaders: readonly (readonly [name: string, value: Secret])[];
  /** Whether client headers are forwarded. For wildcards, call `Snapshot.forwards` with the requested name. */
  readonly forwardClientHeaders: boolean;
  /** The entry itself says so, and no list of names counts beside it. */
  readonly statesForwarding: boolean;
  /** Names of query parameters that go upstream, beyond those that the API documents. */
  readonly allowedQuery: ReadonlySet<string>;
  /** Compat-type upstreams never see the dialect's control members. */
  readonly stripsControlMembers: boolean;
  /** Names of the protocols that its gateway speaks; null = not stated: each one, but those that it was found not to. */
  readonly serves: ReadonlySet<string> | null;
  /** What counts in place of `serves` for a model whose mode is `responses`; null: the entry is not one for many models, or it is settled. */
  readonly servesInResponsesMode: ReadonlySet<string> | null;
  /** What a translation cannot carry is left out and named; false: such a call is refused. */
  readonly dropParams: boolean;
  /** Members of a body that steer its gateway: refused unless they are allowed. */
  readonly steeringParameters: SteeringTable;
  /** Members that clients may send though they steer the gateway: folded, dotted paths. */
  readonly allowedClientParameters: ReadonlySet<string>;
  readonly clocks: Clocks;
  /** Limits for reading a response whose client has left. */
  readonly readOn: ReadOn;
  /** Whether such responses are read to their end; false = the call is aborted unless something else needs it. */
  readonly readsOn: boolean;
  /** Answers that are passed on state the model that the caller asked for; false: the upstream's. */
  readonly statesAskedModel: boolean;
  /** The model continues the text of a last assistant message, so it can resume streams that broke elsewhere. */
  readonly assistantPrefill: boolean;
  /** The entry's own prices, over the catalogue's where it states some only, or null. For wildcards ask the catalogue. */
  readonly prices: Prices | null;
  /** The catalogue's prices for the upstream model, or null. For wildcards look up per model. */
  readonly cataloguePrices: Prices | null;
  readonly attribution: Attribution;
  /** How the upstream gateway learns whose call it is, and where it states cost and call id. */
  readonly gateway: Gateway;
  /** Relative share within its model group (`weight`, else `rpm`, else `tpm`, else 1). */
  readonly weight: number;
  /** Rank within its model group (`order`), lowest first; Infinity when not set. */
  readonly order: number;
  /** What is answered in place of a call (`mock_response`); null = calls are made. */
  readonly mock: string | null;
  /** Its gateway is asked what it serves (`discover_models`). */
  readonly discovers: boolean;
  /** Most calls in flight from one process (`max_parallel_requests`); Infinity = no limit. */
  readonly maxParallel: number;
  /** Retries of calls whose first attempt went to this deployment; null = the router-wide setting. */
  readonly numRetries: number | null;
  /** Cooldown after too many failures. */
  readonly cooldownMs: number;
  /** What the catalogue knows of the model: names, limits, features, prices. */
  readonly knownFacts: Readonly<Record<string, unknown>>;
  /** `model_info` as the entry states it, with its id; no secrets. */
  readonly statedInfo: Readonly<Record<string, unknown>>;
  /** litellm_params as `/model/info` returns them: without api_key, header values and other secrets. */
  readonly publicParams: Readonly<Record<string, unknown>>;
}

/** Deployments whose `model_name` contains a `*`, most specific first. */
export interface WildcardGroup {
  /** The `model_name`, e.g. `*` or `anthropic/*`. */
  readonly pattern: string;
  /** Anchored at both ends, one group per `*`. */
  readonly regex: RegExp;
  readonly deployments: readonly Deployment[];
}

/** How a model group distributes requests that session affinity does not decide. */
export type StrategyName = 'simple-shuffle' | 'least-busy' | 'latency-based-routing';

/** Retries by kind of failure; absent = `numRetries`. */
export interface RetryPolicy {
  readonly timeout?: number;
  readonly rateLimit?: number;
  readonly server?: number;
}

/** Fallback names by the name that failed; `*` = every other name. */
export type FallbackTable = ReadonlyMap<string, readonly string[]>;

/** How deployments are chosen, and which one is tried next after a failure. */
export interface Routing {
  readonly strategy: StrategyName;
  readonly sessionAffinity: boolean;
  /** null = not set. */
  readonly numRetries: number | null;
  readonly retryPolicy: RetryPolicy;
  readonly groupRetryPolicy: ReadonlyMap<string, RetryPolicy>;
  /** Shortest pause before the same deployment is tried again. */
  readonly retryAfterMs: number;
  /** Retries and fallbacks per request, over all. */
  readonly retryBudget: number;
  readonly fallbacks: FallbackTable;
  readonly contextWindowFallbacks: FallbackTable;
  readonly contentPolicyFallbacks: FallbackTable;
  readonly defaultFallbacks: readonly string[];
  readonly maxFallbacks: number;
  readonly sameFirst: { readonly count: number; readonly longestMs: number };
  /** Where else a broken stream may go on: in the fallbacks, and where the same request gives the same text again. */
  readonly continueOverFallbacks: boolean;
  readonly continueByRepeat: boolean;
  /** Further name -> name of `model_list`. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Further names that listings show. */
  readonly listedAliases: readonly string[];
  /** Failures per minute before a deployment cools down; Infinity = never. */
  readonly allowedFails: number;
  /** Time between two rounds of health checks; null = off. */
  readonly healthCheckMs: number | null;
}

/** Limits on the calls of one process; Infinity = no limit. */
export interface Overload {
  /** Most calls in flight. */
  readonly total: number;
  /** Most calls that wait for a permit. */
  readonly mostWaiting: number;
  /** Longest wait. */
  readonly waitMs: number;
  /** Longest wait for a limit of requests, tokens or calls at a time; 0 = a call that reaches one is refused at once. */
  readonly limitWaitMs: number;
  /** Event loop lag above which calls are rejected. */
  readonly maxLagMs: number;
  /** Whether any limit on calls in flight is set, in total or for a deployment. */
  readonly isLimited: boolean;
}

/** Bounds of realtime sessions; ms, 0 = none. */
export interface RealtimeSettings {
  readonly longestMs: number;
  readonly idleMs: number;
  /** Reserved of each budget. */
  readonly reservedUsd: number;
}

export interface HeaderSettings {
  /** Forwarding for all deployments (`general_settings.forward_client_headers_to_llm_api`). */
  readonly forwardAll: boolean;
  /** Lower-case prefixes forwarded when forwarding is on, e.g. `x-`, `anthropic-`, `openai-beta`. */
  readonly forwardPrefixes: readonly string[];
  /** Lower-case names that are forwarded though they steer what stands behind, or match no prefix. */
  readonly allow: readonly string[];
  /** Lower-case names, or prefixes ending in `*`, that are never forwarded, in addition to the built-in ones. */
  readonly deny: readonly string[];
  /** Lower-case name of the operator's own header for keys (`litellm_key_header_name`); absent = none. */
  readonly keyHeader?: string;
}

interface Limits {
  /** Largest request body, bytes (413 above). */
  readonly requestBytes: number;
  /** Most request headers (431 above). */
  readonly headerCount: number;
  /** Most client connections at once in one process; further ones are closed at once. */
  readonly connections: number;
  /** Requests on one connection, after which it is closed. */
  readonly requestsPerConnection: number;
  /** Deepest JSON nesting (400 above). */
  readonly jsonDepth: number;
  /** null: compressed request bodies are refused (415); else the largest inflated size, bytes. */
  readonly inflatedBytes: number | null;
}

export interface JournalSettings {
  /** Longest time a record may stay in the page cache before fsync, ms. 0 = fsync every write. */
  readonly fsyncIntervalMs: number;
  readonly segmentBytes: number;
  /** While the journal cannot be written: `block` rejects new requests with 503, `serve` serves them and counts them as at risk. */
  readonly whenUnwritable: 'block' | 'serve';
}

interface CorsSettings {
  readonly allowOrigins: readonly string[];
}

/** A configuration in service: frozen, replaced as a whole. */
export interface Snapshot {
  /** SHA-256 (first 12 hex) over everything that was read; identifies the configuration in logs and `/health/readiness`. */
  readonly version: string;
  /** Every file that was read, the main one first: what a watcher must watch. */
  readonly files: readonly string[];
  readonly dialect: Dialect;
  /** In the order of the file, then runtime additions. */
  readonly deployments: readonly Deployment[];
  /** Runtime models that are not served. */
  readonly disabled: readonly DisabledModel[];
  /** Exact names (no `*`) -> their deployments. */
  readonly groups: ReadonlyMap<string, readonly Deployment[]>;
  readonly wildcards: readonly WildcardGroup[];
  readonly routing: Routing;
  readonly discovery: DiscoverySettings;
  readonly overload: Overload;
  readonly realtime: RealtimeSettings;
  /** null = no key configured; the server then binds to loopback only. */
  readonly masterKey: Secret | null;
  readonly access: AccessSettings;
  readonly keyGeneration: KeyGenerationSettings;
  readonly budgets: BudgetSettings;
  /** null = metrics and administration share the proxy's port. Read at the start only. */
  readonly admin: AdminSettings | null;
  /** Of our own ports; null = plain HTTP. */
  readonly tls: ListenerTls | null;
  /** Serve without a key on addresses other than loopback. */
  readonly allowUnauthenticated: boolean;
  /** Whether `/`, `/docs` and `/openapi.json` are served. */
  readonly apiDocs: boolean;
  /** null: there is no page for people. */
  readonly console: ConsoleSettings | null;
  /** Different values of a metric's label `team` or `gateway`; further ones are counted as `other`. */
  readonly maxMetricLabelValues: number;
  /** `/metrics` has the dialect's names, too. */
  readonly dialectMetrics: boolean;
  readonly storeModelInDb: boolean;
  /** Estimate tokens when an upstream reports none (`general_settings.estimate_missing_usage`). */
  readonly estimateMissingUsage: boolean;
  /** Write the cost into the usage of streams (`litellm_settings.include_cost_in_streaming_usage`). */
  readonly costInStreamingUsage: boolean;
  /** `undefined`: request usage from the upstream but hide it from clients that did not request it; true: always pass it on; false: never request it. */
  readonly alwaysIncludeStreamUsage: boolean | undefined;
  readonly headers: HeaderSettings;
  /** Whether calls for this model name (as the client requests it) forward client headers. Pure. */
  readonly forwards: (model: string) => boolean;
  readonly limits: Limits;
  readonly journal: JournalSettings;
  /** null = the embedded store. */
  readonly database: DatabaseSettings | null;
  /** null: nothing is counted together with other servers. Read at the start only. */
  readonly valkey: ValkeySettings | null;
  /** How long spend rows are kept, milliseconds; null = forever. */
  readonly retentionMs: number | null;
  readonly cors: CorsSettings | null;
  /** Lower-case names that the Host header may have, also `*.example.com` and `*`; null = not checked beyond loopback. */
  readonly allowedHosts: readonly string[] | null;
  /** null: nothing is traced. Read at the start only. */
  readonly otel: OtelSettings | null;
  /** null: keys are not looked at. */
  readonly idempotency: IdempotencySettings | null;
  /** Header names whose values become tags `name: value` (`litellm_settings.extra_spend_tag_headers`). */
  readonly tagHeaders: readonly string[];
  /** Header that names the end user (`general_settings.user_header_name`), lower-case. */
  readonly userHeader: string | null;
  /** New connections are still served so long after SIGTERM; at most `drainMs`. */
  readonly minDrainMs: number;
  /** Running requests may go on so long after a stop signal. */
  readonly drainMs: number;
  /** Processes that share the port; read at the start only. */
  readonly workers: number | 'auto';
  /** null: there is no platform interface. */
  readonly platform: PlatformSettings | null;
  /** null: the runaway brake is off. */
  readonly brake: BrakeSettings | null;
  /** null: no call can be recorded. */
  readonly capsules: CapsuleSettings | null;
  readonly alerts: AlertSettings;
  /** Accepted but doubtful things; also keys of the dialect that have no effect here. */
  readonly warnings: readonly Issue[];
}
