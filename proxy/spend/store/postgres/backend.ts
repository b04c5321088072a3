// PostgreSQL as a backend: a database that several proxies may share, each over three connections of one thread.
import type { DatabaseSettings } from '../../../../config/database-settings.ts';
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

/** `ExtensionTables` as the thread answers them: a listener stays on this side. */
export type ExtensionCalls = Omit<ExtensionTables, 'listen'> & {
  listenTo(channel: string): Promise<boolean>;
};

/** The thread's event at each NOTIFY. */
export interface Notified {
  readonly notified: string;
}

export function postgresBackend(database: DatabaseSettings): StoreBackend {
  return {
    openStore: ({ journal, saltKey, onEvent }) => {
      const data = (): PostgresWorkerData => ({
        database: databaseData(database),
        journal,
        saltKey: saltKey?.reveal() ?? null,
      });
      const listeners = new Map<string, () => void>();
      const rpc = new WorkerRpc<StoreCalls & ExtensionCalls, SpendEvent | Notified>({
        file: workerFile('./worker', import.meta.url),
        name: 'throughline-store',
        data,
        limits: THREAD_LIMITS,
        toError: storeError,
        onEvent: (event) => {
          if ('notified' in event) listeners.get(event.notified)?.();
          else onEvent(event);
        },
        onLost: () => {
          for (const channel of listeners.keys()) void rpc.calls.listenTo(channel).catch(() => undefined);
        },
      });
      const { migrateExtension, transact, listenTo } = rpc.calls;
      const listen = (channel: string, act: () => void): Promise<boolean> => {
        listeners.set(channel, act);
        return listenTo(channel);
      };
      return { store: rpc.calls, extensionTables: { migrateExtension, transact, listen } };
    },
    openReader: async () => (await import('./reader.ts')).readerOf(database),
    openCostWriter: async () => new (await import('./cost-writer.ts')).PostgresCostWriter(database),
  };
}
