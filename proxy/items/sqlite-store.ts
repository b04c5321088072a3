// The embedded store of items: SQLite in a thread of its own, so that no disk is waited for on the thread that serves LLM
// calls. A thread that dies is replaced by the next call.
import { workerFile, WorkerRpc } from '../base/worker-rpc.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import type { ItemStore } from './item-store.ts';

/** The calls that the worker answers; `close` belongs to the thread. */
export type ItemCalls<K extends string = string> = Omit<ItemStore<K>, 'close'>;

/** What the worker is started with. */
export interface SqliteItemsData {
  /** Path of the database; its directory must exist. */
  readonly file: string;
}

interface SqliteItemsOptions extends SqliteItemsData {
  /** Of the thread, for profilers and `ps -T`. */
  readonly threadName: string;
}

export function openSqliteItems<K extends string>({ file, threadName }: SqliteItemsOptions): ItemStore<K> {
  const rpc = new WorkerRpc<ItemCalls<K>>({
    file: workerFile('./sqlite-worker', import.meta.url),
    name: threadName,
    data: (): SqliteItemsData => ({ file }),
    toError: ({ name, message }) => {
      if (name === 'WorkerClosed') return new StoreUnavailable('unavailable', 'the store is closed');
      const text = name === 'WorkerLost' ? `the store's thread was lost: ${message}` : message;
      return new StoreUnavailable('unavailable', text);
    },
  });
  return rpc.calls;
}
