// Journals of workers that no longer exist: recovered, shipped and removed, in the background and one after the other.
// What cannot be taken over now stays as it is and is tried again; nothing is deleted before the store has it.
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
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

  /** Ends the attempts; resolves when the one under way is over. */
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
      if (left.length > 0) await pause(RETRY_MS, null, { signal, ref: false }).catch(() => undefined);
    }
    tried();
  }

  async #one(dir: string): Promise<boolean> {
    try {
      const journal = this.#open(dir);
      this.#recovered += journal.status.recovered;
      const shipped = await journal.flush().then(
        () => null,
        (error: Error) => error,
      );
      await journal.close(shipped === null ? CLOSE_MS : 0);
      if (shipped !== null) throw shipped;
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
