// Places in the order in which rows became visible. Several servers write, and each of them ships late for as long as it cannot
// reach the database, so no time of a row says what is new. The snapshot of a reader does: each version of a row has the number
// of its transaction (`xmin`), and a transaction that a snapshot does not hold as ended came behind it.
// https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT

/** What a reader had seen of the database. */
export interface ArrivalPlace {
  /** When, epoch milliseconds. */
  readonly atMs: number;
  /** The first transaction that had not begun. */
  readonly next: bigint;
  /** Those that ran. */
  readonly running: readonly bigint[];
}

/** A query: one row with the text `snapshot`. */
export const SNAPSHOT_SQL = 'SELECT pg_current_snapshot()::text AS snapshot';

const PLACE = /^(\d{1,15})-\d{1,20}:(\d{1,20}):((?:\d{1,20}(?:,\d{1,20})*)?)$/;

/** As a text that another server of the same database understands. */
export const placeText = (atMs: number, snapshot: string): string => `${atMs}-${snapshot}`;

/** null = no place. */
export function arrivalPlace(text: string): ArrivalPlace | null {
  const [, atMs, next, running] = PLACE.exec(text) ?? [];
  if (atMs === undefined || next === undefined || running === undefined) return null;
  const numbers = running === '' ? [] : running.split(',').map(BigInt);
  return { atMs: Number(atMs), next: BigInt(next), running: numbers };
}

/** A condition: the row came behind the place. */
export function cameBehind({ next, running }: ArrivalPlace, bind: (value: string) => string): string {
  const since = `age(xmin) <= age(${bind(rowNumber(next))}::text::xid)`;
  const list = `{${running.map(rowNumber).join(',')}}`;
  return running.length === 0 ? since : `(${since} OR xmin = ANY(${bind(list)}::text::xid[]))`;
}

/** Rows hold the lower half of a transaction's number; `age` compares as far as two billion transactions. */
const rowNumber = (transaction: bigint): string => String(BigInt.asUintN(32, transaction));
