// What a store backend is: one folder, and one line in backends.ts. And what all of them need to run in a thread.
import type { Secret } from '../../../config/secret.ts';
import type { ErrorData } from '../../base/worker-rpc.ts';
import type { SpendEvent } from '../event.ts';
import type { CostWriter } from './cost-writer.ts';
import type { ExtensionTables } from './extension-tables.ts';
import type { JournalPlace } from './journal-chunk.ts';
import type { StoreReader } from './reader.ts';
import { isStoreErrorCode, StoreUnavailable, type Store } from './store.ts';

/** What a store is opened with. */
interface StoreOptions {
  readonly journal: JournalPlace;
  /** Encrypts runtime models; null: they cannot be stored. */
  readonly saltKey: Secret | null;
  readonly onEvent: (event: SpendEvent) => void;
}

/** A store in a thread of its own. */
interface OpenStore {
  readonly store: Store;
  /** Tables of others in the same database; null: the database is a file of this store's own. */
  readonly extensionTables: ExtensionTables | null;
}

/** One place where rows are kept. Nothing is opened before the first call. */
export interface StoreBackend {
  /** For the proxy: no database work happens on the thread that calls it, so no request waits for a disk or a server. */
  openStore(options: StoreOptions): OpenStore;
  /** For commands, also while a proxy writes. */
  openReader(): Promise<StoreReader>;
  /** For commands. The schema must be the newest: whoever read the rows has seen to that. */
  openCostWriter(): Promise<CostWriter>;
}

/** The calls that a store's worker serves; `close` belongs to the thread. */
export type StoreCalls = Omit<Store, 'close'>;

/** V8 lets the young generation grow to 48 MB under load by itself. Little of it lives: each row is forgotten when it is bound. */
export const THREAD_LIMITS = { maxYoungGenerationSizeMb: 12 } as const;

/** The error of a call to a store's worker. */
export function storeError({ name, message, code }: ErrorData): Error {
  if (name === 'RangeError') return new RangeError(message); // the question, not the store
  if (name === 'WorkerClosed') return new StoreUnavailable('closed', 'the store is closed');
  if (name === 'WorkerLost')
    return new StoreUnavailable('unavailable', `the store's thread was lost: ${message}`);
  return new StoreUnavailable(isStoreErrorCode(code) ? code : 'unavailable', message);
}
