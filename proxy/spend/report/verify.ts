// Do journal and store agree? Every settled call that the store says it has taken over is a row, no id is two rows, and
// the daily sums are those of the rows. Reads both from outside, also while a proxy writes; changes nothing.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../../config/error-code.ts';
import { allJournals, journalId } from '../journal/journal-directories.ts';
import { checkLine, requestIdOf } from '../record/line.ts';
import type { SpendRecord } from '../record/record.ts';
import { dollarText } from '../record/dollars.ts';
import type { KeptSum, StoreReader } from '../store/reader.ts';
import { EARLIER, PICO_PER_USD, Rollup, ROLLUP_ROWS, SUM_COLUMNS } from '../store/sql/rollup.ts';
import { isBefore, listSegments, readLines, segmentPath, type Position } from '../store/segments.ts';
import { dayOf } from '../store/utc-dates.ts';
import type { ActivityFilter } from '../store/store.ts';

/** What was looked at, and what is wrong. */
export interface Verified {
  readonly journals: number;
  /** Settled calls in the journals that the store has taken over. */
  readonly shipped: number;
  /** Settled calls that the store will take over: a running proxy ships once a second. */
  readonly waiting: number;
  /** Calls that have begun and not ended: under way, or `interrupted` at the next start. */
  readonly open: number;
  readonly rows: number;
  /** UTC days whose sums were compared with their rows. */
  readonly days: number;
  /** Days before the oldest row that have sums alone: retention removed their rows. */
  readonly daysWithoutRows: number;
  /** A sentence for each disagreement; none: journal and store agree. */
  readonly findings: readonly string[];
}

const IDS_SHOWN = 5;
const DOUBLES_SHOWN = 20;
const IDS_AT_ONCE = 10_000;
const DAY_MS = 86_400_000;

/** @param range UTC days whose rows and sums are compared; the journals are read whole */
export async function verify(
  dataDir: string,
  reader: StoreReader,
  range: Pick<ActivityFilter, 'startDay' | 'endDay'>,
): Promise<Verified> {
  const findings: string[] = [];
  // Before the store is read: what is shipped and deleted afterwards cannot be missed then.
  const listed = allJournals(dataDir).map((dir) => ({ dir, segments: listSegments(dir) }));
  const positions = await reader.positions();
  const counts = { shipped: 0, waiting: 0, open: 0 };
  for (const { dir, segments } of listed) {
    const position = positions.get(journalId(dir)) ?? { segment: 0, offset: 0 };
    findings.push(...holesOf(dir, segments, position));
    const read = await readJournal(dir, segments, position, reader);
    counts.shipped += read.shipped;
    counts.waiting += read.waiting;
    counts.open += read.open;
    findings.push(...read.findings);
  }
  const doubles = await reader.doubles(DOUBLES_SHOWN);
  for (const id of doubles) findings.push(`the id ${id} is more than one row`);
  const sums = await compareSums(reader, range);
  return { journals: listed.length, ...counts, ...sums, findings: [...findings, ...sums.findings] };
}

/** Segments are numbered without a gap; from where the store stands on, none may be missing. */
function holesOf(dir: string, segments: readonly number[], position: Position): string[] {
  const wanted = segments.filter((segment) => segment >= position.segment);
  let before = position.segment === 0 ? (wanted[0] ?? 1) - 1 : position.segment;
  return wanted.flatMap((segment) => {
    const hole = segment > before + 1;
    before = segment;
    return hole
      ? [`the journal ${dir} lacks what came before segment ${segment}, and the store does not have it`]
      : [];
  });
}

interface JournalRead {
  readonly shipped: number;
  readonly waiting: number;
  readonly open: number;
  readonly findings: readonly string[];
}

async function readJournal(
  dir: string,
  segments: readonly number[],
  position: Position,
  reader: StoreReader,
): Promise<JournalRead> {
  const open = new Set<string>();
  const missing: string[] = [];
  let shipped: string[] = [];
  let [shippedCount, waiting, damaged] = [0, 0, 0];
  const look = async (): Promise<void> => {
    const known = await reader.known(shipped);
    missing.push(...shipped.filter((id) => !known.has(id)));
    shippedCount += shipped.length;
    shipped = [];
  };
  for (const segment of segments) {
    try {
      readLines(segmentPath(dir, segment), 0, Infinity, (line, offset) => {
        const kind = checkLine(line);
        if (kind === null) {
          damaged += 1;
          return;
        }
        const id = requestIdOf(line);
        if (kind === 'B') open.add(id);
        else if (isBefore({ segment, offset }, position)) shipped.push(id);
        else waiting += 1;
        if (kind === 'S') open.delete(id);
      });
    } catch (error) {
      // Shipped and deleted since it was listed.
      if (errorCode(error) !== 'ENOENT') throw error;
    }
    if (shipped.length >= IDS_AT_ONCE) await look();
  }
  await look();
  const findings = [];
  if (missing.length > 0) {
    const some = missing.slice(0, IDS_SHOWN).join(', ');
    findings.push(
      `${missing.length} settled calls of the journal ${dir} are no rows: ${some}${missing.length > IDS_SHOWN ? ', ...' : ''}`,
    );
  }
  if (damaged > 0) findings.push(`the journal ${dir} has ${damaged} damaged lines`);
  const aside = join(dir, 'damaged.log');
  if (existsSync(aside)) {
    findings.push(`${aside} holds damaged lines that are no rows - look at them, then move the file away`);
  }
  return { shipped: shippedCount, waiting, open: open.size, findings };
}

type SumsCompared = Pick<Verified, 'rows' | 'days' | 'daysWithoutRows' | 'findings'>;

/** Day after day, so that a year needs no more memory than its busiest day. */
async function compareSums(
  reader: StoreReader,
  range: Pick<ActivityFilter, 'startDay' | 'endDay'>,
): Promise<SumsCompared> {
  const findings: string[] = [];
  const summed = new Set(await reader.days(range));
  let [rows, days, first] = [0, 0, ''];
  let sums = new DaySums('');
  const finish = async (): Promise<void> => {
    if (sums.day === '') return;
    days += 1;
    summed.delete(sums.day);
    const finding = sums.differenceTo(await reader.keptSums(sums.day));
    if (finding !== null) findings.push(finding);
  };
  const filter = {
    ...(range.startDay === undefined ? {} : { startMs: Date.parse(range.startDay) }),
    ...(range.endDay === undefined ? {} : { endMs: Date.parse(range.endDay) + DAY_MS }),
  };
  for await (const record of reader.rows(filter)) {
    const day = dayOf(record.startMs);
    if (day !== sums.day) {
      await finish();
      sums = new DaySums(day);
      first ||= day;
    }
    sums.add(record);
    rows += 1;
  }
  await finish();
  const without = [...summed].filter((day) => first === '' || day < first);
  for (const day of summed) {
    if (!without.includes(day)) findings.push(`${day}: there are sums of this day and no rows`);
  }
  return { rows, days, daysWithoutRows: without.length, findings };
}

/** Sums of one day, made anew from its rows. */
class DaySums {
  readonly day: string;
  readonly #sums = new Map<string, bigint[]>();
  #rollup = new Rollup();
  #rows = 0;

  constructor(day: string) {
    this.day = day;
  }

  add(record: SpendRecord): void {
    this.#rollup.add(record);
    this.#rows += 1;
    if (this.#rows % ROLLUP_ROWS === 0) this.#fold();
  }

  /** A sentence, or null when they are the same. */
  differenceTo(kept: readonly KeptSum[]): string | null {
    this.#fold();
    const left = new Map(this.#sums);
    const [ours, theirs] = [NOTHING(), NOTHING()];
    let differing = 0;
    for (const { axis, id, sums } of kept) {
      const key = `${axis} ${id}`;
      const made = left.get(key);
      left.delete(key);
      if (axis === '') addTo(theirs, sums);
      if (made === undefined || amounts(made).some((sum, i) => sum !== amounts(sums)[i])) differing += 1;
    }
    for (const [key, sums] of this.#sums) if (key.startsWith(' ')) addTo(ours, sums);
    differing += left.size;
    if (differing === 0) return null;
    const sumsText = (sums: readonly bigint[]): string =>
      `${amounts(sums)[0]} calls for ${dollarText(amounts(sums).at(-1) ?? 0n)} USD`;
    return `${this.day}: ${differing} sums are not those of the rows; the sums tell of ${sumsText(theirs)}, the rows of ${sumsText(ours)}`;
  }

  #fold(): void {
    for (const sum of this.#rollup.rows()) {
      if (sum[0] === EARLIER) continue; // kept of a time in which servers of the version before may have run as well
      const key = `${sum[0]} ${sum[2]}`;
      const sums = sum.slice(-SUM_COLUMNS.length).map(BigInt);
      const made = this.#sums.get(key);
      if (made === undefined) this.#sums.set(key, sums);
      else addTo(made, sums);
    }
    this.#rollup = new Rollup();
  }
}

const NOTHING = (): bigint[] => SUM_COLUMNS.map(() => 0n);

function addTo(sums: bigint[], more: readonly bigint[]): void {
  for (const [i, sum] of more.entries()) sums[i] = (sums[i] ?? 0n) + sum;
}

/** Dollars and their rest as one number, because the same amount may be carried over or not. */
function amounts(sums: readonly bigint[]): bigint[] {
  const [usd = 0n, pico = 0n] = sums.slice(-2);
  return [...sums.slice(0, -2), usd * BigInt(PICO_PER_USD) + pico];
}
