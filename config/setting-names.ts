// What the settings of a snapshot are called where an operator writes them: the keys of the file. For messages about changes; a
// test holds the names against the schema. Pure.

const GENERAL = 'general_settings';
const LITELLM = 'litellm_settings';
const ROUTER = 'router_settings';

/** Parts of the file that have the same members in a snapshot, but for those of `NAMES`. */
const SECTIONS: Readonly<Record<string, string>> = {
  dialect: `${GENERAL}.dialect`,
  tls: `${GENERAL}.tls`,
  console: `${GENERAL}.console`,
  idempotency: `${GENERAL}.idempotency`,
  journal: `${GENERAL}.journal`,
  capsules: `${GENERAL}.capsules`,
  cors: `${GENERAL}.cors`,
  database: `${GENERAL}.database_url`,
  routing: ROUTER,
  valkey: 'redis',
  otel: 'tracing',
};

/** By the path in a snapshot; what follows on it is the operator's own (names of models and headers). */
const NAMES: Readonly<Record<string, string>> = {
  masterKey: 'master key',
  'routing.strategy': `${ROUTER}.routing_strategy`,
  'routing.retryAfterMs': `${ROUTER}.retry_after`,
  'routing.retryPolicy': `${ROUTER}.retry_policy`,
  'routing.groupRetryPolicy': `${ROUTER}.model_group_retry_policy`,
  'routing.fallbacks': `${ROUTER}.fallbacks`,
  'routing.contextWindowFallbacks': `${ROUTER}.context_window_fallbacks`,
  'routing.contentPolicyFallbacks': `${ROUTER}.content_policy_fallbacks`,
  'routing.sameFirst.count': `${ROUTER}.retry_same_first`,
  'routing.sameFirst.longestMs': `${ROUTER}.retry_same_max_wait`,
  'routing.aliases': `${ROUTER}.model_group_alias`,
  'routing.listedAliases': `${ROUTER}.model_group_alias, those that are listed`,
  'routing.healthCheckMs': `${GENERAL}.health_check_interval`,
  'discovery.refreshMs': `${GENERAL}.model_discovery.refresh_seconds`,
  'discovery.hideMissing': `${GENERAL}.model_discovery.hide_missing`,
  'discovery.maxModels': `${GENERAL}.model_discovery.max_models`,
  'overload.total': `${GENERAL}.global_max_parallel_requests`,
  'overload.mostWaiting': `${GENERAL}.max_queued_requests`,
  'overload.waitMs': `${GENERAL}.max_queue_seconds`,
  'overload.limitWaitMs': `${GENERAL}.limit_queue_seconds`,
  'overload.maxLagMs': `${GENERAL}.max_event_loop_lag_ms`,
  'realtime.longestMs': `${GENERAL}.realtime_max_minutes`,
  'realtime.idleMs': `${GENERAL}.realtime_idle_seconds`,
  'realtime.reservedUsd': `${GENERAL}.realtime_reserved_cost`,
  'access.inferenceKeys': `${GENERAL}.inference_keys`,
  'access.hidesMasterKey': `${GENERAL}.disable_adding_master_key_hash_to_db`,
  'access.metricsNeedKey': `${LITELLM}.require_auth_for_metrics_endpoint`,
  'access.allowedAddresses': `${GENERAL}.allowed_ips`,
  'access.trustedProxies': `${GENERAL}.trusted_proxies`,
  'access.requiresEndUser': `${GENERAL}.enforce_user_param`,
  'access.refusesClientTags': `${GENERAL}.reject_clientside_metadata_tags`,
  'access.blockedEndUsers': `${LITELLM}.blocked_user_list`,
  'access.allowsChaos': `${GENERAL}.allow_chaos`,
  'access.recordsEndUsers': 'rows hold the end user',
  'keyGeneration.defaults': `${LITELLM}.default_key_generate_params`,
  'keyGeneration.bounds': `${LITELLM}.upperbound_key_generate_params`,
  'keyGeneration.customKeys': 'callers may choose the value of a key',
  'keyGeneration.team.roles': `${LITELLM}.key_generation_settings.team_key_generation.allowed_team_member_roles`,
  'keyGeneration.team.required': `${LITELLM}.key_generation_settings.team_key_generation.required_params`,
  'keyGeneration.personal.roles': `${LITELLM}.key_generation_settings.personal_key_generation.allowed_user_roles`,
  'keyGeneration.personal.required': `${LITELLM}.key_generation_settings.personal_key_generation.required_params`,
  'keyGeneration.users': `${LITELLM}.default_internal_user_params`,
  'budgets.rules': 'budget of',
  'budgets.timeZone': `${LITELLM}.timezone`,
  'budgets.resetMinute': `${LITELLM}.budget_reset_time`,
  'budgets.exceededStatus': `${LITELLM}.budget_exceeded_status_code`,
  'budgets.reservation': `${GENERAL}.budget_reservation`,
  'budgets.allowUnverified': `${GENERAL}.allow_requests_on_db_unavailable`,
  'budgets.metricsLimit': `${GENERAL}.budget_metrics_limit`,
  'budgets.userBudgetsOnTeamKeys': `${GENERAL}.apply_user_budget_to_team_keys`,
  'admin.port': `${GENERAL}.admin_port`,
  'admin.host': `${GENERAL}.admin_host`,
  'console.sessionMs': `${GENERAL}.console.session_hours`,
  'console.idleMs': `${GENERAL}.console.idle_minutes`,
  'console.oidc.roles': `${GENERAL}.console.oidc.roles`,
  allowUnauthenticated: `${GENERAL}.allow_unauthenticated`,
  apiDocs: `${GENERAL}.api_docs`,
  maxMetricLabelValues: `${GENERAL}.max_metric_label_values`,
  dialectMetrics: `${GENERAL}.dialect_metrics`,
  storeModelInDb: `${GENERAL}.store_model_in_db`,
  estimateMissingUsage: `${GENERAL}.estimate_missing_usage`,
  costInStreamingUsage: `${LITELLM}.include_cost_in_streaming_usage`,
  alwaysIncludeStreamUsage: `${GENERAL}.always_include_stream_usage`,
  'headers.forwardAll': `${GENERAL}.forward_client_headers_to_llm_api`,
  'headers.forwardPrefixes': `${GENERAL}.forward_header_prefixes`,
  'headers.allow': `${GENERAL}.allow_headers`,
  'headers.deny': `${GENERAL}.deny_headers`,
  'headers.keyHeader': `${GENERAL}.litellm_key_header_name`,
  'limits.requestBytes': `${GENERAL}.max_request_size_mb`,
  'limits.headerCount': `${GENERAL}.max_request_headers`,
  'limits.connections': `${GENERAL}.max_connections`,
  'limits.requestsPerConnection': `${GENERAL}.max_requests_per_connection`,
  'limits.jsonDepth': `${GENERAL}.max_json_depth`,
  'limits.inflatedBytes': `${GENERAL}.accept_compressed_requests.max_inflated_mb`,
  'journal.fsyncIntervalMs': `${GENERAL}.journal.fsync_interval_ms`,
  'journal.segmentBytes': `${GENERAL}.journal.segment_mb`,
  retentionMs: `${GENERAL}.maximum_spend_logs_retention_period`,
  allowedHosts: `${GENERAL}.allowed_hosts`,
  'idempotency.windowMs': `${GENERAL}.idempotency.window_seconds`,
  tagHeaders: `${LITELLM}.extra_spend_tag_headers`,
  userHeader: `${GENERAL}.user_header_name`,
  minDrainMs: `${GENERAL}.min_drain_seconds`,
  drainMs: `${GENERAL}.drain_seconds`,
  workers: `${GENERAL}.workers`,
  'capsules.keepsBodies': `${GENERAL}.capsules.keep_bodies`,
  'capsules.capsuleBytes': `${GENERAL}.capsules.max_capsule_bytes`,
  'capsules.maxAgeMs': `${GENERAL}.capsules.max_age`,
  'brake.enforces': 'brake acts (brake.mode: enforce)',
  'brake.slowMs': 'brake.slow_seconds',
  'brake.idleMs': 'brake.idle_minutes',
  'brake.pollingMs': 'brake.polling_seconds',
  'brake.minPicoPerMinute': 'brake.min_cost_per_minute',
  'alerts.channels': 'receiver of alerts',
  'alerts.keyExpiryMs': 'alerts.key_expiry_days',
  'alerts.spendAnomaly.minPico': 'alerts.spend_anomaly.min_cost_per_hour',
  'platform.users': 'platform.session_api_key',
  'platform.events.maxAgeMs': 'platform.events.max_age_days',
  'platform.events.maxEvents': 'platform.events.max_events_per_conversation',
  'platform.events.maxBytes': 'platform.events.max_mb_per_conversation',
  'platform.events.maxTotalBytes': 'platform.events.max_total_mb',
  'platform.sandbox.idlePauseMs': 'platform.sandbox.idle_pause_seconds',
  'platform.sandbox.startTimeoutMs': 'platform.sandbox.start_timeout_seconds',
};

/** Members of deployments. */
const DEPLOYMENT_TERMS: Readonly<Record<string, string>> = {
  apiKey: 'key of the gateway',
  staticHeaders: 'header',
  forwardClientHeaders: 'client headers are forwarded',
  'clocks.connectMs': 'connect timeout',
  'clocks.firstByteMs': 'timeout of the first byte',
  'clocks.streamFirstByteMs': 'timeout of the first byte, streamed',
  'clocks.idleMs': 'idle timeout',
  'clocks.firstTokenMs': 'timeout of the first token',
  'clocks.hedgeAfterMs': 'hedge after',
  'clocks.totalMs': 'total timeout',
  'prices.tokens': 'price of',
  'prices.units': 'price of',
  'cataloguePrices.tokens': 'catalogue price of',
  'cataloguePrices.units': 'catalogue price of',
  maxParallel: 'calls at a time',
  numRetries: 'retries',
  cooldownMs: 'cooldown',
  kind: 'kind',
  allowH2: 'HTTP/2',
  'tls.authorities': 'certificate authorities',
  'tls.certificate': 'client certificate',
  statedInfo: 'model_info',
  readsOn: 'read on after a client has left',
  'readOn.ms': 'on_disconnect_seconds',
  'readOn.most': 'max_disconnected_answers',
  statesAskedModel: 'answer_model: asked',
  assistantPrefill: 'assistant_prefill',
  'statedMembers.settings': 'states',
  'statedMembers.extra': 'extra_body',
  allowedQuery: 'allowed_query_parameters',
  allowedClientParameters: 'allowed_client_parameters',
  dropParams: 'drop_params',
  mock: 'mock_response',
  discovers: 'discover_models',
  attribution: 'counts for',
};

/** Members of keys and teams of the file. */
const TERMS: Readonly<Record<string, string>> = {
  type: 'key_type',
  alias: 'team_alias',
  sha256: 'value',
  rpm: 'rpm_limit',
  tpm: 'tpm_limit',
  maxParallel: 'max_parallel_requests',
  modelRpm: 'model_rpm_limit',
  modelTpm: 'model_tpm_limit',
  allowsChaos: 'allow_chaos',
};

/** The name of what a key or a team of the file states, of its dotted path in a snapshot. */
export function termName(path: string): string {
  const [first = '', ...rest] = path.split('.');
  return first === 'ofSessions' ? rest.join('.') : [TERMS[first] ?? snakeCase(first), ...rest].join('.');
}

/** The name of what a deployment states, of its dotted path in a snapshot. */
export function deploymentTermName(path: string): string {
  const found = longestNamed(DEPLOYMENT_TERMS, path);
  return found === null ? path : `${found.name}${found.rest.replace('.', ' ').replace(/\.base$/, '')}`;
}

/** The longest beginning of a path that has a name, and what follows on it. */
function longestNamed(
  names: Readonly<Record<string, string>>,
  path: string,
): { readonly name: string; readonly rest: string } | null {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const name = names[path.slice(0, end)];
    if (name !== undefined) return { name, rest: path.slice(end) };
  }
  return null;
}

/** The name of a setting for people, of its dotted path in a snapshot. */
export function settingName(path: string): string {
  const found = longestNamed(NAMES, path);
  if (found !== null)
    return `${found.name}${found.rest.replace(/^\./, found.name.includes(' ') ? ' ' : '.')}`;
  const [section = '', ...members] = path.split('.');
  return [SECTIONS[section] ?? section, ...members].map(snakeCase).join('.');
}

/** `budgetDuration`: `budget_duration`. */
const snakeCase = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
