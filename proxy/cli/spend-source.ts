// What the `spend` commands read: the flags that all of them share. Opens a store for reading only.
import { join, resolve } from 'node:path';
import { Diagnostics } from '../../config/diagnostics.ts';
import { loadDatabase } from '../../config/load-database.ts';
import { databaseOf } from '../../config/resolve/database.ts';
import type { DatabaseSettings } from '../../config/database-settings.ts';
import { CannotStart, ConfigRefused } from '../errors/cannot-start.ts';
import type { StoreReader } from '../spend/store/reader.ts';
import { storeBackend, type StorePlace } from '../spend/store/backends.ts';
import { dayOf } from '../spend/store/utc-dates.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import { dataDirOf, UsageError, type Terminal } from './terminal.ts';

export interface StoreFlags {
  readonly config?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly databaseUrl?: string | undefined;
}

/** Flags that say which store is read, for `option(...)`. */
export const STORE_FLAGS = {
  dataDir: [
    '--data-dir <dir>',
    'read the SQLite file of this data directory (or THROUGHLINE_DATA_DIR; default: ./data)',
  ],
  databaseUrl: ['--database-url <url>', 'read the PostgreSQL at this URL (or DATABASE_URL)'],
  config: ['--config <file>', 'read the database that this configuration names'],
} as const;

/** Flags that say which days. */
export const DAY_FLAGS = {
  since: [
    '--since <day>',
    'first UTC day: YYYY-MM-DD, or YYYY-MM for a month (default: the first of this month)',
  ],
  until: ['--until <day>', 'last UTC day, included (default: today)'],
} as const;

export const OUT_FLAG = ['--out <file>', 'write to a file'] as const;

/** Where the store is that the flags name. @throws UsageError, ConfigRefused */
export function placeOf(flags: StoreFlags, terminal: Terminal): StorePlace {
  const database = databaseFor(flags, terminal);
  return database === null
    ? { file: join(dataDirOf(flags.dataDir, terminal), 'throughline.db') }
    : { database };
}

/**
 * Runs `task` on the store that the flags name: a database by URL or configuration, else the file in the data directory.
 * @throws CannotStart when it cannot be read
 */
export async function withReader<T>(
  flags: StoreFlags,
  terminal: Terminal,
  task: (reader: StoreReader) => Promise<T>,
): Promise<T> {
  const reader = await storeBackend(placeOf(flags, terminal)).openReader();
  try {
    return await task(reader);
  } catch (error) {
    throw error instanceof StoreUnavailable ? new CannotStart(error.message) : error;
  } finally {
    await reader.close();
  }
}

function databaseFor(flags: StoreFlags, terminal: Terminal): DatabaseSettings | null {
  const { config, dataDir, databaseUrl: url } = flags;
  if (url !== undefined && config !== undefined)
    throw new UsageError('--config and --database-url both name a database - give one of them');
  if (config !== undefined) {
    const loaded = loadDatabase(resolve(terminal.cwd, config), terminal.env);
    if (!loaded.ok) throw new ConfigRefused(loaded.issues);
    return loaded.database;
  }
  if (url !== undefined && dataDir !== undefined) return parsedUrl(url, terminal); // verify reads the journal in the one and rows in the other
  return url === undefined && dataDir !== undefined ? null : parsedUrl(url, terminal);
}

function parsedUrl(url: string | undefined, { env }: Terminal): DatabaseSettings | null {
  const file = { name: 'the command line', lineStarts: null };
  const diagnostics = new Diagnostics({ kind: 'map', file, offset: 0, members: new Map() });
  const settings = databaseOf(url, env, diagnostics);
  const [issue] = diagnostics.issues();
  if (issue !== undefined) throw new UsageError(`--database-url: ${issue.message} - ${issue.fix}`);
  return settings;
}

/** UTC days, both included. */
export interface Days {
  readonly startDay: string;
  readonly endDay: string;
}

const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d{2}(?:-\d{2})?$/;

/**
 * `--since` and `--until`, days or months; by default this month up to today.
 * @throws UsageError when one is no day or they are the wrong way round
 */
export function daysBetween(since: string | undefined, until: string | undefined, nowMs: number): Days {
  const today = dayOf(nowMs);
  const startDay = since === undefined ? `${today.slice(0, 7)}-01` : firstDay('--since', since);
  const endDay = until === undefined ? later(today, startDay) : lastDay('--until', until);
  if (endDay < startDay) throw new UsageError(`--until ${endDay} is before --since ${startDay}`);
  return { startDay, endDay };
}

/** From the first millisecond of the first day to before the first one after the last. */
export function periodOf({ startDay, endDay }: Days): { startMs: number; endMs: number } {
  return { startMs: Date.parse(startDay), endMs: Date.parse(endDay) + DAY_MS };
}

function firstDay(flag: string, text: string): string {
  const day = text.length === 7 ? `${text}-01` : text;
  const ms = DAY.test(text) ? Date.parse(day) : NaN;
  if (Number.isNaN(ms) || dayOf(ms) !== day)
    throw new UsageError(
      `${flag} ${text} is no day - write YYYY-MM-DD, or YYYY-MM for a month; days are UTC`,
    );
  return day;
}

function lastDay(flag: string, text: string): string {
  const first = firstDay(flag, text);
  if (text.length !== 7) return first;
  const [year = 0, month = 0] = text.split('-').map(Number);
  return dayOf(Date.UTC(year, month, 0));
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}
