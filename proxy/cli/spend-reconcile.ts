// `throughline spend reconcile`: our ledger beside the gateway's own. Exit code 1 when a call differs by more than the
// tolerance.
import { randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { asError } from '../base/as-error.ts';
import { toleranceOf } from '../spend/report/tolerance.ts';
import { Secret } from '../../config/secret.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { CsvError } from '../spend/report/csv.ts';
import { entriesOf, type LedgerEntry } from '../spend/report/ledger-entry.ts';
import { fetchLiteLlm, LedgerError, readLiteLlmCsv } from '../spend/report/litellm-ledger.ts';
import { openHistoryStore } from '../items/history.ts';
import { openReconciliations } from '../server/reconciliations.ts';
import { keptReconciliation, type KeptReconciliation } from '../spend/report/kept-reconciliation.ts';
import { openExtensionTables } from '../spend/store/postgres/extension-tables.ts';
import { reconcile, type Period } from '../spend/report/reconcile.ts';
import { reconciliationText } from '../spend/report/reconcile-text.ts';
import { jsonText } from './print.ts';
import {
  daysBetween,
  periodOf,
  placeOf,
  withReader,
  DAY_FLAGS,
  OUT_FLAG,
  STORE_FLAGS,
  type StoreFlags,
} from './spend-source.ts';
import { withOutput } from './write-file.ts';
import { dataDirOf, UsageError, choice, type Terminal, type Define } from './terminal.ts';
import { cannotRead } from './unreadable.ts';

/** Read beyond both ends, because the two clocks differ and a call may wait before the gateway begins it. */
const MARGIN_MS = 3_600_000;
const DEFAULT_TOLERANCE = '0.000000001'; // gateways add in floating point

const FORMATS = ['table', 'json'] as const;

interface Flags extends StoreFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly csv?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly tolerance: string;
  readonly apiBase?: string | undefined;
  readonly keyHash?: string | undefined;
  readonly format: (typeof FORMATS)[number];
  readonly out?: string | undefined;
  readonly keep: boolean;
}

export const spendReconcile: Define = (command, terminal) => {
  command
    .summary("compare with a LiteLLM gateway's own ledger")
    .description(
      'Compares with the ledger of a LiteLLM gateway: differences in tokens and cost, rows only here, rows only there, by ' +
        'model, day, tag and session. Exit code 1 when a call differs by more than the tolerance.',
    )
    .addOption(choice('--upstream <kind>', 'kind of the gateway', ['litellm']).default('litellm' as const))
    .option('--url <url>', "the gateway's root: its /spend/logs/v2 is read")
    .option('--key <key>', "an administrator's key of the gateway (or UPSTREAM_KEY)")
    .option('--csv <file>', 'instead of --url: its table "LiteLLM_SpendLogs" as CSV with header')
    .option('--api-base <base>', 'only what was sent to this api_base (default: whatever went upstream)')
    .option('--key-hash <hash>', "only the gateway's rows of this key (SHA-256, its column api_key)")
    .option(
      '--tolerance <dollars>',
      'how far two costs of one call may be apart: dollars, or a part such as 0.5%',
      DEFAULT_TOLERANCE,
    )
    .addOption(choice('--format <format>', 'how the result is written', FORMATS).default('table' as const))
    .option(...OUT_FLAG)
    .option('--no-keep', 'do not keep the result for the console and GET /spend/reconciliations')
    .option(...DAY_FLAGS.since)
    .option(...DAY_FLAGS.until)
    .option(...STORE_FLAGS.dataDir)
    .option(...STORE_FLAGS.databaseUrl)
    .option(...STORE_FLAGS.config)
    .action(async (flags) => terminal.exitWith(await compare(flags, terminal)));
};

async function compare(values: Flags, terminal: Terminal): Promise<number> {
  const { format } = values;
  const tolerance = toleranceOf(values.tolerance);
  if (tolerance === null)
    throw new UsageError(`--tolerance ${values.tolerance} is neither dollars (0.000001) nor a part (0.5%)`);
  const days = daysBetween(values.since, values.until, Date.now());
  const period = periodOf(days);
  const wider = { startMs: period.startMs - MARGIN_MS, endMs: period.endMs + MARGIN_MS };
  const theirs = await ledgerOf(values, wider, terminal);
  return withReader(values, terminal, async (reader) => {
    const here: LedgerEntry[] = [];
    const apiBase = values.apiBase?.replace(/\/+$/, '') ?? null;
    for await (const record of reader.rows(wider)) here.push(...entriesOf(record, apiBase));
    const result = reconcile(here, theirs.entries, period, tolerance);
    const shown = {
      here: reader.shown,
      there: theirs.shown,
      start_date: days.startDay,
      end_date: days.endDay,
      tolerance: values.tolerance.endsWith('%') ? values.tolerance : `${values.tolerance} USD`,
    };
    const text = format === 'json' ? jsonText({ ...shown, ...result }) : reconciliationText(result, shown);
    await withOutput(values.out, terminal, async ({ write }) => write(text));
    if (values.keep) await keep(keptReconciliation(result, shown, whoOf(terminal)), values, terminal);
    return result.agrees ? 0 : 1;
  });
}

/** Beside the records, where the proxy finds it. Whoever may only read them is told so, and has compared all the same. */
async function keep(result: KeptReconciliation, flags: Flags, terminal: Terminal): Promise<void> {
  const place = placeOf(flags, terminal);
  const refused = 'file' in place ? ownerRefuses(dirname(place.file)) : null;
  if (refused !== null) {
    terminal.err(`the result is not kept for the console: ${refused} - --no-keep keeps none\n`);
    return;
  }
  const tables = 'database' in place ? openExtensionTables(place.database) : null;
  const store = openHistoryStore(
    'database' in place && tables !== null
      ? { dataDir: '', database: { extensionTables: tables, schema: place.database.schema } }
      : { dataDir: dataDirOf(flags.dataDir, terminal), database: null },
  );
  try {
    const kept = openReconciliations(store);
    const now = Date.now();
    await kept.put({ id: `rec_${randomUUID()}`, atMs: now }, () => ({
      state: result.agrees ? 'agrees' : 'differs',
      value: result,
    }));
    await kept.prune(now);
  } catch (error) {
    const why = asError(error).message;
    terminal.err(`the result is not kept for the console: ${why} - --no-keep keeps none\n`);
  } finally {
    await store.close();
    await tables?.close();
  }
}

/** A file of another account would be closed to the proxy. */
function ownerRefuses(dir: string): string | null {
  const { uid } = statSync(dir);
  return process.getuid === undefined || uid === process.getuid()
    ? null
    : `${dir} belongs to another account; run this as the one that runs the proxy`;
}

/** The account and the machine that compared. */
function whoOf({ env }: Terminal): string {
  const account = env['USER'] ?? env['LOGNAME'] ?? '';
  return account === '' ? hostname() : `${account} on ${hostname()}`;
}

async function ledgerOf(
  flags: Flags,
  period: Period,
  terminal: Terminal,
): Promise<{ entries: readonly LedgerEntry[]; shown: string }> {
  const { url, csv } = flags;
  const keyHash = flags.keyHash ?? null;
  if ((url === undefined) === (csv === undefined))
    throw new UsageError('name the ledger of the gateway: either --url U --key K, or --csv FILE');
  try {
    if (csv !== undefined) {
      const all = readLiteLlmCsv(textOf(csv, terminal), keyHash);
      const entries = all.filter(({ startMs }) => startMs >= period.startMs && startMs < period.endMs);
      return { entries, shown: `LiteLLM, the file ${csv}` };
    }
    const root = url ?? '';
    if (!/^https?:\/\//.test(root) || !URL.canParse(root))
      throw new UsageError(`--url ${root} is no URL of a gateway - for example https://gateway.example.com`);
    const key = flags.key ?? terminal.env['UPSTREAM_KEY'] ?? '';
    if (key === '') throw new UsageError('no key of the gateway - give --key K or set UPSTREAM_KEY');
    const entries = await fetchLiteLlm({ url: root, key: new Secret(key), keyHash }, period);
    return { entries, shown: `LiteLLM at ${shownUrl(root)}` };
  } catch (error) {
    if (error instanceof CsvError) throw new CannotStart(`${csv} is no CSV of a ledger: ${error.message}`);
    throw error instanceof LedgerError ? new CannotStart(error.message) : error;
  }
}

/** Without what may be a secret. */
function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

function textOf(file: string, { cwd }: Terminal): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw cannotRead(`the ledger ${file}`, error);
  }
}
