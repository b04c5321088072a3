// Columns as a Parquet file: the only file that imports the writer. Rows are taken a group at a time, so a year of them
// needs no more memory than a day.
import { fileWriter, parquetWriteRows, type SchemaElement } from 'hyparquet-writer';
import type { Column } from './columns.ts';

const GROUP_ROWS = 20_000; // some 20 MB of our rows in memory
/** Of DECIMAL(38, 12) in 16 bytes: every sum of pico-dollars, exact. */
const DECIMAL = { type_length: 16, scale: 12, precision: 38 } as const;

const TYPES: Readonly<Record<Column<never>['kind'], Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  count: { type: 'INT64' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  flag: { type: 'BOOLEAN' },
  usd: { type: 'FIXED_LEN_BYTE_ARRAY', converted_type: 'DECIMAL', ...DECIMAL },
};

/**
 * Writes a file, replacing one that is there.
 * @throws NodeJS.ErrnoException when it cannot be written
 */
export async function writeParquet<T>(
  path: string,
  columns: readonly Column<T>[],
  rows: AsyncIterable<T>,
): Promise<void> {
  await parquetWriteRows({
    writer: fileWriter(path),
    columns: columns.map(({ name }) => ({ name })),
    schema: [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, kind }) => ({ name, repetition_type: 'OPTIONAL' as const, ...TYPES[kind] })),
    ],
    rows: objectsOf(columns, rows),
    rowGroupSize: GROUP_ROWS,
    createdBy: 'throughline',
  });
}

async function* objectsOf<T>(
  columns: readonly Column<T>[],
  rows: AsyncIterable<T>,
): AsyncGenerator<Record<string, unknown>> {
  for await (const row of rows) {
    yield Object.fromEntries(columns.map((column) => [column.name, parquetValue(column, row)]));
  }
}

function parquetValue<T>(column: Column<T>, row: T): unknown {
  const value = column.value(row) ?? null;
  if (value === null) return null;
  if (column.kind === 'json') return JSON.stringify(value);
  return column.kind === 'count' || column.kind === 'time' ? BigInt(value as number) : value;
}
