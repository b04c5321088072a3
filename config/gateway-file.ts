// Types of a configuration file after validation: every key that has a default is there. Generated from
// schemas/gateway.json by `node config/generate.ts`; never edit by hand.

/**
 * A key, or a key with its name.
 */
export type InferenceKeyEntry =
  | string
  | {
      /**
       * What the agent presents.
       */
      key: string;
      /**
       * What spend rows call it (`user_api_key_alias`).
       */
      name?: string;
    };
/**
 * The same call of a tool had the same result, among the last 20 calls of tools. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeRepeatedStep =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * The same call of a tool failed again with the same kind of error, among the last 20. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeRepeatedError =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * The same call of a tool, whatever it returned, among the last 20. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeRepeatedCall =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * Calls of tools that repeat in turn, A-B-A-B, with the same results: so many in a row, two to four different ones. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeAlternation =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * The end of the prompt is the same as in an earlier one of the last 20 requests, without a call of a tool. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeRepeatedPrompt =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * The same request in a row within 10 minutes, refused each time. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeRepeatedRequest =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * The same request without words of an assistant within an hour, in a session that the client states. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeRepeatedStart =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * Agents, threads with a dialogue, that began within an hour. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeNewAgents =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * Calls of tools in a row that failed with one kind of error, whatever the tool. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeToolErrors =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * LLM calls in a row that failed with one kind of error. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeCallErrors =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * Minutes in a row with more calls than `rate_factor` times the median minute of the conversation. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeCallRate =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * Minutes in a row that cost more than `rate_factor` times the median minute of the conversation. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeCostRate =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * The prompt shrank to less than half, so many times within 15 minutes. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeCompaction =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;
/**
 * Calls in a row with a longer prompt each. false: the rule is off. See docs/brake.md for the defaults.
 */
export type BrakeContextGrowth =
  | {
      /**
       * Count from which on it leads to this: a warning in the spend row. false: never.
       */
      note?: number | string | boolean;
      /**
       * Count from which on it leads to this: a response header. false: never.
       */
      header?: number | string | boolean;
      /**
       * Count from which on it leads to this: an alert. false: never.
       */
      alert?: number | string | boolean;
      /**
       * Count from which on it leads to this: a pause before the call. false: never.
       */
      slow?: number | string | boolean;
      /**
       * Count from which on it leads to this: the conversation is stopped. false: never.
       */
      stop?: number | string | boolean;
    }
  | boolean;

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
   * What may be spent: caps by scope. Keys, teams, users, customers and organizations state budgets of their own through the API. docs/budgets.md has the rules.
   */
  budgets: BudgetEntry[];
  /**
   * Values for `os.environ/NAME` references; they win over the process's environment.
   */
  environment_variables?: {
    [k: string]: string | number | boolean | null;
  };
  /**
   * Further files, relative to the folder of the main file. Lists are extended, maps are merged, any other value of the included file wins.
   */
  include?: string[];
  /**
   * Named credentials that deployments share.
   */
  credential_list: Credential[];
  platform?: PlatformSection;
  /**
   * Virtual keys that stand in the file: read-only for the API. Keys that are made by `POST /key/generate` stand in the store. See docs/keys.md.
   */
  keys: FileKey[];
  /**
   * Teams that stand in the file: read-only for the API. See docs/keys.md.
   */
  teams: FileTeam[];
  alerts: AlertsSection;
  brake?: BrakeSection;
}
/**
 * A deployment: what clients ask for, and the upstream that serves it. Several deployments with one `model_name` are a model group and share its requests.
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
 * The upstream: its kind, URL, key, headers and timeouts.
 */
export interface EntryParams {
  /**
   * Kind and upstream name. `litellm_proxy/NAME` = proxy-type: NAME goes upstream verbatim. `openai/REST` = compat-type: REST goes upstream verbatim, slashes included. Vendors have prefixes of their own (`anthropic/`, `azure/`, `gemini/`, ...; see [providers](providers.md)). Without a prefix: names that are known as OpenAI's (`gpt-...`) or Anthropic's (`claude-...`).
   */
  model: string;
  /**
   * Names the kind instead of the prefix of `model`, which then goes upstream verbatim.
   */
  custom_llm_provider?: string;
  /**
   * Where the upstream is. Proxy-type: without `/v1`. Compat-type: with `/v1`. May be left out where the [vendor's address](providers.md) is known. No query, no credentials.
   */
  api_base?: string;
  /**
   * Another name of `api_base`.
   */
  base_url?: string;
  /**
   * Goes upstream in the header that the upstream reads: `Authorization: Bearer`, for some [vendors](providers.md) another one. Left out: that of the vendor's variable at the vendor's own address, else none.
   */
  api_key?: string;
  /**
   * A file that holds `api_key`, instead of the value itself: a Kubernetes secret, a file of Vault agent. A relative path starts at the folder of this file. The file is read again when it changes.
   */
  api_key_file?: string;
  /**
   * Takes `api_key`, `api_base` and `extra_headers` from `credential_list` where this deployment does not state them.
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
   * Whether calls of this entry forward client headers (`x-...`, `anthropic-beta`). It wins over `general_settings.forward_client_headers_to_llm_api` and over the list in `litellm_settings.model_group_settings`, both ways.
   */
  forward_client_headers_to_llm_api?: boolean;
  /**
   * Offers HTTP/2 to this upstream over TLS (ALPN): many calls then share one connection. An upstream that declines it, or has an `http://` URL, gets HTTP/1.1. Off unless stated.
   */
  allow_h2?: boolean;
  /**
   * Timeout for the first byte of an answer that is not streamed, seconds; 0 switches it off. Else `router_settings.timeout`, else `litellm_settings.request_timeout`.
   */
  timeout?: number | string;
  /**
   * The same for streamed answers. Else `router_settings.stream_timeout`, else what holds for `timeout`.
   */
  stream_timeout?: number | string;
  /**
   * Longest wait for the TCP and TLS connection, seconds; 0 switches it off.
   */
  connect_timeout?: number | string;
  /**
   * Longest silence between two chunks of an answer, seconds; 0 switches it off.
   */
  idle_timeout?: number | string;
  /**
   * Longest time from sending the request to the last byte of the answer, seconds; 0 switches it off. Where it is not stated it is never shorter than the other timeouts.
   */
  total_timeout?: number | string;
  /**
   * Weight: share of requests inside the model group. Else `rpm`, else `tpm`, else 1.
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
   * Price of one input token, US dollars. Prices stated on the deployment are used before the upstream's own cost header and before the catalogue.
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
  /**
   * When a client disconnects before its answer is complete: `abort` the call, or `drain` it, to read its usage to the end. What a gateway bills for an aborted call is often not known; a drained call costs what it costs.
   */
  on_disconnect?: 'abort' | 'drain';
  /**
   * Longest time that a detached stream is drained, seconds.
   */
  on_disconnect_seconds?: number | string;
  /**
   * Hedged requests: how long a call waits for the first token of a stream, or the head of an answer that is not streamed, before a second attempt starts on another deployment of the group, seconds; 0 = never. The first valid answer wins. The other attempt is cancelled and recorded, and counts against `retry_budget`. Else `router_settings.hedge_after`.
   */
  hedge_after?: number | string;
  /**
   * Which model the answers of this entry state: the one of the `upstream`, or the name that the caller `asked` for. Else `general_settings.answer_model`.
   */
  answer_model?: 'upstream' | 'asked';
  /**
   * This upstream continues a text: a last message `{role: assistant, content, prefix: true}` is continued, not repeated and not answered. Streams of chat completions that break off on another deployment of the group are then continued here.
   */
  assistant_prefill?: boolean;
  /**
   * Timeout for the first token of a streamed answer, counted from sending, seconds; 0 switches it off. Until then nothing is sent to the client, so another deployment can take over. Else `router_settings.ttft_timeout`.
   */
  ttft_timeout?: number | string;
  /**
   * Rank inside a model group: deployments of the lowest rank serve, the next rank when they cannot. Those without a rank come last.
   */
  order?: number | string;
  /**
   * Retries of a call that went to this deployment first. Else `router_settings.num_retries`.
   */
  num_retries?: number | string;
  /**
   * Cooldown of this deployment when it has failed too often, seconds. Else `router_settings.cooldown_time`.
   */
  cooldown_time?: number | string;
  /**
   * Concurrency limit: calls of this deployment in flight, per process; 0 = no limit. At its limit it gives way to other deployments of its group; further calls are queued. Else `router_settings.default_max_parallel_requests`.
   */
  max_parallel_requests?: number | string;
  /**
   * Budget of the deployment (`budgets` with `scope: deployment`), US dollars.
   */
  max_budget?: number | string;
  /**
   * When that budget begins anew.
   */
  budget_duration?: string;
  /**
   * Version of Azure's interface (`azure/`), in the query of each call; `v1`, `latest` and `preview` mean the interface at `/openai/v1/`. Else `AZURE_API_VERSION`, else `2025-02-01-preview`, and `preview` for models that are asked by responses alone, as in LiteLLM. Other kinds of upstream have none.
   */
  api_version?: string;
  /**
   * Answers calls of this entry with this text from the proxy itself, streamed where that is asked for, and sends nothing: chat completions, completions, responses, messages, Gemini's `generateContent`, embeddings (zeros). `api_base` and `api_key` are not needed. `litellm.RateLimitError`, `litellm.InternalServerError`, `litellm.ContextWindowExceededError` and `litellm.ContentPolicyViolationError` answer with that error. Clients cannot ask for it.
   */
  mock_response?: string;
  /**
   * Of this entry, where `litellm_settings.drop_params` is for all.
   */
  drop_params?: boolean;
  /**
   * Which APIs the gateway of this entry speaks. A call in another one is translated. Else what `model_info.supported_endpoints` says, else responses alone for a model that has no other (see docs/endpoints.md), else what this kind of upstream is known for, else what is found out: an API that the gateway answers with 404 is not asked again for some minutes.
   */
  supported_endpoints?: string[];
  /**
   * A PEM file with the certificate authorities that this upstream's certificate may come from; no others count then. A relative path starts at the folder of this file. The file is read again when it changes. `true`: those of Node, `NODE_EXTRA_CA_CERTS` and `SSL_CERT_FILE`. `false` has no effect, with a warning: certificates are always checked. Left out: `default_litellm_params`, `litellm_settings`, `SSL_VERIFY`.
   */
  ssl_verify?: boolean | string;
  /**
   * A PEM file with the client certificate for this upstream (mTLS), its chain, and the key if it stands in the same file. Read again when it changes. Left out: `default_litellm_params`, `litellm_settings`, `SSL_CERTIFICATE`.
   */
  ssl_certificate?: string;
  /**
   * A PEM file with the key of `ssl_certificate`, not encrypted. Left out: the key stands in the file of the certificate.
   */
  ssl_certificate_key?: string;
  /**
   * As `model_info.base_model`, which it stands over.
   */
  base_model?: string;
  /**
   * Token of Microsoft Entra for `azure/`, sent as `Authorization: Bearer` instead of a key; not beside `api_key`. It expires: with `azure_ad_token_file` it is read again when the file changes. Tokens are not asked for here: `tenant_id`, `client_id`, `client_secret` and `azure_ad_token_provider` are refused for `azure/` without a key.
   */
  azure_ad_token?: string;
  /**
   * A file that holds `azure_ad_token`. A relative path starts at the folder of this file. The file is read again when it changes.
   */
  azure_ad_token_file?: string;
  /**
   * Sent where the client does not state it.
   */
  temperature?: number | string;
  /**
   * Sent where the client does not state it.
   */
  top_p?: number | string;
  /**
   * Sent where the client does not state it: chat completions and completions.
   */
  n?: number | string;
  /**
   * Sent where the client states no limit of the answer, in the name that the protocol has for it; counts in what a call reserves of budgets and limits.
   */
  max_tokens?: number | string;
  /**
   * Likewise, as `max_completion_tokens` in chat completions.
   */
  max_completion_tokens?: number | string;
  /**
   * Sent where the client does not state it.
   */
  frequency_penalty?: number | string;
  /**
   * Sent where the client does not state it.
   */
  presence_penalty?: number | string;
  /**
   * Sent where the client does not state it: chat completions.
   */
  logit_bias?: {
    [k: string]: unknown;
  };
  /**
   * Sent where the client does not state it: chat completions.
   */
  logprobs?: boolean;
  /**
   * Sent where the client does not state it.
   */
  top_logprobs?: number | string;
  /**
   * Sent where the client does not state it.
   */
  stop?: unknown[] | string;
  /**
   * Sent where the client does not state it.
   */
  seed?: number | string;
  /**
   * Sent where the client does not state it.
   */
  response_format?: {
    [k: string]: unknown;
  };
  /**
   * Sent where the client does not state it: chat completions.
   */
  tools?: unknown[];
  /**
   * Sent where the client does not state it: chat completions.
   */
  tool_choice?:
    | {
        [k: string]: unknown;
      }
    | string;
  /**
   * Sent where the client does not state it.
   */
  parallel_tool_calls?: boolean;
  /**
   * Sent where the client does not state it: chat completions.
   */
  functions?: unknown[];
  /**
   * Sent where the client does not state it: chat completions.
   */
  function_call?:
    | {
        [k: string]: unknown;
      }
    | string;
  /**
   * Sent where the client does not state it: chat completions.
   */
  modalities?: unknown[];
  /**
   * Sent where the client does not state it: chat completions.
   */
  prediction?: {
    [k: string]: unknown;
  };
  /**
   * Sent where the client does not state it: chat completions.
   */
  audio?: {
    [k: string]: unknown;
  };
  /**
   * Sent where the client states nothing of thinking; Anthropic and Gemini get their own words for it.
   */
  reasoning_effort?:
    | {
        [k: string]: unknown;
      }
    | string;
  /**
   * The same in the words of Anthropic, for example `{type: enabled, budget_tokens: 4096}`; as it is in messages, and in chat completions of other models than those of OpenAI, which get `reasoning_effort`.
   */
  thinking?: {
    [k: string]: unknown;
  };
  /**
   * Sent where the client does not state it: chat completions and responses. Calls are priced by it.
   */
  service_tier?: string;
  /**
   * Sent where the client does not state it.
   */
  safety_identifier?: string;
  /**
   * Sent where the client does not state it.
   */
  verbosity?: string;
  /**
   * Sent where the client does not state it: chat completions.
   */
  web_search_options?: {
    [k: string]: unknown;
  };
  /**
   * Sent where the client does not state it: embeddings.
   */
  dimensions?: number | string;
  /**
   * Sent where the client does not state it: embeddings.
   */
  encoding_format?: string;
  /**
   * Sent where the client does not state it: embeddings.
   */
  input_type?: string;
  /**
   * Members that every body to this deployment gets, in any protocol, whatever the client states of them: what a server takes beyond the API, such as OpenRouter's `provider` or `chat_template_kwargs` of vLLM.
   */
  extra_body?: {
    [k: string]: unknown;
  };
  /**
   * Price of one second of transcribed audio, US dollars, where `output_cost_per_second` is not stated.
   */
  input_cost_per_second?: number | string;
  /**
   * Price of one second of transcribed audio, US dollars.
   */
  output_cost_per_second?: number | string;
  /**
   * Price of one character that is spoken (`audio/speech`), US dollars.
   */
  input_cost_per_character?: number | string;
  /**
   * Price of one search unit of a rerank call, US dollars.
   */
  input_cost_per_query?: number | string;
  /**
   * Price of one generated image, US dollars, where `output_cost_per_image` is not stated.
   */
  input_cost_per_image?: number | string;
  /**
   * Price of one generated image, US dollars.
   */
  output_cost_per_image?: number | string;
  /**
   * Price of one second of transcribed audio, US dollars, where the other two are not stated.
   */
  input_cost_per_audio_per_second?: number | string;
  /**
   * Price of one audio token of input, US dollars. Else that of an input token.
   */
  input_cost_per_audio_token?: number | string;
  /**
   * Price of one audio token of output, US dollars. Else that of an output token.
   */
  output_cost_per_audio_token?: number | string;
  /**
   * Price of one image token of input, US dollars. Else that of an input token.
   */
  input_cost_per_image_token?: number | string;
  /**
   * Price of one image token of output, US dollars. Else that of an output token.
   */
  output_cost_per_image_token?: number | string;
  /**
   * Price of one reasoning token, US dollars. Else that of an output token.
   */
  output_cost_per_reasoning_token?: number | string;
  /**
   * Price of one input token in requests of more than 128,000 prompt tokens: it holds for all of them. US dollars.
   */
  input_cost_per_token_above_128k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 128,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_128k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 200,000 prompt tokens: it holds for all of them. US dollars.
   */
  input_cost_per_token_above_200k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 200,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_200k_tokens?: number | string;
  /**
   * Older name of `cache_read_input_token_cost`.
   */
  input_cost_per_token_cache_hit?: number | string;
  /**
   * The same for answers of the flex service tier.
   */
  input_cost_per_token_flex?: number | string;
  /**
   * Price of one output token in the flex service tier, US dollars.
   */
  output_cost_per_token_flex?: number | string;
  /**
   * The same for answers of the priority service tier.
   */
  input_cost_per_token_priority?: number | string;
  /**
   * Price of one output token in the priority service tier, US dollars.
   */
  output_cost_per_token_priority?: number | string;
  /**
   * Price of one input token written to the one-hour cache, US dollars. Else that of the five-minute cache.
   */
  cache_creation_input_token_cost_above_1hr?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 200,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_200k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 200,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_200k_tokens?: number | string;
  /**
   * Price of one cached input token in the flex service tier, US dollars.
   */
  cache_read_input_token_cost_flex?: number | string;
  /**
   * Price of one cached input token in the priority service tier, US dollars.
   */
  cache_read_input_token_cost_priority?: number | string;
  /**
   * Prices of web searches that the upstream made for an answer. The answer does not tell which size was read: the middle one counts, else the small, else the large.
   */
  search_context_cost_per_query?: {
    /**
     * Price of one web search with low context, US dollars.
     */
    search_context_size_low?: number | string;
    /**
     * Price of one web search with medium context, US dollars.
     */
    search_context_size_medium?: number | string;
    /**
     * Price of one web search with high context, US dollars.
     */
    search_context_size_high?: number | string;
  };
  /**
   * Price of a container that code runs in, US dollars. Each answer is charged for each container that it used; vendors charge one that several answers use within 20 minutes once.
   */
  code_interpreter_cost_per_session?: number | string;
  /**
   * Price of one search in stored files (`file_search_call`), US dollars: 0.0025, not 2.5. The name misleads: LiteLLM, whose key it is, charges the figure for each call.
   */
  file_search_cost_per_1k_calls?: number | string;
  /**
   * Which gateway is behind `api_base`: how session, user, tags and metadata are written in its headers while forwarding is on, and how its cost and call id are read. Default: `litellm` for proxy-type, `plain` (the session header alone) for compat-type, `none` for vendors. `none` sends nothing.
   */
  gateway?: 'litellm' | 'bifrost' | 'portkey' | 'plain' | 'none';
  /**
   * Names of query parameters of clients that go upstream, beyond `general_settings.allowed_query_parameters`.
   */
  allowed_query_parameters?: string[];
  /**
   * Members of a request body that clients may send to this entry although they steer the gateway behind it, in addition to those of `general_settings`: a name (`cache`), which allows all that the member holds, or a path (`metadata.guardrails`).
   */
  allowed_client_parameters?: string[];
  /**
   * Asks the gateway for its models (`GET .../models`) in the background. A pattern is then listed as the names that the gateway lists; an entry that it does not list is not listed here, though it can be called. See `general_settings.model_discovery` and `throughline models`.
   */
  discover_models?: boolean;
  /**
   * Price of one input token written to a cache in requests of more than 100,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_100k_tokens?: number | string;
  /**
   * Price of one input token written to the one-hour cache in requests of more than 100,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_1hr_above_100k_tokens?: number | string;
  /**
   * Price of one input token written to the one-hour cache in requests of more than 200,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_1hr_above_200k_tokens?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 272,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_272k_tokens?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 272,000 prompt tokens in the flex service tier, US dollars.
   */
  cache_creation_input_token_cost_above_272k_tokens_flex?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 272,000 prompt tokens in the priority service tier, US dollars.
   */
  cache_creation_input_token_cost_above_272k_tokens_priority?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 272,000 prompt tokens in the ultrafast service tier, US dollars.
   */
  cache_creation_input_token_cost_above_272k_tokens_ultrafast?: number | string;
  /**
   * Price of one input token written to a cache in the flex service tier, US dollars.
   */
  cache_creation_input_token_cost_flex?: number | string;
  /**
   * Price of one input token written to a cache in the priority service tier, US dollars.
   */
  cache_creation_input_token_cost_priority?: number | string;
  /**
   * Price of one input token written to a cache in the ultrafast service tier, US dollars.
   */
  cache_creation_input_token_cost_ultrafast?: number | string;
  /**
   * Price of one cached input token in requests of more than 100,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_100k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 200,000 prompt tokens in the flex service tier, US dollars.
   */
  cache_read_input_token_cost_above_200k_tokens_flex?: number | string;
  /**
   * Price of one cached input token in requests of more than 200,000 prompt tokens in the priority service tier, US dollars.
   */
  cache_read_input_token_cost_above_200k_tokens_priority?: number | string;
  /**
   * Price of one cached input token in requests of more than 256,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_256k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 272,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_272k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 272,000 prompt tokens in the flex service tier, US dollars.
   */
  cache_read_input_token_cost_above_272k_tokens_flex?: number | string;
  /**
   * Price of one cached input token in requests of more than 272,000 prompt tokens in the priority service tier, US dollars.
   */
  cache_read_input_token_cost_above_272k_tokens_priority?: number | string;
  /**
   * Price of one cached input token in requests of more than 272,000 prompt tokens in the ultrafast service tier, US dollars.
   */
  cache_read_input_token_cost_above_272k_tokens_ultrafast?: number | string;
  /**
   * Price of one cached input token in requests of more than 32,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_32k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 512,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_512k_tokens?: number | string;
  /**
   * Price of one cached input token in the balanced service tier, US dollars.
   */
  cache_read_input_token_cost_balanced?: number | string;
  /**
   * Price of one cached input token in the ultrafast service tier, US dollars.
   */
  cache_read_input_token_cost_ultrafast?: number | string;
  /**
   * Price of a search on Google Maps, or of a call that made some (`web_search_billing_unit`), US dollars.
   */
  google_maps_grounding_cost_per_query?: number | string;
  /**
   * What `search_context_cost_per_query` and `google_maps_grounding_cost_per_query` are the prices of: each search, or a call with searches, however many. Default: the call for `gemini-1...` and `gemini-2...`, else the search.
   */
  web_search_billing_unit?: 'per_query' | 'per_prompt';
  /**
   * Price of one audio token of input in requests of more than 200,000 prompt tokens, US dollars.
   */
  input_cost_per_audio_token_above_200k_tokens?: number | string;
  /**
   * Price of one audio token of input in requests of more than 200,000 prompt tokens in the flex service tier, US dollars.
   */
  input_cost_per_audio_token_above_200k_tokens_flex?: number | string;
  /**
   * Price of one audio token of input in requests of more than 200,000 prompt tokens in the priority service tier, US dollars.
   */
  input_cost_per_audio_token_above_200k_tokens_priority?: number | string;
  /**
   * Price of one audio token of input in the flex service tier, US dollars.
   */
  input_cost_per_audio_token_flex?: number | string;
  /**
   * Price of one audio token of input in the priority service tier, US dollars.
   */
  input_cost_per_audio_token_priority?: number | string;
  /**
   * Price of one input token in requests of more than 100,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_100k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 200,000 prompt tokens in the flex service tier, US dollars.
   */
  input_cost_per_token_above_200k_tokens_flex?: number | string;
  /**
   * Price of one input token in requests of more than 200,000 prompt tokens in the priority service tier, US dollars.
   */
  input_cost_per_token_above_200k_tokens_priority?: number | string;
  /**
   * Price of one input token in requests of more than 256,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_256k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 272,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_272k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 272,000 prompt tokens in the flex service tier, US dollars.
   */
  input_cost_per_token_above_272k_tokens_flex?: number | string;
  /**
   * Price of one input token in requests of more than 272,000 prompt tokens in the priority service tier, US dollars.
   */
  input_cost_per_token_above_272k_tokens_priority?: number | string;
  /**
   * Price of one input token in requests of more than 272,000 prompt tokens in the ultrafast service tier, US dollars.
   */
  input_cost_per_token_above_272k_tokens_ultrafast?: number | string;
  /**
   * Price of one input token in requests of more than 32,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_32k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 512,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_512k_tokens?: number | string;
  /**
   * Price of one input token in the balanced service tier, US dollars.
   */
  input_cost_per_token_balanced?: number | string;
  /**
   * Price of one input token in the ultrafast service tier, US dollars.
   */
  input_cost_per_token_ultrafast?: number | string;
  /**
   * Price of one image token of output in the priority service tier, US dollars.
   */
  output_cost_per_image_token_priority?: number | string;
  /**
   * Price of one output token in requests of more than 100,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_100k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 200,000 prompt tokens in the flex service tier, US dollars.
   */
  output_cost_per_token_above_200k_tokens_flex?: number | string;
  /**
   * Price of one output token in requests of more than 200,000 prompt tokens in the priority service tier, US dollars.
   */
  output_cost_per_token_above_200k_tokens_priority?: number | string;
  /**
   * Price of one output token in requests of more than 256,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_256k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 272,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_272k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 272,000 prompt tokens in the flex service tier, US dollars.
   */
  output_cost_per_token_above_272k_tokens_flex?: number | string;
  /**
   * Price of one output token in requests of more than 272,000 prompt tokens in the priority service tier, US dollars.
   */
  output_cost_per_token_above_272k_tokens_priority?: number | string;
  /**
   * Price of one output token in requests of more than 272,000 prompt tokens in the ultrafast service tier, US dollars.
   */
  output_cost_per_token_above_272k_tokens_ultrafast?: number | string;
  /**
   * Price of one output token in requests of more than 32,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_32k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 512,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_512k_tokens?: number | string;
  /**
   * Price of one output token in the balanced service tier, US dollars.
   */
  output_cost_per_token_balanced?: number | string;
  /**
   * Price of one output token in the ultrafast service tier, US dollars.
   */
  output_cost_per_token_ultrafast?: number | string;
}
/**
 * Facts that `/model/info` returns, over those of the catalogue. Any member is allowed. `access_groups`, a list of names, puts the entry into groups that keys and teams may list in place of its name.
 */
export interface ModelInfo {
  /**
   * Id of the deployment in records, headers and admin calls. Left out: a hash of its `model_list` entry, the same after each restart.
   */
  id?: string;
  /**
   * Name under which limits and prices are looked up in the catalogue, where the upstream name says nothing: among what the vendor of the entry sells (`azure/NAME`), else as it is written.
   */
  base_model?: string;
  /**
   * What the model does: chat, completion, embedding, ...
   */
  mode?: string;
  /**
   * Which APIs the gateway of this entry speaks, as in `litellm_params.supported_endpoints`, which wins.
   */
  supported_endpoints?: string[];
  /**
   * The one team whose keys this deployment serves: other virtual keys do not reach it, and no listing shows it to them. The master key, `inference_keys` and keys of conversations call it for the platform, and its team is recorded with the call: write one `model_list` entry per team and gateway key.
   */
  team_id?: string;
  /**
   * User that the requests of this deployment are recorded for, the owner of its key; not the end user.
   */
  user_id?: string;
  /**
   * Profile of the agent platform that uses this deployment; recorded in each row.
   */
  profile?: string;
  /**
   * Tags of every request of this deployment, before those that clients send.
   */
  tags?: string[];
  /**
   * Price of one input token, US dollars. Prices stated on the deployment are used before the upstream's own cost header and before the catalogue.
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
  /**
   * The same for answers of the flex service tier.
   */
  input_cost_per_token_flex?: number | string;
  /**
   * The same for answers of the priority service tier.
   */
  input_cost_per_token_priority?: number | string;
  /**
   * Price of one input token in requests of more than 128,000 prompt tokens: it holds for all of them. US dollars.
   */
  input_cost_per_token_above_128k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 200,000 prompt tokens: it holds for all of them. US dollars.
   */
  input_cost_per_token_above_200k_tokens?: number | string;
  /**
   * Price of one output token in the flex service tier, US dollars.
   */
  output_cost_per_token_flex?: number | string;
  /**
   * Price of one output token in the priority service tier, US dollars.
   */
  output_cost_per_token_priority?: number | string;
  /**
   * Price of one output token in requests of more than 128,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_128k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 200,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_200k_tokens?: number | string;
  /**
   * Price of one reasoning token, US dollars. Else that of an output token.
   */
  output_cost_per_reasoning_token?: number | string;
  /**
   * Price of one audio token of input, US dollars. Else that of an input token.
   */
  input_cost_per_audio_token?: number | string;
  /**
   * Price of one audio token of output, US dollars. Else that of an output token.
   */
  output_cost_per_audio_token?: number | string;
  /**
   * Price of one image token of input, US dollars. Else that of an input token.
   */
  input_cost_per_image_token?: number | string;
  /**
   * Price of one image token of output, US dollars. Else that of an output token.
   */
  output_cost_per_image_token?: number | string;
  /**
   * Older name of `cache_read_input_token_cost`.
   */
  input_cost_per_token_cache_hit?: number | string;
  /**
   * Price of one cached input token in the flex service tier, US dollars.
   */
  cache_read_input_token_cost_flex?: number | string;
  /**
   * Price of one cached input token in the priority service tier, US dollars.
   */
  cache_read_input_token_cost_priority?: number | string;
  /**
   * Price of one cached input token in requests of more than 200,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_200k_tokens?: number | string;
  /**
   * Price of one input token written to the one-hour cache, US dollars. Else that of the five-minute cache.
   */
  cache_creation_input_token_cost_above_1hr?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 200,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_200k_tokens?: number | string;
  /**
   * Price of one generated image, US dollars, where `output_cost_per_image` is not stated.
   */
  input_cost_per_image?: number | string;
  /**
   * Price of one generated image, US dollars.
   */
  output_cost_per_image?: number | string;
  /**
   * Price of one second of transcribed audio, US dollars, where `output_cost_per_second` is not stated.
   */
  input_cost_per_second?: number | string;
  /**
   * Price of one second of transcribed audio, US dollars.
   */
  output_cost_per_second?: number | string;
  /**
   * Price of one second of transcribed audio, US dollars, where the other two are not stated.
   */
  input_cost_per_audio_per_second?: number | string;
  /**
   * Price of one character that is spoken (`audio/speech`), US dollars.
   */
  input_cost_per_character?: number | string;
  /**
   * Price of one search unit of a rerank call, US dollars.
   */
  input_cost_per_query?: number | string;
  /**
   * Prices of web searches that the upstream made for an answer. The answer does not tell which size was read: the middle one counts, else the small, else the large.
   */
  search_context_cost_per_query?: {
    /**
     * Price of one web search with low context, US dollars.
     */
    search_context_size_low?: number | string;
    /**
     * Price of one web search with medium context, US dollars.
     */
    search_context_size_medium?: number | string;
    /**
     * Price of one web search with high context, US dollars.
     */
    search_context_size_high?: number | string;
  };
  /**
   * Price of one search in stored files (`file_search_call`), US dollars: 0.0025, not 2.5. The name misleads: LiteLLM, whose key it is, charges the figure for each call.
   */
  file_search_cost_per_1k_calls?: number | string;
  /**
   * Price of a container that code runs in, US dollars. Each answer is charged for each container that it used; vendors charge one that several answers use within 20 minutes once.
   */
  code_interpreter_cost_per_session?: number | string;
  /**
   * Price of a search on Google Maps, or of a call that made some (`web_search_billing_unit`), US dollars.
   */
  google_maps_grounding_cost_per_query?: number | string;
  /**
   * What `search_context_cost_per_query` and `google_maps_grounding_cost_per_query` are the prices of: each search, or a call with searches, however many. Default: the call for `gemini-1...` and `gemini-2...`, else the search.
   */
  web_search_billing_unit?: 'per_query' | 'per_prompt';
  /**
   * Price of one input token written to a cache in requests of more than 100,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_100k_tokens?: number | string;
  /**
   * Price of one input token written to the one-hour cache in requests of more than 100,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_1hr_above_100k_tokens?: number | string;
  /**
   * Price of one input token written to the one-hour cache in requests of more than 200,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_1hr_above_200k_tokens?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 272,000 prompt tokens, US dollars.
   */
  cache_creation_input_token_cost_above_272k_tokens?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 272,000 prompt tokens in the flex service tier, US dollars.
   */
  cache_creation_input_token_cost_above_272k_tokens_flex?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 272,000 prompt tokens in the priority service tier, US dollars.
   */
  cache_creation_input_token_cost_above_272k_tokens_priority?: number | string;
  /**
   * Price of one input token written to a cache in requests of more than 272,000 prompt tokens in the ultrafast service tier, US dollars.
   */
  cache_creation_input_token_cost_above_272k_tokens_ultrafast?: number | string;
  /**
   * Price of one input token written to a cache in the flex service tier, US dollars.
   */
  cache_creation_input_token_cost_flex?: number | string;
  /**
   * Price of one input token written to a cache in the priority service tier, US dollars.
   */
  cache_creation_input_token_cost_priority?: number | string;
  /**
   * Price of one input token written to a cache in the ultrafast service tier, US dollars.
   */
  cache_creation_input_token_cost_ultrafast?: number | string;
  /**
   * Price of one cached input token in requests of more than 100,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_100k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 200,000 prompt tokens in the flex service tier, US dollars.
   */
  cache_read_input_token_cost_above_200k_tokens_flex?: number | string;
  /**
   * Price of one cached input token in requests of more than 200,000 prompt tokens in the priority service tier, US dollars.
   */
  cache_read_input_token_cost_above_200k_tokens_priority?: number | string;
  /**
   * Price of one cached input token in requests of more than 256,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_256k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 272,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_272k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 272,000 prompt tokens in the flex service tier, US dollars.
   */
  cache_read_input_token_cost_above_272k_tokens_flex?: number | string;
  /**
   * Price of one cached input token in requests of more than 272,000 prompt tokens in the priority service tier, US dollars.
   */
  cache_read_input_token_cost_above_272k_tokens_priority?: number | string;
  /**
   * Price of one cached input token in requests of more than 272,000 prompt tokens in the ultrafast service tier, US dollars.
   */
  cache_read_input_token_cost_above_272k_tokens_ultrafast?: number | string;
  /**
   * Price of one cached input token in requests of more than 32,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_32k_tokens?: number | string;
  /**
   * Price of one cached input token in requests of more than 512,000 prompt tokens, US dollars.
   */
  cache_read_input_token_cost_above_512k_tokens?: number | string;
  /**
   * Price of one cached input token in the balanced service tier, US dollars.
   */
  cache_read_input_token_cost_balanced?: number | string;
  /**
   * Price of one cached input token in the ultrafast service tier, US dollars.
   */
  cache_read_input_token_cost_ultrafast?: number | string;
  /**
   * Price of one audio token of input in requests of more than 200,000 prompt tokens, US dollars.
   */
  input_cost_per_audio_token_above_200k_tokens?: number | string;
  /**
   * Price of one audio token of input in requests of more than 200,000 prompt tokens in the flex service tier, US dollars.
   */
  input_cost_per_audio_token_above_200k_tokens_flex?: number | string;
  /**
   * Price of one audio token of input in requests of more than 200,000 prompt tokens in the priority service tier, US dollars.
   */
  input_cost_per_audio_token_above_200k_tokens_priority?: number | string;
  /**
   * Price of one audio token of input in the flex service tier, US dollars.
   */
  input_cost_per_audio_token_flex?: number | string;
  /**
   * Price of one audio token of input in the priority service tier, US dollars.
   */
  input_cost_per_audio_token_priority?: number | string;
  /**
   * Price of one input token in requests of more than 100,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_100k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 200,000 prompt tokens in the flex service tier, US dollars.
   */
  input_cost_per_token_above_200k_tokens_flex?: number | string;
  /**
   * Price of one input token in requests of more than 200,000 prompt tokens in the priority service tier, US dollars.
   */
  input_cost_per_token_above_200k_tokens_priority?: number | string;
  /**
   * Price of one input token in requests of more than 256,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_256k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 272,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_272k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 272,000 prompt tokens in the flex service tier, US dollars.
   */
  input_cost_per_token_above_272k_tokens_flex?: number | string;
  /**
   * Price of one input token in requests of more than 272,000 prompt tokens in the priority service tier, US dollars.
   */
  input_cost_per_token_above_272k_tokens_priority?: number | string;
  /**
   * Price of one input token in requests of more than 272,000 prompt tokens in the ultrafast service tier, US dollars.
   */
  input_cost_per_token_above_272k_tokens_ultrafast?: number | string;
  /**
   * Price of one input token in requests of more than 32,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_32k_tokens?: number | string;
  /**
   * Price of one input token in requests of more than 512,000 prompt tokens, US dollars.
   */
  input_cost_per_token_above_512k_tokens?: number | string;
  /**
   * Price of one input token in the balanced service tier, US dollars.
   */
  input_cost_per_token_balanced?: number | string;
  /**
   * Price of one input token in the ultrafast service tier, US dollars.
   */
  input_cost_per_token_ultrafast?: number | string;
  /**
   * Price of one image token of output in the priority service tier, US dollars.
   */
  output_cost_per_image_token_priority?: number | string;
  /**
   * Price of one output token in requests of more than 100,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_100k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 200,000 prompt tokens in the flex service tier, US dollars.
   */
  output_cost_per_token_above_200k_tokens_flex?: number | string;
  /**
   * Price of one output token in requests of more than 200,000 prompt tokens in the priority service tier, US dollars.
   */
  output_cost_per_token_above_200k_tokens_priority?: number | string;
  /**
   * Price of one output token in requests of more than 256,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_256k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 272,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_272k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 272,000 prompt tokens in the flex service tier, US dollars.
   */
  output_cost_per_token_above_272k_tokens_flex?: number | string;
  /**
   * Price of one output token in requests of more than 272,000 prompt tokens in the priority service tier, US dollars.
   */
  output_cost_per_token_above_272k_tokens_priority?: number | string;
  /**
   * Price of one output token in requests of more than 272,000 prompt tokens in the ultrafast service tier, US dollars.
   */
  output_cost_per_token_above_272k_tokens_ultrafast?: number | string;
  /**
   * Price of one output token in requests of more than 32,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_32k_tokens?: number | string;
  /**
   * Price of one output token in requests of more than 512,000 prompt tokens, US dollars.
   */
  output_cost_per_token_above_512k_tokens?: number | string;
  /**
   * Price of one output token in the balanced service tier, US dollars.
   */
  output_cost_per_token_balanced?: number | string;
  /**
   * Price of one output token in the ultrafast service tier, US dollars.
   */
  output_cost_per_token_ultrafast?: number | string;
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
   * A file that holds `master_key`. A relative path starts at the folder of this file. The file is read again when it changes.
   */
  master_key_file?: string;
  /**
   * Keys for agents: they make LLM calls and read the model listings, and nothing else. Each is a key, or `{key, name}` with a name that spend rows show. The master key is for admins. A change takes effect with the next request.
   */
  inference_keys: InferenceKeyEntry[];
  tls?: TlsSettings;
  /**
   * Serves metrics, `GET /health`, spend and model administration on this port alone; the port of the proxy then serves LLM calls, listings, liveness and readiness, and 404 for the rest. `/metrics` asks for no key there unless `require_auth_for_metrics_endpoint` is true. Left out: one port for all. A change needs a restart.
   */
  admin_port?: number;
  /**
   * Address that `admin_port` is bound on. Left out: the one of the proxy (`--host`). A change needs a restart.
   */
  admin_host?: string;
  /**
   * Who may call `chaos/<fault>/<model>`, which serves the model with a fault that is asked for by name, so that clients test their error paths (docs/find-a-fault.md). Left out: virtual keys whose `metadata` or `permissions`, or whose entry in `keys`, say `allow_chaos: true`. true: the master key as well. false: nobody.
   */
  allow_chaos?: boolean;
  capsules?: Capsules;
  /**
   * Serve without a key on other than loopback addresses.
   */
  allow_unauthenticated: boolean;
  /**
   * Forward client headers that match `forward_header_prefixes` to the upstream, on every endpoint, and send the session id. Credentials and hop-by-hop headers never go.
   */
  forward_client_headers_to_llm_api: boolean;
  /**
   * Prefixes of client headers that go upstream when forwarding is on.
   */
  forward_header_prefixes: string[];
  /**
   * Client headers that go upstream when forwarding is on although they steer a gateway or state an address or a user; each is named in full, because no prefix covers them.
   */
  allow_headers: string[];
  /**
   * Client headers that never go upstream, beside the built-in ones; a trailing `*` makes a prefix.
   */
  deny_headers: string[];
  /**
   * Names of query parameters of clients that go upstream, beyond those that the API documents (`api-version`, paging). Others are dropped: a gateway may take `model` or a key from the query.
   */
  allowed_query_parameters: string[];
  /**
   * Keep models of `/model/new` in the store, so that they survive a restart and servers that share a database all serve them. The environment variable STORE_MODEL_IN_DB=True does the same.
   */
  store_model_in_db?: boolean;
  runtime_models: RuntimeModels;
  /**
   * Skip `model_list` entries that nothing here can call, with a warning each, instead of refusing the file: those with a prefix of no known kind of upstream, and those without an `api_base` whose address is not known.
   */
  skip_unsupported_models: boolean;
  /**
   * What becomes of a key that nothing here knows, in the sections of LiteLLM. `refuse`: the file is refused. `warn`: a warning with its line, for files that LiteLLM reads; an `api_base` with or without `/v1` is taken as it is then, too. Keys that would protect something are refused either way, and so are misspelt keys of this proxy.
   */
  unknown_keys: 'refuse' | 'warn';
  /**
   * Which model an answer states. `upstream`: the one that the upstream states; an answer that is passed on stays as it came, byte for byte. `asked`: the name that the caller asked for, for clients that go by it, such as Claude Code. Translated answers always state the name that was asked for. Rows keep the upstream's.
   */
  answer_model: 'upstream' | 'asked';
  /**
   * Left out: usage is asked for on every streamed chat, and removed for clients that did not ask. True: passed on. False: never asked for.
   */
  always_include_stream_usage?: boolean;
  /**
   * Count the tokens of an answer whose upstream stated none, with a tokenizer in a thread of its own, and mark the row as an estimate. It keeps up to 16 KiB of a running stream in memory until its end; nothing of it is recorded. false: such rows have no tokens.
   */
  estimate_missing_usage: boolean;
  /**
   * Request header that names the end user.
   */
  user_header_name?: string;
  /**
   * Headers that name somebody, as LiteLLM states them. That of the role `customer` names the end user where there is no `user_header_name`; other roles have no effect, with a warning.
   */
  user_header_mappings?: {
    /**
     * The header.
     */
    header_name: string;
    /**
     * Whom it names.
     */
    litellm_user_role:
      | 'customer'
      | 'internal_user'
      | 'internal_user_viewer'
      | 'proxy_admin'
      | 'proxy_admin_viewer'
      | 'org_admin'
      | 'team';
  }[];
  /**
   * Members of a request body that clients may send although they steer the gateway behind the proxy (its model, key, address, route, retries, mocks, callbacks, caches, guardrails, prices): a name (`cache`), which allows all that the member holds, or a path (`extra_body.model`). Others are refused with 400 `parameter_not_allowed`.
   */
  allowed_client_parameters: string[];
  /**
   * Largest request body, MiB; larger ones get 413.
   */
  max_request_size_mb: number;
  /**
   * Most headers of a request; more get 431.
   */
  max_request_headers: number;
  /**
   * Most connections of clients at once, for each worker process; more are closed as they come.
   */
  max_connections: number;
  /**
   * Requests on one connection, after which it is closed: the answer to the last one says `connection: close`.
   */
  max_requests_per_connection: number;
  /**
   * Deepest nesting of a request body; deeper ones get 400.
   */
  max_json_depth: number;
  accept_compressed_requests?: CompressedRequests;
  journal: Journal;
  /**
   * While the shared counters (`router_settings.redis_host`) do not answer, refuse calls that have limits, with 503. Else each server allows its share of each limit.
   */
  fail_closed_rate_limit_enforcement: boolean;
  /**
   * While the shared counters do not answer, refuse calls that have a budget, with 503. Else each server allows its share of what is left.
   */
  fail_closed_budget_enforcement: boolean;
  idempotency?: Idempotency;
  otel?: Otel;
  /**
   * Names that a Host header may have, without the port; `*.example.com` for all below a name, `*` for any. Left out: any, but on a loopback address only those of this machine (localhost, 127.0.0.1, [::1], host.docker.internal), against DNS rebinding. Addresses pass on other than loopback addresses.
   */
  allowed_hosts?: string[];
  cors?: Cors;
  /**
   * Detached streams at a time: answers that are drained after their clients left (`on_disconnect: drain`), per process. Further ones are aborted.
   */
  max_disconnected_answers: number | string;
  /**
   * Different values of the labels `team` and `gateway` in `/metrics`, each, of all workers together. Teams and gateways beyond it are counted together as `other`; one that is deleted, or configured no more, makes room for the next.
   */
  max_metric_label_values: number | string;
  /**
   * `/metrics` also has the metrics of LiteLLM by their names there (`litellm_spend_metric_total`, ...), for dashboards that ask for them. Once on, a name stays until the restart.
   */
  dialect_metrics: boolean;
  /**
   * How long new connections, and requests on open ones, are still served after SIGTERM, seconds: for load balancers that notice late. Readiness is 503 at once. SIGINT skips it. Counts into `drain_seconds`.
   */
  min_drain_seconds: number | string;
  /**
   * How long running requests may go on after a stop signal, seconds; then each one is ended with an error.
   */
  drain_seconds: number | string;
  /**
   * Processes that share the port, or `auto`: one per core that the process may use. The flag `--workers` and the environment come first. A change needs a restart. With `platform:` there can be 1 only.
   */
  workers: number | string;
  dialect: DialectSettings;
  console?: Console;
  /**
   * Serve the description of the API to everybody at an allowed address, without a key: `/` (what this is), `/docs` (a page), `/openapi.json` and `/routes`. It names the operations of this program, and nothing of this installation. `false`: 404.
   */
  api_docs: boolean;
  /**
   * Ask every upstream for its model list from time to time - a call that costs nothing - and leave out the ones that do not answer while others can serve. `GET /health` then shows the last answers.
   */
  background_health_checks: boolean;
  /**
   * Time between two such rounds, seconds.
   */
  health_check_interval: number | string;
  /**
   * How gateways are asked for the models of entries with `discover_models`.
   */
  model_discovery: {
    /**
     * Age at which a list is asked for again, seconds; one that could not be had, after a minute at latest. The last one is kept meanwhile.
     */
    refresh_seconds: number | string;
    /**
     * Leaves names that their gateways do not list out of `GET /v1/models`.
     */
    hide_missing: boolean;
    /**
     * Most names that are kept of one gateway. Where it lists more, nothing is called missing.
     */
    max_models: number;
  };
  /**
   * PostgreSQL database for spend records, stored models and the data of `platform:`, shared by all replicas; tables go into a schema of their own, `throughline`, unless `schema=` names another. Honoured are `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `schema`, `host`, `connect_timeout` (seconds) and `options`. Else the environment variable DATABASE_URL, else DATABASE_HOST, DATABASE_USERNAME, DATABASE_PASSWORD and DATABASE_NAME; none: an SQLite file in the data directory. A change needs a restart.
   */
  database_url?: string;
  /**
   * A file that holds `database_url`. Read at the start: another database needs a restart.
   */
  database_url_file?: string;
  /**
   * How long spend rows are kept: a number and `d`, `w`, `mo` (31 days), `h`, `m` or `s`. Whole UTC months are removed when the last day of the month is older; daily sums are kept. Left out: for ever.
   */
  maximum_spend_logs_retention_period?: string;
  /**
   * Serve calls whose budgets cannot be read because the store does not answer. They are counted as far as this process knows, and each is logged; rate limits and budgets that are known hold for them as ever. Default: such calls get 503.
   */
  allow_requests_on_db_unavailable: boolean;
  /**
   * Spend rows name the master key `litellm_proxy_master_key` instead of its SHA-256.
   */
  disable_adding_master_key_hash_to_db: boolean;
  /**
   * A header of your own that carries the caller's key, before all others; `Bearer ` in front of the key may be left out. It never goes upstream.
   */
  litellm_key_header_name?: string;
  /**
   * Refuse LLM calls that state no end user: body `user` (or the header of `user_header_name`, or another place of docs/identity.md). They get 400.
   */
  enforce_user_param: boolean;
  /**
   * Refuse LLM calls that state tags of their own (`metadata.tags`, `tags`, `x-litellm-tags`) with 400. Tags of entries, keys and `extra_spend_tag_headers` are recorded as ever.
   */
  reject_clientside_metadata_tags: boolean;
  /**
   * Addresses and networks (`10.0.0.0/8`) that may call; others get 403 on every port. Liveness and readiness answer all. Left out: every address.
   *
   * @minItems 1
   */
  allowed_ips?: [string, ...string[]];
  /**
   * Take the address of a caller from `X-Forwarded-For` when the connection comes from one of `trusted_proxies`: the last address of the header that is none of them. It counts for `allowed_ips` and stands in spend rows.
   */
  use_x_forwarded_for: boolean;
  /**
   * Addresses and networks of the load balancers in front of this proxy, for `use_x_forwarded_for`.
   */
  trusted_proxies: string[];
  /**
   * The same as `global_max_parallel_requests`, which wins: it counts the calls of all keys together.
   */
  max_parallel_requests?: number | string;
  /**
   * Concurrency limit over all models: calls in flight, per process; 0 = no limit. Further calls are queued.
   */
  global_max_parallel_requests?: number | string;
  /**
   * Queue size: calls that wait at a time, over all models, per process. When the queue is full, the model group with most calls in it loses its last one.
   */
  max_queued_requests: number | string;
  /**
   * Longest time that a call waits in the queue, seconds. Then it goes to the first fallback below its limit, else the client gets 503.
   */
  max_queue_seconds: number | string;
  /**
   * Longest time that a call waits when a limit of its key, team, user or end user is reached (requests or tokens per minute, calls at a time), seconds. 0: it gets 429 at once. A call that would have to wait longer gets 429 at once, too.
   */
  limit_queue_seconds: number | string;
  /**
   * Load shedding: new calls get 503 while the event loop of the process lags by more than this for about half a second, milliseconds; 0 = never.
   */
  max_event_loop_lag_ms: number | string;
  /**
   * Longest time that a realtime session is open, minutes; 0 = as long as the upstream lets it. OpenAI's own limit is 60. See docs/realtime.md.
   */
  realtime_max_minutes: number | string;
  /**
   * A realtime session in which nothing is sent either way for so long is closed, seconds; 0 = never.
   */
  realtime_idle_seconds: number | string;
  /**
   * What a realtime session reserves of every budget that it counts for, US dollars. It is closed when it has cost that much; one without a budget is not.
   */
  realtime_reserved_cost: number | string;
  /**
   * Where alerts go: `slack` to the URL in the environment variable SLACK_WEBHOOK_URL, `webhook` to that in WEBHOOK_URL. More receivers, and signatures: `alerts`. See docs/alerts.md.
   *
   * @maxItems 20
   */
  alerting?:
    | []
    | [string]
    | [string, string]
    | [string, string, string]
    | [string, string, string, string]
    | [string, string, string, string, string]
    | [string, string, string, string, string, string]
    | [string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string, string, string, string, string]
    | [string, string, string, string, string, string, string, string, string, string, string, string, string]
    | [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ]
    | [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ]
    | [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ]
    | [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ]
    | [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ]
    | [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ]
    | [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ];
  /**
   * Which alerts `alerting` sends: `budget_alerts` (`soft_budget` and `budget_used_up`), `brake`, `key_expiring`, `spend_anomaly`. Left out: all. Other words of LiteLLM have no effect.
   *
   * @maxItems 100
   */
  alert_types?: string[];
  /**
   * Keys are made here alone: a call that states its own `key` gets 403.
   */
  disable_custom_api_keys: boolean;
  /**
   * Budget of the whole proxy, where `litellm_settings.max_budget` does not state it, US dollars.
   */
  max_budget?: number | string;
  /**
   * When that budget begins anew.
   */
  budget_duration?: string;
  /**
   * `strict`: a call reserves the most that it may cost before it goes upstream, so no budget is exceeded. `off`: a call is let in while anything is left, so budgets are exceeded by what is under way.
   */
  budget_reservation: 'strict' | 'off';
  /**
   * How many budgets of keys, teams, users and other objects metrics show: those with a cap that are used up furthest. Those that the configuration names are shown in any case.
   */
  budget_metrics_limit: number;
  /**
   * Budgets of users hold for calls with keys of teams, too; they are counted in any case.
   */
  apply_user_budget_to_team_keys: boolean;
}
/**
 * TLS 1.2 and 1.3 on every port of the proxy itself. Left out: `SSL_CERTFILE_PATH` and `SSL_KEYFILE_PATH`, else plain HTTP. New contents of the files serve new connections without a restart; to switch TLS on or off needs one.
 */
export interface TlsSettings {
  /**
   * PEM file with the certificate of the proxy and its chain. A relative path starts at the folder of this file.
   */
  cert_file?: string;
  /**
   * PEM file with the key of the certificate, not encrypted.
   */
  key_file?: string;
  /**
   * PEM file with authorities: only clients with a certificate from one of them are served (mTLS), probes included. Left out: clients need none.
   */
  client_ca_file?: string;
}
/**
 * Lets an administrator record calls of one key or one conversation, for a time, into files (docs/find-a-fault.md). Left out: nothing can be recorded, and what is being recorded ends. Adding the section, or another directory, needs a restart.
 */
export interface Capsules {
  /**
   * Folder of the files; it is made when it is missing. Left out: `capsules` in the data directory.
   */
  directory?: string;
  /**
   * Allow capsules that hold what was said: the bodies of requests and the bytes of responses, sealed for `public_key`. false: sizes, times and SHA-256 alone.
   */
  keep_bodies: boolean;
  /**
   * X25519 public key for which bodies are sealed, as PEM or the base64 of its 32 bytes. `throughline capsule keygen` makes a pair; the private key never belongs on the server.
   */
  public_key?: string;
  /**
   * Most bytes of bodies and responses in one capsule; what comes after it is counted and not kept.
   */
  max_capsule_bytes: number | string;
  /**
   * Most bytes of all files in the directory; the oldest are removed for new ones.
   */
  max_bytes: number | string;
  /**
   * Older files are removed: a number and `d`, `w`, `h`, `m` or `s`.
   */
  max_age: string;
}
/**
 * What models of `/model/new` and `/model/update` may do beside models of this file. A stored model that may not is disabled, with a warning, and `/model/info` says why.
 */
export interface RuntimeModels {
  /**
   * They may use `os.environ/NAME`, and credentials of `credential_list` with an `api_base` or headers of their own: whoever holds the master key can then send every variable of this process, and every such key, to any address. false: a credential is used with its own `api_base` alone, and headers of `default_litellm_params` go only to addresses that this file names.
   */
  allow_references: boolean;
  /**
   * They may take a `model_name` that this file serves, by name, alias or pattern. Together they get at most as much weight as the file's own deployments of that name, and no lower `order`; an exact name, or a narrower pattern, that the file serves by a pattern is theirs alone.
   */
  allow_join: boolean;
  /**
   * Their `api_base` may lead to link-local addresses and to metadata services of clouds. Checked for each connection, after DNS; through an HTTP proxy only the address as written is checked, because the proxy resolves names.
   */
  allow_link_local: boolean;
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
   * Longest time that a record is only in the cache of the operating system, milliseconds; 0 syncs each write.
   */
  fsync_interval_ms: number;
  /**
   * Size at which a new journal file is begun, MiB.
   */
  segment_mb: number;
  /**
   * New requests while the journal cannot be written: `block` answers 503, `serve` serves them and counts the records at risk.
   */
  when_unwritable: 'block' | 'serve';
}
/**
 * Calls with an `Idempotency-Key` are not paid twice: a repeated call waits for the running one, or gets its answer again, also on other workers and, with Valkey or Redis, on other servers. Left out: the header has no effect.
 */
export interface Idempotency {
  /**
   * How long a call is known after its end, seconds.
   */
  window_seconds: number | string;
  /**
   * Most calls that are known, running ones included; the oldest is forgotten first.
   */
  max_entries: number | string;
  /**
   * Memory for known calls and their answers, bytes. Answers up to 256 KiB that are not streamed are kept.
   */
  max_bytes: number | string;
  /**
   * While the Valkey or Redis that servers share does not answer, refuse calls with a key, with 503. Else each server knows its own calls alone.
   */
  fail_closed: boolean;
}
/**
 * Traces: a span for each call, sent to an OpenTelemetry collector by OTLP over HTTP. Left out: none. What stands in `OTEL_*` environment variables counts where this section is silent; an empty one is written `{}`. A change needs a restart.
 */
export interface Otel {
  /**
   * Base URL of the collector; `/v1/traces` is added. Left out: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` as it is, else `OTEL_EXPORTER_OTLP_ENDPOINT`, else `http://localhost:4318`.
   */
  endpoint?: string;
  /**
   * Headers of each export, over those of `OTEL_EXPORTER_OTLP_HEADERS`.
   */
  headers?: {
    [k: string]: string | number | boolean;
  };
  /**
   * `service.name` of the spans. Left out: `OTEL_SERVICE_NAME`, else `throughline`.
   */
  service_name?: string;
  /**
   * Share of traces that are kept, 0 to 1, where the caller has not decided. Left out: `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`, else all.
   */
  sample_ratio?: number | string;
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
 * The brand names of the gateway family. A change renames prefixes, headers and body members together.
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
 * The page for people at `/ui`, on the port of metrics and administration where there is one. Left out: served where a master key is set.
 */
export interface Console {
  /**
   * Serve it. Left out: where a master key is set. `false`: 404. `true` without a master key: whoever reaches the proxy is an administrator there, as everywhere.
   */
  enabled?: boolean;
  /**
   * The address at which browsers reach the proxy, with the path prefix of a proxy in front and without `/ui`. Needed for `oidc`; never guessed. With https, cookies are for https alone.
   */
  public_url?: string;
  /**
   * A person is signed out after so long, hours.
   */
  session_hours: number | string;
  /**
   * A person is signed out after doing nothing for so long, minutes.
   */
  idle_minutes: number | string;
  oidc?: ConsoleOidc;
}
/**
 * Sign in through an OpenID Connect provider as well (code flow with PKCE). Register `<public_url>/ui/oidc/callback` there.
 */
export interface ConsoleOidc {
  /**
   * The provider, as its discovery document states it.
   */
  issuer: string;
  /**
   * The id of this client at the provider.
   */
  client_id: string;
  /**
   * Its secret. Left out: a public client, which PKCE alone protects.
   */
  client_secret?: string;
  /**
   * How the secret is sent: as most providers have it, or in the body of the request.
   */
  client_auth: 'client_secret_basic' | 'client_secret_post';
  /**
   * What is asked for; `openid` always is.
   */
  scopes: string[];
  /**
   * The claim of the ID token that lists the groups of a person: a list, or one text.
   */
  groups_claim: string;
  /**
   * The claim that says who a person is: the id of the user here. `email` counts only where the provider says that it is verified.
   */
  user_claim: string;
  /**
   * What the page calls the provider.
   */
  name: string;
  /**
   * The role of each group. Of several the widest counts; whoever is in none of them is refused.
   */
  roles: {
    [k: string]: 'proxy_admin' | 'proxy_admin_viewer' | 'internal_user' | 'internal_user_viewer';
  };
}
/**
 * Settings of the LiteLLM dialect for all deployments.
 */
export interface LitellmSettings {
  /**
   * Timeout for the first byte of an answer where neither the deployment nor `router_settings` states one, seconds; 0 switches it off.
   */
  request_timeout: number | string;
  model_group_settings?: ModelGroupSettings;
  /**
   * Request headers whose values are recorded as tags `name: value`.
   */
  extra_spend_tag_headers: string[];
  /**
   * Retries of a call that failed in a way that another attempt may fix. Not stated: 2, on other deployments of the group only. Stated: also on the same deployment, after a backoff.
   */
  num_retries?: number | string;
  /**
   * Fallbacks: model groups that take over when all deployments of a group have failed, in this order; `*` stands for every other group. Each group is tried once, and its own fallbacks after it.
   */
  fallbacks?: {
    [k: string]: string[];
  }[];
  /**
   * As in `router_settings`, which wins.
   */
  context_window_fallbacks?: {
    [k: string]: string[];
  }[];
  /**
   * As in `router_settings`, which wins.
   */
  content_policy_fallbacks?: {
    [k: string]: string[];
  }[];
  /**
   * As in `router_settings`, which wins.
   */
  default_fallbacks?: string[];
  /**
   * As in `router_settings`, which wins.
   */
  allowed_fails?: number | string;
  /**
   * As in `router_settings`, which wins; seconds.
   */
  cooldown_time?: number | string;
  /**
   * What a call holds that cannot be said in the API of its upstream: true leaves it out, and names it in the header `x-litellm-dropped-params`; false refuses the call with 400.
   */
  drop_params: boolean;
  cache_params?: CacheParams;
  /**
   * `otel` among them traces calls, as `general_settings.otel` does; with that name alone OpenTelemetry's environment variables say where spans go. Other callbacks have no effect.
   */
  callbacks?: string[] | string;
  upperbound_key_generate_params?: KeyBounds;
  default_internal_user_params?: UserDefaults;
  default_key_generate_params?: KeyDefaults;
  key_generation_settings?: KeyGenerationRules;
  /**
   * US dollars that a new internal user may spend where the call states nothing.
   */
  max_internal_user_budget?: number;
  /**
   * Window of that budget.
   */
  internal_user_budget_duration?: string;
  /**
   * While calls are traced: upstreams get their place in the trace (`traceparent`, `tracestate`).
   */
  forward_traceparent_to_llm_provider: boolean;
  /**
   * Spend rows name no end user.
   */
  disable_end_user_cost_tracking: boolean;
  /**
   * Budget of the whole proxy (`budgets` with `scope: proxy`), US dollars.
   */
  max_budget?: number | string;
  /**
   * When that budget begins anew.
   */
  budget_duration?: string;
  /**
   * Older name of `max_end_user_budget`.
   */
  max_user_budget?: number | string;
  /**
   * Budget of each end user without one of their own (`budgets` with `scope: end_user`), US dollars.
   */
  max_end_user_budget?: number | string;
  /**
   * IANA name of the time zone in which budgets of a day and longer begin.
   */
  timezone: string;
  /**
   * Write `cost`, US dollars, into the last usage object of a stream, for clients that get one.
   */
  include_cost_in_streaming_usage: boolean;
  /**
   * A PEM file with the certificate authorities of every upstream that states none of its own; as in `litellm_params`. Left out: `SSL_VERIFY`.
   */
  ssl_verify?: boolean | string;
  /**
   * A PEM file with the client certificate for every upstream that states none of its own; as in `litellm_params`. Left out: `SSL_CERTIFICATE`.
   */
  ssl_certificate?: string;
  /**
   * A PEM file with the key of `ssl_certificate`, not encrypted. Left out: the key stands in the file of the certificate.
   */
  ssl_certificate_key?: string;
  /**
   * Whether `/metrics` asks for the master key. Left out: on the port of the proxy it does, on `general_settings.admin_port` it does not. False: never.
   */
  require_auth_for_metrics_endpoint?: boolean;
  /**
   * Budgets of tags, by tag (`budgets` with `scope: tag`).
   */
  tag_budget_config: {
    [k: string]: TagBudget;
  };
  /**
   * End users whose LLM calls are refused with 400.
   */
  blocked_user_list: string[];
  /**
   * Budget of each conversation (`budgets` with `scope: conversation`), US dollars.
   */
  max_budget_per_session?: number | string;
  /**
   * Time of day at which budgets of a day and longer begin, `HH:MM` in `timezone`.
   */
  budget_reset_time: string;
  /**
   * Status of refusals by a budget: 422, 400, 402 or 403 are final; 429 makes clients try again.
   */
  budget_exceeded_status_code: 400 | 402 | 403 | 422 | 429;
}
/**
 * Switches by model name.
 */
export interface ModelGroupSettings {
  /**
   * Models whose calls forward client headers although the global switch is off; names of `model_list` or patterns with `*`. An empty list, `*` or `all-proxy-models` means all.
   */
  forward_client_headers_to_llm_api?: string[];
}
/**
 * The Valkey or Redis of the installation. Answers are not cached; what is named here is where several servers count budgets and limits together, and share idempotency keys and cooldowns, unless `router_settings.redis_host` or `redis_url` names another one. Other members have no effect.
 */
export interface CacheParams {
  /**
   * Only `redis` is used.
   */
  type?: string;
  /**
   * Name or address. Left out: the environment variable REDIS_HOST.
   */
  host?: string;
  /**
   * Port. Left out: REDIS_PORT, else 6379.
   */
  port?: number | string;
  /**
   * User of an access control list. Left out: REDIS_USERNAME.
   */
  username?: string;
  /**
   * Password. Left out: REDIS_PASSWORD.
   */
  password?: string;
  /**
   * A file that holds `password`. Read at the start.
   */
  password_file?: string;
  /**
   * Instead of the others. Left out: REDIS_URL.
   */
  url?: string;
  /**
   * A file that holds `url`. Read at the start.
   */
  url_file?: string;
  /**
   * Connect with TLS. Left out: REDIS_SSL.
   */
  ssl?: boolean | string;
  /**
   * File with the certificates of the authorities that its certificate may be of, PEM. Left out: REDIS_SSL_CA_CERTS, else those that Node knows.
   */
  ssl_ca_certs?: string;
  /**
   * File with a certificate of the proxy's own, for a server that asks for one, PEM. Left out: REDIS_SSL_CERTFILE.
   */
  ssl_certfile?: string;
  /**
   * File with the key of that certificate, PEM. Left out: REDIS_SSL_KEYFILE.
   */
  ssl_keyfile?: string;
  /**
   * Name under which Sentinels know the server. Left out: REDIS_SERVICE_NAME.
   */
  service_name?: string;
  /**
   * Name or address and port of each Sentinel; they say which server it is. Left out: REDIS_SENTINEL_NODES, JSON.
   */
  sentinel_nodes?: [string | number, string | number][];
  /**
   * Password of the Sentinels. Left out: REDIS_SENTINEL_PASSWORD.
   */
  sentinel_password?: string;
  /**
   * Number of the database. Left out: `REDIS_DB`, else 0.
   */
  db?: number | string;
  /**
   * Keeps installations apart that share one server.
   */
  namespace?: string;
  [k: string]: unknown;
}
/**
 * The most that a new key may ask for (`/key/generate`, `/key/update`); more is 400. A key that states nothing gets this much.
 */
export interface KeyBounds {
  /**
   * US dollars.
   */
  max_budget?: number;
  /**
   * Window of the budget.
   */
  budget_duration?: string;
  /**
   * How long keys live.
   */
  duration?: string;
  /**
   * Calls at once.
   */
  max_parallel_requests?: number;
  /**
   * Tokens per minute.
   */
  tpm_limit?: number;
  /**
   * Calls per minute.
   */
  rpm_limit?: number;
}
/**
 * What a new user gets where the call states nothing.
 */
export interface UserDefaults {
  /**
   * Role.
   */
  user_role?: 'internal_user' | 'internal_user_viewer' | 'proxy_admin' | 'proxy_admin_viewer';
  /**
   * US dollars.
   */
  max_budget?: number;
  /**
   * Window of the budget.
   */
  budget_duration?: string;
  /**
   * Models that the user may call.
   */
  models?: string[];
}
/**
 * What a new key gets where the call states nothing.
 */
export interface KeyDefaults {
  /**
   * US dollars.
   */
  max_budget?: number;
  /**
   * Window of the budget.
   */
  budget_duration?: string;
  /**
   * How long keys live.
   */
  duration?: string;
  /**
   * Calls at once.
   */
  max_parallel_requests?: number;
  /**
   * Tokens per minute.
   */
  tpm_limit?: number;
  /**
   * Calls per minute.
   */
  rpm_limit?: number;
  /**
   * Owner of the key.
   */
  user_id?: string;
  /**
   * Team of the key.
   */
  team_id?: string;
  /**
   * Models that it may call.
   */
  models?: string[];
  /**
   * Its metadata.
   */
  metadata?: {
    [k: string]: unknown;
  };
}
/**
 * Which users may make keys. Administrators may always.
 */
export interface KeyGenerationRules {
  team_key_generation?: TeamKeyRules;
  personal_key_generation?: PersonalKeyRules;
}
/**
 * Keys of a team.
 */
export interface TeamKeyRules {
  /**
   * Who may; left out: every role.
   */
  allowed_team_member_roles?: ('admin' | 'user')[];
  /**
   * Members that the call must state.
   */
  required_params?: string[];
}
/**
 * Keys of no team.
 */
export interface PersonalKeyRules {
  /**
   * Who may; left out: every role.
   */
  allowed_user_roles?: ('proxy_admin' | 'proxy_admin_viewer' | 'internal_user' | 'internal_user_viewer')[];
  /**
   * Members that the call must state.
   */
  required_params?: string[];
}
/**
 * The budget of a tag.
 */
export interface TagBudget {
  /**
   * The cap, US dollars.
   */
  max_budget?: number | string;
  /**
   * An event at this amount, US dollars.
   */
  soft_budget?: number | string;
  /**
   * When it begins anew.
   */
  budget_duration?: string;
}
/**
 * Routing: how requests are distributed among upstreams, what happens when one fails, and defaults of every upstream.
 */
export interface RouterSettings {
  /**
   * Timeout for the first byte of an answer, for deployments that do not state one, seconds; 0 switches it off.
   */
  timeout?: number | string;
  /**
   * The same for streamed answers.
   */
  stream_timeout?: number | string;
  default_litellm_params: DefaultParams;
  /**
   * Hedged requests: how long a call waits for the first token of a stream, or the head of an answer that is not streamed, before a second attempt starts on another deployment of the group, seconds; 0 = never. The first valid answer wins. The other attempt is cancelled and recorded, and counts against `retry_budget`.
   */
  hedge_after?: number | string;
  /**
   * Timeout for the first token of a streamed answer, counted from sending, seconds; 0 switches it off. Until then nothing is sent to the client, so another deployment can take over.
   */
  ttft_timeout?: number | string;
  /**
   * Load balancing within a model group, for requests without a session of their own: `simple-shuffle` by weight, `least-busy` by calls in flight, `latency-based-routing` by time to the first byte. The other names of the dialect are served as `simple-shuffle`.
   */
  routing_strategy:
    | 'simple-shuffle'
    | 'least-busy'
    | 'latency-based-routing'
    | 'usage-based-routing'
    | 'usage-based-routing-v2'
    | 'cost-based-routing';
  /**
   * Session affinity: calls of one session go to the same deployment of a group as long as it serves, so that the prompt cache behind it stays warm. Goes before `routing_strategy`.
   */
  session_affinity: boolean;
  /**
   * Retries of a call that failed in a way that another attempt may fix. Not stated: 2, on other deployments of the group only. Stated: also on the same deployment, after a backoff. Goes before `litellm_settings.num_retries`.
   */
  num_retries?: number | string;
  /**
   * Shortest backoff before the same deployment is asked again, seconds.
   */
  retry_after: number | string;
  /**
   * Retry budget: retries and fallbacks in relation to requests, over all models. 0.2 = at most 20% extra traffic. Attempts that found no connection cost nothing.
   */
  retry_budget: number | string;
  retry_policy?: RetryPolicy;
  /**
   * The same for single names of `model_list`.
   */
  model_group_retry_policy?: {
    [k: string]: GroupRetryPolicy;
  };
  /**
   * Fallbacks: model groups that take over when all deployments of a group have failed, in this order; `*` stands for every other group. Each group is tried once, and its own fallbacks after it. Goes before `litellm_settings.fallbacks`.
   */
  fallbacks?: {
    [k: string]: string[];
  }[];
  /**
   * Names that take over when an upstream says that the prompt is too long.
   */
  context_window_fallbacks?: {
    [k: string]: string[];
  }[];
  /**
   * Names that take over when an upstream refuses the content.
   */
  content_policy_fallbacks?: {
    [k: string]: string[];
  }[];
  /**
   * Names that take over for every name without `fallbacks`.
   */
  default_fallbacks?: string[];
  /**
   * Most names that are tried after the first.
   */
  max_fallbacks: number | string;
  /**
   * How often a deployment that answered 5xx or 429, or broke off before its first token, is asked again before another one: after a backoff, or its `Retry-After`. Each time counts as a retry. A timeout, a deployment that cools down and a 429 without `Retry-After` are passed on at once.
   */
  retry_same_first: number | string;
  /**
   * Longest `Retry-After` that `retry_same_first` waits for, seconds. With a longer one another deployment is asked at once.
   */
  retry_same_max_wait: number | string;
  /**
   * A stream that broke off may be continued by a deployment of its `fallbacks`, not of its own group alone (`assistant_prefill`): the client reads one answer, which two models wrote.
   */
  continue_over_fallbacks: boolean;
  /**
   * Where no deployment with `assistant_prefill` is free, the request of a stream that broke off is sent anew to a deployment without it. What the client has already is compared and left out; an answer that differs from it is dropped, and the stream ends with its error. Worth it where answers repeat (temperature 0, `seed`, caches).
   */
  continue_by_repeat: boolean;
  /**
   * Aliases of names in `model_list`: clients may ask for `gpt-4` and get `gpt-4o`. `{model: NAME, hidden: true}` keeps the alias out of listings.
   */
  model_group_alias?: {
    [k: string]:
      | string
      | {
          /**
           * Name of `model_list`.
           */
          model: string;
          /**
           * Left out of listings.
           */
          hidden?: boolean;
        };
  };
  /**
   * A deployment cools down when more of its calls than this, and at least half of them, failed within a minute. Goes before `litellm_settings.allowed_fails`; 3 where neither is stated.
   */
  allowed_fails?: number | string;
  /**
   * Cooldown of a deployment, seconds; then one call tries it. Goes before `litellm_settings.cooldown_time`; 5 where neither is stated.
   */
  cooldown_time?: number | string;
  /**
   * Switches cooldowns off: no deployment ever cools down.
   */
  disable_cooldowns: boolean;
  /**
   * `max_parallel_requests` of deployments that state none.
   */
  default_max_parallel_requests?: number | string;
  /**
   * Valkey or Redis in which several servers count budgets and limits together, and share idempotency keys and cooldowns: its name or address. Else `litellm_settings.cache_params` of type `redis`. Left out: each server counts for itself. A change needs a restart.
   */
  redis_host?: string;
  /**
   * Its port. Left out: 6379.
   */
  redis_port?: number | string;
  /**
   * Its password.
   */
  redis_password?: string;
  /**
   * A file that holds `redis_password`. Read at the start.
   */
  redis_password_file?: string;
  /**
   * Instead of host, port and password: `redis://name:password@host:6379/0`, with TLS `rediss://`.
   */
  redis_url?: string;
  /**
   * A file that holds `redis_url`. Read at the start.
   */
  redis_url_file?: string;
  /**
   * Number of its database. Left out: `REDIS_DB`, else 0.
   */
  redis_db?: number | string;
  /**
   * Connect with TLS. Left out: REDIS_SSL.
   */
  redis_ssl?: boolean | string;
  /**
   * File with the certificates of the authorities that its certificate may be of, PEM. Left out: REDIS_SSL_CA_CERTS, else those that Node knows.
   */
  redis_ssl_ca_certs?: string;
  /**
   * Budgets of providers, by the prefix of `litellm_params.model` (`budgets` with `scope: provider`).
   */
  provider_budget_config: {
    [k: string]: ProviderBudget;
  };
}
/**
 * Headers and timeouts of every deployment that does not state its own.
 */
export interface DefaultParams {
  /**
   * Static headers of every call to every upstream; a deployment's header of the same name wins.
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
   * Timeout for the first byte of an answer that is not streamed, seconds; 0 switches it off. Else `router_settings.timeout`, else `litellm_settings.request_timeout`.
   */
  timeout?: number | string;
  /**
   * The same for streamed answers. Else `router_settings.stream_timeout`, else what holds for `timeout`.
   */
  stream_timeout?: number | string;
  /**
   * Longest wait for the TCP and TLS connection, seconds; 0 switches it off.
   */
  connect_timeout: number | string;
  /**
   * Longest silence between two chunks of an answer, seconds; 0 switches it off.
   */
  idle_timeout: number | string;
  /**
   * Longest time from sending the request to the last byte of the answer, seconds; 0 switches it off. Where it is not stated it is never shorter than the other timeouts.
   */
  total_timeout: number | string;
  /**
   * When a client disconnects before its answer is complete: `abort` the call, or `drain` it, to read its usage to the end. What a gateway bills for an aborted call is often not known; a drained call costs what it costs.
   */
  on_disconnect: 'abort' | 'drain';
  /**
   * Longest time that a detached stream is drained, seconds.
   */
  on_disconnect_seconds: number | string;
  /**
   * Hedged requests: how long a call waits for the first token of a stream, or the head of an answer that is not streamed, before a second attempt starts on another deployment of the group, seconds; 0 = never. The first valid answer wins. The other attempt is cancelled and recorded, and counts against `retry_budget`.
   */
  hedge_after?: number | string;
  /**
   * Timeout for the first token of a streamed answer, counted from sending, seconds; 0 switches it off. Until then nothing is sent to the client, so another deployment can take over.
   */
  ttft_timeout?: number | string;
  /**
   * `num_retries` of deployments that state none.
   */
  num_retries?: number | string;
  /**
   * `cooldown_time` of deployments that state none, seconds.
   */
  cooldown_time?: number | string;
  /**
   * `max_parallel_requests` of deployments that state none.
   */
  max_parallel_requests?: number | string;
  /**
   * Budget of each deployment that states none.
   */
  max_budget?: number | string;
  /**
   * When that budget begins anew.
   */
  budget_duration?: string;
  /**
   * Of all entries that do not state their own.
   */
  drop_params?: boolean;
  /**
   * A PEM file with the certificate authorities of every upstream that states none of its own; as in `litellm_params`. Left out: `SSL_VERIFY`.
   */
  ssl_verify?: boolean | string;
  /**
   * A PEM file with the client certificate for every upstream that states none of its own; as in `litellm_params`. Left out: `SSL_CERTIFICATE`.
   */
  ssl_certificate?: string;
  /**
   * A PEM file with the key of `ssl_certificate`, not encrypted. Left out: the key stands in the file of the certificate.
   */
  ssl_certificate_key?: string;
}
/**
 * `num_retries` by kind of failure.
 */
export interface RetryPolicy {
  /**
   * Retries after a timeout, or a 408.
   */
  TimeoutErrorRetries?: number | string;
  /**
   * Retries after a 429.
   */
  RateLimitErrorRetries?: number | string;
  /**
   * Retries after a 5xx, a broken answer or no connection.
   */
  InternalServerErrorRetries?: number | string;
}
/**
 * `num_retries` by kind of failure.
 */
export interface GroupRetryPolicy {
  /**
   * Retries after a timeout, or a 408.
   */
  TimeoutErrorRetries?: number | string;
  /**
   * Retries after a 429.
   */
  RateLimitErrorRetries?: number | string;
  /**
   * Retries after a 5xx, a broken answer or no connection.
   */
  InternalServerErrorRetries?: number | string;
  /**
   * Accepted; a request that the upstream calls wrong is never retried.
   */
  BadRequestErrorRetries?: {
    [k: string]: unknown;
  };
  /**
   * Accepted; a refused key is never retried.
   */
  AuthenticationErrorRetries?: {
    [k: string]: unknown;
  };
  /**
   * Accepted; a refused content is never retried.
   */
  ContentPolicyViolationErrorRetries?: {
    [k: string]: unknown;
  };
}
/**
 * The budget of a provider.
 */
export interface ProviderBudget {
  /**
   * The cap, US dollars.
   */
  budget_limit?: number | string;
  /**
   * Another name of `budget_limit`.
   */
  max_budget?: number | string;
  /**
   * When it begins anew.
   */
  time_period?: string;
  /**
   * Another name of `time_period`.
   */
  budget_duration?: string;
}
/**
 * A cap, a soft budget, or both, of one scope.
 */
export interface BudgetEntry {
  /**
   * Whose calls count. `model`: the name that clients ask for; `deployment`: `model_info.id`; `provider`: the prefix of `litellm_params.model`; `conversation`: the session id; `proxy`: all calls.
   */
  scope:
    | 'team'
    | 'user'
    | 'end_user'
    | 'tag'
    | 'model'
    | 'deployment'
    | 'provider'
    | 'profile'
    | 'conversation'
    | 'proxy';
  /**
   * Which one; `*` is each one by itself, but those that have an entry of their own. Left out for `proxy`.
   */
  id?: string;
  /**
   * A call that may cost more than is left of this is refused, US dollars. Left out: nothing is refused.
   */
  max_budget?: number | string;
  /**
   * An event at this amount, never a refusal, US dollars.
   */
  soft_budget?: number | string;
  /**
   * When the budget begins anew; left out: never.
   */
  budget_duration?: string;
}
/**
 * A named credential that deployments refer to by `litellm_credential_name`.
 */
export interface Credential {
  /**
   * Name to refer to.
   */
  credential_name: string;
  credential_values: CredentialValues;
}
/**
 * What a deployment takes over where it does not state it.
 */
export interface CredentialValues {
  /**
   * Goes upstream as `Authorization: Bearer`. Left out: no such header is sent.
   */
  api_key?: string;
  /**
   * A file that holds `api_key`. A relative path starts at the folder of this file. The file is read again when it changes.
   */
  api_key_file?: string;
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
  /**
   * Version of Azure's interface (`azure/`), in the query of each call; `v1`, `latest` and `preview` mean the interface at `/openai/v1/`. Else `AZURE_API_VERSION`, else `2025-02-01-preview`, and `preview` for models that are asked by responses alone, as in LiteLLM. Other kinds of upstream have none.
   */
  api_version?: string;
  /**
   * Token of Microsoft Entra for `azure/`, sent as `Authorization: Bearer` instead of a key; not beside `api_key`. It expires: with `azure_ad_token_file` it is read again when the file changes. Tokens are not asked for here: `tenant_id`, `client_id`, `client_secret` and `azure_ad_token_provider` are refused for `azure/` without a key.
   */
  azure_ad_token?: string;
  /**
   * A file that holds `azure_ad_token`. A relative path starts at the folder of this file. The file is read again when it changes.
   */
  azure_ad_token_file?: string;
}
/**
 * The agent platform's own interface under `/api`: settings, profiles, conversations, sandboxes. Left out: there is no such interface. See docs/platform.md.
 */
export interface PlatformSection {
  /**
   * What callers of `/api` present as `X-Session-API-Key`. One key, or for several users a list of `{key, user_id}`; each user sees only their own data.
   *
   * @minItems 1
   */
  session_api_key: string | [PlatformUser, ...PlatformUser[]];
  /**
   * Base64 of 32 bytes; seals the platform's secrets at rest (AES-256-GCM). Made by `openssl rand -base64 32`, exchanged by `throughline rotate-platform-key`.
   */
  secret_key: string;
  /**
   * Where runtimes reach this proxy: the base URL that conversations get. Left out: the address that is listened on.
   */
  public_base_url?: string;
  /**
   * Serves `/api` on this port alone, and nothing else there: callers of the platform interface and of the models can be kept apart. Left out: on the port of the proxy. A change needs a restart.
   */
  port?: number;
  /**
   * Address that `port` is bound on. Left out: the one of the proxy (`--host`). A change needs a restart.
   */
  host?: string;
  events: PlatformEventsSection;
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
 * Events of conversations after their sandbox is gone. They hold prompts, answers and outputs of commands, so none are kept unless this says so. While the agent server runs, it is asked.
 */
export interface PlatformEventsSection {
  /**
   * Keep the events that agent servers report, sealed in the platform's store. Switched off, what was kept is removed.
   */
  keep: boolean;
  /**
   * A conversation whose last event is older loses its events.
   */
  max_age_days: number;
  /**
   * Above it, the oldest events of a conversation make way.
   */
  max_events_per_conversation: number;
  /**
   * MiB of a conversation's events; above it, the oldest make way.
   */
  max_mb_per_conversation: number;
  /**
   * MiB of all events; above it, the conversations that were quiet longest lose theirs.
   */
  max_total_mb: number;
}
/**
 * How sandboxes run.
 */
export interface SandboxSection {
  /**
   * `process`: a process group on this machine. `docker`: a container of a Docker Engine. `kubernetes`: a pod of a cluster.
   */
  driver: 'process' | 'docker' | 'kubernetes';
  /**
   * Most sandboxes that run at once. One more pauses the caller's own that was longest without a call, or is refused with 409.
   */
  max_running: number;
  /**
   * A sandbox without calls for this long is paused; 0 switches it off.
   */
  idle_pause_seconds: number;
  /**
   * Longest wait for the first good answer on `health_path`; after that the sandbox is in ERROR. It is kept, and RUNNING as soon as it answers.
   */
  start_timeout_seconds: number;
  /**
   * For `process`: `auto` uses bubblewrap where it works and warns where it does not, `bubblewrap` refuses to start without it, `none` runs the command as this user sees the machine.
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
  /**
   * Where an agent server in a sandbox reaches this interface, without `/api`: it reports there what becomes of its conversations, and looks up secrets. Left out: the listening address with `process`, `public_base_url` with the other drivers when `platform.port` is left out, else nowhere: then it reports nothing, and secrets are sent to it.
   */
  webhook_base_url?: string;
  kubernetes: KubernetesSection;
}
/**
 * For `kubernetes`: the cluster, and what all its sandboxes have in common. In a pod of that cluster nothing needs to be set. A change takes effect after a restart.
 */
export interface KubernetesSection {
  /**
   * URL of the API server. Left out: the one of the cluster that this server runs in (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT).
   */
  api_server?: string;
  /**
   * Bearer token for the API server. Left out: the content of `token_file`.
   */
  token?: string;
  /**
   * File with the token, read again for each request: the one of a service account is replaced every hour.
   */
  token_file: string;
  /**
   * File with the certificate authority of the API server. Left out: the one of the service account where it is there, else the system's authorities.
   */
  ca_file?: string;
  /**
   * Namespace of the sandboxes, best one of their own. Left out: the one of this server's pod.
   */
  namespace?: string;
  /**
   * Where a sandbox keeps its folder. `claim`: on a volume of its own, which outlives its pod, so that it can be paused. `empty_dir`: on its node; it cannot be paused, and `idle_pause_seconds` must be 0.
   */
  volume: 'claim' | 'empty_dir';
  /**
   * Size of that volume in GiB.
   */
  volume_gb: number;
  /**
   * Storage class of the claims. Left out: the cluster's default.
   */
  storage_class?: string;
  /**
   * What a sandbox may write on its node beside its claim (layers of the container, /tmp), in GiB; a pod above it is evicted.
   */
  disk_gb: number;
  /**
   * Memory that a node must have free for a sandbox; never above its limit.
   */
  request_memory_mb: number;
  /**
   * Processors that a node must have free for a sandbox; never above its limit.
   */
  request_cpus: number;
  /**
   * User and group that the container runs as and that own its volume. 0: the image's own user, which must be a number other than 0, or the one that the cluster assigns (OpenShift).
   */
  run_as_user: number;
  /**
   * Secrets of that namespace with the credentials of a private image registry.
   */
  image_pull_secrets: string[];
  /**
   * RuntimeClass of the pods, for a stronger boundary than a container's.
   */
  runtime_class?: string;
  /**
   * Labels that a node must have.
   */
  node_selector: {
    [k: string]: string;
  };
  /**
   * Taints that the pods tolerate, as Kubernetes writes them.
   */
  tolerations: {
    [k: string]: unknown;
  }[];
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
   * Program and arguments. `{port}`, `{sandbox_dir}`, `{sandbox_id}` stand for the sandbox's own; no shell reads it. Needed by `process`; the image's own when left out with `docker` and `kubernetes` (there it takes the place of the image's arguments, not of its entry point).
   */
  command?: string[];
  /**
   * For `docker` and `kubernetes`: the image.
   */
  image?: string;
  /**
   * For `docker` and `kubernetes`: the port inside the container on which the runtime listens.
   */
  port: number;
  /**
   * Where the command runs; `{sandbox_dir}` is a folder of the sandbox's own.
   */
  working_dir: string;
  /**
   * For `process` with bubblewrap: folders and files that the command can read beside its own folder and the programs below `/usr` - where its interpreter and packages are. Nothing that holds the data directory, the configuration, sockets or tokens.
   */
  readable_paths: string[];
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
   * Where the runtime takes conversations, as an agent server does: each is posted there with its LLM, agent settings, tags and first message. Left out: a runtime reads LLM_BASE_URL, LLM_API_KEY and LLM_MODEL from its environment.
   */
  conversations_path?: string;
  limits: SandboxLimits;
}
/**
 * Bounds of what a sandbox may use; left out = the system's own with `process`, and stated numbers with `docker` and `kubernetes`.
 */
export interface SandboxLimits {
  /**
   * Memory: address space of each process with `process`, of the container with `docker` and `kubernetes` (there 4096 when left out).
   */
  memory_mb?: number;
  /**
   * For `process`: CPU time of each process.
   */
  cpu_seconds?: number;
  /**
   * For `docker` and `kubernetes`: processors, fractions allowed; 2 when left out.
   */
  cpus?: number;
  /**
   * Open files of each process.
   */
  open_files?: number;
  /**
   * For `docker`: processes in the container; 1024 when left out.
   */
  processes?: number;
}
/**
 * A virtual key. Its value stands in the environment or a Secret, never in the file.
 */
export interface FileKey {
  /**
   * What rows and listings call it.
   */
  key_alias: string;
  /**
   * Its value, as clients send it: a reference to an environment variable. Give this or `hash`.
   */
  key?: string;
  /**
   * A file that holds `key`. A relative path starts at the folder of this file. The file is read again when it changes.
   */
  key_file?: string;
  /**
   * SHA-256 of its value, lower-case hex, in place of `key`: `printf %s "$KEY" | sha256sum`.
   */
  hash?: string;
  /**
   * `llm_api` makes LLM calls only; `management` makes none; `read_only` reads keys, teams and users; `default` is not narrowed.
   */
  key_type: 'default' | 'llm_api' | 'management' | 'read_only';
  /**
   * Paths (`/chat/completions`, `/v1/chat/*`) or groups (`llm_api_routes`, `management_routes`, `info_routes`) that it opens. Empty: what its type opens.
   */
  allowed_routes: string[];
  /**
   * Names, patterns with `*`, or access groups that it may call. Empty: those of its team, else all.
   */
  models: string[];
  /**
   * Names of its own for models.
   */
  aliases: {
    [k: string]: string;
  };
  /**
   * Calls of each conversation, in all. Further ones are refused.
   */
  max_iterations?: number;
  /**
   * What each conversation may spend, USD.
   */
  max_budget_per_session?: number;
  /**
   * Calls a minute of each conversation.
   */
  session_rpm_limit?: number;
  /**
   * Tokens a minute of each conversation.
   */
  session_tpm_limit?: number;
  /**
   * Its team: of `teams`, or one that was made by the API.
   */
  team_id?: string;
  /**
   * Its user.
   */
  user_id?: string;
  /**
   * From this moment on it is refused: a date and time with its zone.
   */
  expires?: string;
  /**
   * What may be spent, USD. 0 lets nothing through that costs. Left out: no cap.
   */
  max_budget?: number;
  /**
   * An alert at this amount, USD, never a refusal.
   */
  soft_budget?: number;
  /**
   * When the budget begins anew: `30s`, `12h`, `7d` (Mondays), `30d` or `1mo` (the first of a month). Left out: never.
   */
  budget_duration?: string;
  /**
   * Calls a minute.
   */
  rpm_limit?: number;
  /**
   * Tokens a minute.
   */
  tpm_limit?: number;
  /**
   * Calls at once.
   */
  max_parallel_requests?: number;
  /**
   * Calls a minute by model, or by pattern (`gpt-*`): all that fit count together.
   */
  model_rpm_limit: {
    [k: string]: number;
  };
  /**
   * Tokens a minute by model, or by pattern (`gpt-*`): all that fit count together.
   */
  model_tpm_limit: {
    [k: string]: number;
  };
  /**
   * Tags of the rows of its calls, before those of the call.
   */
  tags: string[];
  /**
   * It may call `chaos/<fault>/<model>`: its models with a fault that is asked for by name. See docs/find-a-fault.md.
   */
  allow_chaos: boolean;
  /**
   * Refuses its calls.
   */
  blocked: boolean;
}
/**
 * A team: what its keys share.
 */
export interface FileTeam {
  /**
   * What keys name.
   */
  team_id: string;
  /**
   * Its name for people.
   */
  team_alias?: string;
  /**
   * Names, patterns with `*`, or access groups that its keys may call. Empty: all.
   */
  models: string[];
  /**
   * Names of its own for models.
   */
  model_aliases: {
    [k: string]: string;
  };
  /**
   * Its members. An `admin` of a team manages its keys.
   */
  members: FileTeamMember[];
  /**
   * What may be spent, USD. 0 lets nothing through that costs. Left out: no cap.
   */
  max_budget?: number;
  /**
   * An alert at this amount, USD, never a refusal.
   */
  soft_budget?: number;
  /**
   * When the budget begins anew: `30s`, `12h`, `7d` (Mondays), `30d` or `1mo` (the first of a month). Left out: never.
   */
  budget_duration?: string;
  /**
   * Calls a minute.
   */
  rpm_limit?: number;
  /**
   * Tokens a minute.
   */
  tpm_limit?: number;
  /**
   * Calls at once.
   */
  max_parallel_requests?: number;
  /**
   * Calls a minute by model, or by pattern (`gpt-*`): all that fit count together.
   */
  model_rpm_limit: {
    [k: string]: number;
  };
  /**
   * Tokens a minute by model, or by pattern (`gpt-*`): all that fit count together.
   */
  model_tpm_limit: {
    [k: string]: number;
  };
  /**
   * Tags of the rows of its calls, before those of the call.
   */
  tags: string[];
  /**
   * Refuses its calls.
   */
  blocked: boolean;
}
/**
 * One member.
 */
export interface FileTeamMember {
  /**
   * The user.
   */
  user_id: string;
  /**
   * What they may do in the team.
   */
  role: 'admin' | 'user';
}
/**
 * Who is told that a budget is nearly or wholly used up, that the brake has found something, that a key is about to expire, that somebody spends far more than usual. See docs/alerts.md.
 */
export interface AlertsSection {
  /**
   * Receivers, beside those of `general_settings.alerting`. Each gets its alerts in order, and again until it answers 2xx, for a day.
   *
   * @maxItems 20
   */
  webhooks:
    | []
    | [AlertWebhook]
    | [AlertWebhook, AlertWebhook]
    | [AlertWebhook, AlertWebhook, AlertWebhook]
    | [AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook]
    | [AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook]
    | [AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook]
    | [AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook, AlertWebhook]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ]
    | [
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
        AlertWebhook,
      ];
  /**
   * An alert so many days before a key expires, once. 0: none.
   */
  key_expiry_days: number | string;
  spend_anomaly?: SpendAnomaly;
}
/**
 * One receiver.
 */
export interface AlertWebhook {
  /**
   * Names it in logs and metrics. What waits for a receiver is found again by it after a restart.
   */
  name: string;
  /**
   * Where alerts are posted to.
   */
  url: string;
  /**
   * Signs alerts: `x-throughline-signature` is `sha256=` and the hex HMAC-SHA256 of `x-throughline-timestamp`, a dot and the body. At least 16 characters.
   */
  secret?: string;
  /**
   * `json`: the members of LiteLLM's webhook event and more. `slack`: `{text}`, which Slack, Mattermost and others take.
   */
  format: 'json' | 'slack';
  /**
   * What it is told. Left out: everything.
   */
  kinds?: ('soft_budget' | 'budget_used_up' | 'brake' | 'key_expiring' | 'spend_anomaly')[];
}
/**
 * An alert when a key, a team or the proxy spends far more than usual in an hour. Left out: nobody looks. The rule: docs/alerts.md#spend-anomalies.
 */
export interface SpendAnomaly {
  /**
   * An hour that cost less is never an anomaly, US dollars.
   */
  min_cost_per_hour: number | string;
  /**
   * How many times as much as usual an hour must cost.
   */
  factor: number | string;
  /**
   * Whose spend is looked at. Left out: all of them.
   */
  scopes?: ('key' | 'team' | 'proxy')[];
}
/**
 * The runaway brake: finds conversations in which an agent goes in circles, and notes, slows or stops them. Left out: off. See docs/brake.md.
 */
export interface BrakeSection {
  /**
   * `observe`: what a rule would have slowed or stopped is noted only. `enforce`: it is slowed or stopped.
   */
  mode: 'observe' | 'enforce';
  /**
   * Pause before a call of a conversation that is slowed.
   */
  slow_seconds: number | string;
  /**
   * Conversations that are remembered, per worker; beyond it the one that was idle longest is forgotten. One takes 1 to 2 KB.
   */
  max_conversations: number | string;
  /**
   * A conversation without calls for so long is forgotten, and with it that it was stopped.
   */
  idle_minutes: number | string;
  /**
   * Tools that may be called again and again with the same result, polling for example. `*` at the end stands for any text.
   *
   * @maxItems 200
   */
  exempt_tools: string[];
  /**
   * Members of a tool's input that do not tell one call from another: what an agent writes about the call.
   *
   * @maxItems 200
   */
  ignored_arguments: string[];
  /**
   * What an agent did between an answer and its next request took so long: it waits for something, or its user does the writing, so that doing it again counts an eighth. What fails counts in full, unless it says sleep or wait. 0: everything counts.
   */
  polling_seconds: number | string;
  /**
   * `call_rate` and `cost_rate`: a minute counts from so many times the median minute of the conversation on.
   */
  rate_factor: number | string;
  /**
   * `call_rate`: a minute with fewer calls, for each agent of the conversation that calls in it, never counts.
   */
  min_calls_per_minute: number | string;
  /**
   * `cost_rate`: a minute that cost less, for each agent of the conversation that calls in it, never counts, US dollars.
   */
  min_cost_per_minute: number | string;
  rules: BrakeRules;
}
/**
 * Counts that differ from the defaults.
 */
export interface BrakeRules {
  repeated_step?: BrakeRepeatedStep;
  repeated_error?: BrakeRepeatedError;
  repeated_call?: BrakeRepeatedCall;
  alternation?: BrakeAlternation;
  repeated_prompt?: BrakeRepeatedPrompt;
  repeated_request?: BrakeRepeatedRequest;
  repeated_start?: BrakeRepeatedStart;
  new_agents?: BrakeNewAgents;
  tool_errors?: BrakeToolErrors;
  call_errors?: BrakeCallErrors;
  call_rate?: BrakeCallRate;
  cost_rate?: BrakeCostRate;
  compaction?: BrakeCompaction;
  context_growth?: BrakeContextGrowth;
}
