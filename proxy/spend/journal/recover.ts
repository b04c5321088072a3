// What a former process left in the journal: repaired, and read for begins that never settled. Runs once, before the
// journal is written. Killed at any point, it can run again: every repair leaves the file as a repaired file looks.
import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { makeDirectory } from '../store/data-directory.ts';
import { checkLine, parseLine, requestIdOf } from '../record/line.ts';
import type { SpendBegin } from '../record/record.ts';
import {
  listSegments,
  readJournalId,
  readLines,
  segmentPath,
  setAside,
  writeJournalId,
} from '../store/segments.ts';

/** What the journal held. */
export interface Recovered {
  /** Names the contents of the directory; a new one whenever it holds no segment. */
  readonly journalId: string;
  /** Their numbers, ascending. */
  readonly segments: readonly number[];
  /** Begins without a settle, in the order of their beginning. */
  readonly open: readonly SpendBegin[];
  /** When the journal was last written, epoch milliseconds; 0 when it is empty. */
  readonly lastWriteMs: number;
  /** Damaged lines that were set aside in `damaged.log`. */
  readonly damaged: number;
}

interface Span {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** Repairs and reads the journal in `dir`, which is made if missing. @throws NodeJS.ErrnoException */
export function recoverJournal(dir: string): Recovered {
  makeDirectory(dir);
  const numbers = listSegments(dir);
  const last = numbers.at(-1);
  const lastWriteMs = last === undefined ? 0 : statSync(segmentPath(dir, last)).mtimeMs;
  const open = new Map<string, string>();
  let damaged = 0;
  for (const segment of numbers) damaged += readSegment(dir, segment, open);
  return {
    journalId: journalIdOf(dir, numbers.length === 0),
    segments: numbers,
    open: Array.from(open.values(), (json) => JSON.parse(json) as SpendBegin),
    lastWriteMs: Math.floor(lastWriteMs),
    damaged,
  };
}

/** @returns how many lines were set aside */
function readSegment(dir: string, segment: number, open: Map<string, string>): number {
  const path = segmentPath(dir, segment);
  const damaged: Span[] = [];
  const see = (bytes: Buffer, offset: number): void => {
    const kind = checkLine(bytes);
    if (kind === 'B') open.set(requestIdOf(bytes), parseLine(bytes)?.json ?? '');
    else if (kind === 'S') open.delete(requestIdOf(bytes));
    else damaged.push({ offset, bytes: Buffer.from(bytes) });
  };
  const { offset, tail } = readLines(path, 0, Infinity, see);
  if (damaged.length === 0 && tail.length === 0) return 0;

  const fd = openSync(path, 'r+');
  try {
    const pieces = damaged.map(({ bytes }) => bytes);
    if (pieces.length > 0) setAside(dir, pieces);
    // Blanked only after they are safe elsewhere; offsets of all that follows stay as they are.
    for (const { offset: at, bytes } of damaged) {
      writeSync(fd, Buffer.alloc(bytes.length, '\n'), 0, bytes.length, at);
    }
    if (tail.length > 0 && checkLine(tail) !== null) {
      writeSync(fd, '\n', offset + tail.length); // whole but for its newline
      see(tail, offset);
    } else {
      ftruncateSync(fd, offset);
    }
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return damaged.length;
}

function journalIdOf(dir: string, fresh: boolean): string {
  const known = fresh ? '' : readJournalId(dir);
  if (known !== '') return known;
  // Segment numbers start anew in an empty directory, so a position that the store remembers must not apply.
  const id = randomUUID();
  writeJournalId(dir, id);
  return id;
}
