// What steers LiteLLM, taken from its source, version 1.106.0: `all_litellm_params` (types/utils.py, types/litellm_params.py),
// the callback and pricing parameters in it, `_BANNED_REQUEST_BODY_PARAMS` (proxy/auth/auth_utils.py), the arguments of
// `Router` and `acompletion` that are no parameters of an API, and what the proxy reads from `data` and from metadata.
// Whole families are refused by their prefix. What shapes only the caller's own prompt passes: `drop_params`,
// `allowed_openai_params`, `merge_reasoning_content_in_choices`, `ensure_alternating_roles`, `supports_system_message`,
// `user_continue_message`, `assistant_continue_message`, `enable_json_schema_validation`; so does identity:
// `litellm_session_id`, `litellm_trace_id`, `tags`.
import { namesIn, steeringTable, type SteeringTable } from './parameters.ts';

/** Model, route and deployment. */
const ROUTING = `
  fallbacks context_window_fallbacks content_policy_fallbacks context_window_fallback_dict default_fallbacks
  disable_fallbacks include_fallback_errors fallback_depth max_fallbacks fallback_model silent_model
  deployment_id specific_deployment current_deployment_id candidate_deployment_id model_id model_info base_model model_config
  model_group model_group_alias model_group_retry_policy model_file_id_mapping model_alias_map
  router_settings router_settings_override routing_strategy routing_strategy_args routing_groups enable_tag_filtering
  region_name allowed_model_region fastest_response passthrough_on_no_deployment original_function
  original_generic_function attempted_targets attempted_retries attempted_fallbacks auto_router_config use_litellm_proxy
  use_in_pass_through hf_model_name target_model_names agent_id cost_tier order request_type complexity_router_config
  adaptive_router_config adaptive_router_default_model quality_router_config quality_router_default_model
  complexity_router_default_model auto_router_config_path auto_router_default_model auto_router_embedding_model
  auto_router_max_input_chars auto_router_model_compression auto_router_routing_compression auto_router_capability_limit
  allm_passthrough_route data_residency provider_affinity_header tag_regex use_chat_completions_api
`;

/** Retries, timeouts, limits and cooldowns. */
const RELIABILITY = `
  num_retries max_retries retry_policy retry_strategy retry_after timeout stream_timeout request_timeout force_timeout
  cooldown_time allowed_fails allowed_fails_policy disable_cooldowns max_parallel_requests tpm_limit rpm_limit
  max_budget budget_duration priority_reservation max_agentic_loops max_iterations keepalive_seconds follow_redirects
  allow_client_keepalive_override client_side_timeout default_api_key_rpm_limit default_api_key_tpm_limit itpm otpm
  max_file_size_mb stream_chunk_size stream_response
`;

/** Keys, addresses and requests to the provider. */
const UPSTREAM = `
  headers extra_headers provider_specific_header openai_organization tenant_id client_id client_secret deployment_url
  sagemaker_base_url s3_endpoint_url bucket_name s3_bucket_name s3_access_key_id s3_bucket_owner s3_encryption_key_id
  s3_output_bucket_name s3_region_name s3_secret_access_key workspace_id bedrock_tags nvcf_function_id
  anthropic_workspace_id anthropic_organization_id anthropic_service_account_id anthropic_federation_rule_id
  anthropic_federation_workspace_id anthropic_disable_workload_identity_federation anthropic_identity_source
  anthropic_identity_token anthropic_identity_token_file openai_identity_provider_id openai_identity_token_file
  openai_service_account_id
  agentcore_runtime_session_id fireworks_forward_user_id use_ssl ssl_verify rust shared_session use_client client
  configurable_clientside_auth_params use_xai_oauth gigachat_auth_url gigachat_access_token gigachat_scope watsonx_region_name
  optional_params kwargs query_params async_call incoming_bearer_token mcp_server_auth_headers mcp_auth_header raw_headers
  vector_store_request_metadata search_tool_name sandbox_key config_file_path environment_variables
`;

/** Caches, callbacks, logs, guardrails and prompts. */
const HOOKS = `
  cache caching caching_groups cache_key cache_params preset_cache_key cache_control_injection_points enable_prompt_caching
  callbacks success_callback failure_callback input_callback service_callback callback_settings logger_fn log_delegator
  complete_response no_log proxy_server_request secret_fields turn_off_message_logging standard_callback_dynamic_params
  standard_logging_object call_id guardrails guardrail_config guardrail_to_apply guardrail_name policies pipelines
  opted_out_global_guardrails disable_global_guardrails disable_global_guardrail disable_global_policies enforced_params
  prompt_id prompt_variables prompt_label prompt_version prompt_environment prompt_integration dotprompt_content
  initial_prompt_value final_prompt_value additional_drop_params disable_add_transform_inline_image_block
  custom_prompt_dict custom_llm_pricing response_cost log_client_error_tracebacks completion_call_id
`;

/** Prices: the gateway would charge by them, and remember them for other callers. */
const PRICES = `
  tiered_pricing output_vector_size price_per_1000_text_records regional_processing_uplift_multiplier_eu
  regional_processing_uplift_multiplier_us regional_endpoint_uplift_multiplier
`;

/** Words that other APIs may use for something else. */
const GENERIC =
  'id roles self azure verbose weight rpm tpm ttl client bos_token eos_token order text_completion config priority';

/** Internal switches that a body reaches as keyword arguments. */
const INTERNAL = `
  acompletion atext_completion aembedding aimg_generation atranscription arerank aresponses acreate_batch
  acreate_fine_tuning_job amoderation call_type start_time logging_obj proxy_logging_obj user_api_key_dict service_logger_obj
`;

const OBSERVABILITY =
  '^(?:anthropic_issuer|anthropic_keycloak|langfuse|langsmith|humanloop|arize|phoenix|posthog|braintrust|slack|lunary|gcs|dd|newrelic|signoz|wandb|weave|otel|mlflow|opik|helicone|athina|literalai|logfire|traceloop|datadog|s3_callback)_';
const INTERNALS = '^user_api_key|^_[a-z]';
const PRICING = 'cost_per_|_token_cost|_cost_per$';

/** What LiteLLM acts on in `metadata` and `litellm_metadata`. */
const IN_METADATA = `
  guardrails guardrail_config policies pipelines opted_out_global_guardrails disable_global_guardrails
  disable_global_guardrail disable_global_policies applied_guardrails applied_policies logging callback_settings callbacks
  success_callback failure_callback turn_off_message_logging model_group model_info model_config deployment caching_groups
  disable_fallbacks max_retries api_base api_key base_url requester_custom_headers router_settings specific_deployment
  allowed_model_region proxy_server_request secret_fields enforced_params
`;

/** @param brand of the dialect: `<brand>_*` are its own members */
export const litellmParameters = (brand: string): SteeringTable => tableOf(brand, true);

/** Without the words that other APIs may use: for upstreams of which nothing is known. */
export const distinctiveLitellmParameters = (brand: string): SteeringTable => tableOf(brand, false);

function tableOf(brand: string, withGeneric: boolean): SteeringTable {
  const generic = namesIn(GENERIC);
  const all = namesIn(
    [ROUTING, RELIABILITY, UPSTREAM, HOOKS, PRICES, INTERNAL, withGeneric ? GENERIC : ''].join(' '),
  );
  const steers = withGeneric ? all : new Set([...all].filter((name) => !generic.has(name)));
  const prefix = brand
    .toLowerCase()
    .replaceAll('-', '_')
    .replace(/[^a-z0-9_]/g, '');
  const own = [prefix, 'litellm'].map((one) => `^${one}_`).join('|');
  const passes = namesIn(
    [prefix, 'litellm'].flatMap((one) => [`${one}_session_id`, `${one}_trace_id`]).join(' ') +
      ' _user _organisation _environment _prompt langfuse_prompt_version langsmith_sampling_rate',
  );
  const within = new Map(
    ['metadata', `${prefix}_metadata`, 'litellm_metadata'].map((name) => [name, 'metadata'] as const),
  );
  const body = {
    steers,
    families: new RegExp([own, INTERNALS, OBSERVABILITY, PRICING].join('|')),
    passes,
    within,
  };
  return steeringTable({
    body,
    merged: body,
    metadata: {
      steers: namesIn(IN_METADATA),
      families: new RegExp(
        [own, INTERNALS, OBSERVABILITY, 'api_base|_api_key$|^aws_|^vertex_|^mock_'].join('|'),
      ),
      passes,
    },
  });
}
