// The next piece of the journal as records, for whichever database takes it over. Reads segments, sets damaged lines
// aside, remembers nothing: the position is kept with the rows.
import { checkLine, jsonOf } from '../record/line.ts';
import type { SpendRecord } from '../record/record.ts';
import { isBefore, listSegments, readLines, segmentPath, setAside, type Position } from './segments.ts';
import type { Shipped } from './store.ts';
import type { ThreadHeap } from './thread-heap.ts';

/** The journal a store takes over. */
export interface JournalPlace {
  readonly dir: string;
  /** Random id of the directory's contents: another journal in the same directory has another one. */
  readonly id: string;
  /** Who writes it, for people: `host-a /var/lib/throughline`. */
  readonly writer: string;
}

// Some 2,000 records with their begins. The larger the transaction, the fewer pages of indexes are written per row
// (29 us of CPU at 400 rows, 16 at 1,600, with the indexes of 0.1); a reader waits for one at most, some 40 ms.
const CHUNK_BYTES = 4 << 20;
/**
 * Where the store goes on when it is further than the journal: the directory was restored from an older state, or is a copy of one in use. All
 * that is there is read again, since rows that the store has are not added twice.
 */
const BEGINNING: Position = { segment: 0, offset: 0 };

/** What lies between two positions, or the first part of it. */
export interface Chunk {
  /** Where the next chunk begins. */
  readonly position: Position;
  /** Damaged lines, set aside already. */
  readonly damaged: number;
  readonly done: boolean;
}

/** A chunk that is in the store. */
export interface ShippedChunk extends Chunk {
  /** Rows that are new there. */
  readonly rows: number;
}

/** Takes over chunk after chunk. @param next the next one, when it is in the store */
export async function shipChunks(next: () => Promise<ShippedChunk>, heap: ThreadHeap): Promise<Shipped> {
  let rows = 0;
  let damaged = 0;
  for (;;) {
    const chunk = await next();
    rows += chunk.rows;
    damaged += chunk.damaged;
    if (!chunk.done) continue;
    if (rows > 0) heap.shipped();
    return { position: chunk.position, rows, damaged };
  }
}

/**
 * Reads one chunk of what lies between `cursor` and `to`.
 * @param onRecord is given each record when it is read, so that it can be forgotten again at once: held together, those of
 *   a chunk are some 15 MB of heap
 * @throws NodeJS.ErrnoException, and what `onRecord` throws
 */
export function readChunk(
  dir: string,
  cursor: Position,
  to: Position,
  onRecord: (record: SpendRecord) => void,
): Chunk {
  const from = firstSegmentFrom(dir, isBefore(to, cursor) ? BEGINNING : cursor, to);
  if (!isBefore(from, to)) return { position: from, damaged: 0, done: true };
  const last = from.segment === to.segment;
  const damaged: Buffer[] = [];
  const read = readLines(
    segmentPath(dir, from.segment),
    from.offset,
    last ? to.offset : Infinity,
    (bytes) => {
      const kind = checkLine(bytes);
      if (kind === 'B') return;
      const record = kind === null ? null : (JSON.parse(jsonOf(bytes)) as SpendRecord);
      if (typeof record?.requestId === 'string') onRecord(record);
      else damaged.push(Buffer.from(bytes));
    },
    CHUNK_BYTES,
  );
  const leave = read.atEnd && !last;
  if (leave && read.tail.length > 0) damaged.push(read.tail);
  if (damaged.length > 0) setAside(dir, damaged);
  const position = leave
    ? { segment: from.segment + 1, offset: 0 }
    : { segment: from.segment, offset: read.offset };
  return { position, damaged: damaged.length, done: last && read.atEnd };
}

// A segment may be missing at the front: all of it was shipped, then deleted, or the store is new.
function firstSegmentFrom(dir: string, cursor: Position, to: Position): Position {
  if (cursor.segment >= to.segment) return cursor;
  const segment = listSegments(dir).find((number) => number >= cursor.segment);
  return segment === undefined || segment === cursor.segment ? cursor : { segment, offset: 0 };
}
