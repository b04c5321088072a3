// The ledger of a LiteLLM gateway: fetched page by page from `/spend/logs/v2`, or read from a CSV of its table
// `LiteLLM_SpendLogs`. Returns every row or throws; half a ledger would show false differences.
import type { Secret } from '../../../config/secret.ts';
import { asError } from '../../base/as-error.ts';
import { asObject, isObject, parseJson, parseObject } from '../../bodies/json.ts';
import { picoDollars } from '../record/cost.ts';
import { sessionKey } from '../store/sql/spend-columns.ts';
import { parseCsv } from './csv.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import type { Period } from './reconcile.ts';

type Row = Readonly<Record<string, unknown>>;

/** A ledger could not be read. The message says why and how to fix it; it holds no key. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
}

/** The gateway whose ledger is read. */
export interface GatewayLedger {
  /** Its root: `https://gateway.example.com`. */
  readonly url: string;
  readonly key: Secret;
  /** Only rows of this key of the gateway (its SHA-256); null = all. */
  readonly keyHash: string | null;
}

const DAY_MS = 86_400_000;
const ANSWER_MS = 120_000;
/** Newer versions give 1,000 rows a page, older ones refuse more than 100. */
const PAGE_SIZES = [1000, 100];

/** All rows of the gateway that began in the period, each once. @throws LedgerError */
export async function fetchLiteLlm(
  gateway: GatewayLedger,
  { startMs, endMs }: Period,
): Promise<LedgerEntry[]> {
  const rows = new Map<string, Row>();
  const whole = (ms: number): number => Math.floor(ms / 1000) * 1000; // the gateway takes whole seconds
  for (let from = whole(startMs); from < endMs; from += DAY_MS) {
    await fetchWindow(gateway, from, Math.min(from + DAY_MS, whole(endMs) + 1000), rows);
  }
  return entriesIn([...rows.values()]);
}

// Pages are cut by number, and its order leaves rows of one moment where they fall: a row that arrives meanwhile shifts
// the others. Large totals are capped by newer versions. What does not add up is fetched again in halves.
async function fetchWindow(
  gateway: GatewayLedger,
  fromMs: number,
  toMs: number,
  rows: Map<string, Row>,
): Promise<void> {
  const found = new Map<string, Row>();
  let total = 0;
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const answer = await fetchPage(gateway, fromMs, toMs, page);
    total = answer.isCapped ? Infinity : answer.total;
    pages = answer.isCapped ? 0 : answer.pages;
    for (const row of answer.rows) found.set(String(row['request_id']), row);
  }
  if (found.size < total) {
    if (toMs - fromMs <= 1000) {
      throw new LedgerError(
        `the gateway has more rows at ${secondText(fromMs)} than it lists (${found.size}) - export its table as CSV and use --csv`,
      );
    }
    const middle = fromMs + Math.ceil((toMs - fromMs) / 2000) * 1000;
    await fetchWindow(gateway, fromMs, middle, rows);
    await fetchWindow(gateway, middle, toMs, rows);
    return;
  }
  for (const [id, row] of found) rows.set(id, row);
}

interface Page {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly pages: number;
  /** There are more than `total`. */
  readonly isCapped: boolean;
}

async function fetchPage(gateway: GatewayLedger, fromMs: number, toMs: number, page: number): Promise<Page> {
  for (const pageSize of PAGE_SIZES) {
    const query = new URLSearchParams({
      start_date: secondText(fromMs),
      end_date: secondText(toMs),
      page: String(page),
      page_size: String(pageSize),
      sort_by: 'startTime',
      sort_order: 'asc',
      ...(gateway.keyHash === null ? {} : { api_key: gateway.keyHash }),
    });
    const url = `${gateway.url.replace(/\/+$/, '')}/spend/logs/v2?${query.toString()}`;
    const answer = await ask(url, gateway);
    if (answer.status === 422 && pageSize !== PAGE_SIZES.at(-1)) continue;
    const text = await answer.text();
    if (!answer.ok) {
      throw new LedgerError(
        `the gateway answers ${answer.status} to /spend/logs/v2: ${text.slice(0, 200)} - ` +
          'give the key of an administrator, and see that the gateway has a database',
      );
    }
    return pageOf(text);
  }
  throw new LedgerError('the gateway takes no page size');
}

async function ask(url: string, { key }: GatewayLedger): Promise<Response> {
  try {
    return await fetch(url, {
      headers: { authorization: `Bearer ${key.reveal()}` },
      redirect: 'error', // the key is for this gateway alone
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  } catch (error) {
    const { message, cause } = asError(error);
    const why = cause instanceof Error ? cause.message : message;
    throw new LedgerError(`the gateway at ${new URL(url).origin} does not answer (${why}) - see --url`);
  }
}

function pageOf(text: string): Page {
  const answer = parseObject(text);
  if (answer === null || !Array.isArray(answer['data']) || typeof answer['total'] !== 'number') {
    throw new LedgerError(
      'the gateway answers /spend/logs/v2 with something that is no page of rows - see --url',
    );
  }
  const { data, total, total_pages: pages } = answer;
  return {
    rows: data.filter(isObject),
    total,
    pages: typeof pages === 'number' ? pages : 1,
    isCapped: answer['total_is_capped'] === true,
  };
}

/**
 * The rows of a CSV with the columns of `LiteLLM_SpendLogs`.
 * @throws LedgerError, CsvError
 */
export function readLiteLlmCsv(text: string, keyHash: string | null): LedgerEntry[] {
  const rows = parseCsv(text);
  const columns = Object.keys(rows[0] ?? {});
  const lacking = ['request_id', 'startTime', 'spend'].filter((name) => !columns.includes(name));
  if (rows.length > 0 && lacking.length > 0) {
    throw new LedgerError(
      `the CSV has no column ${lacking.join(', ')} - export "LiteLLM_SpendLogs" with its header: ` +
        `\\copy (SELECT * FROM "LiteLLM_SpendLogs") TO 'ledger.csv' CSV HEADER`,
    );
  }
  return entriesIn(keyHash === null ? rows : rows.filter((row) => row['api_key'] === keyHash));
}

function entriesIn(rows: readonly Row[]): LedgerEntry[] {
  return rows.map((row) => {
    const id = text(row['request_id']);
    const startMs = instantOf(text(row['startTime']));
    if (startMs === null) {
      throw new LedgerError(
        `the row ${id.slice(0, 100)} of the gateway has no readable startTime: ${text(row['startTime']).slice(0, 60)}`,
      );
    }
    const callId = text(row['litellm_call_id']) || text(objectOf(row['metadata'])?.['litellm_call_id']);
    return {
      id,
      callIds: callId === '' ? [] : [callId],
      answerIds: id === '' ? [] : [id],
      session: sessionKey(text(row['session_id'])),
      startMs,
      model: text(row['model_group']) || text(row['model']), // the name that we requested
      tags: tagsOf(row['request_tags']),
      promptTokens: countOf(row['prompt_tokens']),
      completionTokens: countOf(row['completion_tokens']),
      spendPico: spendOf(row['spend']),
    };
  });
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function countOf(value: unknown): number | null {
  const count = value === '' || value === null || value === undefined ? NaN : Number(value);
  return Number.isSafeInteger(count) ? count : null;
}

// Floats as the gateway computed them; their shortest decimal is rounded to whole pico-dollars.
function spendOf(value: unknown): bigint | null {
  const pico = picoDollars(text(value));
  return pico === null ? null : BigInt(pico);
}

/** An object, or its JSON in a CSV. */
function objectOf(value: unknown): Row | null {
  return asObject(typeof value === 'string' ? parseJson(value) : value);
}

function tagsOf(value: unknown): readonly string[] {
  const tags = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
}

/** Times of the gateway are UTC, also where they do not say so. */
function instantOf(value: string): number | null {
  const iso = value
    .trim()
    .replace(' ', 'T')
    .replace(/([+-]\d{2})$/, '$1:00');
  const ms = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(iso) ? iso : `${iso}Z`);
  return Number.isNaN(ms) ? null : ms;
}

function secondText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
