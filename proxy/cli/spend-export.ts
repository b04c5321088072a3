// `throughline spend export`: rows, oldest first, a page at a time however many there are.
import { csvCell, jsonValue, ROW_COLUMNS } from '../spend/report/columns.ts';
import { csvLine } from '../spend/report/csv.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import {
  DAY_FLAGS,
  daysBetween,
  OUT_FLAG,
  periodOf,
  STORE_FLAGS,
  withReader,
  withFile,
  withOutput,
  type StoreFlags,
} from './spend-source.ts';
import { choice, UsageError, type Define, type Terminal } from './terminal.ts';

const FORMATS = ['csv', 'jsonl', 'parquet'] as const;
/** Lines that are written together: a write per row would be most of the work. */
const LINES_AT_ONCE = 500;

interface Flags extends StoreFlags {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly format: (typeof FORMATS)[number];
  readonly out?: string | undefined;
}

export const spendExport: Define = (command, terminal) => {
  command
    .summary('the rows themselves, oldest first')
    .description(
      'Prints the rows of the spend store, oldest first. csv and parquet hold exact decimals, jsonl holds them as texts.',
    )
    .option(...DAY_FLAGS.since)
    .option(...DAY_FLAGS.until)
    .addOption(choice('--format <format>', 'how rows are written', FORMATS).default('csv' as const))
    .option(...OUT_FLAG)
    .option(...STORE_FLAGS.dataDir)
    .option(...STORE_FLAGS.databaseUrl)
    .option(...STORE_FLAGS.config)
    .action((flags) => exportRows(flags, terminal));
};

async function exportRows(values: Flags, terminal: Terminal): Promise<void> {
  const { format } = values;
  const { out } = values;
  if (format === 'parquet' && out === undefined)
    throw new UsageError('parquet is no text - name a file with --out FILE');
  const days = daysBetween(values.since, values.until, Date.now());
  await withReader(values, terminal, async (reader) => {
    let rows = 0;
    const counted = async function* (): AsyncGenerator<SpendRecord> {
      for await (const record of reader.rows(periodOf(days))) {
        rows += 1;
        yield record;
      }
    };
    if (format === 'parquet') {
      const { writeParquet } = await import('../spend/report/parquet.ts');
      await withFile(out ?? '', terminal, (path) => writeParquet(path, ROW_COLUMNS, counted()));
    } else {
      await withOutput(out, terminal, ({ write }) => writeLines(format, counted(), write));
    }
    terminal.err(`${rows} rows of ${days.startDay} to ${days.endDay} (UTC) from ${reader.shown}\n`);
  });
}

async function writeLines(
  format: 'csv' | 'jsonl',
  rows: AsyncIterable<SpendRecord>,
  write: (text: string) => void,
): Promise<void> {
  if (format === 'csv') write(csvLine(ROW_COLUMNS.map(({ name }) => name)));
  let lines: string[] = [];
  for await (const row of rows) {
    lines.push(
      format === 'csv'
        ? csvLine(ROW_COLUMNS.map((column) => csvCell(column, row)))
        : `${JSON.stringify(Object.fromEntries(ROW_COLUMNS.map((column) => [column.name, jsonValue(column, row)])))}\n`,
    );
    if (lines.length < LINES_AT_ONCE) continue;
    write(lines.join(''));
    lines = [];
  }
  write(lines.join(''));
}
