// The journal's writer: segment files that only grow. Owns grouped writes and syncs, rotation, and the retries
// while the disk cannot be written. Never reads, never deletes, never drops a record without counting it.
// Appends of one event-loop turn share one write (4-6 us), so the price of durability falls with load.
import type { JournalSettings } from '../../../config/snapshot.ts';
import type { Position } from '../store/segments.ts';
import { Backlog } from './backlog.ts';
import type { Append } from './backlog.ts';
import type { SpendEvent } from '../event.ts';
import { SegmentFile } from './segment-file.ts';

const RETRY_MS = 500;
const RETRY_CHARS = 1 << 20;
const SPACE_ERRORS: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** The journal cannot be written; the message says why and how to fix it. */
export class JournalUnwritable extends Error {
  override readonly name = 'JournalUnwritable';
}

/** What a journal is made with. */
interface JournalOptions {
  readonly dir: string;
  /** Number of the first segment to write; it must not exist. */
  readonly segment: number;
  readonly settings: JournalSettings;
  readonly onEvent: (event: SpendEvent) => void;
  /** Called after each successful write. */
  readonly onWritten: () => void;
}

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
  readonly #backlog = new Backlog();
  #settings: JournalSettings;
  #file: SegmentFile;
  #rotateAt: number;
  #turn: Turn | null = null;
  #outage: Error | null = null;
  #syncFailed = false;
  #closed = false;
  #dirty = false;
  /** Full segments that are not synced yet. */
  #left: SegmentFile[] = [];
  #syncing: Promise<Error | null> | null = null;
  #syncTimer: NodeJS.Timeout | null = null;
  #retryTimer: NodeJS.Timeout | null = null;
  #rows = 0;

  /** @throws NodeJS.ErrnoException when the first segment cannot be made */
  constructor(options: JournalOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#rotateAt = options.settings.segmentBytes;
    this.#file = new SegmentFile(options.dir, options.segment);
  }

  /** Where the next line goes. */
  get end(): Position {
    return { segment: this.#file.number, offset: this.#file.end };
  }

  /** Why the journal cannot be written; '' while it can. */
  get outageMessage(): string {
    return this.#outage === null ? '' : this.#outageMessage(this.#outage);
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

  /** Takes effect with the next write. */
  reconfigure(settings: JournalSettings): void {
    this.#settings = settings;
    this.#rotateAt = settings.segmentBytes;
  }

  /**
   * Appends a begin line; resolves when it is in the operating system (on the disk with an fsync interval of 0).
   * @throws JournalUnwritable under policy `block`, and after `close`
   */
  begin(requestId: string, line: string): Promise<void> {
    const append: Append = { requestId, line, kind: 'begin' };
    if (this.#outage !== null || this.#closed) {
      if (this.#settings.whenUnwritable === 'block' || this.#closed) return Promise.reject(this.#refusal());
      this.#keep(append);
      return Promise.resolve();
    }
    const turn = this.#openTurn();
    turn.begins.push(append);
    return turn.begun.promise;
  }

  /** Appends a settle line; never rejects: what cannot be written is kept and retried. */
  settle(requestId: string, line: string, refused: boolean): Promise<void> {
    const append: Append = { requestId, line, kind: refused ? 'refused' : 'settle' };
    if (this.#outage !== null || this.#closed) {
      this.#keep(append);
      return Promise.resolve();
    }
    const turn = this.#openTurn();
    turn.settles.push(append);
    return turn.settled.promise;
  }

  /** Writes what this turn has appended so far, now. */
  flush(): void {
    const turn = this.#turn;
    if (turn === null) return;
    this.#turn = null;
    const error = this.#write(turn.begins, turn.settles); // begins first, so that a reader meets them first
    if (error === null) {
      this.#wrote();
      if (this.#settings.fsyncIntervalMs > 0) this.#resolveTurn(turn, null);
      else void this.sync().then((failure) => this.#resolveTurn(turn, failure));
      return;
    }
    this.#noteOutage(error);
    for (const append of turn.settles) this.#keep(append);
    if (this.#settings.whenUnwritable === 'serve') for (const append of turn.begins) this.#keep(append);
    this.#resolveTurn(turn, error);
  }

  /** Resolves when all that was written before the call is on the disk; with the error when that cannot be said. */
  async sync(): Promise<Error | null> {
    while (this.#syncing !== null) {
      const failure = await this.#syncing; // it may have started before our last write, so it alone proves nothing
      if (failure !== null) return failure;
    }
    if (!this.#dirty) return null;
    this.#syncing = this.#syncAll();
    try {
      return await this.#syncing;
    } finally {
      this.#syncing = null;
    }
  }

  /** Writes and syncs what it can, then closes the file. Afterwards `atRisk` counts what could not be written. */
  async close(): Promise<void> {
    this.flush();
    if (this.#outage !== null) this.#retry();
    this.#closed = true;
    await this.sync();
    clearTimeout(this.#retryTimer ?? undefined);
    clearTimeout(this.#syncTimer ?? undefined);
    await this.#file.close();
  }

  #openTurn(): Turn {
    if (this.#turn === null) {
      this.#turn = new Turn();
      setImmediate(() => this.flush());
    }
    return this.#turn;
  }

  #resolveTurn(turn: Turn, failure: Error | null): void {
    turn.settled.resolve();
    if (failure === null || this.#settings.whenUnwritable === 'serve') turn.begun.resolve();
    else if (turn.begins.length > 0) turn.begun.reject(new JournalUnwritable(this.#outageMessage(failure)));
  }

  #write(...lists: readonly (readonly Append[])[]): Error | null {
    let text = '';
    for (const list of lists) for (const { line } of list) text += line;
    const error = this.#file.write(Buffer.from(text));
    if (error !== null) return error;
    this.#dirty = true;
    for (const list of lists) {
      for (const append of list) {
        if (append.kind !== 'begin') this.#rows += 1;
        if (this.#backlog.size > 0) this.#backlog.written(append);
      }
    }
    return null;
  }

  #wrote(): void {
    if (this.#file.end >= this.#rotateAt) this.#rotate();
    if (this.#syncTimer === null && this.#settings.fsyncIntervalMs > 0) {
      this.#syncTimer = setTimeout(() => {
        this.#syncTimer = null;
        void this.sync();
      }, this.#settings.fsyncIntervalMs).unref();
    }
    this.#options.onWritten();
  }

  #rotate(): boolean {
    const full = this.#file;
    try {
      this.#file = new SegmentFile(this.#options.dir, full.number + 1);
    } catch {
      this.#rotateAt = full.end + this.#settings.segmentBytes / 16; // a larger segment is better than an error
      return false;
    }
    this.#left.push(full);
    this.#rotateAt = this.#settings.segmentBytes;
    return true;
  }

  async #syncAll(): Promise<Error | null> {
    const left = this.#left;
    this.#left = [];
    this.#dirty = false;
    try {
      for (const file of [...left, this.#file]) await file.sync();
      return null;
    } catch (error) {
      // After a failed fsync the kernel may have dropped the pages, and asking again would answer that all is well
      // (https://lwn.net/Articles/752063/): this file is not written any more.
      this.#syncFailed = true;
      this.#noteOutage(error as Error);
      return error as Error;
    } finally {
      for (const file of left) await file.close();
    }
  }

  #noteOutage(error: Error): void {
    const first = this.#outage === null;
    this.#outage = error;
    this.#retryTimer ??= setTimeout(() => this.#retry(), RETRY_MS).unref();
    if (first) this.#emit('error', 'journal_unwritable', this.#outageMessage(error));
  }

  #retry(): void {
    this.#retryTimer = null;
    if (this.#outage === null || this.#closed) return;
    const isFull = SPACE_ERRORS.has((this.#outage as NodeJS.ErrnoException).code ?? '') && !this.#syncFailed;
    // A file that failed for another reason than a full disk may never work again; a new one may.
    const error = isFull || this.#rotate() ? this.#writeBacklog() : this.#outage;
    if (error !== null) {
      this.#noteOutage(error);
      return;
    }
    this.#outage = null;
    this.#syncFailed = false;
    this.#wrote();
    this.#emit('info', 'journal_writable', 'the spend journal can be written again');
  }

  #writeBacklog(): Error | null {
    while (this.#backlog.size > 0) {
      const error = this.#write(this.#backlog.head(RETRY_CHARS));
      if (error !== null) return error;
    }
    return this.#file.probe();
  }

  #keep(append: Append): void {
    if (this.#backlog.keep(append) || this.#backlog.lost > 1) return;
    this.#emit(
      'error',
      'rows_lost',
      'too many spend records wait for the disk; further ones are counted as lost',
    );
  }

  #emit(level: SpendEvent['level'], name: string, message: string): void {
    this.#options.onEvent({ level, name, message });
  }

  #refusal(): JournalUnwritable {
    return new JournalUnwritable(
      this.#outage === null
        ? 'the spend journal is closed: the proxy is stopping'
        : this.#outageMessage(this.#outage),
    );
  }

  #outageMessage(error: Error): string {
    return (
      `the spend journal in ${this.#options.dir} cannot be written (${error.message}) - ` +
      `free space on that disk or repair it; writing then resumes by itself`
    );
  }
}
