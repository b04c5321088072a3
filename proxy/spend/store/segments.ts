// The journal's files as both sides see them: the ledger writes and repairs them, the store's worker reads them.
// Owns names, listing and reading; never decides what is written or deleted.
import {
  appendFileSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../../config/error-code.ts';
import { eachLine } from '../record/line.ts';

/** A place in the journal: the next byte to read or write. */
export interface Position {
  /** Number of the segment, counting from 1. */
  readonly segment: number;
  /** Byte offset in it. */
  readonly offset: number;
}

const NAME = /^journal-(\d{8,})\.log$/;
// Lines are looked at in place, so a larger buffer saves some system calls and costs its size in memory.
const BUFFER_BYTES = 256 << 10;
const DAMAGED = 'damaged.log';

/** Whether `a` lies before `b`. */
export function isBefore(a: Position, b: Position): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset);
}

/** Path of a segment. */
export function segmentPath(dir: string, segment: number): string {
  return join(dir, `journal-${String(segment).padStart(8, '0')}.log`);
}

/** What names the journal in `dir`; '' = nothing does. @throws NodeJS.ErrnoException when it cannot be read */
export function readJournalId(dir: string): string {
  try {
    return readFileSync(join(dir, 'id'), 'utf8').trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    return '';
  }
}

/** Names the journal in `dir`, durably. @throws NodeJS.ErrnoException */
export function writeJournalId(dir: string, id: string): void {
  const path = join(dir, 'id');
  writeFileSync(`${path}.new`, `${id}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  syncDirectory(dir);
}

/** Numbers of the segments in `dir`, ascending. */
export function listSegments(dir: string): number[] {
  return readdirSync(dir)
    .flatMap((name) => Number(NAME.exec(name)?.[1] ?? []))
    .filter((number) => number > 0)
    .sort((a, b) => a - b);
}

/**
 * Reads whole lines of a segment, from `from` to `end` or its end of file, whichever comes first.
 * @param onLine is given each line without its newline (valid during the call only) and its offset in the file
 * @param mostBytes where to stop before the end: with the buffer in which so many bytes are reached
 * @returns the offset after the last whole line; when the end was reached, also what stands there without a newline
 */
export function readLines(
  path: string,
  from: number,
  end: number,
  onLine: (line: Buffer, offset: number) => void,
  mostBytes: number = Infinity,
): { readonly offset: number; readonly tail: Buffer; readonly atEnd: boolean } {
  const fd = openSync(path, 'r');
  let buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(BUFFER_BYTES, end - from)));
  try {
    let offset = from;
    while (offset - from < mostBytes) {
      const got = fill(fd, buffer, offset, end);
      const bytes = buffer.subarray(0, got);
      const base = offset;
      const used = eachLine(bytes, (line, at) => onLine(line, base + at));
      offset += used;
      if (got < buffer.length || offset >= end)
        return { offset, tail: Buffer.from(bytes.subarray(used)), atEnd: true };
      if (used === 0) buffer = Buffer.allocUnsafeSlow(buffer.length * 2); // one line is longer than the buffer
    }
    return { offset, tail: Buffer.alloc(0), atEnd: false };
  } finally {
    closeSync(fd);
    // Freed at once: the store's thread reads once a second and collects garbage so seldom that 10 MB of them would wait.
    buffer.buffer.transfer(0);
  }
}

function fill(fd: number, buffer: Buffer, offset: number, end: number): number {
  const want = Math.min(buffer.length, end - offset);
  let got = 0;
  while (got < want) {
    const n = readSync(fd, buffer, got, want - got, offset + got);
    if (n === 0) break;
    got += n;
  }
  return got;
}

/** Keeps damaged lines for a person to look at; on the disk when it returns. */
export function setAside(dir: string, lines: readonly Buffer[]): void {
  const fd = openSync(join(dir, DAMAGED), 'a', 0o600);
  try {
    appendFileSync(fd, Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes file creations and removals in `dir` durable. Systems that cannot sync a directory do it by themselves. */
export function syncDirectory(dir: string): void {
  let fd: number;
  try {
    fd = openSync(dir, 'r');
  } catch {
    return;
  }
  try {
    fsyncSync(fd);
  } catch (error) {
    if (!['EPERM', 'EINVAL', 'EISDIR'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    closeSync(fd);
  }
}
