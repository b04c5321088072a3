// All items of some kinds for processes that hold every one of them in memory: read in pages at the start, changed in the
// store first, and then told to whoever else shares it. In a file in the data directory, or beside the spend records.
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../observability/logger.ts';
import type { ExtensionTables } from '../spend/store/extension-tables.ts';
import type { Item, ItemStore, Version } from './item-store.ts';
import { PostgresItems } from './postgres-items.ts';
import { HEARTBEAT, Replicas, type KnownProcess } from './replicas.ts';
import { openSqliteItems, type OpenedFiles } from './sqlite-store.ts';

/** An item as its user knows it: the body as a value. */
export interface SharedItem<K extends string> extends Pick<
  Item<K>,
  'kind' | 'id' | 'createdMs' | 'updatedMs' | 'revision'
> {
  readonly value: unknown;
}

export type SharedChange<K extends string> =
  | {
      readonly put: Pick<Item<K>, 'kind' | 'id' | 'createdMs' | 'updatedMs' | 'revision'> & {
        /** What JSON can say. */
        readonly value: object;
      };
    }
  | { readonly remove: { readonly kind: K; readonly id: string; readonly revision?: number } };

/** Is told what any process has stored and removed, this one included, in the order of the store. */
export interface SharedListener<K extends string> {
  stored(item: SharedItem<K>): void;
  removed(name: { readonly kind: K; readonly id: string }): void;
}

interface SharedItemsOptions<K extends string> {
  /** Names the file or the tables: `access.db`, `access_items`. */
  readonly name: string;
  readonly kinds: readonly K[];
  /** Must exist. */
  readonly dataDir: string;
  /** Where its tables are; null: in a file of their own. @see PostgresItems */
  readonly database: { readonly extensionTables: ExtensionTables; readonly schema: string } | null;
  /** Of a server with several processes; null = the only one. */
  readonly worker: { readonly number: number; readonly count: number } | null;
  /** Of all processes of a server with several. */
  readonly opened?: OpenedFiles | undefined;
  /** Of the program, for people. */
  readonly version?: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** 1,000 keys are half a megabyte and parsed in 4 ms, so that calls that are under way hardly notice. */
const PAGE = 1_000;
/** All items are in memory: of one process that has the file for itself only changes reach the thread. */
const IDLE_MS = 10_000;
const REMOVED_AT_ONCE = 500;

/** Opens nothing before the first call. `U`: kinds that nobody holds in memory. */
export class SharedItems<K extends string, U extends string = never> {
  readonly #options: SharedItemsOptions<K>;
  readonly #store: ItemStore<K | U | typeof HEARTBEAT>;
  #replicas: Replicas | null = null;

  constructor(options: SharedItemsOptions<K>) {
    this.#options = options;
    const { name, kinds, dataDir, database, opened } = options;
    this.#store =
      database === null
        ? openSqliteItems({
            file: join(dataDir, `${name}.db`),
            sharing: 'shared',
            threadName: `throughline-${name}`,
            idleMs: IDLE_MS,
            opened,
          })
        : new PostgresItems(database.extensionTables, {
            schema: database.schema,
            prefix: name,
            sharedKinds: [...kinds, HEARTBEAT],
          });
  }

  /**
   * All items, a page at a time; whatever changes from the first page on is told to the listener, once the last one has been
   * taken. To be called until it has come to its end once.
   * @throws StoreUnavailable
   */
  async *load(listener: SharedListener<K>): AsyncGenerator<readonly SharedItem<K>[]> {
    const { kinds, ...options } = this.#options;
    const replicas = await Replicas.open({ ...options, store: this.#store });
    for (const kind of kinds) {
      yield* pagesOf(this.#store, kind);
      replicas.follow(kind, {
        stored: (item) => listener.stored(withValue({ ...item, kind })),
        removed: ({ id }) => listener.removed({ kind, id }),
      });
    }
    this.#replicas = replicas;
    replicas.start();
  }

  /** Items as they are stored now, in the order of the ids; null for those that are not there. @throws StoreUnavailable */
  async get(kind: K | U, ids: readonly string[]): Promise<readonly (SharedItem<K | U> | null)[]> {
    const items = await this.#store.get(kind, ids);
    return items.map((item) => (item === null ? null : withValue({ ...item, kind })));
  }

  /** All or none; on the disk when it resolves. @throws StoreUnavailable */
  apply(
    changes: readonly SharedChange<K | U>[],
    unchanged: readonly Version<K | U>[] = [],
  ): Promise<'applied' | 'conflict'> {
    return this.#store.apply(
      changes.map((change) => ('put' in change ? { put: itemOf(change.put) } : change)),
      unchanged,
    );
  }

  /** Removes the items of a kind that were not changed since; their `userId` is ''. @throws StoreUnavailable */
  async removeOlder(kind: K, updatedBeforeMs: number): Promise<void> {
    const filter = { kind, userId: '', updatedBeforeMs };
    const part = { order: 'updated', offset: 0, limit: REMOVED_AT_ONCE } as const;
    for (let count = REMOVED_AT_ONCE; count === REMOVED_AT_ONCE;) {
      const old = await this.#store.search(filter, part);
      if (old.length > 0) await this.#store.apply(old.map(({ id }) => ({ remove: { kind, id } })));
      count = old.length;
    }
  }

  /** Settles when the listener has been told of all that was stored before this call. @throws StoreUnavailable */
  async sync(): Promise<void> {
    await this.#replicas?.sync();
  }

  /** Other processes may change them. */
  get isShared(): boolean {
    return this.#replicas !== null && !this.#replicas.alone;
  }

  /** Processes that share the items and are alive, this one included: each serves its part of the calls. */
  get processes(): number {
    return this.#replicas?.count ?? this.#options.worker?.count ?? 1;
  }

  /** Processes of other servers and of this one that share the items, this one left out. */
  get others(): readonly KnownProcess[] {
    return this.#replicas?.others ?? [];
  }

  /** Idempotent. The database's connections are those of whoever opened them. */
  async close(): Promise<void> {
    await this.#replicas?.close();
    await this.#store.close();
  }
}

/** The next page is read while one is taken. */
async function* pagesOf<K extends string>(
  store: ItemStore,
  kind: K,
): AsyncGenerator<readonly SharedItem<K>[]> {
  let next = store.page(kind, '', PAGE);
  for (;;) {
    const { text, count, last } = await next;
    if (count === 0) return;
    next = store.page(kind, last, PAGE);
    next.catch(() => undefined); // thrown when it is awaited, if it ever is
    const rows = JSON.parse(text) as readonly (readonly [string, number, number, number, unknown])[];
    yield rows.map(([id, createdMs, updatedMs, revision, value]) => ({
      kind,
      id,
      createdMs,
      updatedMs,
      revision,
      value,
    }));
  }
}

function itemOf<K extends string>({ value, ...put }: SharedItem<K>): Item<K> {
  const none = { userId: '', title: null, link: null, parent: null, sealed: null };
  return { ...none, ...put, body: JSON.stringify(value) };
}

function withValue<K extends string>({
  kind,
  id,
  createdMs,
  updatedMs,
  revision,
  body,
}: Item<K>): SharedItem<K> {
  return { kind, id, createdMs, updatedMs, revision, value: JSON.parse(body) as unknown };
}
