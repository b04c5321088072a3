// What happened lately, one kind of thing at a time, in a durable store: the newest first, page by page, and no more of it than
// its bounds allow. In `history.db` of the data directory, or in the tables `history_*` of the shared database, where all servers
// write to one history.
import { join } from 'node:path';
import type { ExtensionTables } from '../spend/store/extension-tables.ts';
import type { Item, ItemStore } from './item-store.ts';
import { PostgresItems } from './postgres-items.ts';
import { openSqliteItems } from './sqlite-store.ts';

export type HistoryKind = 'alert' | 'reconciliation';

/** Something that happened. `T`: what JSON can say. */
export interface HistoryEntry<T> {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** One of few words, to filter by. */
  readonly state: string;
  readonly value: T;
}

/** The entry after which a page begins. */
export type HistoryPlace = Pick<HistoryEntry<unknown>, 'id' | 'atMs'>;

export interface HistoryPage<T> {
  readonly entries: readonly HistoryEntry<T>[];
  /** Whether there are older ones. */
  readonly hasMore: boolean;
}

export interface HistoryBounds {
  readonly most: number;
  readonly keptMs: number;
}

interface HistoryPlaceOptions {
  /** Must exist. */
  readonly dataDir: string;
  /** null: in a file of the data directory. */
  readonly database: { readonly extensionTables: ExtensionTables; readonly schema: string } | null;
}

const NAME = 'history';
/** Two writers of one entry at the same moment are rare, and each is done in a millisecond. */
const MOST_TRIES = 10;
const PRUNED_AT_ONCE = 500;

/** Opens nothing before the first call. Close it. */
export function openHistoryStore({ dataDir, database }: HistoryPlaceOptions): ItemStore<HistoryKind> {
  return database === null
    ? openSqliteItems({
        file: join(dataDir, `${NAME}.db`),
        sharing: 'shared',
        threadName: `throughline-${NAME}`,
      })
    : new PostgresItems(database.extensionTables, {
        schema: database.schema,
        prefix: NAME,
        sharedKinds: [],
      });
}

/** One kind's history. Every call may reject with `StoreUnavailable`. */
export class History<T extends object> {
  readonly #store: ItemStore<HistoryKind>;
  readonly #kind: HistoryKind;
  readonly #bounds: HistoryBounds;

  constructor(store: ItemStore<HistoryKind>, kind: HistoryKind, bounds: HistoryBounds) {
    this.#store = store;
    this.#kind = kind;
    this.#bounds = bounds;
  }

  /**
   * Adds an entry, or changes the one of this id.
   * @param next of what is stored, or of null; called again when somebody has changed it meanwhile
   */
  async put(
    { id, atMs }: HistoryPlace,
    next: (before: T | null) => Pick<HistoryEntry<T>, 'state' | 'value'>,
  ): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const [before = null] = await this.#store.get(this.#kind, [id]);
      const { state, value } = next(before === null ? null : (JSON.parse(before.body) as T));
      const item: Item<HistoryKind> = {
        kind: this.#kind,
        id,
        userId: '',
        createdMs: before?.createdMs ?? atMs,
        updatedMs: atMs,
        title: null,
        link: null,
        parent: state,
        body: JSON.stringify(value),
        sealed: null,
        revision: before?.revision ?? 0,
      };
      if ((await this.#store.apply([{ put: item }])) === 'applied') return;
    }
    throw new Error(`${this.#kind} ${id} is changed by too many at once`);
  }

  /**
   * The newest first. @param before null = from the newest @param states empty: all
   * @param sinceMs absent: as far back as it is kept
   */
  async page(
    before: HistoryPlace | null,
    limit: number,
    states: readonly string[] = [],
    sinceMs: number | null = null,
  ): Promise<HistoryPage<T>> {
    // Several may have happened in one millisecond: those that come before the place are read with it and left out.
    for (let wanted = limit + 1; ; wanted *= 2) {
      const items = await this.#store.search(
        {
          kind: this.#kind,
          ...(states.length === 0 ? {} : { parents: states }),
          ...(before === null ? {} : { createdBeforeMs: before.atMs + 1 }),
          ...(sinceMs === null ? {} : { createdFromMs: sinceMs }),
        },
        { order: 'created_desc', offset: 0, limit: wanted },
      );
      const after =
        before === null
          ? items
          : items.filter(({ createdMs, id }) => createdMs < before.atMs || id < before.id);
      if (after.length > limit || items.length < wanted)
        return { entries: after.slice(0, limit).map(entryOf<T>), hasMore: after.length > limit };
    }
  }

  /** Epoch milliseconds before which nothing is kept. */
  keptSinceMs(nowMs: number): number {
    return Math.max(0, nowMs - this.#bounds.keptMs);
  }

  /** Removes what is old, and what is too much. */
  async prune(nowMs: number): Promise<void> {
    const kind = this.#kind;
    const old = { kind, createdBeforeMs: this.keptSinceMs(nowMs) };
    const first = { order: 'created', offset: 0, limit: PRUNED_AT_ONCE } as const;
    for (let items = await this.#store.search(old, first); ; items = await this.#store.search(old, first)) {
      await this.#remove(items);
      if (items.length < PRUNED_AT_ONCE) break;
    }
    for (let over = PRUNED_AT_ONCE; over === PRUNED_AT_ONCE;) {
      const part = { order: 'created_desc', offset: this.#bounds.most, limit: PRUNED_AT_ONCE } as const;
      const items = await this.#store.search({ kind }, part);
      await this.#remove(items);
      over = items.length;
    }
  }

  async #remove(items: readonly Item<HistoryKind>[]): Promise<void> {
    if (items.length > 0) await this.#store.apply(items.map(({ kind, id }) => ({ remove: { kind, id } })));
  }
}

const entryOf = <T>({ id, createdMs, parent, body }: Item): HistoryEntry<T> => ({
  id,
  atMs: createdMs,
  state: parent ?? '',
  value: JSON.parse(body) as T,
});
