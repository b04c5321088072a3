// Lines that could not be written, kept in memory until the disk can be written again. Bounded, because a process that
// runs out of memory loses all of them; what does not fit is counted, never forgotten silently.
import type { Line } from '../record/line.ts';

// Rows of requests that were refused while the disk is full come as fast as clients send them; they must not take the
// memory that the rows of real calls need.
const REFUSED_CHARS = 32 << 20;
const ALL_CHARS = 256 << 20; // some 200,000 rows

/** One line on its way to the disk. */
export interface Append extends Line {
  readonly requestId: string;
  /** The settle of a call that was refused before anything went upstream. */
  readonly isRefused: boolean;
  /** Called when it is in a file, or given up. */
  readonly onWritten?: (() => void) | undefined;
}

/** Unwritten lines by request id: a settle replaces its begin, because it says all that the begin says. */
export class Backlog {
  readonly #lines = new Map<string, Append>();
  #chars = 0;
  #lost = 0;

  /** Requests whose line is in memory only. */
  get size(): number {
    return this.#lines.size;
  }

  /** Lines that did not fit. */
  get lost(): number {
    return this.#lost;
  }

  /** @returns false when there is no space: the line is counted as lost. */
  keep(append: Append): boolean {
    const { requestId, json, kind, isRefused } = append;
    const before = this.#lines.get(requestId);
    if (kind === 'B' && before !== undefined) return true;
    const chars = this.#chars - (before?.json.length ?? 0) + json.length;
    if (chars > (isRefused ? REFUSED_CHARS : ALL_CHARS)) {
      this.#lost += 1;
      return false;
    }
    this.#lines.set(requestId, append);
    this.#chars = chars;
    return true;
  }

  /** The oldest lines, about `chars` of them. */
  head(chars: number): readonly Append[] {
    for (const batch of this.batches(chars)) return batch;
    return [];
  }

  /** All lines, the oldest first, about `chars` at a time; those of a batch may be `written` before the next one is asked for. */
  *batches(chars: number): Generator<readonly Append[]> {
    let batch: Append[] = [];
    let sum = 0;
    for (const append of this.#lines.values()) {
      batch.push(append);
      sum += append.json.length;
      if (sum < chars) continue;
      yield batch;
      batch = [];
      sum = 0;
    }
    if (batch.length > 0) yield batch;
  }

  /** `append` is in a file now: forgets it, and a begin that it makes needless. */
  written(append: Append): void {
    const kept = this.#lines.get(append.requestId);
    // A begin may be written while its settle waits here; the settle must stay.
    if (kept === undefined || (append.kind === 'B' && kept !== append)) return;
    this.#chars -= kept.json.length;
    this.#lines.delete(append.requestId);
  }
}
