// The embedded store of items: SQLite in a thread of its own, so that no disk is waited for on the thread that serves LLM
// calls. A thread that dies is replaced by the next call.
import { workerFile, WorkerRpc } from '../base/worker-rpc.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import type { ItemStore } from './item-store.ts';

/** The calls that the worker answers; `close` belongs to the thread. */
export type ItemCalls<K extends string = string> = Omit<ItemStore<K>, 'close' | 'listen'>;

/** `own`: one process at a time has the file open. `shared`: several write, and each asks for the news of the others. */
export type Sharing = 'own' | 'shared';

/** What the worker is started with. */
export interface SqliteItemsData {
  /** Path of the database; its directory must exist. */
  readonly file: string;
  readonly sharing: Sharing;
  /** It is made where it is missing. */
  readonly makes: boolean;
}

/**
 * Files that some process has opened since the start of the proxy. An empty one in place of one that was removed would take
 * changes, and lose all that it held.
 */
export interface OpenedFiles {
  has(file: string): boolean;
  add(file: string): void;
}

interface SqliteItemsOptions extends Omit<SqliteItemsData, 'makes'> {
  /** Absent: no other process opens the file before this one ends. */
  readonly opened?: OpenedFiles | undefined;
  /** Of the thread, for profilers and `ps -T`. */
  readonly threadName: string;
  /** Without calls for so long its thread ends until the next one, which then waits some 60 ms more. Absent: it stays. */
  readonly idleMs?: number;
}

export function openSqliteItems<K extends string>(options: SqliteItemsOptions): ItemStore<K> {
  const { file, sharing, threadName, idleMs, opened = new Set<string>() } = options;
  const rpc = new WorkerRpc<ItemCalls<K>, 'opened'>({
    file: workerFile('./sqlite-worker', import.meta.url),
    name: threadName,
    data: (): SqliteItemsData => ({ file, sharing, makes: !opened.has(file) }),
    onEvent: () => opened.add(file),
    ...(idleMs === undefined ? {} : { idleMs }),
    toError: ({ name, message }) => {
      if (name === 'WorkerClosed') return new StoreUnavailable('closed', 'the store is closed');
      const text = name === 'WorkerLost' ? `the store's thread was lost: ${message}` : message;
      return new StoreUnavailable('unavailable', text);
    },
  });
  const { get, search, count, scan, page, apply, news } = rpc.calls;
  return { get, search, count, scan, page, apply, news, close: () => rpc.close() };
}
