// The platform's embedded store: SQLite in a thread of its own, so that no disk is waited for on the thread that serves
// LLM calls. A thread that dies is replaced by the next call.
import { workerFile, WorkerRpc } from '../../proxy/base/worker-rpc.ts';
import { PlatformStoreUnavailable, type PlatformStore } from './store.ts';

/** The calls that the worker answers; `close` belongs to the thread. */
export type ItemCalls = Omit<PlatformStore, 'close'>;

/** What the worker is started with. */
export interface SqlitePlatformData {
  /** Path of the database; its directory must exist. */
  readonly file: string;
}

/** @param file path of the database; its directory must exist */
export function openSqlitePlatform(file: string): PlatformStore {
  const rpc = new WorkerRpc<ItemCalls>({
    file: workerFile('./sqlite-worker', import.meta.url),
    name: 'throughline-platform',
    data: (): SqlitePlatformData => ({ file }),
    toError: ({ name, message }) => {
      if (name === 'WorkerClosed') return new PlatformStoreUnavailable('the store is closed');
      const text = name === 'WorkerLost' ? `the store's thread was lost: ${message}` : message;
      return new PlatformStoreUnavailable(text);
    },
  });
  return rpc.calls;
}
