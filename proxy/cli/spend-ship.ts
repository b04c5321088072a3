// `throughline spend export --to`: rows into a ClickHouse, a batch at a time, once or for as long as the command runs.
//
// Rows come in the order of their start, and a row is there when its call has ended, so behind the newest one others still
// arrive. Each pass therefore begins an `overlap` before the newest start that the warehouse has acknowledged, and leaves out
// what this process has sent. What a restart sends again counts once there (ReplacingMergeTree).
import { readFileSync } from 'node:fs';
import { errorCode } from '../../config/error-code.ts';
import { parseObject } from '../bodies/json.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import {
  createStatements,
  insertLine,
  insertStatement,
  type ClickHouseTable,
} from '../spend/report/clickhouse.ts';
import { ClickHouseFault, type ClickHouse } from './clickhouse.ts';
import { writeWhole } from './write-file.ts';

/** ClickHouse makes a part of each INSERT: few large ones are cheap, many small ones are refused in the end. */
export const BATCH_ROWS = 10_000;
const BATCH_CHARS = 16 * 1024 * 1024;
const FORMAT = 'throughline-export/1';
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** A run that ends by itself gives up after some half a minute; one that follows never does. */
const MOST_TRIES = 6;

export interface Shipping {
  readonly target: ClickHouse;
  readonly table: ClickHouseTable;
  /** Rows of `[startMs, endMs)`, oldest first. Opened anew for each batch, so that no transaction waits for the warehouse. */
  readonly rows: (startMs: number, endMs: number, take: (row: SpendRecord) => boolean) => Promise<void>;
  /** Where the first run begins. */
  readonly startMs: number;
  /** Infinity = rows of the future count, too. */
  readonly endMs: number;
  readonly overlapMs: number;
  /** Most rows of an INSERT. */
  readonly batchRows: number;
  readonly follow: { readonly everyMs: number } | null;
  readonly create: boolean;
  /** Path of the file that keeps the place; null = none. */
  readonly state: string | null;
  readonly now: () => number;
  /** Ends early when `signal` is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** @returns how many rows were sent. @throws ClickHouseFault, CannotStart */
export async function ship(shipping: Shipping): Promise<number> {
  const { table, create, signal, target, follow, pause } = shipping;
  const place = new Place(shipping);
  if (create)
    for (const statement of createStatements(table)) await tried(shipping, () => target.run(statement));
  let total = 0;
  for (;;) {
    total += await onePass(shipping, place);
    if (follow === null || signal.aborted) return total;
    await pause(follow.everyMs, signal);
    if (signal.aborted) return total;
  }
}

/** Everything that is there and was not sent yet. */
async function onePass(shipping: Shipping, place: Place): Promise<number> {
  const { target, table, signal, say } = shipping;
  let count = 0;
  let from = place.from();
  for (;;) {
    const batch = await nextBatch(shipping, from, place);
    const last = batch.rows.at(-1);
    if (last === undefined || signal.aborted) break;
    await tried(shipping, () => target.insert(insertStatement(table), batch.lines.join('')));
    place.sent(batch.rows);
    count += batch.rows.length;
    from = last.startMs;
    if (!batch.isFull) break;
  }
  if (count > 0) say(`${count} rows up to ${place.shown} are in ${target.shown}\n`);
  return count;
}

interface Batch {
  readonly rows: readonly SpendRecord[];
  readonly lines: readonly string[];
  /** There may be more. */
  readonly isFull: boolean;
}

async function nextBatch(
  { rows: read, endMs, batchRows }: Shipping,
  from: number,
  place: Place,
): Promise<Batch> {
  const [rows, lines]: [SpendRecord[], string[]] = [[], []];
  let chars = 0;
  let isFull = false;
  await read(from, endMs, (row) => {
    if (place.has(row)) return true;
    const line = insertLine(row);
    rows.push(row);
    lines.push(line);
    chars += line.length;
    isFull = rows.length >= batchRows || chars >= BATCH_CHARS;
    return !isFull;
  });
  return { rows, lines, isFull };
}

/** What a busy server refuses is tried again, with pauses that double. */
async function tried({ follow, pause, signal, say }: Shipping, act: () => Promise<void>): Promise<void> {
  for (let [tries, pauseMs] = [1, FIRST_PAUSE_MS]; ; tries += 1) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof ClickHouseFault) || !error.isPassing || signal.aborted) throw error;
      if (follow === null && tries >= MOST_TRIES) throw error;
      say(`${error.message} - tried again in ${pauseMs / 1000} s\n`);
      await pause(pauseMs, signal);
      if (signal.aborted) throw error;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }
}

/** How far the warehouse has acknowledged rows; kept in the state file after each batch. */
class Place {
  readonly #shipping: Shipping;
  readonly #floorMs: number;
  #throughMs: number;
  /** Starts of rows that this process has sent, within the overlap. */
  #sent = new Map<string, number>();

  constructor(shipping: Shipping) {
    this.#shipping = shipping;
    const { state, startMs, say, target } = shipping;
    const known = state === null ? null : readState(state, target.shown);
    this.#throughMs = known ?? startMs;
    this.#floorMs = known === null ? startMs : 0; // what the file says wins over --since
    if (known !== null) say(`goes on behind ${this.shown}, from ${state}\n`);
  }

  get shown(): string {
    return new Date(this.#throughMs).toISOString();
  }

  from(): number {
    return Math.max(this.#floorMs, this.#throughMs - this.#shipping.overlapMs, 0);
  }

  has({ requestId }: SpendRecord): boolean {
    return this.#sent.has(requestId);
  }

  sent(rows: readonly SpendRecord[]): void {
    const { now, state, target } = this.#shipping;
    for (const { requestId, startMs } of rows) this.#sent.set(requestId, startMs);
    // A row of a clock that was ahead must not carry the place past rows that are still to come.
    this.#throughMs = Math.min(Math.max(this.#throughMs, rows.at(-1)?.startMs ?? 0), now());
    const from = this.from();
    this.#sent = new Map([...this.#sent].filter(([, startMs]) => startMs >= from));
    if (state !== null) writeState(state, target.shown, this.#throughMs);
  }
}

/** @returns null where there is no file yet. @throws CannotStart for a file that is another's */
function readState(path: string, target: string): number | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return null;
    throw new CannotStart(`--state ${path} cannot be read (${code})`);
  }
  const wrong = `--state ${path} is no file of this command - name another one`;
  const { format, to, through } = parseObject(text) ?? {};
  const ms = typeof through === 'string' ? Date.parse(through) : NaN;
  if (format !== FORMAT || Number.isNaN(ms)) throw new CannotStart(wrong);
  if (to !== target)
    throw new CannotStart(`--state ${path} is of ${String(to)}, not of ${target} - a file for each target`);
  return ms;
}

/** Whole or not at all. */
function writeState(path: string, target: string, throughMs: number): void {
  const text = JSON.stringify({ format: FORMAT, to: target, through: new Date(throughMs).toISOString() });
  try {
    writeWhole(path, `${text}\n`);
  } catch (error) {
    throw new CannotStart(
      `--state ${path} cannot be written (${errorCode(error)}) - the rows are sent, and will be again`,
    );
  }
}
