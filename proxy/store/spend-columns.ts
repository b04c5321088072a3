// A spend record as columns of the spend table and back. Pure. Binding can never fail: what is not of its column's
// type becomes NULL, because one unfit value must not stop the shipping of all rows behind it.
import type { SpendRecord } from '../record/record.ts';
import { NO_TOKENS, type Tokens } from '../wire/usage.ts';

type Cell = string | number | null;
type Row = Readonly<Record<string, unknown>>;

const COLUMNS: readonly (readonly [name: string, cell: (record: SpendRecord) => Cell])[] = [
  ['request_id', (r) => text(r.requestId)],
  ['call_type', (r) => text(r.callType)],
  ['start_ms', (r) => integer(r.startMs)],
  ['end_ms', (r) => integer(r.endMs)],
  ['first_byte_ms', (r) => integer(r.firstByteMs)],
  ['api_key', (r) => text(r.apiKeyHash)],
  ['model', (r) => text(r.model)],
  ['model_group', (r) => text(r.modelGroup)],
  ['model_id', (r) => text(r.modelId)],
  ['provider', (r) => text(r.provider)],
  ['api_base', (r) => text(r.apiBase)],
  ['session_id', (r) => text(r.sessionId)],
  ['session_key', (r) => sessionKey(text(r.sessionId) ?? '')],
  ['session_source', (r) => text(r.sessionSource)],
  ['end_user', (r) => text(r.endUser)],
  ['tags', (r) => json(r.tags)],
  ['spend_logs_metadata', (r) => json(r.spendLogsMetadata)],
  ['client_call_id', (r) => text(r.clientCallId)],
  ['client_address', (r) => text(r.clientAddress)],
  ['user_agent', (r) => text(r.userAgent)],
  ['stream', (r) => (r.stream ? 1 : 0)],
  ['request_bytes', (r) => integer(r.requestBytes)],
  ['response_bytes', (r) => integer(r.responseBytes)],
  ['warnings', (r) => json(r.warnings)],
  ['status', (r) => text(r.status)],
  ['end_reason', (r) => text(r.endReason)],
  ['http_status', (r) => integer(r.httpStatus)],
  ['error_code', (r) => text(r.errorCode)],
  ['error_source', (r) => text(r.errorSource)],
  ['attempts', (r) => integer(r.attempts)],
  ['upstream_id', (r) => text(r.upstreamId)],
  ['upstream_call_id', (r) => text(r.upstreamCallId)],
  ['usage', (r) => json(r.usage)],
  ['usage_source', (r) => text(r.usageSource)],
  ['prompt_tokens', (r) => token(r, 'prompt')],
  ['completion_tokens', (r) => token(r, 'completion')],
  ['total_tokens', (r) => token(r, 'total')],
  ['cache_read_tokens', (r) => token(r, 'cacheRead')],
  ['cache_write_tokens', (r) => token(r, 'cacheWrite')],
  ['reasoning_tokens', (r) => token(r, 'reasoning')],
  ['spend_pico', (r) => integer(r.spendPico)],
  ['cost_source', (r) => text(r.costSource)],
  ['cost_reason', (r) => text(r.costReason)],
  ['team_id', (r) => text(r.teamId)],
  ['user_id', (r) => text(r.userId)],
  ['profile', (r) => text(r.profile)],
  ['client', (r) => text(r.client)],
  ['cache_write_1h_tokens', (r) => token(r, 'cacheWrite1h')],
  ['input_audio_tokens', (r) => token(r, 'inputAudio')],
  ['output_audio_tokens', (r) => token(r, 'outputAudio')],
  ['input_image_tokens', (r) => token(r, 'inputImage')],
  ['output_image_tokens', (r) => token(r, 'outputImage')],
  ['estimated_by', (r) => text(r.estimatedBy)],
  ['units', (r) => json(r.units)],
  ['service_tier', (r) => text(r.serviceTier)],
  ['costs', (r) => json(r.costs)],
  ['price_version', (r) => text(r.priceVersion)],
];

/** Column names of the spend table, in the order of `cellsOf`. */
export const COLUMN_NAMES: readonly string[] = COLUMNS.map(([name]) => name);

/** The record's cells, ready to be bound. */
export function cellsOf(record: SpendRecord): Cell[] {
  return COLUMNS.map(([, cell]) => cell(record));
}

/** What sessions are found by: UUIDs with and without dashes, in any case, are the same session. */
export function sessionKey(sessionId: string): string {
  const bare = sessionId.replaceAll('-', '').toLowerCase();
  return /^[0-9a-f]{32}$/.test(bare) ? bare : sessionId;
}

/** The record of a row of the spend table. */
export function recordOf(row: Row): SpendRecord {
  const str = (name: string): string => text(row[name]) ?? '';
  const num = (name: string): number => integer(row[name]) ?? 0;
  const strOrNull = (name: string): string | null => text(row[name]);
  const numOrNull = (name: string): number | null => integer(row[name]);
  return {
    requestId: str('request_id'),
    callType: str('call_type'),
    startMs: num('start_ms'),
    apiKeyHash: str('api_key'),
    model: str('model'),
    modelGroup: str('model_group'),
    modelId: strOrNull('model_id'),
    provider: strOrNull('provider'),
    apiBase: strOrNull('api_base'),
    sessionId: str('session_id'),
    sessionSource: str('session_source'),
    endUser: strOrNull('end_user'),
    teamId: strOrNull('team_id'),
    userId: strOrNull('user_id'),
    profile: strOrNull('profile'),
    tags: (parsed(row['tags']) ?? []) as readonly string[],
    spendLogsMetadata: parsed(row['spend_logs_metadata']) as SpendRecord['spendLogsMetadata'],
    clientCallId: strOrNull('client_call_id'),
    clientAddress: strOrNull('client_address'),
    userAgent: strOrNull('user_agent'),
    client: strOrNull('client'),
    stream: num('stream') === 1,
    requestBytes: num('request_bytes'),
    warnings: (parsed(row['warnings']) ?? []) as readonly string[],
    endMs: num('end_ms'),
    firstByteMs: numOrNull('first_byte_ms'),
    status: str('status') as SpendRecord['status'],
    endReason: str('end_reason') as SpendRecord['endReason'],
    httpStatus: numOrNull('http_status'),
    errorCode: strOrNull('error_code'),
    errorSource: strOrNull('error_source') as SpendRecord['errorSource'],
    attempts: num('attempts'),
    responseBytes: num('response_bytes'),
    upstreamId: strOrNull('upstream_id'),
    upstreamCallId: strOrNull('upstream_call_id'),
    usage: parsed(row['usage']) as SpendRecord['usage'],
    usageSource: str('usage_source') as SpendRecord['usageSource'],
    tokens: {
      prompt: numOrNull('prompt_tokens'),
      completion: numOrNull('completion_tokens'),
      total: numOrNull('total_tokens'),
      cacheRead: numOrNull('cache_read_tokens'),
      cacheWrite: numOrNull('cache_write_tokens'),
      reasoning: numOrNull('reasoning_tokens'),
      cacheWrite1h: numOrNull('cache_write_1h_tokens'),
      inputAudio: numOrNull('input_audio_tokens'),
      outputAudio: numOrNull('output_audio_tokens'),
      inputImage: numOrNull('input_image_tokens'),
      outputImage: numOrNull('output_image_tokens'),
    },
    estimatedBy: strOrNull('estimated_by'),
    units: parsed(row['units']) as SpendRecord['units'],
    serviceTier: strOrNull('service_tier'),
    spendPico: numOrNull('spend_pico'),
    costSource: str('cost_source') as SpendRecord['costSource'],
    costReason: str('cost_reason'),
    costs: parsed(row['costs']) ?? {},
    priceVersion: strOrNull('price_version'),
  };
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function integer(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function parsed(cell: unknown): unknown {
  return typeof cell === 'string' ? JSON.parse(cell) : null;
}

// A line of an older version may lack the object.
function token(record: SpendRecord, name: keyof Tokens): number | null {
  return integer((record.tokens ?? NO_TOKENS)[name]);
}
