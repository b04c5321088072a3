// Types of a configuration file after validation: every key that has a default is there. Generated from
// schemas/gateway.json by `node config/generate.ts`; never edit by hand.

/**
 * Configuration of the proxy. `os.environ/NAME` may stand for any value and is read from the environment.
 */
export interface GatewayFile {
  /**
   * The models that clients may ask for, and the upstreams that serve them.
   */
  model_list: ModelEntry[];
  general_settings: GeneralSettings;
  litellm_settings: LitellmSettings;
  router_settings: RouterSettings;
  /**
   * Values for `os.environ/NAME` references; they win over the process's environment.
   */
  environment_variables?: {
    [k: string]: string | number | boolean;
  };
  /**
   * Further files, relative to the folder of the main file. Lists are extended, maps are merged, any other value of the included file wins.
   */
  include?: string[];
  /**
   * Named credentials that entries share.
   */
  credential_list: Credential[];
  platform?: PlatformSection;
}
/**
 * One model entry: what clients ask for, and the upstream that serves it. Several entries with one `model_name` share its requests.
 */
export interface ModelEntry {
  /**
   * What clients ask for. `*` stands for any text: `*`, `anthropic/*`. Exact names win over patterns.
   */
  model_name: string;
  litellm_params: EntryParams;
  model_info?: ModelInfo;
}
/**
 * The upstream: its kind, place, key, headers and clocks.
 */
export interface EntryParams {
  /**
   * Kind and upstream name. `litellm_proxy/NAME` = proxy-type: NAME goes upstream verbatim. `openai/REST` = compat-type: REST goes upstream verbatim, slashes included.
   */
  model: string;
  /**
   * Names the kind instead of the prefix of `model`, which then goes upstream verbatim.
   */
  custom_llm_provider?: string;
  /**
   * Where the upstream is. Proxy-type: without `/v1`. Compat-type: with `/v1`. No query, no credentials.
   */
  api_base?: string;
  /**
   * Another name of `api_base`.
   */
  base_url?: string;
  /**
   * Goes upstream as `Authorization: Bearer`. Left out: no such header is sent.
   */
  api_key?: string;
  /**
   * Takes `api_key`, `api_base` and `extra_headers` from `credential_list` where this entry does not state them.
   */
  litellm_credential_name?: string;
  /**
   * Static headers of every call to this upstream. They win over `router_settings.default_litellm_params.extra_headers` and over client headers.
   */
  extra_headers?: {
    [k: string]: string | number | boolean;
  };
  /**
   * Another name of `extra_headers`.
   */
  headers?: {
    [k: string]: string | number | boolean;
  };
  /**
   * Longest wait for the first byte of an answer that is not streamed, seconds; 0 switches the clock off. Else `router_settings.timeout`, else `litellm_settings.request_timeout`.
   */
  timeout?: number | string;
  /**
   * The same for streamed answers. Else `router_settings.stream_timeout`, else what holds for `timeout`.
   */
  stream_timeout?: number | string;
  /**
   * Longest wait for the TCP and TLS connection, seconds; 0 switches the clock off.
   */
  connect_timeout?: number | string;
  /**
   * Longest silence between two chunks of an answer, seconds; 0 switches the clock off.
   */
  idle_timeout?: number | string;
  /**
   * Longest time from sending the request to the last byte of the answer, seconds; 0 switches the clock off. Where it is not stated it is never shorter than the other clocks.
   */
  total_timeout?: number | string;
  /**
   * Share of requests inside a group of entries with one `model_name`. Else `rpm`, else `tpm`, else 1.
   */
  weight?: number | string;
  /**
   * Used as the share inside a group where no `weight` is stated; it limits nothing.
   */
  rpm?: number | string;
  /**
   * Used as the share inside a group where neither `weight` nor `rpm` is stated; it limits nothing.
   */
  tpm?: number | string;
  /**
   * Price of one input token, US dollars. Rates stated on the entry are used before the upstream's own cost header and before the catalogue.
   */
  input_cost_per_token?: number | string;
  /**
   * Price of one output token, US dollars.
   */
  output_cost_per_token?: number | string;
  /**
   * Price of one input token that the upstream read from its prompt cache, US dollars.
   */
  cache_read_input_token_cost?: number | string;
  /**
   * Price of one input token that the upstream wrote to its prompt cache, US dollars.
   */
  cache_creation_input_token_cost?: number | string;
  /**
   * Flat price of one request, US dollars, added to the token prices.
   */
  input_cost_per_request?: number | string;
}
/**
 * Facts that `/model/info` hands out, over those of the catalogue. Any member is allowed.
 */
export interface ModelInfo {
  /**
   * Id of the entry in records, headers and admin calls. Left out: a hash over the entry, the same after each restart.
   */
  id?: string;
  /**
   * Name under which limits and prices are looked up in the catalogue, where the upstream name says nothing.
   */
  base_model?: string;
  /**
   * What the model does: chat, completion, embedding, ...
   */
  mode?: string;
  /**
   * Price of one input token, US dollars. Rates stated on the entry are used before the upstream's own cost header and before the catalogue.
   */
  input_cost_per_token?: number | string;
  /**
   * Price of one output token, US dollars.
   */
  output_cost_per_token?: number | string;
  /**
   * Price of one input token that the upstream read from its prompt cache, US dollars.
   */
  cache_read_input_token_cost?: number | string;
  /**
   * Price of one input token that the upstream wrote to its prompt cache, US dollars.
   */
  cache_creation_input_token_cost?: number | string;
  /**
   * Flat price of one request, US dollars, added to the token prices.
   */
  input_cost_per_request?: number | string;
  [k: string]: unknown;
}
/**
 * The server: key, header policy, limits, journal.
 */
export interface GeneralSettings {
  /**
   * Key that callers and admins present. Else the environment variable PROXY_MASTER_KEY, else LITELLM_MASTER_KEY. None at all: the server serves on loopback only.
   */
  master_key?: string;
  /**
   * Serve without a key on other than loopback addresses.
   */
  allow_unauthenticated: boolean;
  /**
   * Hand client headers that match `forward_header_prefixes` to the upstream, on every endpoint, and stamp the session id. Credentials and hop-by-hop headers never go.
   */
  forward_client_headers_to_llm_api: boolean;
  /**
   * Prefixes of client headers that go upstream when forwarding is on.
   */
  forward_header_prefixes: string[];
  /**
   * Client headers that never go upstream, beside the built-in ones; a trailing `*` makes a prefix.
   */
  deny_headers: string[];
  /**
   * Keep entries of `/model/new` in the store, so that they survive a restart. The environment variable STORE_MODEL_IN_DB=True does the same.
   */
  store_model_in_db?: boolean;
  /**
   * Leave entries with another prefix than the two kinds out, with a warning each, instead of refusing the file.
   */
  skip_unsupported_models: boolean;
  /**
   * Left out: usage is asked for on every streamed chat and kept from clients that did not ask. True: handed on. False: never asked for.
   */
  always_include_stream_usage?: boolean;
  /**
   * Request header that names the end user.
   */
  user_header_name?: string;
  /**
   * Largest request body, MiB; larger ones get 413.
   */
  max_request_size_mb: number;
  /**
   * Most headers of a request; more get 431.
   */
  max_request_headers: number;
  /**
   * Deepest nesting of a request body; deeper ones get 400.
   */
  max_json_depth: number;
  accept_compressed_requests?: CompressedRequests;
  journal: Journal;
  cors?: Cors;
  /**
   * How long running requests may go on after a stop signal, seconds.
   */
  drain_seconds: number | string;
  dialect: DialectSettings;
}
/**
 * Accept compressed request bodies. Left out: they get 415.
 */
export interface CompressedRequests {
  /**
   * Largest size after inflating, MiB.
   */
  max_inflated_mb: number;
}
/**
 * The journal of spend records on the local disk.
 */
export interface Journal {
  /**
   * Longest time a record lies in the cache of the operating system, milliseconds; 0 syncs each write.
   */
  fsync_interval_ms: number;
  /**
   * Size at which a new journal file is begun, MiB.
   */
  segment_mb: number;
  /**
   * What new requests get while the journal cannot be written: `block` answers 503, `serve` serves and counts the records at risk.
   */
  when_unwritable: 'block' | 'serve';
}
/**
 * Browser access. Left out: none.
 */
export interface Cors {
  /**
   * Origins that browsers may call from, `*` for all.
   */
  allow_origins: string[];
}
/**
 * The brand words of the gateway family. A change renames prefixes, headers and body members together.
 */
export interface DialectSettings {
  /**
   * Prefix `<brand>_proxy/`, headers `x-<brand>-*`, body members `<brand>_*`.
   */
  brand: string;
  /**
   * Prefix of compat-type models and of the listed registry.
   */
  compat: string;
  /**
   * SDK telemetry headers `x-<sdk>*`, which are never forwarded.
   */
  sdk: string;
}
/**
 * Settings of the dialect that span all entries.
 */
export interface LitellmSettings {
  /**
   * Longest wait for the first byte of an answer where neither the entry nor `router_settings` states one, seconds; 0 switches the clock off.
   */
  request_timeout: number | string;
  model_group_settings?: ModelGroupSettings;
  /**
   * Request headers whose values are recorded as tags `name: value`.
   */
  extra_spend_tag_headers: string[];
}
/**
 * Switches by model name.
 */
export interface ModelGroupSettings {
  /**
   * Models whose calls carry client headers upstream although the global switch is off; names of `model_list` or patterns with `*`. An empty list, `*` or `all-proxy-models` means all.
   */
  forward_client_headers_to_llm_api?: string[];
}
/**
 * Defaults of every upstream.
 */
export interface RouterSettings {
  /**
   * Longest wait for the first byte of an answer, for entries that do not state one, seconds; 0 switches the clock off.
   */
  timeout?: number | string;
  /**
   * The same for streamed answers.
   */
  stream_timeout?: number | string;
  default_litellm_params: DefaultParams;
}
/**
 * Headers and clocks of every entry that does not state its own.
 */
export interface DefaultParams {
  /**
   * Static headers of every call to every upstream; an entry's header of the same name wins.
   */
  extra_headers?: {
    [k: string]: string | number | boolean;
  };
  /**
   * Another name of `extra_headers`.
   */
  headers?: {
    [k: string]: string | number | boolean;
  };
  /**
   * Longest wait for the first byte of an answer that is not streamed, seconds; 0 switches the clock off. Else `router_settings.timeout`, else `litellm_settings.request_timeout`.
   */
  timeout?: number | string;
  /**
   * The same for streamed answers. Else `router_settings.stream_timeout`, else what holds for `timeout`.
   */
  stream_timeout?: number | string;
  /**
   * Longest wait for the TCP and TLS connection, seconds; 0 switches the clock off.
   */
  connect_timeout: number | string;
  /**
   * Longest silence between two chunks of an answer, seconds; 0 switches the clock off.
   */
  idle_timeout: number | string;
  /**
   * Longest time from sending the request to the last byte of the answer, seconds; 0 switches the clock off. Where it is not stated it is never shorter than the other clocks.
   */
  total_timeout: number | string;
}
/**
 * A named credential that entries refer to by `litellm_credential_name`.
 */
export interface Credential {
  /**
   * Name to refer to.
   */
  credential_name: string;
  credential_values: CredentialValues;
}
/**
 * What an entry takes over where it does not state it.
 */
export interface CredentialValues {
  /**
   * Goes upstream as `Authorization: Bearer`. Left out: no such header is sent.
   */
  api_key?: string;
  /**
   * Where the upstream is. Proxy-type: without `/v1`. Compat-type: with `/v1`. No query, no credentials.
   */
  api_base?: string;
  /**
   * Another name of `api_base`.
   */
  base_url?: string;
  /**
   * Static headers of every call to this upstream. They win over `router_settings.default_litellm_params.extra_headers` and over client headers.
   */
  extra_headers?: {
    [k: string]: string | number | boolean;
  };
  /**
   * Another name of `extra_headers`.
   */
  headers?: {
    [k: string]: string | number | boolean;
  };
}
/**
 * The agent platform's own interface under `/api`: settings, profiles, conversations, sandboxes. Left out: there is no such interface. See docs/platform.md.
 */
export interface PlatformSection {
  /**
   * What callers of `/api` present as `X-Session-API-Key`. One key, or for several users a list of `{key, user_id}`; each user sees what is their own.
   *
   * @minItems 1
   */
  session_api_key: string | [PlatformUser, ...PlatformUser[]];
  /**
   * Base64 of 32 bytes; seals the platform's secrets at rest (AES-256-GCM). Made by `openssl rand -base64 32`, exchanged by `throughline rotate-platform-key`.
   */
  secret_key: string;
  /**
   * Where runtimes reach this proxy: what conversations are told. Left out: the address that is listened on.
   */
  public_base_url?: string;
  sandbox: SandboxSection;
  /**
   * What sandboxes may run. A request chooses one by its id and can state no command of its own. The first is the default; none: no sandboxes.
   */
  sandbox_specs: SandboxSpecEntry[];
}
/**
 * One user of the platform interface.
 */
export interface PlatformUser {
  /**
   * What this user presents as `X-Session-API-Key`.
   */
  key: string;
  /**
   * Owner of what is made with this key; the end user in the spend rows of their conversations.
   */
  user_id: string;
}
/**
 * How sandboxes run.
 */
export interface SandboxSection {
  /**
   * `process`: a process group on this machine. `docker`: a container of a Docker Engine.
   */
  driver: 'process' | 'docker';
  /**
   * Most sandboxes that run at once. One more pauses the caller's own that was longest without a call, or is refused with 409.
   */
  max_running: number;
  /**
   * A sandbox without calls for this long is paused; 0 switches it off.
   */
  idle_pause_seconds: number;
  /**
   * Longest wait for the first good answer on `health_path`; after that the sandbox is in ERROR and removed.
   */
  start_timeout_seconds: number;
  /**
   * For `process`: `auto` uses bubblewrap where it works, `bubblewrap` refuses to start without it, `none` runs the command as this user sees the machine.
   */
  isolation: 'auto' | 'bubblewrap' | 'none';
  /**
   * Remove all sandboxes when the server stops. Off: they run on and are taken over by the next start.
   */
  stop_with_server: boolean;
  /**
   * Where the Docker Engine listens.
   */
  docker_socket: string;
}
/**
 * One kind of sandbox.
 */
export interface SandboxSpecEntry {
  /**
   * What a request names.
   */
  id: string;
  /**
   * Program and arguments. `{port}`, `{sandbox_dir}`, `{sandbox_id}` stand for the sandbox's own; no shell reads it. Needed by `process`; the image's own when left out with `docker`.
   */
  command?: string[];
  /**
   * For `docker`: the image.
   */
  image?: string;
  /**
   * For `docker`: the port inside the container on which the runtime listens.
   */
  port: number;
  /**
   * Where the command runs; `{sandbox_dir}` is a folder of the sandbox's own.
   */
  working_dir: string;
  /**
   * Environment of the command beside PATH, HOME, SESSION_API_KEY and the conversation's LLM_BASE_URL, LLM_API_KEY and LLM_MODEL. Nothing of the server's own environment is inherited.
   */
  initial_env: {
    [k: string]: string | number | boolean;
  };
  /**
   * Answers 200 once the runtime is ready.
   */
  health_path: string;
  /**
   * Where the runtime takes conversations, as an agent server does: each is handed over there with its LLM, agent settings, tags and first message. Left out: a runtime reads LLM_BASE_URL, LLM_API_KEY and LLM_MODEL from its environment.
   */
  conversations_path?: string;
  limits: SandboxLimits;
}
/**
 * Bounds of what a sandbox may use; left out = the system's own.
 */
export interface SandboxLimits {
  /**
   * Memory: address space of each process with `process`, of the container with `docker`.
   */
  memory_mb?: number;
  /**
   * For `process`: CPU time of each process.
   */
  cpu_seconds?: number;
  /**
   * For `docker`: processors, fractions allowed.
   */
  cpus?: number;
  /**
   * Open files of each process.
   */
  open_files?: number;
  /**
   * For `docker`: processes in the container.
   */
  processes?: number;
}
