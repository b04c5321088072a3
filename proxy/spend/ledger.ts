// The ledger: spend records that survive a crash. Joins journal, shipper, store and the removal of what is no longer
// needed. A begin is in the operating system before anything goes upstream, a settle before the last byte goes
// to the client; the store may be away for days meanwhile. The request path waits for neither disk sync nor database.
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Secret } from '../../config/secret.ts';
import type { DatabaseSettings } from '../../config/database-settings.ts';
import type { JournalSettings } from '../../config/snapshot.ts';
import { asError } from '../base/as-error.ts';
import type { Clock } from '../base/clock.ts';
import { atMost, within } from '../base/within.ts';
import { interrupted, type SpendBegin, type SpendRecord } from './record/record.ts';
import { openDirectory, sqliteNotRead, unusableDirectory } from './store/data-directory.ts';
import { DirectoryLocked, lockDirectory, type DirectoryLock } from './store/lock.ts';
import type { ExtensionTables } from './store/extension-tables.ts';
import {
  StoreUnavailable,
  type Arrivals,
  type ModelStore,
  type SpendReader,
  type SpentQuery,
  type SpentSum,
  type Store,
} from './store/store.ts';
import { StoreReach } from './store/store-reach.ts';
import { storeBackend } from './store/backends.ts';
import { journalDirectory, leftJournals, type WorkerNumber } from './journal/journal-directories.ts';
import { Journal } from './journal/journal.ts';
import { LeftJournals } from './journal/left-journals.ts';
import type { SpendEvent } from './event.ts';
import { recoverJournal, type Recovered } from './journal/recover.ts';
import { Retention } from './journal/retention.ts';
import { SegmentCleanup } from './journal/segment-cleanup.ts';
import { Shipper } from './journal/shipper.ts';

/** The store's thread needs some 5 ms, on a full machine more: what it still writes would outlive the ledger. Also when shipping has used up the deadline. */
const LEAST_CLOSE_MS = 2_000;

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
  /** Disk space kept for the rows of calls under way. */
  readonly reserveBytes: number;
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

/** Writes what calls cost, and reads it. */
export interface Ledger {
  /**
   * Resolves when the entry is in the operating system. Call it before anything goes upstream.
   * @throws JournalUnwritable under policy `block` while the journal cannot be written
   */
  begin(entry: SpendBegin): Promise<void>;
  /**
   * The same for the whole row. Never rejects: a row that cannot be written is kept, retried and counted at risk.
   * @param onWritten called in a later turn, when the row survives this process or is given up
   */
  settle(record: SpendRecord, onWritten?: () => void): Promise<void>;
  readonly status: LedgerStatus;
  /** Ids of the journals whose former entries a `flush` brings into the store: this process's own, then those it has taken over. */
  readonly journals: readonly string[];
  /** When a former process wrote into the journal last, epoch milliseconds; 0 = there was none. */
  readonly lastWriteMs: number;
  /** Everything written so far is in the store. @throws StoreUnavailable */
  flush(): Promise<void>;
  /**
   * What records had spent whose `settle` was called before `captured` is: that happens during this call, and records
   * that are settled later are in none of the sums. Those of other processes are, as far as they are stored.
   * @throws StoreUnavailable; also while records wait for the disk, because the store cannot have them
   */
  spentBefore(
    queries: readonly SpentQuery[],
    captured: () => void,
  ): Promise<readonly (readonly SpentSum[])[]>;
  /** Reads rows, each call behind `flush`: a client that got its answer sees its row. */
  readonly reader: SpendReader;
  /** Rows as they come into the store. */
  readonly arrivals: Arrivals;
  readonly models: ModelStore;
  /** Tables of others beside the rows; null: rows are in a file of their own. */
  readonly extensionTables: ExtensionTables | null;
  /** Settings of a new snapshot. */
  reconfigure(settings: JournalSettings, retentionMs: number | null): void;
  /**
   * Writes, syncs and ships what it can within `deadlineMs`, then releases the directory. Idempotent.
   * @throws Error, when all of that is done, when the disk may not have all that was written
   */
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
      throw unusableDirectory(locked, asError(error));
    }
  };
  const left = new LeftJournals((dir) => open(dir, dir, null), onEvent);
  // The data directory of several workers is locked by their supervisor.
  const ledger = open(own, worker === undefined ? dataDir : own, left);
  left.takeOver(leftJournals(dataDir, worker));
  const unread =
    (options.database ?? null) === null || (worker?.number ?? 1) > 1 ? null : sqliteNotRead(dataDir);
  if (unread !== null) onEvent(unread);
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
    throw error instanceof DirectoryLocked ? error : unusableDirectory(dir, asError(error));
  }
}

class JournalLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #lock: DirectoryLock;
  readonly #left: LeftJournals | null;
  /** Rows count as written when they are on the disk. */
  #syncsEach: boolean;
  readonly #recovered: Recovered;
  readonly #journal: Journal;
  readonly #store: Store;
  readonly #reach: StoreReach;
  readonly #shipper: Shipper;
  readonly #retention: Retention;
  readonly #segments: SegmentCleanup;
  #closing: Promise<void> | null = null;
  readonly reader: SpendReader;
  readonly extensionTables: ExtensionTables | null;

  constructor(options: LedgerOptions, dir: string, lock: DirectoryLock, left: LeftJournals | null) {
    const { dataDir, settings, database = null, saltKey, clock } = options;
    const onEvent = (event: SpendEvent): void => this.#emit(event);
    this.#options = options;
    this.#lock = lock;
    this.#left = left;
    this.#syncsEach = settings.fsyncIntervalMs === 0;
    const recovered = recoverJournal(dir);
    this.#recovered = recovered;
    const segment = (recovered.segments.at(-1) ?? 0) + 1;
    this.#journal = new Journal({
      dir,
      segment,
      settings,
      calls: () => this.#segments.open,
      onEvent,
      onWritten: () => {
        this.#segments.written();
        this.#shipper.wake();
      },
    });
    const backend = storeBackend(
      database === null ? { file: join(dataDir, 'throughline.db') } : { database },
    );
    const { store, extensionTables } = backend.openStore({
      journal: { dir, id: recovered.journalId, writer: `${hostname()} ${dataDir}` },
      saltKey,
      onEvent,
    });
    this.#store = store;
    this.#reach = new StoreReach(onEvent);
    this.#shipper = new Shipper({
      store,
      end: () => this.#journal.end,
      onShipped: () => this.#segments.run(),
      reach: this.#reach,
    });
    this.#segments = new SegmentCleanup({
      dir,
      old: recovered.segments,
      current: segment,
      journal: this.#journal,
      shipped: () => this.#shipper.position,
      onEvent,
    });
    this.#retention = new Retention({ store, clock, onEvent }, options.retentionMs ?? null);
    this.reader = this.#flushed(options.flushOthers ?? (() => Promise.resolve()));
    this.extensionTables = extensionTables && this.#reach.watch(extensionTables);
    this.#settleOld(dir);
    this.#shipper.wake();
  }

  get arrivals(): Arrivals {
    return this.#store;
  }

  get models(): ModelStore {
    return this.#store;
  }

  begin(entry: SpendBegin): Promise<void> {
    this.#segments.begun(entry);
    const begun = this.#journal.begin(entry.requestId, JSON.stringify(entry));
    begun.catch(() => this.#segments.ended(entry.requestId));
    return begun;
  }

  settle(record: SpendRecord, onWritten?: () => void): Promise<void> {
    const settled = this.#journal.settle(
      record.requestId,
      JSON.stringify(record),
      record.endReason === 'refused',
      onWritten,
    );
    this.#segments.ended(record.requestId);
    return settled;
  }

  get status(): LedgerStatus {
    const journal = this.#journal;
    return {
      writable: journal.outageMessage === '',
      reason: journal.outageMessage,
      rowsAtRisk: journal.atRisk,
      rowsLost: journal.lost,
      open: this.#segments.open,
      pendingShip: this.#segments.pendingBytes,
      written: journal.rows,
      shipped: this.#shipper.rows,
      recovered: this.#recovered.open.length + (this.#left?.recovered ?? 0),
      damaged: this.#recovered.damaged + this.#shipper.damaged,
      removed: this.#retention.removed,
      storeReachable: this.#reach.isReachable,
      reserveBytes: journal.reserveBytes,
    };
  }

  get journals(): readonly string[] {
    return [this.#recovered.journalId, ...(this.#left?.journals ?? [])];
  }

  get lastWriteMs(): number {
    return this.#recovered.lastWriteMs;
  }

  async flush(): Promise<void> {
    this.#journal.flush();
    await Promise.all([this.#shipper.barrier(), this.#left?.tried]);
  }

  async spentBefore(
    queries: readonly SpentQuery[],
    captured: () => void,
  ): Promise<readonly (readonly SpentSum[])[]> {
    await this.#left?.tried;
    captured();
    this.#journal.flush();
    if (this.#journal.atRisk > 0)
      throw new StoreUnavailable(
        'unavailable',
        `spend records wait for the disk: ${this.#journal.outageMessage}`,
      );
    // What is in the sums has been told to those that share the counters (`onWritten`), before they are given the sums.
    if (this.#syncsEach) await this.#journal.sync();
    return await this.#shipper.readHere(() => this.#store.spentSince(queries));
  }

  reconfigure(settings: JournalSettings, retentionMs: number | null): void {
    this.#journal.reconfigure(settings);
    this.#syncsEach = settings.fsyncIntervalMs === 0;
    this.#retention.reconfigure(retentionMs);
  }

  close(deadlineMs: number): Promise<void> {
    this.#closing ??= this.#close(deadlineMs);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    const { mono } = this.#options.clock;
    const endsAt = mono() + deadlineMs;
    const leftClosed = this.#left?.close();
    // A disk that does not answer leaves the steps behind it their time.
    const journalMs = Math.max(LEAST_CLOSE_MS, deadlineMs - 2 * LEAST_CLOSE_MS);
    const failure = await within(journalMs, this.#journal.close(), unanswered);
    const unsynced = failure === null ? null : unsyncedMessage(failure);
    if (unsynced !== null) this.#emit({ level: 'error', name: 'journal_unsynced', message: unsynced });
    if (this.#journal.atRisk > 0) {
      const message = `${this.#journal.atRisk} spend records could not be written before the end: ${this.#journal.outageMessage}`;
      this.#emit({ level: 'error', name: 'rows_lost', message });
    }
    this.#shipper.stop();
    this.#retention.stop();
    const leftMs = endsAt - mono();
    const shipMs = Math.max(leftMs / 2, leftMs - 2 * LEAST_CLOSE_MS); // the steps behind it have their time, too
    await atMost(shipMs, this.#shipper.barrier()); // what is not shipped now is shipped by the next start
    await atMost(Math.max(LEAST_CLOSE_MS, endsAt - mono()), this.#segments.idle());
    await atMost(Math.max(LEAST_CLOSE_MS, endsAt - mono()), this.#store.close());
    if (leftClosed !== undefined) await atMost(endsAt - mono(), leftClosed);
    this.#lock.release();
    if (unsynced !== null) throw new Error(unsynced);
  }

  #emit(event: SpendEvent): void {
    this.#options.onEvent?.(event);
  }

  // Journal rows of a former process come first in the new segment, before any request is served.
  #settleOld(dir: string): void {
    const { open, lastWriteMs, damaged } = this.#recovered;
    const nowMs = this.#options.clock.now();
    for (const begin of open) {
      // The process died after its last write; the time until this start is not the request's duration.
      const record = interrupted(begin, Math.max(begin.startMs, Math.min(nowMs, lastWriteMs)));
      void this.#journal.settle(record.requestId, JSON.stringify(record), false);
      this.#options.onInterrupted?.(record);
    }
    this.#journal.flush();
    if (open.length > 0) {
      const message = `${open.length} requests of a former process had no end; they are recorded as interrupted`;
      this.#emit({ level: 'warn', name: 'recovered', message });
    }
    if (damaged > 0) {
      const message = `${damaged} damaged lines of the journal were set aside in ${join(dir, 'damaged.log')}`;
      this.#emit({ level: 'error', name: 'journal_damaged', message });
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

const unanswered = (): Error => new Error('the disk did not answer in time');

const unsyncedMessage = ({ message }: Error): string =>
  `the last spend records may not be on the disk: the journal could not be synced at the end (${message})`;
