// `throughline spend report`: sums by one dimension, from a store or from a running proxy.
import { Secret } from '../../config/secret.ts';
import { picoOfDollarText, roundedDollars } from '../spend/record/dollars.ts';
import { csvCell, reportColumns } from '../spend/report/columns.ts';
import { csvLine } from '../spend/report/csv.ts';
import {
  isReportBy,
  REPORT_BY,
  spendReport as reportOf,
  type ReportBy,
  type ReportRow,
  type SpendReport,
} from '../spend/report/spend-report.ts';
import { grouped, textTable } from '../spend/report/text-table.ts';
import { ADMIN_FLAGS, AdminCalls, foundKey } from './admin-call.ts';
import { jsonText } from './print.ts';
import {
  daysBetween,
  withReader,
  DAY_FLAGS,
  OUT_FLAG,
  STORE_FLAGS,
  type Days,
  type StoreFlags,
} from './spend-source.ts';
import { withFile, withOutput } from './write-file.ts';
import { UsageError, choice, type Terminal, type Define } from './terminal.ts';

const FORMATS = ['table', 'csv', 'json', 'parquet'] as const;
const DEFAULT_LIMIT = 10_000;
const MOST_ROWS = 100_000; // what a running proxy answers at most
const PLACES = 6;

const WORDS = Object.keys(REPORT_BY).filter(isReportBy);

interface Flags extends StoreFlags {
  readonly by?: ReportBy | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly format: (typeof FORMATS)[number];
  readonly limit: string;
  readonly out?: string | undefined;
  readonly url?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly key?: string | undefined;
}

export const spendReport: Define = (command, terminal) => {
  command
    .summary('sums by session, user, team, tag, model, key, day, ...')
    .description('Prints what calls cost, one row per session, user, team and so on, the dearest first.')
    .addOption(choice('--by <word>', 'what a row is about', WORDS))
    .option(...DAY_FLAGS.since)
    .option(...DAY_FLAGS.until)
    .addOption(choice('--format <format>', 'how the report is written', FORMATS).default('table' as const))
    .option('--limit <n>', `most rows, up to ${MOST_ROWS}`, String(DEFAULT_LIMIT))
    .option(...OUT_FLAG)
    .option(...STORE_FLAGS.dataDir)
    .option(...STORE_FLAGS.databaseUrl)
    .option(...STORE_FLAGS.config)
    .option('--url <url>', 'ask the running proxy at this URL instead')
    .option(...ADMIN_FLAGS.keyFile)
    .option('--key <key>', 'the key itself, which other users of this machine can read meanwhile')
    .action((flags) => printReport(flags, terminal));
};

async function printReport(values: Flags, terminal: Terminal): Promise<void> {
  const { by, format } = values;
  if (by === undefined)
    throw new UsageError(`the report needs a grouping - give --by with one of ${WORDS.join(', ')}`);
  if (format === 'parquet' && values.out === undefined)
    throw new UsageError('parquet is no text - name a file with --out FILE');
  const limit = Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_ROWS)
    throw new UsageError(`--limit ${values.limit} is not a number from 1 to ${MOST_ROWS}`);
  const days = daysBetween(values.since, values.until, Date.now());
  const { url } = values;
  const asked = { by, days, limit };
  const [report, shown] =
    url === undefined
      ? await withReader(values, terminal, async (reader) => [
          await reportOf(reader, by, days, limit),
          reader.shown,
        ])
      : [
          await fetched(new AdminCalls({ url }, terminal, keyOf(values, terminal)), asked),
          `the proxy at ${url}`,
        ];
  await put(report, format, values.out, shown, terminal);
}

const keyOf = ({ key, keyFile }: Flags, terminal: Terminal): Secret =>
  key === undefined ? (foundKey(keyFile, terminal) ?? new Secret('')) : new Secret(key);

async function fetched(
  calls: AdminCalls,
  { by, days, limit }: { by: ReportBy; days: Days; limit: number },
): Promise<SpendReport> {
  const { startDay, endDay } = days;
  const query = { by, start_date: startDay, end_date: endDay, limit: String(limit) };
  return (await calls.get('/spend/report', query)) as SpendReport;
}

async function put(
  report: SpendReport,
  format: (typeof FORMATS)[number],
  out: string | undefined,
  shown: string,
  terminal: Terminal,
): Promise<void> {
  const columns = reportColumns(report.by, (row) => picoOfDollarText(row.spend));
  if (format === 'parquet') {
    const { writeParquet } = await import('../spend/report/parquet.ts');
    await withFile(out ?? '', terminal, (path) => writeParquet(path, columns, each(report.rows)));
  } else {
    await withOutput(out, terminal, async ({ write }) => {
      if (format === 'json') write(jsonText(report));
      else if (format === 'table') write(tableOf(report, shown));
      else {
        write(csvLine(columns.map(({ name }) => name)));
        for (const row of report.rows) write(csvLine(columns.map((column) => csvCell(column, row))));
      }
    });
  }
  if (report.more && format !== 'table')
    terminal.err(`there are more than ${report.rows.length} rows - raise --limit\n`);
}

async function* each<T>(rows: readonly T[]): AsyncGenerator<T> {
  yield* rows;
}

function tableOf(
  { by, rows, total, more, start_date: from, end_date: to }: SpendReport,
  shown: string,
): string {
  const header = [by, 'calls', 'failed', 'no price', 'tokens in', 'tokens out', 'tokens', 'US dollars'];
  const cells = (row: ReportRow, key: string): string[] => [
    key,
    grouped(row.requests),
    grouped(row.failures),
    grouped(row.unpriced),
    grouped(row.prompt_tokens),
    grouped(row.completion_tokens),
    grouped(row.total_tokens),
    roundedDollars(picoOfDollarText(row.spend), PLACES),
  ];
  const lines = rows.map((row) => cells(row, row.key === '' ? '(none)' : row.key));
  const table = textTable(
    [header, ...lines, cells(total, 'all calls')],
    header.map((_, i) => i > 0),
    true,
  );
  const notes = [
    ...(more ? [`only the dearest ${grouped(rows.length)}: raise --limit for more`] : []),
    ...(by === 'tag' ? ['a call with two tags stands in both rows, and once in all calls'] : []),
    ...(total.unpriced > 0
      ? ['calls without a price cost something that is not known and is not in the sums']
      : []),
  ];
  const head = `Spend by ${by}, ${from} to ${to} (UTC), from ${shown}\n\n`;
  return `${head}${table}${notes.map((note) => `\n${note}`).join('')}${notes.length > 0 ? '\n' : ''}`;
}
