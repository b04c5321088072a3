// The journal's files while they are written: the one that grows, full ones that are not synced yet, and the reserve.
// Owns rotation and syncs; one sync at a time. Never decides what an error means; the journal does.
import { asError } from '../../base/as-error.ts';
import { makeDirectory } from '../store/data-directory.ts';
import { readJournalId, writeJournalId, type Position } from '../store/segments.ts';
import { Reserve } from './reserve.ts';
import { SegmentFile } from './segment-file.ts';

export class SegmentWriter {
  #reserve: Reserve;
  readonly #dir: string;
  readonly #id: string;
  #segmentBytes: number;
  #rotateAt: number;
  #file: SegmentFile;
  /** Full ones that are not synced yet. */
  #full: SegmentFile[] = [];
  #isDirty = false;
  #syncing: Promise<Error | null> | null = null;
  #isTainted = false;

  /** @param segment number of the first file, which must not exist. @throws NodeJS.ErrnoException */
  constructor(dir: string, segment: number, segmentBytes: number) {
    this.#dir = dir;
    this.#id = readJournalId(dir);
    this.#segmentBytes = segmentBytes;
    this.#rotateAt = segmentBytes;
    this.#file = new SegmentFile(dir, segment);
    this.#reserve = new Reserve(dir);
  }

  get reserve(): Reserve {
    return this.#reserve;
  }

  /** Where the next line goes. */
  get end(): Position {
    return { segment: this.#file.number, offset: this.#file.end };
  }

  /** The reserve is being written: there is no other. */
  get isOnReserve(): boolean {
    return this.#file.isReserve;
  }

  /** A sync of the file has failed, so it must not be written any more. */
  get isTainted(): boolean {
    return this.#isTainted;
  }

  /** Takes effect with the next write. */
  resize(segmentBytes: number): void {
    this.#segmentBytes = segmentBytes;
    this.#rotateAt = segmentBytes;
  }

  /** Writes whole lines; null, or the error after which the file is as before. */
  write(lines: Buffer): Error | null {
    const error = this.#file.write(lines);
    if (error === null) this.#isDirty = true;
    return error;
  }

  /** Whether there is space for many more lines. */
  probe(): Error | null {
    return this.#file.probe();
  }

  /** Begins the next file when this one is full. */
  rotateWhenFull(): void {
    if (this.#file.end < this.#rotateAt || this.#file.isReserve) return;
    // A larger segment is better than an error.
    if (!this.rotate()) this.#rotateAt = this.#file.end + this.#segmentBytes / 16;
  }

  /** Begins the next file: a new one, or the reserve. @returns false when that cannot be done */
  rotate(reserve: Reserve | null = null): boolean {
    const full = this.#file;
    try {
      this.#file = full.isThere
        ? new SegmentFile(this.#dir, full.number + 1, reserve)
        : this.#inPlaceOf(full);
    } catch {
      return false;
    }
    full.trim();
    this.#full.push(full);
    this.reserve.forgetRefusal(); // asked again once per segment: the disk may have room by now
    this.#rotateAt = this.#segmentBytes;
    this.#isTainted = false;
    return true;
  }

  /**
   * The file after one that was removed, perhaps with its directory: what it held may not be in the store yet. Its rows arrive once
   * all the same, by their ids.
   * @throws Error when that cannot be done, or another journal has taken the place
   */
  #inPlaceOf(lost: SegmentFile): SegmentFile {
    makeDirectory(this.#dir);
    const id = readJournalId(this.#dir);
    if (id !== '' && id !== this.#id) throw new Error('another journal is there');
    const next = new SegmentFile(this.#dir, lost.number + 1);
    try {
      // A volume that is not mounted for a moment leaves an empty directory on the disk below it.
      if (!next.isBeside(lost)) throw new Error('it is on another file system');
      next.copy(lost);
      if (id === '') writeJournalId(this.#dir, this.#id); // without one nobody would take it over
    } catch (error) {
      void next.discard();
      throw error;
    }
    this.#isDirty = true;
    this.#reserve = new Reserve(this.#dir);
    return next;
  }

  /** Resolves when all that was written before the call is on the disk; with the error when that cannot be said. */
  async sync(): Promise<Error | null> {
    while (this.#syncing !== null) {
      const failure = await this.#syncing; // it may have started before our last write, so it alone proves nothing
      if (failure !== null) return failure;
    }
    if (!this.#isDirty) return null;
    this.#syncing = this.#syncAll();
    try {
      return await this.#syncing;
    } finally {
      this.#syncing = null;
    }
  }

  async close(): Promise<void> {
    this.#file.trim();
    await this.#file.close();
  }

  async #syncAll(): Promise<Error | null> {
    const [full, file] = [this.#full, this.#file];
    this.#full = [];
    this.#isDirty = false;
    try {
      for (const one of [...full, file]) await one.sync();
      if (!file.isThere) throw new Error('its file was removed, or another one is in its place');
      return null;
    } catch (error) {
      // After a failed fsync the kernel may have dropped the pages, and asking again would answer that all is well
      // (https://lwn.net/Articles/752063/): this file is not written any more.
      this.#isTainted = true;
      return asError(error);
    } finally {
      for (const one of full) await one.close();
    }
  }
}
