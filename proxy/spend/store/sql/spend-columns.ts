// A spend record as columns of the spend table and back, for both databases. Pure. Binding can never fail: what is not
// of its column's type becomes NULL, because one unfit value must not stop the shipping of all rows behind it.
import { LAST_MS } from '../../record/known-times.ts';
import type { SpendRecord } from '../../record/record.ts';
import { NO_TOKENS, type Tokens } from '../../../protocols/usage.ts';

type Cell = string | number | null;
type Row = Readonly<Record<string, unknown>>;

/** One column: how it is written, and how it is read. `undefined` = the record lacks the member. */
interface Column<V> {
  readonly name: string;
  /** `text` and `integer` as in SQL; `json` is text in SQLite and json in PostgreSQL. */
  readonly type: 'text' | 'integer' | 'json';
  readonly write: (record: SpendRecord) => unknown;
  readonly read: (cell: unknown) => V;
}

/** A column for each member: one that is forgotten does not compile. */
type Columns<T> = { readonly [K in keyof Required<T>]: Column<T[K]> };

/** What the store keeps of a record. */
type Stored = Omit<SpendRecord, 'reservedPico' | 'trace'>;

// An entry of a PostgreSQL index holds at most 2,704 bytes, and a row that does not fit would stop all rows behind it.
const INDEXED_CHARS = 600;

const str = <V extends string>(name: string, write: (record: SpendRecord) => V): Column<V> => ({
  name,
  type: 'text',
  write,
  read: (cell) => (text(cell) ?? '') as V,
});
const strOrNull = <V extends string>(
  name: string,
  write: (record: SpendRecord) => V | null,
): Column<V | null> => ({ name, type: 'text', write, read: (cell) => text(cell) as V | null });
const num = (name: string, write: (record: SpendRecord) => number): Column<number> => ({
  name,
  type: 'integer',
  write,
  read: (cell) => integer(cell) ?? 0,
});
const numOrNull = (name: string, write: (record: SpendRecord) => number | null): Column<number | null> => ({
  name,
  type: 'integer',
  write,
  read: integer,
});
const json = <V>(name: string, write: (record: SpendRecord) => V | null, none: V): Column<V> => ({
  name,
  type: 'json',
  write,
  read: (cell) => (parsed(cell) ?? none) as V,
});

const TOKENS: Columns<Tokens> = {
  prompt: numOrNull('prompt_tokens', (r) => token(r, 'prompt')),
  completion: numOrNull('completion_tokens', (r) => token(r, 'completion')),
  total: numOrNull('total_tokens', (r) => token(r, 'total')),
  cacheRead: numOrNull('cache_read_tokens', (r) => token(r, 'cacheRead')),
  cacheWrite: numOrNull('cache_write_tokens', (r) => token(r, 'cacheWrite')),
  cacheWrite1h: numOrNull('cache_write_1h_tokens', (r) => token(r, 'cacheWrite1h')),
  reasoning: numOrNull('reasoning_tokens', (r) => token(r, 'reasoning')),
  inputAudio: numOrNull('input_audio_tokens', (r) => token(r, 'inputAudio')),
  outputAudio: numOrNull('output_audio_tokens', (r) => token(r, 'outputAudio')),
  inputImage: numOrNull('input_image_tokens', (r) => token(r, 'inputImage')),
  outputImage: numOrNull('output_image_tokens', (r) => token(r, 'outputImage')),
};

const MEMBERS: Columns<Omit<Stored, 'tokens'>> = {
  requestId: str('request_id', (r) => r.requestId),
  callType: str('call_type', (r) => r.callType),
  startMs: num('start_ms', startMsOf),
  endMs: num('end_ms', (r) => r.endMs),
  firstByteMs: numOrNull('first_byte_ms', (r) => r.firstByteMs),
  apiKeyHash: str('api_key', (r) => r.apiKeyHash),
  keyName: {
    name: 'key_name',
    type: 'text',
    write: (r) => r.keyName,
    read: (cell) => text(cell) ?? undefined,
  },
  teamId: strOrNull('team_id', (r) => r.teamId),
  // NULL = of a version that did not record it; '' = nobody's.
  organizationId: {
    name: 'organization_id',
    type: 'text',
    write: (r) => (r.organizationId === null ? '' : indexed(r.organizationId)),
    read: (cell) => (text(cell) === null ? undefined : text(cell) || null),
  },
  userId: strOrNull('user_id', (r) => r.userId),
  profile: strOrNull('profile', (r) => r.profile),
  model: str('model', (r) => r.model),
  modelGroup: str('model_group', (r) => r.modelGroup),
  modelId: strOrNull('model_id', (r) => r.modelId),
  provider: strOrNull('provider', (r) => r.provider),
  apiBase: strOrNull('api_base', (r) => r.apiBase),
  sessionId: str('session_id', (r) => r.sessionId),
  sessionSource: str('session_source', (r) => r.sessionSource),
  endUser: strOrNull('end_user', (r) => indexed(r.endUser)),
  tags: json<SpendRecord['tags']>('tags', (r) => filled(r.tags), []),
  spendLogsMetadata: json<SpendRecord['spendLogsMetadata']>(
    'spend_logs_metadata',
    (r) => r.spendLogsMetadata,
    null,
  ),
  clientCallId: strOrNull('client_call_id', (r) => r.clientCallId),
  clientAddress: strOrNull('client_address', (r) => r.clientAddress),
  userAgent: strOrNull('user_agent', (r) => r.userAgent),
  client: strOrNull('client', (r) => r.client),
  stream: {
    name: 'stream',
    type: 'integer',
    write: (r) => (r.stream ? 1 : 0),
    read: (cell) => cell === 1,
  },
  requestBytes: num('request_bytes', (r) => r.requestBytes),
  responseBytes: num('response_bytes', (r) => r.responseBytes),
  warnings: json<SpendRecord['warnings']>('warnings', (r) => filled(r.warnings), []),
  status: str<SpendRecord['status']>('status', (r) => r.status),
  endReason: str<SpendRecord['endReason']>('end_reason', (r) => r.endReason),
  httpStatus: numOrNull('http_status', (r) => r.httpStatus),
  errorCode: strOrNull('error_code', (r) => r.errorCode),
  errorText: strOrNull('error_text', (r) => r.errorText),
  errorSource: strOrNull<NonNullable<SpendRecord['errorSource']>>('error_source', (r) => r.errorSource),
  attempts: num('attempts', (r) => r.attempts),
  attemptLog: json<SpendRecord['attemptLog']>('attempt_log', (r) => filled(r.attemptLog), []), // older lines lack it
  upstreamId: strOrNull('upstream_id', (r) => indexed(r.upstreamId)),
  upstreamCallId: strOrNull('upstream_call_id', (r) => r.upstreamCallId),
  usage: json<SpendRecord['usage']>('usage', (r) => r.usage, null),
  usageSource: str<SpendRecord['usageSource']>('usage_source', (r) => r.usageSource),
  estimatedBy: strOrNull('estimated_by', (r) => r.estimatedBy),
  units: json<SpendRecord['units']>('units', (r) => r.units, null),
  serviceTier: strOrNull('service_tier', (r) => r.serviceTier),
  spendPico: numOrNull('spend_pico', (r) => r.spendPico),
  costSource: str<SpendRecord['costSource']>('cost_source', (r) => r.costSource),
  costReason: str('cost_reason', (r) => r.costReason),
  costs: json<SpendRecord['costs']>('costs', (r) => r.costs, {}),
  priceVersion: strOrNull('price_version', (r) => r.priceVersion),
};

/** Written to find rows by, and not read. */
const SESSION_KEY = strOrNull('session_key', (r) => sessionKey(text(r.sessionId) ?? ''));

const COLUMNS: readonly Column<unknown>[] = [
  ...Object.values(MEMBERS),
  ...Object.values(TOKENS),
  SESSION_KEY,
];

/** Column names of the spend table, in the order of `cellsOf`. */
export const COLUMN_NAMES: readonly string[] = COLUMNS.map(({ name }) => name);

/** The record's cells, ready to be bound. */
export function cellsOf(record: SpendRecord): Cell[] {
  return COLUMNS.map(({ type, write }) => {
    const cell = write(record);
    if (type === 'text') return text(cell);
    return type === 'integer' ? integer(cell) : jsonText(cell);
  });
}

/** The records as one JSON text of objects by column name, as `json_populate_recordset` takes them; NULLs are left out. */
export function rowsJson(records: readonly SpendRecord[]): string {
  return storable(JSON.stringify(records.map(membersOf)));
}

function membersOf(record: SpendRecord): Row {
  const row: Record<string, unknown> = {};
  for (const { name, type, write } of COLUMNS) {
    const raw = write(record);
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
  return { ...read(MEMBERS, row), tokens: read(TOKENS, row) };
}

function read<T>(columns: Columns<T>, row: Row): T {
  const values: Partial<T> = {};
  for (const member in columns) {
    const { name, read: valueOf } = columns[member];
    const value = valueOf(row[name]);
    if (value !== undefined) values[member] = value;
  }
  return values as T; // a column may leave out only what may be absent: `Columns` sees to that
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function integer(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

function jsonText(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function parsed(cell: unknown): unknown {
  return typeof cell === 'string' ? JSON.parse(cell) : (cell ?? null); // pg has parsed it already
}

/** Most lists are empty, and NULL is cheaper than the text of nothing. */
function filled<V>(list: readonly V[] | undefined): readonly V[] | null {
  return list === undefined || list.length === 0 ? null : list;
}

// A line of an older version may lack the object.
function token(record: SpendRecord, name: keyof Tokens): number | null {
  return integer((record.tokens ?? NO_TOKENS)[name]);
}
