// The spend record as the API returns it: a row of the dialect's SpendLogs table, with our own columns after it.
// Pure mapping. Never adds prompt or answer text: `messages`, `response` and `proxy_server_request` are always empty.
import type { Json } from '../../bodies/json.ts';
import { dollarsOf } from './cost.ts';
import { isoTime } from './known-times.ts';
import { bucketsOf, type Buckets } from '../../protocols/usage.ts';
import type { Attempt, SpendRecord } from './record.ts';

/** The row in the dialect's names. Times are ISO 8601 in UTC, `spend` is USD. */
interface SpendRow {
  readonly request_id: string;
  readonly call_type: string;
  /** SHA-256 hex of the caller's key, or ''. */
  readonly api_key: string;
  /** USD; null = unknown, `cost_reason` says why. */
  readonly spend: number | null;
  /** Token counts are 0 when not stated, as in the dialect; `usage_source` tells `none` from a true 0. */
  readonly total_tokens: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly startTime: string;
  readonly endTime: string;
  /** First byte of the answer; null when none came. */
  readonly completionStartTime: string | null;
  readonly request_duration_ms: number;
  readonly model: string;
  readonly model_id: string | null;
  readonly model_group: string;
  readonly custom_llm_provider: string | null;
  readonly api_base: string | null;
  /** Whose the caller's key is, else the deployment (`model_info.user_id`); not the body's user; '' = nobody's. */
  readonly user: string;
  readonly metadata: Json;
  readonly cache_hit: 'False';
  readonly cache_key: 'Cache OFF';
  readonly request_tags: readonly string[];
  readonly team_id: string | null;
  readonly organization_id: string | null;
  readonly end_user: string | null;
  readonly requester_ip_address: string | null;
  readonly messages: Json;
  readonly response: Json;
  readonly proxy_server_request: Json;
  readonly session_id: string;
  readonly status: SpendRecord['status'];
  readonly mcp_namespaced_tool_name: null;
  readonly upstream_id: string | null;
  readonly upstream_call_id: string | null;
  readonly client_call_id: string | null;
  readonly request_bytes: number;
  readonly response_bytes: number;
  readonly attempts: number;
  /**
   * Each of them, when there was more than one: `model_id`, `model`, `api_base`, `start`, `duration_ms`, `status`, `error`,
   * `usage`, `spend`. Of those that wrote one answer together also `total_tokens`, `estimated_by` if they were counted
   * here, and `continued: true` with `upstream_id` where the next one went on.
   */
  readonly attempt_log: readonly Json[];
  readonly end_reason: SpendRecord['endReason'];
  readonly http_status: number | null;
  readonly error_source: SpendRecord['errorSource'];
  /** Usage exactly as the upstream sent it. */
  readonly usage: Json | null;
  readonly usage_source: SpendRecord['usageSource'];
  readonly cache_read_tokens: number | null;
  readonly cache_creation_tokens: number | null;
  readonly reasoning_tokens: number | null;
  /** Each token once; the values add up to `total_tokens`. null when the counts are incomplete. */
  readonly token_buckets: Buckets | null;
  /** What was counted beside tokens: images, milliseconds, characters, queries, searches. */
  readonly units: Json | null;
  /** The tokenizer, or `bytes`, when `usage_source` is `estimate`. */
  readonly estimated_by: string | null;
  readonly service_tier: string | null;
  readonly cost_source: SpendRecord['costSource'];
  readonly cost_reason: string;
  /** USD by each source that can tell: `entry`, `upstream_header`, `catalogue`. */
  readonly cost_by_source: Readonly<Record<string, number>>;
  readonly price_version: string | null;
  readonly stream: boolean;
  readonly session_source: string;
  readonly user_agent: string | null;
  readonly client: string | null;
  readonly profile: string | null;
}

// The three counts that have columns of their own, in the spellings of both families of APIs.
const PLAIN_USAGE: ReadonlySet<string> = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'input_tokens',
  'output_tokens',
]);

/** Maps a record to its row. */
export function rowOf(record: SpendRecord): SpendRow {
  const { tokens } = record;
  return {
    request_id: record.requestId,
    call_type: record.callType,
    api_key: record.apiKeyHash,
    spend: record.spendPico === null ? null : dollarsOf(record.spendPico),
    total_tokens: tokens.total ?? (tokens.prompt ?? 0) + (tokens.completion ?? 0),
    prompt_tokens: tokens.prompt ?? 0,
    completion_tokens: tokens.completion ?? 0,
    startTime: isoTime(record.startMs),
    endTime: isoTime(record.endMs),
    completionStartTime: record.firstByteMs === null ? null : isoTime(record.firstByteMs),
    request_duration_ms: record.endMs - record.startMs,
    model: record.model,
    model_id: record.modelId,
    model_group: record.modelGroup,
    custom_llm_provider: record.provider,
    api_base: record.apiBase,
    user: record.userId ?? '',
    metadata: metadataOf(record),
    cache_hit: 'False',
    cache_key: 'Cache OFF',
    request_tags: record.tags,
    team_id: record.teamId,
    organization_id: record.organizationId ?? null,
    end_user: record.endUser,
    requester_ip_address: record.clientAddress,
    messages: {},
    response: {},
    proxy_server_request: {},
    session_id: record.sessionId,
    status: record.status,
    mcp_namespaced_tool_name: null,
    upstream_id: record.upstreamId,
    upstream_call_id: record.upstreamCallId,
    client_call_id: record.clientCallId,
    request_bytes: record.requestBytes,
    response_bytes: record.responseBytes,
    attempts: record.attempts,
    attempt_log: record.attemptLog.map(attemptOf),
    end_reason: record.endReason,
    http_status: record.httpStatus,
    error_source: record.errorSource,
    usage: record.usage,
    usage_source: record.usageSource,
    cache_read_tokens: tokens.cacheRead,
    cache_creation_tokens: tokens.cacheWrite,
    reasoning_tokens: tokens.reasoning,
    token_buckets: bucketsOf(tokens),
    units: record.units === null ? null : { ...record.units },
    estimated_by: record.estimatedBy,
    service_tier: record.serviceTier,
    cost_source: record.costSource,
    cost_reason: record.costReason,
    cost_by_source: Object.fromEntries(
      Object.entries(record.costs).map(([source, pico]) => [source, dollarsOf(pico)]),
    ),
    price_version: record.priceVersion,
    stream: record.stream,
    session_source: record.sessionSource,
    user_agent: record.userAgent,
    client: record.client,
    profile: record.profile,
  };
}

function attemptOf(attempt: Attempt): Json {
  return {
    model_id: attempt.modelId,
    model: attempt.model,
    api_base: attempt.apiBase,
    start: isoTime(attempt.startMs),
    duration_ms: attempt.durationMs,
    status: attempt.status,
    error: attempt.error,
    usage: attempt.usage,
    spend: attempt.spendPico === null ? null : dollarsOf(attempt.spendPico),
    ...(attempt.continued === true ? { continued: true } : {}),
    ...(attempt.upstreamId === undefined ? {} : { upstream_id: attempt.upstreamId }),
    ...(attempt.tokens === undefined ? {} : { total_tokens: attempt.tokens.total }),
    ...(attempt.estimatedBy === undefined ? {} : { estimated_by: attempt.estimatedBy }),
  };
}

function metadataOf(record: SpendRecord): Json {
  const failed = record.status === 'failure';
  return {
    user_api_key: record.apiKeyHash,
    user_api_key_alias: record.keyName ?? null,
    user_api_key_user_id: record.userId,
    user_api_key_team_id: record.teamId,
    user_api_key_team_alias: null,
    user_api_key_org_id: record.organizationId ?? null,
    spend_logs_metadata: record.spendLogsMetadata,
    requester_ip_address: record.clientAddress,
    usage_object: record.usage,
    additional_usage_values: additionalUsage(record.usage),
    status: record.status,
    error_information: failed
      ? {
          error_code: record.httpStatus === null ? '' : String(record.httpStatus),
          error_class: record.errorCode ?? record.endReason,
          llm_provider: record.provider,
          error_message: record.errorText ?? '', // ours alone: an upstream's text may quote the prompt
          traceback: '',
        }
      : null,
    warnings: record.warnings,
  };
}

function additionalUsage(usage: Json | null): Json {
  if (usage === null) return {};
  return Object.fromEntries(Object.entries(usage).filter(([name]) => !PLAIN_USAGE.has(name)));
}
