// Journals of workers that no longer exist: recovered, shipped and removed, in the background and one after the other.
// What cannot be taken over now is tried again; nothing is deleted before the store has it. A journal that was opened stays
// open until then: opening reads all of it on the thread that serves calls, and begins another segment.
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { asError } from '../../base/as-error.ts';
import { listSegments, segmentPath } from '../store/segments.ts';
import type { SpendEvent } from '../event.ts';
import { RESERVE_FILE } from './reserve.ts';

const RETRY_MS = 10_000;
const CLOSE_MS = 10_000;

/** A journal that was opened to be emptied. */
interface OpenJournal {
  flush(): Promise<void>;
  close(deadlineMs: number): Promise<void>;
  readonly status: { readonly recovered: number };
  readonly journals: readonly string[];
}

/** Those of one data directory. */
export class LeftJournals {
  readonly #open: (dir: string) => OpenJournal;
  readonly #onEvent: (event: SpendEvent) => void;
  readonly #closing = new AbortController();
  /** Those whose entries the store does not have yet, by directory. */
  readonly #opened = new Map<string, OpenJournal>();
  #recovered = 0;
  readonly #journals: string[] = [];
  #tried: Promise<unknown> = Promise.resolve();
  #done: Promise<unknown> = Promise.resolve();

  /** `open` locks and recovers the journal of a directory, and throws when it cannot. */
  constructor(open: (dir: string) => OpenJournal, onEvent: (event: SpendEvent) => void) {
    this.#open = open;
    this.#onEvent = onEvent;
  }

  /** Begins; never throws. */
  takeOver(dirs: readonly string[]): void {
    const tried = Promise.withResolvers<void>();
    this.#tried = tried.promise;
    this.#done = this.#all(dirs, tried.resolve);
  }

  /** Resolves when each has been tried once: then the store has their rows, unless the log says otherwise. */
  get tried(): Promise<unknown> {
    return this.#tried;
  }

  /** Requests that had no end in them. */
  get recovered(): number {
    return this.#recovered;
  }

  /** Ids of those that the store has all entries of. */
  get journals(): readonly string[] {
    return this.#journals;
  }

  /** Ends the attempts, and closes what they have opened; resolves when the one under way is over. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#done;
  }

  async #all(dirs: readonly string[], tried: () => void): Promise<void> {
    const { signal } = this.#closing;
    for (let left = dirs; left.length > 0 && !signal.aborted;) {
      const kept: string[] = [];
      for (const dir of left) if (signal.aborted || !(await this.#one(dir))) kept.push(dir);
      tried();
      left = kept;
      if (left.length > 0) await wait(RETRY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
    tried();
    // One that cannot be synced says so itself. Nothing is lost: the next start finds the segments that it was opened with.
    await Promise.allSettled(Array.from(this.#opened.values(), (journal) => journal.close(0)));
  }

  async #one(dir: string): Promise<boolean> {
    try {
      const journal = this.#opened.get(dir) ?? this.#openNow(dir);
      await journal.flush();
      this.#opened.delete(dir);
      await journal.close(CLOSE_MS);
      this.#journals.push(...journal.journals);
      remove(dir);
      const message = `the journal in ${dir}, which no worker writes any more, was taken over`;
      this.#onEvent({ level: 'info', name: 'journal_taken_over', message });
      return true;
    } catch (error) {
      const message = `the journal in ${dir}, which no worker writes any more, cannot be taken over yet: ${asError(error).message}`;
      this.#onEvent({ level: 'warn', name: 'journal_left', message });
      return false;
    }
  }

  #openNow(dir: string): OpenJournal {
    const journal = this.#open(dir);
    this.#opened.set(dir, journal);
    this.#recovered += journal.status.recovered;
    return journal;
  }
}

/** All but `damaged.log`, which is for a person to look at. Segments first: the other files are meaningless without them. */
function remove(dir: string): void {
  for (const segment of listSegments(dir)) rmSync(segmentPath(dir, segment), { force: true });
  for (const name of ['id', RESERVE_FILE, 'lock.db', 'lock.db-journal'])
    rmSync(join(dir, name), { force: true });
  try {
    rmdirSync(dir);
  } catch {
    // not empty: damaged lines, or the journals of workers
  }
}
