// The table of LiteLLM is complete: whatever its source calls a parameter of its own is refused, but for what is stated.
import t from 'tap';
import { meaningOf, namesIn } from '../../../../config/resolve/gateways/parameters.ts';
import { litellmParameters } from '../../../../config/resolve/gateways/litellm-parameters.ts';
import { steeringParameters } from '../../../../config/resolve/gateways/parameters-table.ts';

/** `all_litellm_params` and `_BANNED_REQUEST_BODY_PARAMS` of LiteLLM 1.106.0. */
const OF_LITELLM = `
  _agentic_loop_api_surface _agentic_loop_depth _agentic_loop_fingerprints _code_interpreter_interception_active
  _code_interpreter_interception_converted_stream _code_interpreter_interception_sandbox_key
  _code_interpreter_interception_session_scoped _context_compaction_state _headroom_interception_converted_stream
  _litellm_addressed_response_id _litellm_strip_stream_usage _router_weights _websearch_interception_converted_stream
  _websearch_interception_emit_native_blocks acompletion adaptive_router_config adaptive_router_default_model aembedding
  agentcore_runtime_session_id aimg_generation allm_passthrough_route allow_client_keepalive_override
  allowed_model_region allowed_openai_params annotation_cost_per_page annotation_cost_per_page_batches
  anthropic-workspace-id anthropic_disable_workload_identity_federation anthropic_federation_rule_id
  anthropic_federation_workspace_id anthropic_identity_source anthropic_identity_token anthropic_identity_token_file
  anthropic_issuer_audience anthropic_issuer_signing_key_ref anthropic_issuer_subject anthropic_issuer_ttl_seconds
  anthropic_issuer_url anthropic_keycloak_auth_method anthropic_keycloak_client_id anthropic_keycloak_client_secret_ref
  anthropic_keycloak_scope anthropic_keycloak_token_url anthropic_organization_id anthropic_service_account_id
  anthropic_workspace_id api_base api_key api_version arize_api_key arize_error_sampling_rate arize_otlp_protocol
  arize_space_id arize_space_key arize_success_sampling_rate assistant_continue_message async_call atext_completion
  attempted_targets auto_router_config auto_router_config_path auto_router_default_model auto_router_embedding_model
  auto_router_max_input_chars auto_router_model_compression auto_router_routing_compression aws_batch_role_arn
  aws_bedrock_project_id aws_bedrock_runtime_endpoint aws_external_id aws_profile_name aws_role_name aws_session_name
  aws_session_tags aws_sts_endpoint aws_web_identity_token aws_workspace_id azure azure_ad_token azure_ad_token_provider
  azure_password azure_scope azure_username base_model base_url bedrock_tags bos_token braintrust_api_key
  braintrust_host braintrust_project budget_duration cache cache_creation_input_audio_token_cost
  cache_creation_input_token_cost cache_creation_input_token_cost_above_100k_tokens
  cache_creation_input_token_cost_above_100k_tokens_batches cache_creation_input_token_cost_above_1hr
  cache_creation_input_token_cost_above_1hr_above_100k_tokens cache_creation_input_token_cost_above_200k_tokens
  cache_creation_input_token_cost_above_200k_tokens_batches cache_creation_input_token_cost_above_272k_tokens
  cache_creation_input_token_cost_above_272k_tokens_batches cache_creation_input_token_cost_above_272k_tokens_flex
  cache_creation_input_token_cost_above_272k_tokens_priority cache_creation_input_token_cost_above_272k_tokens_ultrafast
  cache_creation_input_token_cost_batches cache_creation_input_token_cost_flex cache_creation_input_token_cost_priority
  cache_creation_input_token_cost_ultrafast cache_key cache_read_input_audio_token_cost
  cache_read_input_image_token_cost cache_read_input_token_cost cache_read_input_token_cost_above_100k_tokens
  cache_read_input_token_cost_above_100k_tokens_batches cache_read_input_token_cost_above_200k_tokens
  cache_read_input_token_cost_above_200k_tokens_batches cache_read_input_token_cost_above_200k_tokens_priority
  cache_read_input_token_cost_above_272k_tokens cache_read_input_token_cost_above_272k_tokens_batches
  cache_read_input_token_cost_above_272k_tokens_flex cache_read_input_token_cost_above_272k_tokens_priority
  cache_read_input_token_cost_above_272k_tokens_ultrafast cache_read_input_token_cost_above_512k_tokens
  cache_read_input_token_cost_balanced cache_read_input_token_cost_batches cache_read_input_token_cost_flex
  cache_read_input_token_cost_priority cache_read_input_token_cost_ultrafast caching caching_groups
  citation_cost_per_token client client_id client_secret client_side_timeout complete_response completion_call_id
  complexity_router_config complexity_router_default_model configurable_clientside_auth_params
  context_window_fallback_dict cooldown_time cost_per_query cost_per_second custom_llm_provider custom_prompt_dict
  data_residency dd_agent_host dd_agent_port dd_api_key dd_site default_api_key_rpm_limit default_api_key_tpm_limit
  deployment_url disable_add_transform_inline_image_block enable_json_schema_validation enable_prompt_caching
  enable_tag_filtering ensure_alternating_roles eos_token fallback_depth fallbacks fastest_response final_prompt_value
  fireworks_forward_user_id force_timeout gcs_bucket_name gcs_path_service_account google_maps_grounding_cost_per_query
  guardrails headers hf_model_name humanloop_api_key id input_cost_per_audio_per_second
  input_cost_per_audio_per_second_above_128k_tokens input_cost_per_audio_token input_cost_per_audio_token_batches
  input_cost_per_character input_cost_per_character_above_128k_tokens input_cost_per_image
  input_cost_per_image_above_128k_tokens input_cost_per_image_token input_cost_per_image_token_batches
  input_cost_per_pixel input_cost_per_query input_cost_per_second input_cost_per_token
  input_cost_per_token_above_100k_tokens input_cost_per_token_above_100k_tokens_batches
  input_cost_per_token_above_128k_tokens input_cost_per_token_above_200k_tokens
  input_cost_per_token_above_200k_tokens_batches input_cost_per_token_above_200k_tokens_priority
  input_cost_per_token_above_272k_tokens input_cost_per_token_above_272k_tokens_batches
  input_cost_per_token_above_272k_tokens_flex input_cost_per_token_above_272k_tokens_priority
  input_cost_per_token_above_272k_tokens_ultrafast input_cost_per_token_above_512k_tokens input_cost_per_token_balanced
  input_cost_per_token_batches input_cost_per_token_cache_hit input_cost_per_token_flex input_cost_per_token_priority
  input_cost_per_token_ultrafast input_cost_per_video_per_second input_cost_per_video_per_second_above_128k_tokens
  input_cost_per_video_per_second_above_15s_interval input_cost_per_video_per_second_above_8s_interval
  input_cost_per_video_token input_cost_per_video_token_batches itpm keepalive_seconds langfuse_environment
  langfuse_host langfuse_prompt_version langfuse_public_key langfuse_secret langfuse_secret_key langfuse_span_scope
  langsmith_api_key langsmith_base_url langsmith_project langsmith_sampling_rate langsmith_tenant_id litellm_call_id
  litellm_credential_name litellm_disabled_callbacks litellm_logging_obj litellm_metadata litellm_request_debug
  litellm_session_id litellm_system_prompt litellm_trace_id litellm_trusted_callback_vars log_client_error_tracebacks
  logger_fn lunary_public_key max_agentic_loops max_budget max_fallbacks max_file_size_mb max_parallel_requests
  max_retries merge_reasoning_content_in_choices metadata mock_response mock_timeout model_alias_map model_config
  model_file_id_mapping model_info model_list newrelic_api_key newrelic_region no-log num_retries nvcf_function_id
  ocr_cost_per_credit ocr_cost_per_page ocr_cost_per_page_batches openai_identity_provider_id openai_identity_token_file
  openai_service_account_id order otpm output_cost_per_audio_per_second output_cost_per_audio_token
  output_cost_per_character output_cost_per_character_above_128k_tokens output_cost_per_image output_cost_per_image_1024
  output_cost_per_image_1536 output_cost_per_image_512 output_cost_per_image_token output_cost_per_image_token_batches
  output_cost_per_pixel output_cost_per_reasoning_token output_cost_per_reasoning_token_flex
  output_cost_per_reasoning_token_priority output_cost_per_second output_cost_per_second_1080p output_cost_per_second_2k
  output_cost_per_second_480p output_cost_per_second_4k output_cost_per_second_720p output_cost_per_second_768p
  output_cost_per_token output_cost_per_token_above_100k_tokens output_cost_per_token_above_100k_tokens_batches
  output_cost_per_token_above_128k_tokens output_cost_per_token_above_200k_tokens
  output_cost_per_token_above_200k_tokens_batches output_cost_per_token_above_200k_tokens_priority
  output_cost_per_token_above_272k_tokens output_cost_per_token_above_272k_tokens_batches
  output_cost_per_token_above_272k_tokens_flex output_cost_per_token_above_272k_tokens_priority
  output_cost_per_token_above_272k_tokens_ultrafast output_cost_per_token_above_512k_tokens
  output_cost_per_token_balanced output_cost_per_token_batches output_cost_per_token_flex output_cost_per_token_priority
  output_cost_per_token_ultrafast output_cost_per_video_per_second output_cost_per_video_token output_vector_size
  posthog_api_key posthog_api_url posthog_host preset_cache_key prompt_environment prompt_id prompt_label
  prompt_variables prompt_version provider_affinity_header provider_specific_header proxy_server_request
  quality_router_config quality_router_default_model region_name regional_endpoint_uplift_multiplier
  regional_processing_uplift_multiplier_eu regional_processing_uplift_multiplier_us request_timeout retry_policy
  retry_strategy roles routing_strategy rpm rust s3_access_key_id s3_bucket_name s3_bucket_owner s3_encryption_key_id
  s3_endpoint_url s3_output_bucket_name s3_region_name s3_secret_access_key sagemaker_base_url
  search_context_cost_per_query search_tool_name secret_fields self shared_session signoz_ingestion_endpoint
  signoz_ingestion_key silent_model slack_webhook_url ssl_verify stream_chunk_size stream_response stream_timeout
  supports_system_message tag_regex tags tenant_id text_completion tiered_pricing tpm ttl turn_off_message_logging
  use_chat_completions_api use_client use_in_pass_through use_litellm_proxy use_ssl use_xai_oauth
  user_api_key_auth_metadata user_config user_continue_message verbose vertex_ai_credentials vertex_credentials
  wandb_api_key weave_project_id weight workspace_id
`;

/** What says whose call it is, and what shapes the caller's own prompt. */
const PASSING = `
  litellm_session_id litellm_trace_id tags allowed_openai_params assistant_continue_message user_continue_message
  enable_json_schema_validation ensure_alternating_roles langfuse_prompt_version langsmith_sampling_rate
  merge_reasoning_content_in_choices supports_system_message
`;

/** Parameters of OpenAI's and Anthropic's APIs, and of vLLM. */
const STANDARD = `
  messages model stream stream_options n temperature top_p top_k max_tokens max_completion_tokens stop stop_sequences seed
  presence_penalty frequency_penalty logit_bias logprobs top_logprobs response_format tools tool_choice parallel_tool_calls
  functions function_call user safety_identifier service_tier store modalities audio prediction reasoning reasoning_effort
  verbosity web_search_options prompt_cache_key prompt_cache_retention input instructions include previous_response_id
  conversation background truncation text max_output_tokens max_tool_calls prompt system thinking container
  context_management mcp_servers cache_control inference_geo output_config anthropic_version anthropic_beta betas dimensions
  encoding_format size quality style background moderation output_format voice speed language file prompt query documents
  top_n return_documents echo suffix best_of guided_json chat_template chat_template_kwargs add_generation_prompt
  min_p repetition_penalty mm_processor_kwargs structured_outputs cache_salt vllm_xargs drop_params
`;

const behindLitellm = steeringParameters('litellm', 'litellm');
const behindUnknown = steeringParameters('plain', 'litellm');

t.test('every parameter of its own is refused', async (t) => {
  const passing = namesIn(PASSING);
  for (const name of namesIn(OF_LITELLM)) {
    const meaning = meaningOf(behindLitellm, 'body', name);
    if (name === 'metadata' || name === 'litellm_metadata') t.equal(meaning, 'metadata', name);
    else t.equal(meaning, passing.has(name) ? 'pass' : 'steers', name);
  }
});

t.test('no parameter of an API is, at the top level or in metadata', async (t) => {
  for (const name of namesIn(STANDARD)) {
    for (const table of [behindLitellm, behindUnknown]) t.equal(meaningOf(table, 'body', name), 'pass', name);
  }
  for (const name of [
    'user_id',
    'tags',
    'session_id',
    'trace_id',
    'trace_name',
    'generation_name',
    'spend_logs_metadata',
  ])
    t.equal(meaningOf(behindLitellm, 'metadata', name), 'pass', name);
});

t.test('its namespace follows the brand of the dialect', async (t) => {
  const table = litellmParameters('acme');
  t.equal(meaningOf(table, 'body', 'acme_anything'), 'steers');
  t.equal(meaningOf(table, 'body', 'acme_session_id'), 'pass');
  t.equal(meaningOf(table, 'body', 'acme_metadata'), 'metadata');
  t.equal(meaningOf(table, 'body', 'litellm_anything'), 'steers');
});

t.test('words that other APIs may use are refused by LiteLLM alone', async (t) => {
  for (const name of ['id', 'roles', 'weight', 'priority', 'config', 'ttl']) {
    t.equal(meaningOf(behindLitellm, 'body', name), 'steers', name);
    t.equal(meaningOf(behindUnknown, 'body', name), 'pass', name);
  }
});
