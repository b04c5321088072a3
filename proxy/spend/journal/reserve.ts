// Disk space that is kept for the rows of calls under way: a file of blank lines, which readers skip. When the disk is
// full it becomes the next segment and is written over in place: that needs no space, and nobody else, the log included,
// can take it first. It grows with the calls in flight. Never decides when it is needed; the journal does.
import {
  closeSync,
  constants,
  existsSync,
  ftruncateSync,
  openSync,
  renameSync,
  statSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

export const RESERVE_FILE = 'reserve';

const STEP_BYTES = 256 << 10;
/** A settle entry has some 1.3 KB, more with long metadata. */
const CALL_BYTES = 2 << 10;
/** It is made or enlarged only where so many times its size is free: on a tiny disk it would be what fills it. */
const FREE_FACTOR = 4;

export class Reserve {
  readonly #dir: string;
  readonly #path: string;
  #bytes = 0;
  /** A size for which there was no space. */
  #refusedBytes = Infinity;

  /** Takes over the file of a former process. */
  constructor(dir: string) {
    this.#dir = dir;
    this.#path = join(dir, RESERVE_FILE);
    const left = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    // Written again, in place: after a power failure its blocks may hold anything.
    if (left >= STEP_BYTES) this.#grow(left - (left % STEP_BYTES));
  }

  /** 0: there is none. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps space for so many calls in flight. @returns false when the disk has too little */
  fit(calls: number): boolean {
    const wanted = (Math.floor((calls * CALL_BYTES) / STEP_BYTES) + 1) * STEP_BYTES;
    if (wanted <= this.#bytes) return true;
    if (wanted >= this.#refusedBytes) return false;
    const hasGrown = this.#hasFree(wanted * FREE_FACTOR) && this.#grow(wanted);
    if (!hasGrown) this.#refusedBytes = wanted;
    return hasGrown;
  }

  /** The disk may have space again. */
  forgetRefusal(): void {
    this.#refusedBytes = Infinity;
  }

  /** Gives the file away under another path, which must be free; the caller closes it. @throws NodeJS.ErrnoException */
  giveTo(path: string): { readonly fd: number; readonly bytes: number } {
    if (existsSync(path)) throw new Error(`${path} exists`);
    const fd = openSync(this.#path, 'r+');
    try {
      renameSync(this.#path, path);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    const bytes = this.#bytes;
    this.#bytes = 0;
    return { fd, bytes };
  }

  #hasFree(bytes: number): boolean {
    try {
      const { bavail, bsize } = statfsSync(this.#dir);
      return bavail * bsize >= bytes;
    } catch {
      return false;
    }
  }

  /** Fills it up with blank lines. @returns false, and leaves it as it was, when there is no space */
  #grow(wanted: number): boolean {
    const blank = Buffer.alloc(STEP_BYTES, '\n');
    let fd: number;
    try {
      fd = openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
    } catch {
      return false;
    }
    try {
      for (let at = this.#bytes; at < wanted;)
        at += writeSync(fd, blank, 0, Math.min(blank.length, wanted - at), at);
      this.#bytes = wanted;
      return true;
    } catch {
      cutTo(fd, this.#bytes);
      return false;
    } finally {
      closeSync(fd);
    }
  }
}

function cutTo(fd: number, bytes: number): void {
  try {
    ftruncateSync(fd, bytes);
  } catch {
    // it stays longer, which does no harm
  }
}
