// Reads the query parameters of the spend endpoints: dates, pages, amounts, each with an error that says how to write it.
// Knows no endpoint and no response format.
import { Fault } from '../errors/fault.ts';
import { picoDollars } from '../spend/record/cost.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { dayOf } from '../spend/store/utc-dates.ts';
import type { Activity, ActivityFilter, Facet, SpendFilter } from '../spend/store/store.ts';

const DAY_MS = 86_400_000;
const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1000;

/** What the store returns. @throws Fault store_unavailable */
export async function read<T>(rows: Promise<T>): Promise<T> {
  try {
    return await rows;
  } catch (cause) {
    throw new Fault('store_unavailable', 'The spend store does not answer; the journal keeps the rows.', {
      cause,
    });
  }
}

/** The fault for a wrong parameter. */
export function wrong(param: string, what: string): Fault {
  return new Fault('invalid_parameter', `The query parameter ${param} ${what}.`, { param });
}

/** null = absent or empty. */
export const stated = (query: URLSearchParams, name: string): string | null => query.get(name) || null;

/** The parameter as a member of a filter; none when it is absent or empty. */
export function text<K extends string>(
  query: URLSearchParams,
  name: string,
  key: K,
): Partial<Record<K, string>> {
  const value = stated(query, name);
  return value === null ? {} : ({ [key]: value } as Record<K, string>);
}

/** An amount of US dollars as pico-dollars. @throws Fault invalid_parameter */
export function usd<K extends string>(
  query: URLSearchParams,
  name: string,
  key: K,
): Partial<Record<K, number>> {
  const value = stated(query, name);
  if (value === null) return {};
  const pico = picoDollars(value);
  if (pico === null) throw wrong(name, 'must be a number of US dollars, 0 or more');
  return { [key]: pico } as Record<K, number>;
}

/** How calls ended. @throws Fault invalid_parameter */
export function status(query: URLSearchParams, name: string): Pick<SpendFilter, 'status'> {
  const value = stated(query, name);
  if (value === null) return {};
  if (value === 'success' || value === 'failure') return { status: value };
  throw wrong(name, 'must be success or failure');
}

/** `page` and `page_size`. @throws Fault invalid_parameter */
export function pages(query: URLSearchParams): { page: number; pageSize: number } {
  return {
    page: whole(query, 'page', 1, Number.MAX_SAFE_INTEGER),
    pageSize: whole(query, 'page_size', DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE),
  };
}

/** A whole number from 1 to `most`. @throws Fault invalid_parameter */
export function whole(query: URLSearchParams, name: string, fallback: number, most: number): number {
  const value = stated(query, name);
  if (value === null) return fallback;
  const count = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(count) || count < 1 || count > most)
    throw wrong(name, `must be a number from 1 to ${most}`);
  return count;
}

/** What the dialect has too; passing over it would answer with sums of something else. */
const NOT_HERE = ['exclude_team_ids', 'exclude_tags', 'timezone'];

/** @throws Fault invalid_parameter */
function refuseOtherSums(query: URLSearchParams): void {
  for (const name of NOT_HERE) {
    const value = stated(query, name) ?? '0'; // of `timezone`: UTC
    if (value !== '0') throw wrong(name, 'is not supported: days are UTC, all of an answer counts');
  }
}

/**
 * `start_date` and `end_date`. Half open: an end that is a plain day includes that day, an end with a time includes that second.
 * @throws Fault invalid_parameter
 */
export function between(query: URLSearchParams, required: boolean): Pick<SpendFilter, 'startMs' | 'endMs'> {
  refuseOtherSums(query);
  const start = query.get('start_date');
  const end = query.get('end_date');
  if (required && (start === null || end === null)) {
    throw new Fault(
      'invalid_parameter',
      'Start date and end date are required. Send start_date and end_date as YYYY-MM-DD, UTC.',
      { param: 'start_date' },
    );
  }
  const from = start === null ? null : instant('start_date', start);
  const to = end === null ? null : instant('end_date', end);
  if (from !== null && to !== null && to.ms < from.ms) throw wrong('end_date', 'is before start_date');
  return {
    ...(from === null ? {} : { startMs: from.ms }),
    ...(to === null ? {} : { endMs: to.ms + (to.plainDay ? DAY_MS : 1000) }),
  };
}

const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2}))?Z?$/;

function instant(name: string, value: string): { ms: number; plainDay: boolean } {
  const match = INSTANT.exec(value);
  const ms = match === null ? NaN : Date.parse(`${match[1]}T${match[2] ?? '00:00:00'}Z`);
  const exact = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(match?.[1] ?? '?');
  if (!exact) throw wrong(name, 'must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, UTC');
  return { ms, plainDay: match?.[2] === undefined };
}

/** `start_date` and `end_date` as UTC days, both included. @throws Fault invalid_parameter */
export function days(query: URLSearchParams, required: boolean): Pick<ActivityFilter, 'startDay' | 'endDay'> {
  const { startMs, endMs } = between(query, required);
  for (const name of ['start_date', 'end_date']) {
    if (query.get(name)?.includes(':') === true)
      throw wrong(name, 'must be a day (YYYY-MM-DD): sums are kept by day');
  }
  return {
    ...(startMs === undefined ? {} : { startDay: dayOf(startMs) }),
    ...(endMs === undefined ? {} : { endDay: dayOf(endMs - DAY_MS) }),
  };
}

/** A comma-separated list as a member of a filter; none when it is absent or empty. */
export function list<K extends string>(
  query: URLSearchParams,
  name: string,
  key: K,
): Partial<Record<K, string[]>> {
  const all = query.getAll(name);
  const values = (all.length > 1 ? all : (all[0] ?? '').split(',')).filter((value) => value !== '');
  return values.length === 0 ? {} : ({ [key]: values } as Record<K, string[]>);
}

/** The parameter as a list of one; none when it is absent or empty. */
export function one<K extends string>(
  query: URLSearchParams,
  name: string,
  key: K,
): Partial<Record<K, string[]>> {
  const value = stated(query, name);
  return value === null ? {} : ({ [key]: [value] } as Record<K, string[]>);
}

/** Most groups in one response: some 30 MB of JSON. */
const MAX_GROUPS = 100_000;

/**
 * Groups of the daily sums, all of them.
 * @throws Fault invalid_parameter when there are more than MAX_GROUPS
 */
export async function groupsOf(
  x: Exchange,
  filter: ActivityFilter,
  groupBy: readonly (Facet | 'day')[],
): Promise<readonly Activity[]> {
  const groups = await read(x.active.services.ledger.reader.activity(filter, groupBy, MAX_GROUPS + 1));
  if (groups.length <= MAX_GROUPS) return groups;
  throw wrong(
    'end_date',
    `leaves more than ${MAX_GROUPS} sums for one response; ask for fewer days at a time`,
  );
}

/** Pico-dollars of all of them. */
export function spent(groups: readonly Activity[]): bigint {
  return groups.reduce((sum, { sums }) => sum + sums.spendPico, 0n);
}
