// The ledger: spend records that survive a crash. Joins journal, shipper and store, and deletes segments that are no
// longer needed. A begin is in the operating system before anything goes upstream, a settle before the last byte goes
// to the client; the store may be away for days meanwhile. The request path waits for neither disk sync nor database.
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Secret } from '../../config/secret.ts';
import type { DatabaseSettings, JournalSettings } from '../../config/snapshot.ts';
import type { Clock } from '../base/clock.ts';
import { beginLine, settleLine } from './record/line.ts';
import { interrupted } from './record/record.ts';
import type { SpendBegin, SpendRecord } from './record/record.ts';
import { openDirectory } from './store/data-directory.ts';
import { DirectoryLocked, lockDirectory } from './store/lock.ts';
import type { DirectoryLock } from './store/lock.ts';
import type { ExtensionTables } from './store/extension-tables.ts';
import type { ModelStore, SpendReader, Store } from './store/store.ts';
import { storeBackend } from './store/backends.ts';
import { journalDirectory, leftJournals, type WorkerNumber } from './journal/journal-directories.ts';
import { Journal } from './journal/journal.ts';
import { LeftJournals } from './journal/left-journals.ts';
import type { SpendEvent } from './event.ts';
import { OldSegments } from './journal/old-segments.ts';
import { OpenBegins } from './journal/open-begins.ts';
import { recoverJournal } from './journal/recover.ts';
import type { Recovered } from './journal/recover.ts';
import { Retention } from './journal/retention.ts';
import { Shipper } from './journal/shipper.ts';

// A segment may be held by a request that runs for hours; once this many came after it, its open begins are written
// again at the end, so that it can go (with the default of 16 MiB: at most 64 MiB are held).
const SEGMENTS_HELD = 4;

const LEAST_CLOSE_MS = 100; // the store's thread needs some 5 ms, also when shipping has used up the deadline

/** Numbers for metrics and `/health/readiness`. */
export interface LedgerStatus {
  readonly writable: boolean;
  /** Why not, and how to fix it; '' while writable. */
  readonly reason: string;
  /** Requests whose last entry is in memory only. */
  readonly rowsAtRisk: number;
  /** Entries given up because memory ran short during an outage. */
  readonly rowsLost: number;
  /** Begun, not settled. */
  readonly open: number;
  /** Bytes written that the store does not have yet. */
  readonly pendingShip: number;
  /** Rows this process has written to the journal, recovered ones included. */
  readonly written: number;
  /** Rows that were new to the store. */
  readonly shipped: number;
  /** Begins of a former process that were turned into `interrupted` rows. */
  readonly recovered: number;
  /** Journal lines that were set aside. */
  readonly damaged: number;
  /** Rows removed because they were older than the retention period. */
  readonly removed: number;
  readonly storeReachable: boolean;
}

/** What a ledger is opened with. */
export interface LedgerOptions {
  /** Made if missing (mode 0700). */
  readonly dataDir: string;
  readonly settings: JournalSettings;
  /** Where rows and models are kept; absent or null: in an SQLite file in `dataDir`. */
  readonly database?: DatabaseSettings | null;
  /** How long rows are kept, milliseconds; absent or null: for ever. */
  readonly retentionMs?: number | null;
  /** Encrypts runtime models; null: they cannot be stored. */
  readonly saltKey: Secret | null;
  readonly clock: Clock;
  readonly onEvent?: (event: SpendEvent) => void;
  /** Called for each unsettled call of a former process, once its row is in the journal. */
  readonly onInterrupted?: ((record: SpendRecord) => void) | undefined;
  /** Which of how many workers this is. Default: the one process of its data directory. */
  readonly worker?: WorkerNumber | undefined;
  /** Has the other workers do as `flush` does; readers wait for it too. */
  readonly flushOthers?: (() => Promise<void>) | undefined;
}

export interface Ledger {
  /**
   * Resolves when the entry is in the operating system. Call it before anything goes upstream.
   * @throws JournalUnwritable under policy `block` while the journal cannot be written
   */
  begin(entry: SpendBegin): Promise<void>;
  /** The same for the whole row. Never rejects: a row that cannot be written is kept, retried and counted at risk. */
  settle(record: SpendRecord): Promise<void>;
  readonly status: LedgerStatus;
  /** Everything written so far is in the store. @throws StoreUnavailable */
  flush(): Promise<void>;
  /** Reads rows, each call behind `flush`: a client that got its answer sees its row. */
  readonly reader: SpendReader;
  readonly models: ModelStore;
  /** Tables of others beside the rows; null: rows are in a file of their own. */
  readonly extensionTables: ExtensionTables | null;
  /** Settings of a new snapshot. */
  reconfigure(settings: JournalSettings, retentionMs: number | null): void;
  /** Writes, syncs and ships what it can within `deadlineMs`, then releases the directory. Idempotent. */
  close(deadlineMs: number): Promise<void>;
}

/**
 * Takes the directory, recovers what a former process left, and starts shipping. Also takes over the
 * journals of workers that no longer exist, after the number of workers has changed.
 * @throws DirectoryLocked, or an Error that names the directory when it cannot be written
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { dataDir, worker, onEvent = () => undefined } = options;
  const own = journalDirectory(dataDir, worker);
  const open = (dir: string, locked: string, left: LeftJournals | null): JournalLedger => {
    const lock = takeDirectory(locked, onEvent);
    try {
      return new JournalLedger(options, dir, lock, left);
    } catch (error) {
      lock.release();
      throw unusable(locked, error as Error);
    }
  };
  const left = new LeftJournals((dir) => open(dir, dir, null), onEvent);
  // The data directory of several workers is locked by their supervisor.
  const ledger = open(own, worker === undefined ? dataDir : own, left);
  left.takeOver(leftJournals(dataDir, worker));
  return ledger;
}

/**
 * Makes the directory, closes it to other users and takes its lock.
 * @throws DirectoryLocked, or an Error that names the directory when it cannot be written
 */
export function takeDirectory(dir: string, onEvent: (event: SpendEvent) => void): DirectoryLock {
  try {
    for (const event of openDirectory(dir)) onEvent(event);
    return lockDirectory(dir);
  } catch (error) {
    throw error instanceof DirectoryLocked ? error : unusable(dir, error as Error);
  }
}

function unusable(dir: string, cause: Error): Error {
  return new Error(
    `the data directory ${dir} cannot be used (${cause.message}) - ` +
      `make it writable and free space in it, or name another one with --data-dir`,
    { cause },
  );
}

class JournalLedger implements Ledger {
  readonly #dir: string;
  readonly #lock: DirectoryLock;
  readonly #left: LeftJournals | null;
  readonly #journal: Journal;
  readonly #store: Store;
  readonly #shipper: Shipper;
  readonly #retention: Retention;
  readonly #onEvent: (event: SpendEvent) => void;
  readonly #clock: Clock;
  readonly #recovered: Recovered;
  readonly #old: OldSegments;
  readonly #open = new OpenBegins();
  /** The segment being written. */
  #current: number;
  #retiring: Promise<void> | null = null;
  /** Something was shipped since the deletion that runs began. */
  #retireAgain = false;
  #closing: Promise<void> | null = null;
  readonly reader: SpendReader;
  readonly models: ModelStore;
  readonly extensionTables: ExtensionTables | null;

  constructor(options: LedgerOptions, dir: string, lock: DirectoryLock, left: LeftJournals | null) {
    const { dataDir, settings, database = null, saltKey, clock, onEvent = () => undefined } = options;
    this.#dir = dir;
    this.#lock = lock;
    this.#left = left;
    this.#onEvent = onEvent;
    this.#clock = clock;
    const recovered = recoverJournal(this.#dir);
    this.#recovered = recovered;
    this.#old = new OldSegments(this.#dir, recovered.segments);
    this.#current = (recovered.segments.at(-1) ?? 0) + 1;
    this.#journal = new Journal({
      dir: this.#dir,
      segment: this.#current,
      settings,
      onEvent,
      onWritten: () => this.#written(),
    });
    const backend = storeBackend(
      database === null ? { file: join(dataDir, 'throughline.db') } : { database },
    );
    const { store, extensionTables } = backend.openStore({
      journal: { dir: this.#dir, id: recovered.journalId, writer: `${hostname()} ${dataDir}` },
      saltKey,
      onEvent,
    });
    this.#store = store;
    this.#shipper = new Shipper({
      store: this.#store,
      end: () => this.#journal.end,
      onShipped: () => this.#retire(),
      onEvent,
    });
    this.#retention = new Retention({ store: this.#store, clock, onEvent }, options.retentionMs ?? null);
    this.reader = this.#flushed(options.flushOthers ?? (() => Promise.resolve()));
    this.models = this.#store;
    this.extensionTables = extensionTables;
    this.#settleOld(clock.now(), options.onInterrupted ?? (() => undefined));
    this.#shipper.wake();
  }

  begin(entry: SpendBegin): Promise<void> {
    this.#open.set({ segment: this.#journal.end.segment, entry });
    const begun = this.#journal.begin(entry.requestId, beginLine(entry));
    begun.catch(() => this.#open.delete(entry.requestId));
    return begun;
  }

  settle(record: SpendRecord): Promise<void> {
    const settled = this.#journal.settle(
      record.requestId,
      settleLine(record),
      record.endReason === 'refused',
    );
    this.#open.delete(record.requestId);
    return settled;
  }

  get status(): LedgerStatus {
    const journal = this.#journal;
    return {
      writable: journal.outageMessage === '',
      reason: journal.outageMessage,
      rowsAtRisk: journal.atRisk,
      rowsLost: journal.lost,
      open: this.#open.size,
      pendingShip: this.#old.bytesBetween(this.#shipper.position, journal.end),
      written: journal.rows,
      shipped: this.#shipper.rows,
      recovered: this.#recovered.open.length + (this.#left?.recovered ?? 0),
      damaged: this.#recovered.damaged + this.#shipper.damaged,
      removed: this.#retention.removed,
      storeReachable: this.#shipper.storeReachable,
    };
  }

  async flush(): Promise<void> {
    this.#journal.flush();
    await Promise.all([this.#shipper.barrier(), this.#left?.tried]);
  }

  reconfigure(settings: JournalSettings, retentionMs: number | null): void {
    this.#journal.reconfigure(settings);
    this.#retention.reconfigure(retentionMs);
  }

  close(deadlineMs: number): Promise<void> {
    this.#closing ??= this.#close(deadlineMs);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    const { mono } = this.#clock;
    const endsAt = mono() + deadlineMs;
    const leftClosed = this.#left?.close();
    await this.#journal.close();
    if (this.#journal.atRisk > 0) {
      const message = `${this.#journal.atRisk} spend records could not be written before the end: ${this.#journal.outageMessage}`;
      this.#onEvent({ level: 'error', name: 'rows_lost', message });
    }
    this.#shipper.stop();
    this.#retention.stop();
    await within(endsAt - mono(), this.#shipper.barrier()); // what is not shipped now is shipped by the next start
    await this.#retiring;
    await within(Math.max(LEAST_CLOSE_MS, endsAt - mono()), this.#store.close());
    if (leftClosed !== undefined) await within(endsAt - mono(), leftClosed);
    this.#lock.release();
  }

  // Journal rows of a former process come first in the new segment, before any request is served.
  #settleOld(nowMs: number, onInterrupted: (record: SpendRecord) => void): void {
    const { open, lastWriteMs, damaged } = this.#recovered;
    for (const begin of open) {
      // The process died after its last write; the time until this start is not the request's duration.
      const record = interrupted(begin, Math.max(begin.startMs, Math.min(nowMs, lastWriteMs)));
      void this.#journal.settle(record.requestId, settleLine(record), false);
      onInterrupted(record);
    }
    this.#journal.flush();
    if (open.length > 0) {
      const message = `${open.length} requests of a former process had no end; they are recorded as interrupted`;
      this.#onEvent({ level: 'warn', name: 'recovered', message });
    }
    if (damaged > 0) {
      const message = `${damaged} damaged lines of the journal were set aside in ${join(this.#dir, 'damaged.log')}`;
      this.#onEvent({ level: 'error', name: 'journal_damaged', message });
    }
  }

  #written(): void {
    const { segment } = this.#journal.end;
    if (segment !== this.#current) this.#old.push(this.#current);
    this.#current = segment;
    this.#shipper.wake();
  }

  #retire(): void {
    if (this.#old.oldest >= this.#shipper.position.segment) return;
    this.#retireAgain = true;
    this.#retiring ??= this.#retireAll();
  }

  async #retireAll(): Promise<void> {
    try {
      while (this.#retireAgain) {
        this.#retireAgain = false;
        await this.#deleteShipped();
      }
    } finally {
      this.#retiring = null;
    }
  }

  // Deletes segments that are shipped and hold no open begin.
  async #deleteShipped(): Promise<void> {
    this.#journal.flush();
    if (this.#journal.outageMessage !== '') return; // settles of the begins that would go may be in memory only
    this.#carryForward();
    let limit = this.#shipper.position.segment;
    for (const { segment } of this.#open.values()) limit = Math.min(limit, segment);
    // Or they stand in later segments, which only the operating system has so far.
    if (this.#old.oldest >= limit || (await this.#journal.sync()) !== null) return;
    try {
      this.#old.deleteBefore(limit);
    } catch (error) {
      const message = `shipped journal segments in ${this.#dir} cannot be deleted: ${(error as Error).message}`;
      this.#onEvent({ level: 'warn', name: 'segments_kept', message });
    }
  }

  #carryForward(): void {
    const stale = this.#current - SEGMENTS_HELD;
    if (this.#old.oldest >= stale) return;
    for (const { segment, entry } of this.#open.values()) {
      if (segment >= stale) continue;
      const now = { segment: this.#journal.end.segment, entry };
      const carried = this.#journal.begin(entry.requestId, beginLine(entry));
      carried.then(
        () => this.#open.has(entry.requestId) && this.#open.set(now),
        () => undefined, // it is tried again after the next shipment
      );
    }
  }

  /** The store's reader, each call behind a flush. */
  #flushed(flushOthers: () => Promise<void>): SpendReader {
    const store = this.#store;
    const after = async <T>(read: () => Promise<T>): Promise<T> => {
      await Promise.all([this.flush(), flushOthers()]);
      return read();
    };
    return {
      query: (filter, paging) => after(() => store.query(filter, paging)),
      summarize: (filter) => after(() => store.summarize(filter)),
      activity: (...args) => after(() => store.activity(...args)),
      totals: (sessionIds) => after(() => store.totals(sessionIds)),
      findByUpstreamId: (upstreamId) => after(() => store.findByUpstreamId(upstreamId)),
    };
  }
}

/** Waits for `task` at most `deadlineMs`; its failure is reported elsewhere. */
async function within(deadlineMs: number, task: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, deadlineMs));
  });
  await Promise.race([task.catch(() => undefined), deadline]);
  clearTimeout(timer);
}
