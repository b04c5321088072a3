// `throughline spend verify`: do journal and store agree? Exit code 1 when not.
import { grouped } from '../spend/report/text-table.ts';
import { verify, type Verified } from '../spend/report/verify.ts';
import { verifyBudgets } from '../spend/report/verify-budgets.ts';
import { dayOf } from '../spend/store/utc-dates.ts';
import { ADMIN_FLAGS, AdminCalls, textOf, type AdminFlags, type Answer } from './admin-call.ts';
import { allBudgets } from './spend-budgets.ts';
import { daysBetween, withReader, DAY_FLAGS, STORE_FLAGS, type StoreFlags } from './spend-source.ts';
import { dataDirOf, type Terminal, type Define } from './terminal.ts';

const FINDINGS_SHOWN = 50;
/** A counter is wrong when it is a tenth of its budget above the rows. */
const OVER_MATTERS = 10;

interface Flags extends StoreFlags {
  readonly url?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export const spendVerify: Define = (command, terminal) => {
  command
    .summary('do journal and store agree?')
    .description(
      'Checks that every settled call of the journal is one row, and that the daily sums and what budgets count are those of the rows. ' +
        'With --url also that no counter of a running proxy is below the rows, or far above them. ' +
        'Exit code 1 when not. Without days it checks everything.',
    )
    .option('--since <day>', 'first UTC day: YYYY-MM-DD, or YYYY-MM for a month (default: all days)')
    .option(...DAY_FLAGS.until)
    .option(...STORE_FLAGS.dataDir)
    .option(...STORE_FLAGS.databaseUrl)
    .option(...STORE_FLAGS.config)
    .option(ADMIN_FLAGS.url[0], 'a running proxy on the same store, whose counters are compared as well')
    .option(...ADMIN_FLAGS.keyFile)
    .action(async (flags) => terminal.exitWith(await printFindings(flags, terminal)));
};

async function printFindings(values: Flags, terminal: Terminal): Promise<number> {
  const { since, until, url, keyFile } = values;
  const all = since === undefined && until === undefined;
  const range = all ? {} : daysBetween(since ?? '1970-01-01', until, Date.now());
  const dataDir = dataDirOf(values.dataDir, terminal);
  return withReader(values, terminal, async (reader) => {
    const found = await verify(dataDir, reader, range);
    const budgets = await verifyBudgets(reader, windowStarts(found, Date.now()));
    const counted = url === undefined ? null : await verifyCounters({ url, keyFile }, terminal);
    const findings = [...found.findings, ...budgets.findings, ...(counted?.findings ?? [])];
    const compared = { sums: budgets.sums, counters: counted?.counters ?? null };
    terminal.out(reportOf({ ...found, findings }, compared, dataDir, reader.shown));
    return findings.length === 0 ? 0 : 1;
  });
}

/**
 * A counter below the rows lets calls spend the difference once more; one above them refuses calls too soon. A little above is where a
 * call ended while sums were read anew, or its row comes from another server.
 */
async function verifyCounters(
  flags: AdminFlags,
  terminal: Terminal,
): Promise<{ readonly counters: number; readonly findings: readonly string[] }> {
  const budgets = await allBudgets(new AdminCalls(flags, terminal));
  const counted = budgets.filter((row) => textOf(row['counted']) !== '');
  const findings = counted.flatMap((row) => {
    const apart =
      textOf(row['counted_short']) === '0' ? overOf(row) : `${textOf(row['counted_short'])} USD below`;
    const whose = `${textOf(row['scope'])} ${textOf(row['alias']) || textOf(row['scope_id'])}`;
    return apart === null
      ? []
      : `the counter of budget ${textOf(row['budget'])} of ${whose} is ${apart} the rows - a restart counts it anew`;
  });
  return { counters: counted.length, findings };
}

/** null: not so much that it matters. */
function overOf(row: Answer): string | null {
  const over = textOf(row['counted_over']);
  const most = Number(textOf(row['max_budget']) || textOf(row['soft_budget']));
  return Number(over) * OVER_MATTERS > most ? `${over} USD above` : null;
}

/** An odd moment, the day, the month; and since ever, where retention has removed no rows. */
function windowStarts({ daysWithoutRows }: Verified, nowMs: number): readonly number[] {
  const day = dayOf(nowMs);
  const starts = [nowMs - 36 * 3_600_000 - 1, Date.parse(day), Date.parse(`${day.slice(0, 7)}-01`)];
  return daysWithoutRows === 0 ? [...starts, 0] : starts;
}

interface Compared {
  readonly sums: number;
  /** null: no running proxy was asked. */
  readonly counters: number | null;
}

function reportOf(found: Verified, { sums, counters }: Compared, dataDir: string, shown: string): string {
  const { findings, daysWithoutRows: alone } = found;
  const lines = [
    `journals in ${dataDir}: ${found.journals}; settled calls ${grouped(found.shipped)} taken over, ${grouped(found.waiting)} waiting; ${grouped(found.open)} under way`,
    `${shown}: ${grouped(found.rows)} rows of ${days(found.days)}, compared with their daily sums`,
    `budgets: ${grouped(sums)} sums since the starts of windows, compared with the rows`,
    counters === null
      ? 'counters of a running proxy: not looked at, as --url names none'
      : `counters of the running proxy: ${grouped(counters)}, compared with the rows`,
    ...(alone === 0
      ? []
      : [
          `${grouped(alone)} days before the oldest row have sums alone: their rows were removed by retention`,
        ]),
    ...findings.slice(0, FINDINGS_SHOWN).map((finding) => `WRONG: ${finding}`),
    ...(findings.length > FINDINGS_SHOWN ? [`and ${findings.length - FINDINGS_SHOWN} more`] : []),
    findings.length === 0 ? 'journal and store agree: no gap, no double' : 'journal and store DO NOT agree',
  ];
  return `${lines.join('\n')}\n`;
}

function days(count: number): string {
  return count === 1 ? '1 day' : `${grouped(count)} days`;
}
