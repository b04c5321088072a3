// Segments that are not written any more: lists them, and deletes those that are no longer needed. Oldest first,
// because a begin whose settle was deleted before it would look interrupted to a later recovery.
import { rmSync, statSync } from 'node:fs';
import { segmentPath, syncDirectory, type Position } from '../store/segments.ts';

/** The journal's files but the one being written. */
export class OldSegments {
  readonly #dir: string;
  readonly #numbers: number[];

  /** @param numbers ascending */
  constructor(dir: string, numbers: readonly number[]) {
    this.#dir = dir;
    this.#numbers = [...numbers];
  }

  /** The oldest one's number; Infinity when there is none. */
  get oldest(): number {
    return this.#numbers[0] ?? Infinity;
  }

  /** A segment is full. */
  push(segment: number): void {
    this.#numbers.push(segment);
  }

  /** Deletes those before `limit`. @throws NodeJS.ErrnoException; what is deleted until then stays deleted */
  deleteBefore(limit: number): void {
    while (this.oldest < limit) {
      rmSync(segmentPath(this.#dir, this.oldest), { force: true });
      this.#numbers.shift();
    }
    syncDirectory(this.#dir);
  }

  /** Bytes between two places of the journal. Asks the file system, so it is for metrics, not for requests. */
  bytesBetween(from: Position, to: Position): number {
    let bytes = to.offset - (from.segment === to.segment ? from.offset : 0);
    for (const segment of this.#numbers) {
      if (segment < from.segment || segment >= to.segment) continue;
      const size = statSync(segmentPath(this.#dir, segment), { throwIfNoEntry: false })?.size ?? 0;
      bytes += size - (segment === from.segment ? from.offset : 0);
    }
    return Math.max(0, bytes);
  }
}
