// The journal's writer: begin and settle lines in segment files that only grow. Owns grouped writes, what happens while
// the disk cannot be written, and the retries. Never reads, never deletes, never drops a record without counting it.
// Appends of one event-loop turn share one write (4-6 us), so the price of durability falls with load.
// Its states are drawn in journal-state.ts.
import type { JournalSettings } from '../../../config/snapshot.ts';
import type { Position } from '../store/segments.ts';
import { Backlog, type Append } from './backlog.ts';
import type { SpendEvent } from '../event.ts';
import { linesOf } from '../record/line.ts';
import {
  afterRetry,
  errorOf,
  isSpaceError,
  outageMessage,
  outageOf,
  refusalOf,
  takesSettle,
  WRITABLE,
  type JournalState,
} from './journal-state.ts';
import { SegmentWriter } from './segment-writer.ts';

const RETRY_MS = 500;
const RETRY_CHARS = 1 << 20;
/** The lines of some forty calls, at three bytes for a character. */
const WRITE_BYTES = 262_144;

/** What a journal is made with. */
interface JournalOptions {
  readonly dir: string;
  /** Number of the first segment to write; it must not exist. */
  readonly segment: number;
  readonly settings: JournalSettings;
  /** Calls in flight: the reserve must hold their rows. */
  readonly calls: () => number;
  readonly onEvent: (event: SpendEvent) => void;
  /** Called after each successful write. */
  readonly onWritten: () => void;
}

/**
 * With so many settle entries a turn is written before its end. When thousands of streams end together a turn takes long, and
 * what waits for it outlives the young generation: with 9,950 of them 68 MB, 40 so.
 */
const MANY_LINES = 64;

/** The appends of one event-loop turn. */
class Turn {
  readonly begins: Append[] = [];
  readonly settles: Append[] = [];
  readonly begun = Promise.withResolvers<void>();
  readonly settled = Promise.withResolvers<void>();
}

/** Appends lines to segments. */
export class Journal {
  readonly #options: JournalOptions;
  readonly #segments: SegmentWriter;
  readonly #backlog = new Backlog();
  #settings: JournalSettings;
  #state: JournalState = WRITABLE;
  #turn: Turn | null = null;
  #syncTimer: NodeJS.Timeout | null = null;
  #rows = 0;
  /** Of the lines of one write. */
  readonly #memory = Buffer.allocUnsafeSlow(WRITE_BYTES);

  /** @throws NodeJS.ErrnoException when the first segment cannot be made */
  constructor(options: JournalOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#segments = new SegmentWriter(options.dir, options.segment, options.settings.segmentBytes);
    this.#segments.reserve.fit(0);
  }

  /** Where the next line goes. */
  get end(): Position {
    return this.#segments.end;
  }

  /** Why new calls cannot be recorded; '' while they can. */
  get outageMessage(): string {
    const error = errorOf(this.#state);
    return error === null ? '' : outageMessage(this.#options.dir, error);
  }

  /** Requests whose line is in memory only. */
  get atRisk(): number {
    return this.#backlog.size;
  }

  /** Settle lines written. */
  get rows(): number {
    return this.#rows;
  }

  /** Lines given up because memory ran short during an outage. */
  get lost(): number {
    return this.#backlog.lost;
  }

  /** Disk space kept for the rows of calls under way; 0 while it is in use, or where the disk has too little. */
  get reserveBytes(): number {
    return this.#segments.reserve.bytes;
  }

  /** Takes effect with the next write. */
  reconfigure(settings: JournalSettings): void {
    this.#settings = settings;
    this.#segments.resize(settings.segmentBytes);
  }

  /**
   * Appends the line of a begin entry; resolves when it is in the operating system (on the disk with an fsync interval of 0).
   * @throws JournalUnwritable under policy `block`, and after `close`
   */
  begin(requestId: string, json: string): Promise<void> {
    const append: Append = { requestId, kind: 'B', json, isRefused: false };
    const { is } = this.#state;
    if (is !== 'writable') {
      if (this.#settings.whenUnwritable === 'block' || is === 'closed')
        return Promise.reject(refusalOf(this.#options.dir, errorOf(this.#state)));
      this.#keep(append);
      return Promise.resolve();
    }
    this.#segments.reserve.fit(this.#options.calls());
    const turn = this.#openTurn();
    turn.begins.push(append);
    return turn.begun.promise;
  }

  /**
   * Appends the line of a settle entry; never rejects: what cannot be written is kept and retried.
   * @param onWritten called in a later turn, when the line is in the operating system (on the disk with an fsync interval of 0), or
   * is given up; while the journal cannot be written that is later than the promise resolves
   */
  settle(requestId: string, json: string, isRefused: boolean, onWritten?: () => void): Promise<void> {
    const append: Append = { requestId, kind: 'S', json, isRefused, onWritten };
    if (!takesSettle(this.#state, isRefused)) {
      this.#keep(append);
      return Promise.resolve();
    }
    const turn = this.#openTurn();
    turn.settles.push(append);
    if (turn.settles.length === MANY_LINES) queueMicrotask(() => this.flush());
    return turn.settled.promise;
  }

  /** Writes what this turn has appended so far, now. */
  flush(): void {
    const turn = this.#turn;
    if (turn === null) return;
    this.#turn = null;
    const error = this.#writeTurn(turn);
    if (error === null) {
      this.#wrote();
      this.#whenDurable((failure) => {
        if (failure === null) {
          this.#count(turn.begins);
          this.#stand(turn.settles);
        } else this.#keepTurn(turn);
        this.#resolveTurn(turn, failure);
      });
      return;
    }
    this.#enter('unwritable', error);
    this.#keepTurn(turn);
    this.#resolveTurn(turn, error);
  }

  /** Resolves when all that was written before the call is on the disk; with the error when that cannot be said. */
  async sync(): Promise<Error | null> {
    const failure = await this.#segments.sync();
    if (failure !== null && this.#state.is !== 'closed') this.#enter('unwritable', failure);
    return failure;
  }

  /**
   * Writes and syncs what it can, then closes the file. Afterwards `atRisk` counts what could not be written.
   * @returns why it cannot be said that all that was written is on the disk; null when it is
   */
  async close(): Promise<Error | null> {
    this.flush();
    const state = this.#state;
    if (state.is !== 'unwritable' || this.#leaveTainted(state.error) === null) this.#writeBacklog();
    clearTimeout(outageOf(this.#state)?.retry);
    this.#state = { is: 'closed', error: errorOf(this.#state) };
    const failure = await this.sync();
    clearTimeout(this.#syncTimer ?? undefined);
    await this.#segments.close();
    return failure ?? (this.#segments.isTainted ? errorOf(this.#state) : null);
  }

  #openTurn(): Turn {
    if (this.#turn === null) {
      this.#turn = new Turn();
      setImmediate(() => this.flush());
    }
    return this.#turn;
  }

  /** Calls `then` when what was written stands: at once, or after a sync where each write is synced. */
  #whenDurable(then: (failure: Error | null) => void): void {
    if (this.#settings.fsyncIntervalMs > 0) then(null);
    else void this.sync().then(then);
  }

  /** Its lines may stand in a file already: rows arrive once, by their ids. */
  #keepTurn({ begins, settles }: Turn): void {
    for (const append of settles) this.#keep(append);
    if (this.#settings.whenUnwritable === 'serve') for (const append of begins) this.#keep(append);
  }

  #resolveTurn(turn: Turn, failure: Error | null): void {
    turn.settled.resolve();
    if (failure === null || this.#settings.whenUnwritable === 'serve') turn.begun.resolve();
    else if (turn.begins.length > 0) turn.begun.reject(refusalOf(this.#options.dir, failure));
  }

  /** On a full disk the reserve takes the turn, its begins included: what was appended before is under way. */
  #writeTurn({ begins, settles }: Turn): Error | null {
    const lines = begins.length === 0 ? settles : [...begins, ...settles]; // begins first, so that a reader meets them first
    const error = this.#write(lines);
    if (error === null || this.#state.is !== 'writable' || !isSpaceError(error)) return error;
    const { reserve } = this.#segments;
    if (reserve.bytes === 0 || !this.#segments.rotate(reserve)) return error;
    this.#enter('full', error);
    return this.#write(lines);
  }

  #write(lines: readonly Append[]): Error | null {
    return this.#segments.write(linesOf(lines, this.#memory));
  }

  /** They are written for good: tells those who wait for it. */
  #stand(lines: readonly Append[]): void {
    this.#count(lines);
    for (const append of lines) append.onWritten?.();
  }

  #count(lines: readonly Append[]): void {
    for (const append of lines) {
      if (append.kind === 'S') this.#rows += 1;
      if (this.#backlog.size > 0) this.#backlog.written(append);
    }
  }

  #wrote(): void {
    this.#segments.rotateWhenFull();
    if (this.#syncTimer === null && this.#settings.fsyncIntervalMs > 0) {
      this.#syncTimer = setTimeout(() => {
        this.#syncTimer = null;
        void this.sync();
      }, this.#settings.fsyncIntervalMs).unref();
    }
    this.#options.onWritten();
  }

  #enter(is: 'full' | 'unwritable', error: Error): void {
    const before = this.#state;
    this.#state = { is, error, retry: outageOf(before)?.retry ?? this.#retryLater() };
    if (before.is === 'writable')
      this.#emit('error', 'journal_unwritable', outageMessage(this.#options.dir, error));
  }

  #retryLater(): NodeJS.Timeout {
    return setTimeout(() => this.#retry(), RETRY_MS).unref();
  }

  #retry(): void {
    const outage = outageOf(this.#state);
    if (outage === null) return;
    this.#segments.reserve.forgetRefusal();
    const error = outage.is === 'full' ? this.#leaveReserve(outage.error) : this.#leaveTainted(outage.error);
    if (error !== null) this.#retried(error);
    else if (this.#settings.fsyncIntervalMs > 0) this.#retried(this.#writeBacklog());
    else void this.#syncBacklog();
  }

  #retried(error: Error | null): void {
    const outage = outageOf(this.#state);
    if (outage === null) return; // closed meanwhile
    const { isOnReserve } = this.#segments;
    const failure = error ?? (isOnReserve ? null : this.#probe());
    const next = afterRetry(outage, failure, isOnReserve);
    if (next !== null) {
      this.#state = { ...next, retry: this.#retryLater() };
      return;
    }
    this.#state = WRITABLE;
    this.#wrote();
    this.#emit('info', 'journal_writable', 'the spend journal can be written again');
  }

  /** Back to ordinary segments, once there is space for another reserve. */
  #leaveReserve(error: Error): Error | null {
    const { reserve } = this.#segments;
    return reserve.fit(this.#options.calls()) && this.#segments.rotate() ? null : error;
  }

  /** A file that failed for another reason than a full disk may never work again; a new one may. */
  #leaveTainted(error: Error): Error | null {
    const isOnlyFull = isSpaceError(error) && !this.#segments.isTainted;
    return isOnlyFull || this.#segments.rotate() ? null : error;
  }

  #probe(): Error | null {
    const full = this.#segments.probe();
    if (full === null) this.#segments.reserve.fit(this.#options.calls());
    return full;
  }

  /** Each line waits until it stands: where its sync fails, the end counts it among those that are not written. */
  #writeBacklog(): Error | null {
    for (const appends of this.#backlog.batches(RETRY_CHARS)) {
      const error = this.#write(appends);
      if (error !== null) return error;
      this.#whenDurable((failure) => {
        if (failure === null) this.#stand(appends);
      });
    }
    return null;
  }

  /**
   * The same where each write is synced: one line first, and further ones when it is on the disk. Writes succeed on a disk whose syncs
   * fail, so that each try would write all that waits once more.
   */
  async #syncBacklog(): Promise<void> {
    let failure: Error | null = null;
    for (let chars = 1; failure === null && this.#backlog.size > 0; chars = RETRY_CHARS) {
      const appends = this.#backlog.head(chars);
      failure = this.#write(appends) ?? (await this.sync());
      if (this.#state.is === 'closed') return; // the end has written them once more, and tells of them
      if (failure !== null) break;
      this.#stand(appends);
    }
    this.#retried(failure);
  }

  #keep(append: Append): void {
    if (this.#backlog.keep(append)) return;
    if (append.onWritten !== undefined) setImmediate(append.onWritten);
    if (this.#backlog.lost > 1) return;
    this.#emit(
      'error',
      'rows_lost',
      'too many spend records wait for the disk; further ones are counted as lost',
    );
  }

  #emit(level: SpendEvent['level'], name: string, message: string): void {
    this.#options.onEvent({ level, name, message });
  }
}
