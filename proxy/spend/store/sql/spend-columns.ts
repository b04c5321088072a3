// A spend record as columns of the spend table and back, for both databases. Pure. Binding can never fail: what is not
// of its column's type becomes NULL, because one unfit value must not stop the shipping of all rows behind it.
import { LAST_MS } from '../../record/known-times.ts';
import type { SpendRecord } from '../../record/record.ts';
import { NO_TOKENS, type Tokens } from '../../../protocols/usage.ts';

type Cell = string | number | null;
type Row = Readonly<Record<string, unknown>>;
/** `text` and `integer` as in SQL; `json` is text in SQLite and json in PostgreSQL. */
type Column = readonly [
  name: string,
  type: 'text' | 'integer' | 'json',
  value: (record: SpendRecord) => unknown,
];

// An entry of a PostgreSQL index holds at most 2,704 bytes, and a row that does not fit would stop all rows behind it.
const INDEXED_CHARS = 600;

const COLUMNS: readonly Column[] = [
  ['request_id', 'text', (r) => r.requestId],
  ['call_type', 'text', (r) => r.callType],
  ['start_ms', 'integer', startMsOf],
  ['end_ms', 'integer', (r) => r.endMs],
  ['first_byte_ms', 'integer', (r) => r.firstByteMs],
  ['api_key', 'text', (r) => r.apiKeyHash],
  ['team_id', 'text', (r) => r.teamId],
  ['user_id', 'text', (r) => r.userId],
  ['model', 'text', (r) => r.model],
  ['model_group', 'text', (r) => r.modelGroup],
  ['model_id', 'text', (r) => r.modelId],
  ['provider', 'text', (r) => r.provider],
  ['api_base', 'text', (r) => r.apiBase],
  ['session_id', 'text', (r) => r.sessionId],
  ['session_key', 'text', (r) => sessionKey(text(r.sessionId) ?? '')],
  ['session_source', 'text', (r) => r.sessionSource],
  ['end_user', 'text', (r) => indexed(r.endUser)],
  ['tags', 'json', (r) => filled(r.tags)],
  ['spend_logs_metadata', 'json', (r) => r.spendLogsMetadata],
  ['client_call_id', 'text', (r) => r.clientCallId],
  ['client_address', 'text', (r) => r.clientAddress],
  ['user_agent', 'text', (r) => r.userAgent],
  ['stream', 'integer', (r) => (r.stream ? 1 : 0)],
  ['request_bytes', 'integer', (r) => r.requestBytes],
  ['response_bytes', 'integer', (r) => r.responseBytes],
  ['warnings', 'json', (r) => filled(r.warnings)],
  ['status', 'text', (r) => r.status],
  ['end_reason', 'text', (r) => r.endReason],
  ['http_status', 'integer', (r) => r.httpStatus],
  ['error_code', 'text', (r) => r.errorCode],
  ['error_source', 'text', (r) => r.errorSource],
  ['attempts', 'integer', (r) => r.attempts],
  ['attempt_log', 'json', (r) => filled(r.attemptLog)], // older lines lack it
  ['upstream_id', 'text', (r) => indexed(r.upstreamId)],
  ['upstream_call_id', 'text', (r) => r.upstreamCallId],
  ['usage', 'json', (r) => r.usage],
  ['usage_source', 'text', (r) => r.usageSource],
  ['prompt_tokens', 'integer', (r) => token(r, 'prompt')],
  ['completion_tokens', 'integer', (r) => token(r, 'completion')],
  ['total_tokens', 'integer', (r) => token(r, 'total')],
  ['cache_read_tokens', 'integer', (r) => token(r, 'cacheRead')],
  ['cache_write_tokens', 'integer', (r) => token(r, 'cacheWrite')],
  ['reasoning_tokens', 'integer', (r) => token(r, 'reasoning')],
  ['spend_pico', 'integer', (r) => r.spendPico],
  ['cost_source', 'text', (r) => r.costSource],
  ['cost_reason', 'text', (r) => r.costReason],
  ['profile', 'text', (r) => r.profile],
  ['client', 'text', (r) => r.client],
  ['cache_write_1h_tokens', 'integer', (r) => token(r, 'cacheWrite1h')],
  ['input_audio_tokens', 'integer', (r) => token(r, 'inputAudio')],
  ['output_audio_tokens', 'integer', (r) => token(r, 'outputAudio')],
  ['input_image_tokens', 'integer', (r) => token(r, 'inputImage')],
  ['output_image_tokens', 'integer', (r) => token(r, 'outputImage')],
  ['estimated_by', 'text', (r) => r.estimatedBy],
  ['units', 'json', (r) => r.units],
  ['service_tier', 'text', (r) => r.serviceTier],
  ['costs', 'json', (r) => r.costs],
  ['price_version', 'text', (r) => r.priceVersion],
  ['key_name', 'text', (r) => r.keyName],
  ['error_text', 'text', (r) => r.errorText],
  // NULL = of a version that did not record it; '' = nobody's.
  ['organization_id', 'text', (r) => (r.organizationId === null ? '' : indexed(r.organizationId))],
];

/** Column names of the spend table, in the order of `cellsOf`. */
export const COLUMN_NAMES: readonly string[] = COLUMNS.map(([name]) => name);

/** The record's cells, ready to be bound. */
export function cellsOf(record: SpendRecord): Cell[] {
  return COLUMNS.map(([, type, value]) => {
    const cell = value(record);
    if (type === 'text') return text(cell);
    return type === 'integer' ? integer(cell) : json(cell);
  });
}

/** The records as one JSON text of objects by column name, as `json_populate_recordset` takes them; NULLs are left out. */
export function rowsJson(records: readonly SpendRecord[]): string {
  return storable(JSON.stringify(records.map(membersOf)));
}

function membersOf(record: SpendRecord): Row {
  const row: Record<string, unknown> = {};
  for (const [name, type, value] of COLUMNS) {
    const raw = value(record);
    const plain = type === 'integer' ? integer(raw) : raw;
    const cell = type === 'text' ? text(raw) : plain;
    if (cell !== null) row[name] = cell;
  }
  return row;
}

/**
 * A JSON text that PostgreSQL takes: it knows neither NUL nor lone surrogates (JSON.stringify escapes both), and
 * would refuse the whole batch for one of them. They become U+FFFD, as in SQLite's UTF-8.
 */
export function storable(jsonText: string): string {
  if (!/\\u(?:0000|d[89a-f])/.test(jsonText)) return jsonText;
  return jsonText.replaceAll(/\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g, (escape) =>
    escape === '\\\\' ? escape : '\\ufffd',
  );
}

/** What sessions are found by: UUIDs with and without dashes, in any case, are the same session. */
export function sessionKey(sessionId: string): string {
  const bare = sessionId.replaceAll('-', '').toLowerCase();
  return /^[0-9a-f]{32}$/.test(bare) ? bare : (indexed(sessionId) ?? '');
}

/** A text as it stands in an indexed column; looking it up needs the same cut. */
export function indexed(value: unknown): string | null {
  return text(value)?.slice(0, INDEXED_CHARS) ?? null;
}

/** When the row began, epoch milliseconds; 0 when the record says no time that has a day. */
export function startMsOf({ startMs }: SpendRecord): number {
  return Number.isSafeInteger(startMs) && startMs >= 0 && startMs <= LAST_MS ? startMs : 0;
}

/** The record of a row of the spend table. */
export function recordOf(row: Row): SpendRecord {
  const str = (name: string): string => text(row[name]) ?? '';
  const num = (name: string): number => integer(row[name]) ?? 0;
  const strOrNull = (name: string): string | null => text(row[name]);
  const numOrNull = (name: string): number | null => integer(row[name]);
  const keyName = strOrNull('key_name');
  const organizationId = strOrNull('organization_id');
  return {
    requestId: str('request_id'),
    callType: str('call_type'),
    startMs: num('start_ms'),
    apiKeyHash: str('api_key'),
    ...(keyName === null ? {} : { keyName }),
    model: str('model'),
    modelGroup: str('model_group'),
    modelId: strOrNull('model_id'),
    provider: strOrNull('provider'),
    apiBase: strOrNull('api_base'),
    sessionId: str('session_id'),
    sessionSource: str('session_source'),
    endUser: strOrNull('end_user'),
    teamId: strOrNull('team_id'),
    ...(organizationId === null ? {} : { organizationId: organizationId || null }),
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
    errorText: strOrNull('error_text'),
    errorSource: strOrNull('error_source') as SpendRecord['errorSource'],
    attempts: num('attempts'),
    attemptLog: (parsed(row['attempt_log']) ?? []) as SpendRecord['attemptLog'],
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
  return typeof cell === 'string' ? JSON.parse(cell) : (cell ?? null); // pg has parsed it already
}

/** Most lists are empty, and NULL is cheaper than the text of nothing. */
function filled(list: readonly unknown[] | undefined): readonly unknown[] | null {
  return list === undefined || list.length === 0 ? null : list;
}

// A line of an older version may lack the object.
function token(record: SpendRecord, name: keyof Tokens): number | null {
  return integer((record.tokens ?? NO_TOKENS)[name]);
}
