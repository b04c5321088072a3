// One segment file while it is written: positional writes that either stand whole or are cut off again.
// Never retries and never decides what an error means; the journal does.
import {
  close,
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { asError } from '../../base/as-error.ts';
import { fileIdAt, fileIdOf } from '../../base/file-id.ts';
import { segmentPath, syncDirectory } from '../store/segments.ts';
import type { Reserve } from './reserve.ts';

const NEWLINE = Buffer.from('\n');
// A probe must find this much free space, or a nearly full disk would flap between writable and not with every request.
const PROBE = Buffer.alloc(64 << 10, '\n');
const COPY_BYTES = 256 << 10;

const syncData = promisify(fdatasync);
const closeFile = promisify(close);

/** A growing segment. */
export class SegmentFile {
  readonly number: number;
  readonly #path: string;
  readonly #fd: number;
  /** Wherever the file is by now. */
  readonly #fileId: string;
  readonly #device: number;
  /** Up to here the file holds blank lines that were there before: the reserve. 0: it grows with each write. */
  readonly #filledTo: number;
  #end = 0;
  /** Bytes of a failed write stand before `#end` and could not be cut off. */
  #torn = false;

  /** Makes the file; out of the reserve, if that is given. @throws NodeJS.ErrnoException, also when it exists */
  constructor(dir: string, number: number, reserve: Reserve | null = null) {
    const path = segmentPath(dir, number);
    this.number = number;
    this.#path = path;
    const given = reserve?.giveTo(path) ?? { fd: openSync(path, 'wx+', 0o600), bytes: 0 };
    this.#fd = given.fd;
    this.#filledTo = given.bytes;
    try {
      const found = fstatSync(given.fd);
      this.#fileId = fileIdOf(found);
      this.#device = found.dev;
      // At once: if the name were lost at a power cut, the next start would use the number again, and the store
      // would believe that it has the new contents already. One sync per segment.
      syncDirectory(dir);
    } catch (error) {
      closeSync(this.#fd);
      rmSync(path, { force: true });
      throw error;
    }
  }

  /** Offset of the next write. */
  get end(): number {
    return this.#end;
  }

  /** It was the reserve, and others must not follow until there is another one. */
  get isReserve(): boolean {
    return this.#filledTo > 0;
  }

  /** Nobody has removed it, or put another one in its place: writing would still succeed, and nobody could read it. */
  get isThere(): boolean {
    try {
      return fileIdAt(this.#path) === this.#fileId;
    } catch {
      return true; // a folder that may not be searched: nothing says that it is gone
    }
  }

  /** Whether both are on one file system. */
  isBeside(other: SegmentFile): boolean {
    return this.#device === other.#device;
  }

  /** Writes what another one holds. @throws NodeJS.ErrnoException */
  copy(other: SegmentFile): void {
    const buffer = Buffer.allocUnsafeSlow(COPY_BYTES);
    for (let at = 0; at < other.#end;) {
      const read = readSync(other.#fd, buffer, 0, Math.min(COPY_BYTES, other.#end - at), at);
      if (read === 0) throw new Error('a journal file is shorter than what was written to it');
      const error = this.write(buffer.subarray(0, read));
      if (error !== null) throw error;
      at += read;
    }
  }

  /** Closes it and takes its name away. Never throws. */
  async discard(): Promise<void> {
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // it stays: rows that stand twice in the journal arrive once
    }
    await this.close();
  }

  /** Writes whole lines; null, or the error after which the file is as before. */
  write(lines: Buffer): Error | null {
    const all = this.#torn ? Buffer.concat([NEWLINE, lines]) : lines;
    let done = 0;
    try {
      while (done < all.length) {
        const n = writeSync(this.#fd, all, done, all.length - done, this.#end + done);
        if (n === 0) throw Object.assign(new Error('nothing was written'), { code: 'ENOSPC' });
        done += n; // a short write is followed by the error that explains it
      }
    } catch (error) {
      if (done > 0 && !this.#undo(done)) {
        this.#torn = true; // a newline in front of the next line lets readers skip the torn piece
        this.#end += done;
      }
      return asError(error);
    }
    this.#torn = false;
    this.#end += all.length;
    return null;
  }

  /** Whether there is space for many more lines: writes blank ones, which readers skip, and cuts them off again. */
  probe(): Error | null {
    const goodEnd = this.#torn ? null : this.#end;
    const error = this.write(PROBE);
    if (error === null && goodEnd !== null) {
      this.#end = goodEnd;
      if (!this.#undo(PROBE.length)) this.#end += PROBE.length;
    }
    return error;
  }

  /** Resolves when all that was written before the call is on the disk. @throws NodeJS.ErrnoException */
  async sync(): Promise<void> {
    await syncData(this.#fd);
  }

  /** Gives back what the reserve had more than was needed; nothing is written afterwards. */
  trim(): void {
    if (this.#end >= this.#filledTo) return;
    try {
      ftruncateSync(this.#fd, this.#end);
    } catch {
      // blank lines stay
    }
  }

  /** Never throws: `sync` has reported what could fail. */
  async close(): Promise<void> {
    await closeFile(this.#fd).catch(() => undefined);
  }

  /** Takes back `bytes` that were written at the end; those of the reserve become blank again. */
  #undo(bytes: number): boolean {
    const inPlace = Math.min(bytes, this.#filledTo - this.#end);
    try {
      if (inPlace > 0) writeSync(this.#fd, Buffer.alloc(inPlace, '\n'), 0, inPlace, this.#end);
      ftruncateSync(this.#fd, Math.max(this.#end, this.#filledTo));
      return true;
    } catch {
      return false;
    }
  }
}
