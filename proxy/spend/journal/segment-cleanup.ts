// Deletes segments that the store has and that hold no begin of a call in flight. Knows which calls are in flight, and in
// which segment each one began; a call that runs for hours has its begin written again, so that its segment can go.
import { asError } from '../../base/as-error.ts';
import { DenseMap } from '../../base/dense-map.ts';
import type { SpendEvent } from '../event.ts';
import type { SpendBegin } from '../record/record.ts';
import type { Position } from '../store/segments.ts';
import type { Journal } from './journal.ts';
import { OldSegments } from './old-segments.ts';

// A segment may be held by a request that runs for hours; once this many came after it, its open begins are written
// again at the end, so that it can go (with the default of 16 MiB: at most 64 MiB are held).
const SEGMENTS_HELD = 4;

interface SegmentCleanupOptions {
  readonly dir: string;
  /** Segments of a former process, ascending. */
  readonly old: readonly number[];
  /** The segment being written. */
  readonly current: number;
  readonly journal: Pick<Journal, 'begin' | 'end' | 'flush' | 'outageMessage' | 'sync'>;
  /** Everything before it is in the store, durably. */
  readonly shipped: () => Position;
  readonly onEvent: (event: SpendEvent) => void;
}

/** A begin and the segment that its line stands in. */
interface OpenBegin {
  readonly segment: number;
  readonly entry: SpendBegin;
}

type State =
  | { readonly is: 'idle' }
  /** `again`: something was shipped since it began. */
  | { readonly is: 'running'; readonly ended: Promise<void>; again: boolean };

const IDLE: State = { is: 'idle' };

export class SegmentCleanup {
  readonly #options: SegmentCleanupOptions;
  readonly #old: OldSegments;
  /** Calls that have begun and not settled, by request id. */
  readonly #open = new DenseMap<string, OpenBegin>();
  #current: number;
  #state: State = IDLE;

  constructor(options: SegmentCleanupOptions) {
    this.#options = options;
    this.#old = new OldSegments(options.dir, options.old);
    this.#current = options.current;
  }

  /** Calls in flight. */
  get open(): number {
    return this.#open.size;
  }

  /** Bytes that the store does not have yet. Asks the file system, so it is for metrics, not for requests. */
  get pendingBytes(): number {
    return this.#old.bytesBetween(this.#options.shipped(), this.#options.journal.end);
  }

  begun(entry: SpendBegin): void {
    this.#open.set(entry.requestId, { segment: this.#options.journal.end.segment, entry });
  }

  ended(requestId: string): void {
    this.#open.delete(requestId);
  }

  /** The journal was written. */
  written(): void {
    const { segment } = this.#options.journal.end;
    if (segment === this.#current) return;
    for (let full = this.#current; full < segment; full += 1) this.#old.push(full);
    this.#current = segment;
  }

  /** Something was shipped. */
  run(): void {
    if (this.#old.oldest >= this.#options.shipped().segment) return;
    if (this.#state.is === 'running') this.#state.again = true;
    else this.#state = { is: 'running', ended: this.#deleteAll(), again: false };
  }

  /** Resolves when nothing is being deleted. */
  async idle(): Promise<void> {
    if (this.#state.is === 'running') await this.#state.ended;
  }

  async #deleteAll(): Promise<void> {
    await Promise.resolve(); // the state says that it runs
    try {
      let isWanted = true;
      while (isWanted) {
        if (this.#state.is === 'running') this.#state.again = false;
        await this.#deleteShipped();
        isWanted = this.#state.is === 'running' && this.#state.again;
      }
    } finally {
      this.#state = IDLE;
    }
  }

  async #deleteShipped(): Promise<void> {
    const { dir, journal, shipped, onEvent } = this.#options;
    journal.flush();
    if (journal.outageMessage !== '') return; // settles of the begins that would go may be in memory only
    this.#carryForward();
    let limit = shipped().segment;
    for (const [, { segment }] of this.#open) limit = Math.min(limit, segment);
    // Or they stand in later segments, which only the operating system has so far.
    if (this.#old.oldest >= limit || (await journal.sync()) !== null) return;
    try {
      this.#old.deleteBefore(limit);
    } catch (error) {
      const message = `shipped journal segments in ${dir} cannot be deleted: ${asError(error).message}`;
      onEvent({ level: 'warn', name: 'segments_kept', message });
    }
  }

  #carryForward(): void {
    const { journal } = this.#options;
    const stale = this.#current - SEGMENTS_HELD;
    if (this.#old.oldest >= stale) return;
    for (const [requestId, { segment, entry }] of this.#open) {
      if (segment >= stale) continue;
      const now = { segment: journal.end.segment, entry };
      journal.begin(requestId, JSON.stringify(entry)).then(
        () => this.#open.has(requestId) && this.#open.set(requestId, now),
        () => undefined, // it is tried again after the next shipment
      );
    }
  }
}
