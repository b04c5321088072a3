// The columns of a report or an export: one list for CSV, JSON and Parquet, so that they never state different
// things. Pure.
import { dollarText } from '../record/dollars.ts';
import { isoTime } from '../record/known-times.ts';
import type { SpendRecord } from '../record/record.ts';
import type { ReportRow } from './spend-report.ts';

/** `usd`: pico-dollars as bigint; `time`: epoch milliseconds; `json`: any JSON value. null = not known. */
export type Column<T> = { readonly name: string } & (
  | { readonly kind: 'text'; readonly value: (row: T) => string | null }
  | { readonly kind: 'count' | 'time'; readonly value: (row: T) => number | null }
  | { readonly kind: 'usd'; readonly value: (row: T) => bigint | null }
  | { readonly kind: 'flag'; readonly value: (row: T) => boolean }
  | { readonly kind: 'json'; readonly value: (row: T) => unknown }
);

/** The value as CSV has it: dollars exact, times as ISO 8601 in UTC, lists and objects as JSON. */
export function csvCell<T>(column: Column<T>, row: T): string | number | boolean | null {
  const value = jsonValue(column, row);
  return column.kind === 'json' && value !== null ? JSON.stringify(value) : (value as string | null);
}

/** The value as JSON has it. Dollars are texts, because they are exact. */
export function jsonValue<T>(column: Column<T>, row: T): unknown {
  switch (column.kind) {
    case 'usd': {
      const pico = column.value(row);
      return pico === null ? null : dollarText(pico);
    }
    case 'time': {
      const ms = column.value(row);
      return ms === null ? null : isoTime(ms);
    }
    default:
      return column.value(row) ?? null;
  }
}

const count = <T>(name: string, value: (row: T) => number | null | undefined): Column<T> => ({
  name,
  kind: 'count',
  value: (row) => value(row) ?? null,
});
const text = <T>(name: string, value: (row: T) => string | null | undefined): Column<T> => ({
  name,
  kind: 'text',
  value: (row) => value(row) ?? null,
});

/** Columns of a report; the first is named after what it is by. */
export function reportColumns(by: string, spendPico: (row: ReportRow) => bigint): Column<ReportRow>[] {
  return [
    text(by, (row) => row.key),
    count('requests', (row) => row.requests),
    count('failures', (row) => row.failures),
    count('unpriced', (row) => row.unpriced),
    count('prompt_tokens', (row) => row.prompt_tokens),
    count('completion_tokens', (row) => row.completion_tokens),
    count('total_tokens', (row) => row.total_tokens),
    count('cache_read_tokens', (row) => row.cache_read_tokens),
    count('cache_creation_tokens', (row) => row.cache_creation_tokens),
    count('reasoning_tokens', (row) => row.reasoning_tokens),
    { name: 'spend', kind: 'usd', value: spendPico },
  ];
}

/** What each source says, exact. */
function costsBySource({ costs }: SpendRecord): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(costs).map(([source, pico]) => [source, dollarText(BigInt(pico))]),
  );
}

/** Columns of exported rows, in the names of the spend API. */
export const ROW_COLUMNS: readonly Column<SpendRecord>[] = [
  text('request_id', (r) => r.requestId),
  text('call_type', (r) => r.callType),
  { name: 'startTime', kind: 'time', value: (r) => r.startMs },
  { name: 'endTime', kind: 'time', value: (r) => r.endMs },
  { name: 'completionStartTime', kind: 'time', value: (r) => r.firstByteMs },
  text('status', (r) => r.status),
  text('end_reason', (r) => r.endReason),
  count('http_status', (r) => r.httpStatus),
  text('error_code', (r) => r.errorCode),
  text('error_text', (r) => r.errorText),
  text('error_source', (r) => r.errorSource),
  text('api_key', (r) => r.apiKeyHash),
  text('api_key_alias', (r) => r.keyName ?? null),
  text('team_id', (r) => r.teamId),
  text('organization_id', (r) => r.organizationId ?? null),
  text('user', (r) => r.userId),
  text('end_user', (r) => r.endUser),
  text('profile', (r) => r.profile),
  text('client', (r) => r.client),
  text('session_id', (r) => r.sessionId),
  text('session_source', (r) => r.sessionSource),
  { name: 'request_tags', kind: 'json', value: (r) => r.tags },
  { name: 'spend_logs_metadata', kind: 'json', value: (r) => r.spendLogsMetadata },
  text('model', (r) => r.model),
  text('model_group', (r) => r.modelGroup),
  text('model_id', (r) => r.modelId),
  text('custom_llm_provider', (r) => r.provider),
  text('api_base', (r) => r.apiBase),
  count('prompt_tokens', (r) => r.tokens.prompt),
  count('completion_tokens', (r) => r.tokens.completion),
  count('total_tokens', (r) => r.tokens.total),
  count('cache_read_tokens', (r) => r.tokens.cacheRead),
  count('cache_creation_tokens', (r) => r.tokens.cacheWrite),
  count('reasoning_tokens', (r) => r.tokens.reasoning),
  { name: 'units', kind: 'json', value: (r) => r.units },
  text('service_tier', (r) => r.serviceTier),
  text('usage_source', (r) => r.usageSource),
  text('estimated_by', (r) => r.estimatedBy),
  { name: 'usage', kind: 'json', value: (r) => r.usage },
  { name: 'spend', kind: 'usd', value: (r) => (r.spendPico === null ? null : BigInt(r.spendPico)) },
  text('cost_source', (r) => r.costSource),
  text('cost_reason', (r) => r.costReason),
  { name: 'cost_by_source', kind: 'json', value: costsBySource },
  text('price_version', (r) => r.priceVersion),
  text('upstream_id', (r) => r.upstreamId),
  text('upstream_call_id', (r) => r.upstreamCallId),
  text('client_call_id', (r) => r.clientCallId),
  { name: 'stream', kind: 'flag', value: (r) => r.stream },
  count('attempts', (r) => r.attempts),
  count('request_bytes', (r) => r.requestBytes),
  count('response_bytes', (r) => r.responseBytes),
  text('user_agent', (r) => r.userAgent),
  text('requester_ip_address', (r) => r.clientAddress),
];
