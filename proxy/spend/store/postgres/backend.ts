// PostgreSQL as a backend: a database that several proxies may share, each over two connections of one thread.
import type { DatabaseSettings } from '../../../../config/snapshot.ts';
import { workerFile, WorkerRpc } from '../../../base/worker-rpc.ts';
import type { SpendEvent } from '../../event.ts';
import { storeError, THREAD_LIMITS, type StoreBackend, type StoreCalls } from '../backend.ts';
import type { ExtensionTables } from '../extension-tables.ts';
import type { JournalPlace } from '../journal-chunk.ts';
import { databaseData, type DatabaseData } from './settings.ts';

/** What the worker is started with. */
export interface PostgresWorkerData {
  readonly database: DatabaseData;
  readonly journal: JournalPlace;
  readonly saltKey: string | null;
}

export function postgresBackend(database: DatabaseSettings): StoreBackend {
  return {
    openStore: ({ journal, saltKey, onEvent }) => {
      const data = (): PostgresWorkerData => ({
        database: databaseData(database),
        journal,
        saltKey: saltKey?.reveal() ?? null,
      });
      const rpc = new WorkerRpc<StoreCalls & ExtensionTables, SpendEvent>({
        file: workerFile('./worker', import.meta.url),
        name: 'throughline-store',
        data,
        limits: THREAD_LIMITS,
        toError: storeError,
        onEvent,
      });
      return { store: rpc.calls, extensionTables: rpc.calls };
    },
    openReader: async () => {
      const [{ SqlReader }, { PostgresRead }] = await Promise.all([
        import('../sql/sql-reader.ts'),
        import('./reader.ts'),
      ]);
      return new SqlReader(new PostgresRead(database));
    },
    openCostWriter: async () => new (await import('./cost-writer.ts')).PostgresCostWriter(database),
  };
}
