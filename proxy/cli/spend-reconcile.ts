// `throughline spend reconcile`: our ledger beside the gateway's own. Exit code 1 when a call differs by more than the
// tolerance.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { toleranceOf } from '../spend/report/tolerance.ts';
import { Secret } from '../../config/secret.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { CsvError } from '../spend/report/csv.ts';
import { entriesOf, type LedgerEntry } from '../spend/report/ledger-entry.ts';
import { fetchLiteLlm, LedgerError, readLiteLlmCsv } from '../spend/report/litellm-ledger.ts';
import { reconcile, type Period } from '../spend/report/reconcile.ts';
import { reconciliationText } from '../spend/report/reconcile-text.ts';
import { daysBetween, oneOf, periodOf, STORE_OPTIONS, withReader, withOutput } from './spend-source.ts';
import { UsageError, type Terminal } from './terminal.ts';

/** Read beyond both ends, because the two clocks differ and a call may wait before the gateway begins it. */
const MARGIN_MS = 3_600_000;
const DEFAULT_TOLERANCE = '0.000000001'; // gateways add in floating point

const OPTIONS = {
  ...STORE_OPTIONS,
  upstream: { type: 'string', default: 'litellm' },
  url: { type: 'string' },
  key: { type: 'string' },
  csv: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  tolerance: { type: 'string', default: DEFAULT_TOLERANCE },
  'api-base': { type: 'string' },
  'key-hash': { type: 'string' },
  format: { type: 'string', default: 'table' },
  out: { type: 'string' },
} as const;

interface Flags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly csv?: string | undefined;
  readonly 'key-hash'?: string | undefined;
}

/** Runs the command; the exit code. */
export async function spendReconcile(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  oneOf('--upstream', values.upstream, ['litellm']);
  const format = oneOf('--format', values.format, ['table', 'json']);
  const tolerance = toleranceOf(values.tolerance);
  if (tolerance === null)
    throw new UsageError(`--tolerance ${values.tolerance} is neither dollars (0.000001) nor a part (0.5%)`);
  const days = daysBetween(values.since, values.until, Date.now());
  const period = periodOf(days);
  const wider = { startMs: period.startMs - MARGIN_MS, endMs: period.endMs + MARGIN_MS };
  const theirs = await ledgerOf(values, wider, terminal);
  return withReader(values, terminal, async (reader) => {
    const here: LedgerEntry[] = [];
    const apiBase = values['api-base']?.replace(/\/+$/, '') ?? null;
    for await (const record of reader.rows(wider)) here.push(...entriesOf(record, apiBase));
    const result = reconcile(here, theirs.entries, period, tolerance);
    const shown = {
      here: reader.shown,
      there: theirs.shown,
      start_date: days.startDay,
      end_date: days.endDay,
      tolerance: values.tolerance.endsWith('%') ? values.tolerance : `${values.tolerance} USD`,
    };
    const text =
      format === 'json'
        ? `${JSON.stringify({ ...shown, ...result }, null, 2)}\n`
        : reconciliationText(result, shown);
    await withOutput(values.out, terminal, async ({ write }) => write(text));
    return result.agrees ? 0 : 1;
  });
}

async function ledgerOf(
  flags: Flags,
  period: Period,
  terminal: Terminal,
): Promise<{ entries: readonly LedgerEntry[]; shown: string }> {
  const { url, csv } = flags;
  const keyHash = flags['key-hash'] ?? null;
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
    return { entries, shown: `LiteLLM at ${root}` };
  } catch (error) {
    if (error instanceof CsvError) throw new CannotStart(`${csv} is no CSV of a ledger: ${error.message}`);
    throw error instanceof LedgerError ? new CannotStart(error.message) : error;
  }
}

function textOf(file: string, { cwd }: Terminal): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new UsageError(
      `the ledger ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? ''})`,
    );
  }
}
