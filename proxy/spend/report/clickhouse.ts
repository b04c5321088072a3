// Rows as ClickHouse takes them: its table and the lines of an INSERT in JSONEachRow. Pure. A row that is sent twice counts
// once: ReplacingMergeTree keeps one row of each sorting key, the one that was inserted last
// (https://clickhouse.com/docs/engines/table-engines/mergetree-family/replacingmergetree).
import type { SpendRecord } from '../record/record.ts';
import { jsonValue, ROW_COLUMNS, type Column } from './columns.ts';

/** A table; both names are plain. */
export interface ClickHouseTable {
  readonly database: string;
  readonly table: string;
}

const TYPES: Readonly<Record<Column<never>['kind'], string>> = {
  text: 'Nullable(String)',
  json: 'Nullable(String)', // as text: its members are the callers' own
  count: 'Nullable(Int64)',
  time: "Nullable(DateTime64(3, 'UTC'))",
  flag: 'Bool',
  usd: 'Nullable(Decimal(38, 12))', // exact pico-dollars
};
/** Of the sorting key, which may not be null. */
const KEY_TYPES: Readonly<Record<string, string>> = {
  request_id: 'String',
  startTime: "DateTime64(3, 'UTC')",
};
/** Of a few values each; as a dictionary they need a byte a row. */
const FEW_VALUES: ReadonlySet<string> = new Set([
  'call_type',
  'status',
  'end_reason',
  'error_code',
  'error_source',
  'team_id',
  'model',
  'model_group',
  'model_id',
  'custom_llm_provider',
  'api_base',
  'session_source',
  'usage_source',
  'cost_source',
]);
/** What DateTime64 holds. A row of a clock that was far off must not stop the rows behind it. */
const FIRST_MS = Date.parse('1900-01-01T00:00:00Z');
const LAST_MS = Date.parse('2299-12-31T23:59:59.999Z');

const typeOf = ({ name, kind }: Column<SpendRecord>): string =>
  KEY_TYPES[name] ?? (FEW_VALUES.has(name) ? 'LowCardinality(Nullable(String))' : TYPES[kind]);

const shown = ({ database, table }: ClickHouseTable): string => `\`${database}\`.\`${table}\``;
const COLUMNS = ROW_COLUMNS.map((column) => `\`${column.name}\` ${typeOf(column)}`);

/** Makes the table where there is none, and adds columns that an older version did not have. */
export function createStatements(table: ClickHouseTable): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${shown(table)} (\n  ${COLUMNS.join(',\n  ')},\n` +
      "  `exported_at` DateTime64(3, 'UTC') DEFAULT now64(3)\n) ENGINE = ReplacingMergeTree(`exported_at`)\n" +
      'PARTITION BY toYYYYMM(`startTime`)\nORDER BY (`startTime`, `request_id`)',
    `ALTER TABLE ${shown(table)} ${COLUMNS.map((column) => `ADD COLUMN IF NOT EXISTS ${column}`).join(', ')}`,
  ];
}

export function insertStatement(table: ClickHouseTable): string {
  const names = ROW_COLUMNS.map(({ name }) => `\`${name}\``).join(', ');
  return `INSERT INTO ${shown(table)} (${names}) FORMAT JSONEachRow`;
}

/** A row of an INSERT, with its line break. */
export function insertLine(row: SpendRecord): string {
  const cells = ROW_COLUMNS.map((column) => [column.name, cellOf(column, row)] as const);
  return `${JSON.stringify(Object.fromEntries(cells))}\n`;
}

function cellOf(column: Column<SpendRecord>, row: SpendRecord): unknown {
  if (column.kind === 'time') {
    const ms = column.value(row);
    return ms === null ? null : new Date(Math.min(Math.max(ms, FIRST_MS), LAST_MS)).toISOString();
  }
  const value = jsonValue(column, row);
  if (column.kind === 'json') return value === null ? null : JSON.stringify(value);
  // Half of a surrogate pair is no UTF-8, and would have the whole batch refused.
  return typeof value === 'string' ? value.toWellFormed() : value;
}
