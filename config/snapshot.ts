// Types of the resolved world. A Snapshot is frozen: it is replaced, never edited. Everything that can be
// computed from the configuration is computed when it is loaded, so that a request only reads.
import type { Dialect } from './dialect.ts';
import type { Issue } from './issue.ts';
import type { Gateway } from './resolve/gateways/gateway.ts';
import type { Secret } from './secret.ts';

/** The clocks of one upstream call, milliseconds; 0 switches a clock off. */
export interface Clocks {
  /** Until the TCP/TLS connection stands. */
  readonly connectMs: number;
  /** From sending until the response's status line, for calls that do not stream. */
  readonly firstByteMs: number;
  /** The same for streamed calls. */
  readonly streamFirstByteMs: number;
  /** Longest silence between two chunks of the response. */
  readonly idleMs: number;
  /** From sending to the first token of a streamed answer; nothing goes to the client before it. */
  readonly firstTokenMs: number;
  /** From the start of an attempt without a valid answer until a second one starts beside it. */
  readonly hedgeAfterMs: number;
  /** From the first attempt to the last byte. */
  readonly totalMs: number;
}

/** Tokens that can have a price of their own; without one a kind costs what the kind it belongs to costs. */
export type TokenKind =
  | 'input'
  | 'cacheRead'
  | 'cacheWrite'
  | 'cacheWrite1h'
  | 'inputAudio'
  | 'inputImage'
  | 'output'
  | 'reasoning'
  | 'outputAudio'
  | 'outputImage';

/** What else is counted and priced. Seconds are counted in milliseconds, all others in ones. */
export type UnitKind = 'requests' | 'images' | 'seconds' | 'characters' | 'queries' | 'searches';

/** Prices of one kind of tokens, atto-dollars (1e-18 USD) per token; null = not stated. */
export interface Rate {
  readonly base: bigint | null;
  readonly flex: bigint | null;
  readonly priority: bigint | null;
  /** The first whose `promptTokens` is exceeded holds, for every token of the request; highest first. */
  readonly above: readonly { readonly promptTokens: number; readonly price: bigint }[];
}

/** A price table in atto-dollars (1e-18 USD), so that 3e-06 USD per token and a hundredth of it are whole numbers. */
export interface Prices {
  /** SHA-256 (first 12 hex) over the table: names in each record by which prices it was made. */
  readonly version: string;
  readonly tokens: Readonly<Partial<Record<TokenKind, Rate>>>;
  readonly units: Readonly<Partial<Record<UnitKind, bigint>>>;
}

/** Whom an entry's requests are attributed to (`model_info`): for gateway keys that stand for a team each. */
export interface Attribution {
  readonly teamId: string | null;
  readonly userId: string | null;
  readonly profile: string | null;
  readonly tags: readonly string[];
}

/** An answer whose client has left is read on for its usage. */
export interface ReadOn {
  /** So long, ms. */
  readonly ms: number;
  /** Unless so many are read on already, in this process. */
  readonly most: number;
}

export type KindName = 'proxy' | 'compat';

/** One model entry, resolved: where a request for it goes and under which rules. */
export interface Deployment {
  /** Deployment id: `model_info.id`, else a SHA-256 over the entry (stable over restarts). */
  readonly id: string;
  /** `model_name`: what clients ask for; may contain `*`. */
  readonly group: string;
  /** Runtime routes came by `/model/new`. */
  readonly source: 'config' | 'runtime';
  readonly kind: KindName;
  /** The prefix as written: `litellm_proxy` or `openai`; recorded as `custom_llm_provider`. */
  readonly provider: string;
  /** The upstream's name for the model, verbatim; may contain `*` for wildcards. */
  readonly upstreamModel: string;
  /** `litellm_params.model` as written, for model info. */
  readonly model: string;
  /** `scheme://host[:port]`: key of the connection pool, together with `allowH2`. */
  readonly origin: string;
  /** HTTP/2 is offered where there is TLS. */
  readonly allowH2: boolean;
  /** Path to which the endpoint is appended (`/chat/completions`): ends in `/v1` or alike, never in a slash. */
  readonly pathPrefix: string;
  /** api_base as configured, query and credentials removed; shown in headers, rows and model info. */
  readonly apiBase: string;
  readonly apiKey: Secret | null;
  /** Operator's headers, lower-case names; entry's over router-wide ones. Values may be secrets. */
  readonly staticHeaders: readonly (readonly [name: string, value: Secret])[];
  /** Whether client headers are forwarded for this entry; under a wildcard ask `Snapshot.forwards` for the name. */
  readonly forwardClientHeaders: boolean;
  /** Compat-type upstreams never see the dialect's control members. */
  readonly stripsControlMembers: boolean;
  readonly clocks: Clocks;
  /** How an answer is read on whose client has left ... */
  readonly readOn: ReadOn;
  /** ... and whether it is, where nothing else asks for it; else the call is aborted. */
  readonly readsOn: boolean;
  /** It goes on with the text of a last assistant message: streams that broke off elsewhere are continued here. */
  readonly assistantPrefill: boolean;
  /** The entry's own prices (litellm_params or model_info), or null. */
  readonly prices: Prices | null;
  /** The catalogue's prices for the upstream model, or null. For wildcards look up per model. */
  readonly cataloguePrices: Prices | null;
  readonly attribution: Attribution;
  /** How the gateway behind this entry is told whose call it is, and how its cost and call id are read. */
  readonly gateway: Gateway;
  /** Relative share inside a group (`weight`, else `rpm`, else `tpm`, else 1). */
  readonly weight: number;
  /** Rank inside a group (`order`), lowest first; infinite when not stated. */
  readonly order: number;
  /** Most calls under way from one process (`max_parallel_requests`); infinite = no bound. */
  readonly maxParallel: number;
  /** Retries of calls that this entry was the first to get; null: what holds for all. */
  readonly numRetries: number | null;
  /** How long the entry rests when it has failed too often. */
  readonly cooldownMs: number;
  /** `model_info` as answered by `/model/info`: configured members over catalogue facts; no secrets. */
  readonly info: Readonly<Record<string, unknown>>;
  /** litellm_params as answered by `/model/info`: without api_key, header values and other secrets. */
  readonly publicParams: Readonly<Record<string, unknown>>;
}

/** Routes whose `model_name` holds a `*`, most specific first. */
export interface WildcardGroup {
  /** The `model_name`, e.g. `*` or `anthropic/*`. */
  readonly pattern: string;
  /** Anchored at both ends, one group per `*`. */
  readonly regex: RegExp;
  readonly deployments: readonly Deployment[];
}

/** How a group shares out requests that no session binds to an entry. */
export type StrategyName = 'simple-shuffle' | 'least-busy' | 'latency-based-routing';

/** Retries by kind of failure; absent: `numRetries`. */
export interface RetryPolicy {
  readonly timeout?: number;
  readonly rateLimit?: number;
  readonly server?: number;
}

/** Names that take over, by the name that failed; `*` stands for every other. */
export type FallbackTable = ReadonlyMap<string, readonly string[]>;

/** What happens among upstreams: who is asked, and who next. */
export interface Routing {
  readonly strategy: StrategyName;
  readonly sessionAffinity: boolean;
  /** null: not stated. */
  readonly numRetries: number | null;
  readonly retryPolicy: RetryPolicy;
  readonly groupRetryPolicy: ReadonlyMap<string, RetryPolicy>;
  /** Shortest pause before one entry is asked again. */
  readonly retryAfterMs: number;
  /** Retries and fallbacks per request, over all. */
  readonly retryBudget: number;
  readonly fallbacks: FallbackTable;
  readonly contextWindowFallbacks: FallbackTable;
  readonly contentPolicyFallbacks: FallbackTable;
  readonly defaultFallbacks: readonly string[];
  readonly maxFallbacks: number;
  /** Further name -> name of `model_list`. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Further names that listings show. */
  readonly listedAliases: readonly string[];
  /** Failures within a minute that an entry may have; infinite: none ever rests. */
  readonly allowedFails: number;
  /** Between two rounds of asking all upstreams; null: they are not asked. */
  readonly healthCheckMs: number | null;
}

/** What bounds the calls of one process; infinite = no bound. */
export interface Overload {
  /** Most calls under way. */
  readonly total: number;
  /** Most calls that wait for their turn. */
  readonly mostWaiting: number;
  /** Longest wait. */
  readonly waitMs: number;
  /** The lag of the event loop above which calls are turned away. */
  readonly maxLagMs: number;
  /** Some limit on calls under way is set: over all, or of an entry. */
  readonly isLimited: boolean;
}

export interface HeaderSettings {
  /** Forwarding for all entries (`general_settings.forward_client_headers_to_llm_api`). */
  readonly forwardAll: boolean;
  /** Lower-case prefixes forwarded when forwarding is on, e.g. `x-`, `anthropic-`, `openai-beta`. */
  readonly forwardPrefixes: readonly string[];
  /** Lower-case names or prefixes ending in `*` never forwarded, beside the built-in ones. */
  readonly deny: readonly string[];
}

export interface Limits {
  /** Largest request body, bytes (413 above). */
  readonly requestBytes: number;
  /** Most request headers (431 above). */
  readonly headerCount: number;
  /** Most connections of clients at once, in one process; more are closed as they come. */
  readonly connections: number;
  /** Requests on one connection, after which it is closed. */
  readonly requestsPerConnection: number;
  /** Deepest JSON nesting (400 above). */
  readonly jsonDepth: number;
  /** null: compressed request bodies are refused (415); else the largest inflated size, bytes. */
  readonly inflatedBytes: number | null;
}

export interface JournalSettings {
  /** Longest time a record may lie in the operating system's cache before fsync, ms. 0 = every write. */
  readonly fsyncIntervalMs: number;
  readonly segmentBytes: number;
  /** What new requests get while the journal cannot be written: `block` = 503, `serve` = served and counted as at risk. */
  readonly whenUnwritable: 'block' | 'serve';
}

/** `prefer` takes TLS if the server has it; `require` encrypts and believes any certificate, as libpq does. */
export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** A PostgreSQL database for what is durable. */
export interface DatabaseSettings {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: Secret | null;
  /** Schema of all tables. */
  readonly schema: string;
  /** Command line options for the server, as libpq's `options`. */
  readonly options: string | null;
  readonly tls: TlsMode;
  /** Paths of PEM files. */
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
  readonly connectTimeoutMs: number;
  /** `postgresql://host:port/database`: for messages, without user and password. */
  readonly shown: string;
}

/** How long and how many calls are known by their `Idempotency-Key`. */
export interface IdempotencySettings {
  readonly windowMs: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** Where spans go, and which. */
export interface OtelSettings {
  /** What spans are posted to, path included; without credentials. */
  readonly endpoint: string;
  /** Lower-case name -> value. */
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** For one export, with its retries. */
  readonly timeoutMs: number;
  readonly compression: 'none' | 'gzip';
  /** Attributes of the process, `service.name` among them. */
  readonly resource: readonly (readonly [name: string, value: string])[];
  /** `ratio`: share of the traces that are kept; `followsCaller`: a caller's decision comes before it. */
  readonly sampler: { readonly ratio: number; readonly followsCaller: boolean };
  /** Upstreams are told their place in the trace. */
  readonly propagates: boolean;
  /** Longest wait for a batch to fill. */
  readonly delayMs: number;
  /** Most spans that wait; more are dropped. */
  readonly queueSpans: number;
}

export interface CorsSettings {
  readonly allowOrigins: readonly string[];
}

/** What a sandbox of one kind runs. Strings may hold `{port}`, `{sandbox_dir}`, `{sandbox_id}`. */
export interface SandboxSpec {
  readonly id: string;
  readonly command: readonly string[];
  readonly image: string | null;
  /** Inside a container. */
  readonly port: number;
  readonly workingDir: string;
  readonly initialEnv: readonly (readonly [name: string, value: Secret])[];
  readonly healthPath: string;
  /** Where conversations are handed over; null = the runtime asks for none. */
  readonly conversationsPath: string | null;
  /** null = not bounded by us. */
  readonly limits: {
    readonly memoryMb: number | null;
    readonly cpuSeconds: number | null;
    readonly cpus: number | null;
    readonly openFiles: number | null;
    readonly processes: number | null;
  };
}

export interface SandboxSettings {
  readonly driver: 'process' | 'docker';
  readonly maxRunning: number;
  /** 0 = never. */
  readonly idlePauseMs: number;
  readonly startTimeoutMs: number;
  readonly isolation: 'auto' | 'bubblewrap' | 'none';
  readonly stopWithServer: boolean;
  readonly dockerSocket: string;
}

/** The platform wing (`platform/`). */
export interface PlatformSettings {
  /** Who may call `/api`; the one user of a plain key has no id. */
  readonly users: readonly { readonly key: Secret; readonly userId: string | null }[];
  /** Base64 of 32 bytes. */
  readonly secretKey: Secret;
  /** Without a trailing slash; null = the address that is listened on. */
  readonly publicBaseUrl: string | null;
  /** Of its own listener, 0 = any free port; null = the proxy's. */
  readonly port: number | null;
  /** null = the proxy's. */
  readonly host: string | null;
  readonly sandbox: SandboxSettings;
  /** The first is the default. */
  readonly sandboxSpecs: readonly SandboxSpec[];
}

export interface Snapshot {
  /** SHA-256 (first 12 hex) over all that was read; names the configuration in logs and `/health/readiness`. */
  readonly version: string;
  /** Every file read, main one first: what a watcher must watch. */
  readonly files: readonly string[];
  readonly dialect: Dialect;
  /** Config order, runtime additions after. */
  readonly deployments: readonly Deployment[];
  /** Exact names (no `*`) -> their routes. */
  readonly groups: ReadonlyMap<string, readonly Deployment[]>;
  readonly wildcards: readonly WildcardGroup[];
  readonly routing: Routing;
  readonly overload: Overload;
  /** null: no key configured; the server then binds to loopback only. */
  readonly masterKey: Secret | null;
  /** Serve without a key on other than loopback addresses. */
  readonly allowUnauthenticated: boolean;
  readonly storeModelInDb: boolean;
  /** Count tokens that an upstream did not (`general_settings.estimate_missing_usage`). */
  readonly estimateMissingUsage: boolean;
  /** Write the cost into the usage of streams (`litellm_settings.include_cost_in_streaming_usage`). */
  readonly costInStreamingUsage: boolean;
  /** `undefined`: ask upstream for usage, keep it from clients that did not ask; true: hand it on; false: never ask. */
  readonly alwaysIncludeStreamUsage: boolean | undefined;
  readonly headers: HeaderSettings;
  /** Whether calls for this model name (as clients ask for it) carry client headers upstream. Pure. */
  readonly forwards: (model: string) => boolean;
  readonly limits: Limits;
  readonly journal: JournalSettings;
  /** null: the embedded store. */
  readonly database: DatabaseSettings | null;
  /** How long spend rows are kept, milliseconds; null: for ever. */
  readonly retentionMs: number | null;
  readonly cors: CorsSettings | null;
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
  /** Accepted but doubtful things; also keys of the dialect that have no effect here. */
  readonly warnings: readonly Issue[];
}
