// SQLite as a backend: a file of the proxy's own, written by one thread.
import { workerFile, WorkerRpc } from '../../../base/worker-rpc.ts';
import type { SpendEvent } from '../../event.ts';
import { storeError, THREAD_LIMITS, type StoreBackend, type StoreCalls } from '../backend.ts';
import type { JournalPlace } from '../journal-chunk.ts';

/** What the worker is started with. */
export interface SqliteWorkerData {
  readonly file: string;
  readonly journal: JournalPlace;
  readonly saltKey: string | null;
}

export function sqliteBackend(file: string): StoreBackend {
  return {
    openStore: ({ journal, saltKey, onEvent }) => {
      const data = (): SqliteWorkerData => ({ file, journal, saltKey: saltKey?.reveal() ?? null });
      const rpc = new WorkerRpc<StoreCalls, SpendEvent>({
        file: workerFile('./worker', import.meta.url),
        name: 'throughline-store',
        data,
        limits: THREAD_LIMITS,
        toError: storeError,
        onEvent,
      });
      return { store: rpc.calls, extensionTables: null };
    },
    openReader: async () => (await import('./reader.ts')).readerOf(file),
    openCostWriter: async () => new (await import('./cost-writer.ts')).SqliteCostWriter(file),
  };
}
