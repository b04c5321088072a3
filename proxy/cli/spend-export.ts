// `throughline spend export`: rows, oldest first, a page at a time however many there are; to a file, or into a warehouse.
import { setTimeout as delay } from 'node:timers/promises';
import { resolve } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { csvCell, jsonValue, ROW_COLUMNS } from '../spend/report/columns.ts';
import { csvLine } from '../spend/report/csv.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import { asEnd, ClickHouse, placeOfClickHouse } from './clickhouse.ts';
import { amountOf } from './admin-call.ts';
import { BATCH_ROWS, ship, type Shipping } from './spend-ship.ts';
import {
  DAY_FLAGS,
  daysBetween,
  OUT_FLAG,
  periodOf,
  STORE_FLAGS,
  withReader,
  type StoreFlags,
} from './spend-source.ts';
import { withFile, withOutput } from './write-file.ts';
import { choice, msOf, onStop, UsageError, type Define, type Terminal } from './terminal.ts';

const FORMATS = ['csv', 'jsonl', 'parquet'] as const;
/** Lines that are written together: a write per row would be most of the work. */
const LINES_AT_ONCE = 500;
const EVERY_S = 60;
const OVERLAP = '1h';
const DETAILS = `
With --to rows go into a ClickHouse in batches over HTTP. The password comes from
CLICKHOUSE_PASSWORD, CLICKHOUSE_PASSWORD_FILE or --password-file. A row that is
sent twice counts once in the table that --create makes.`;

interface Flags extends StoreFlags {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly format?: (typeof FORMATS)[number] | undefined;
  readonly out?: string | undefined;
  readonly to?: string | undefined;
  readonly create?: boolean | undefined;
  readonly passwordFile?: string | undefined;
  readonly state?: string | undefined;
  readonly follow?: boolean | undefined;
  readonly every?: number | undefined;
  readonly overlap?: string | undefined;
}

export const spendExport: Define = (command, terminal) => {
  command
    .summary('the rows themselves, oldest first')
    .description(
      'Prints the rows of the spend store, oldest first. csv and parquet hold exact decimals, jsonl holds them as texts.',
    )
    .option(...DAY_FLAGS.since)
    .option(...DAY_FLAGS.until)
    .addOption(choice('--format <format>', 'how rows are written (default: csv)', FORMATS))
    .option(...OUT_FLAG)
    .option('--to <url>', 'into a table of ClickHouse: clickhouse://user@host:8123/db.table, or https://...')
    .option('--create', 'with --to: make the table, or add columns that it lacks')
    .option('--password-file <file>', 'with --to: file with the password')
    .option('--state <file>', 'with --to: file that keeps how far rows were sent; the next run goes on there')
    .option('--follow', 'with --to: go on until a signal, sending what comes')
    .option(
      '--every <seconds>',
      `with --follow: pause between two looks (default: ${EVERY_S})`,
      amountOf('--every'),
    )
    .option(
      '--overlap <time>',
      `with --to: how long after its start a row may come (default: ${OVERLAP}); longer than the longest call`,
    )
    .option(...STORE_FLAGS.dataDir)
    .option(...STORE_FLAGS.databaseUrl)
    .option(...STORE_FLAGS.config)
    .addHelpText('after', DETAILS)
    .action((flags) =>
      flags.to === undefined ? exportRows(flags, terminal) : shipRows(flags, flags.to, terminal),
    );
};

const OF_SHIPPING = ['create', 'passwordFile', 'state', 'follow', 'every', 'overlap'] as const;

const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (one) => `-${one.toLowerCase()}`)}`;

async function exportRows(values: Flags, terminal: Terminal): Promise<void> {
  const { format = 'csv', out } = values;
  const alone = OF_SHIPPING.find((name) => values[name] !== undefined);
  if (alone !== undefined) throw new UsageError(`${flagOf(alone)} needs --to, which names the warehouse`);
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

/** Ends at a signal after the batch that is under way. */
async function shipRows(values: Flags, to: string, terminal: Terminal): Promise<void> {
  const { since, until, follow = false, every = EVERY_S, overlap = OVERLAP } = values;
  const aside = (['format', 'out'] as const).find((name) => values[name] !== undefined);
  if (aside !== undefined)
    throw new UsageError(`--${aside} is for files, and --to names a warehouse - remove one`);
  if (follow && until !== undefined) throw new UsageError('--follow has no end - remove --until');
  if (values.every !== undefined && !follow) throw new UsageError('--every needs --follow');
  if (every <= 0) throw new UsageError('--every must be above 0');
  const place = placeOfClickHouse(to, values.passwordFile, terminal);
  const target = new ClickHouse(place);
  const period = periodOf(daysBetween(since, until, systemClock.now()));
  const stop = new AbortController();
  onStop(terminal, () => stop.abort());
  const shipping: Shipping = {
    target,
    table: place,
    rows: (startMs, endMs, take) =>
      withReader(values, terminal, async (reader) => {
        const filter = { startMs, ...(Number.isFinite(endMs) ? { endMs } : {}) };
        for await (const row of reader.rows(filter)) if (!take(row)) return;
      }),
    startMs: period.startMs,
    endMs: follow ? Infinity : period.endMs,
    overlapMs: msOf('--overlap', overlap),
    batchRows: BATCH_ROWS,
    follow: follow ? { everyMs: every * 1000 } : null,
    create: values.create === true,
    state: values.state === undefined ? null : resolve(terminal.cwd, values.state),
    now: systemClock.now,
    pause: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
    signal: stop.signal,
    say: terminal.err,
  };
  const count = await ship(shipping).catch((error: unknown) => {
    throw asEnd(error);
  });
  terminal.err(`${count} rows were sent to ${target.shown}\n`);
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
