// What happened lately, one kind of thing at a time, in a durable store: the newest first, page by page, and no more of it than
// its bounds allow. In `history.db` of the data directory, or in the tables `history_*` of the shared database, where all servers
// write to one history.
import { join } from 'node:path';
import type { ExtensionTables } from '../spend/store/extension-tables.ts';
import type { Item, ItemStore } from './item-store.ts';
import { PostgresItems } from './postgres-items.ts';
import { openSqliteItems, type OpenedFiles } from './sqlite-store.ts';

export type HistoryKind = 'alert' | 'reconciliation';

/** Something that happened. `T`: what JSON can say. */
export interface HistoryEntry<T> {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** One of few words, to filter by. */
  readonly state: string;
  /** What entries of one cause share; null = it stands alone. */
  readonly cause: string | null;
  /** Somebody has said that they know of it. */
  readonly isSeen: boolean;
  readonly value: T;
}

/** What can be said anew of an entry. */
export type HistoryText<T> = Pick<HistoryEntry<T>, 'state' | 'value'> &
  Partial<Pick<HistoryEntry<T>, 'cause' | 'isSeen'>>;

/** The entry after which a page begins. */
export type HistoryPlace = Pick<HistoryEntry<unknown>, 'id' | 'atMs'>;

/** Which entries; absent = no condition. */
export interface HistoryFilter {
  readonly states?: readonly string[];
  readonly cause?: string;
  readonly isSeen?: boolean;
  /** Epoch milliseconds. */
  readonly sinceMs?: number;
}

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
  /** Of all processes of a server with several. */
  readonly opened?: OpenedFiles | undefined;
}

const NAME = 'history';
/** Two writers of one entry at the same moment are rare, and each is done in a millisecond. */
const MOST_TRIES = 10;
const PRUNED_AT_ONCE = 500;
/** In the column by which the newest are found first. */
const SEEN = 'seen';

/** Opens nothing before the first call. Close it. */
export function openHistoryStore({ dataDir, database, opened }: HistoryPlaceOptions): ItemStore<HistoryKind> {
  return database === null
    ? openSqliteItems({
        file: join(dataDir, `${NAME}.db`),
        sharing: 'shared',
        threadName: `throughline-${NAME}`,
        opened,
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
  async put({ id, atMs }: HistoryPlace, next: (before: T | null) => HistoryText<T>): Promise<void> {
    await this.#write(id, atMs, (before) => next(before?.value ?? null));
  }

  /**
   * Changes an entry. @param next as `put`; null = leave it as it is
   * @returns what is stored now; null = there is no such entry
   */
  change(
    id: string,
    next: (before: HistoryEntry<T>) => HistoryText<T> | null,
  ): Promise<HistoryEntry<T> | null> {
    return this.#write(id, 0, (before) => (before === null ? null : next(before)));
  }

  /** The newest first. @param before null = from the newest */
  async page(
    before: HistoryPlace | null,
    limit: number,
    { states = [], cause, isSeen, sinceMs }: HistoryFilter = {},
  ): Promise<HistoryPage<T>> {
    // Several may have happened in one millisecond: those that come before the place are read with it and left out.
    for (let wanted = limit + 1; ; wanted *= 2) {
      const items = await this.#store.search(
        {
          kind: this.#kind,
          ...(states.length === 0 ? {} : { parents: states }),
          ...(cause === undefined ? {} : { link: cause }),
          ...(isSeen === undefined ? {} : { userId: isSeen ? SEEN : '' }),
          ...(before === null ? {} : { createdBeforeMs: before.atMs + 1 }),
          ...(sinceMs === undefined ? {} : { createdFromMs: sinceMs }),
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

  /** @param atMs of a new entry */
  async #write(
    id: string,
    atMs: number,
    next: (before: HistoryEntry<T> | null) => HistoryText<T> | null,
  ): Promise<HistoryEntry<T> | null> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const [stored = null] = await this.#store.get(this.#kind, [id]);
      const before = stored === null ? null : entryOf<T>(stored);
      const text = next(before);
      if (text === null) return before;
      const { state, value, cause = null, isSeen = false } = text;
      const item: Item<HistoryKind> = {
        kind: this.#kind,
        id,
        userId: isSeen ? SEEN : '',
        createdMs: stored?.createdMs ?? atMs,
        updatedMs: stored?.updatedMs ?? atMs,
        title: null,
        link: cause,
        parent: state,
        body: JSON.stringify(value),
        sealed: null,
        revision: stored?.revision ?? 0,
      };
      if ((await this.#store.apply([{ put: item }])) === 'applied') return entryOf<T>(item);
    }
    throw new Error(`${this.#kind} ${id} is changed by too many at once`);
  }

  async #remove(items: readonly Item<HistoryKind>[]): Promise<void> {
    if (items.length > 0) await this.#store.apply(items.map(({ kind, id }) => ({ remove: { kind, id } })));
  }
}

const entryOf = <T>({ id, userId, createdMs, link, parent, body }: Item): HistoryEntry<T> => ({
  id,
  atMs: createdMs,
  state: parent ?? '',
  cause: link,
  isSeen: userId === SEEN,
  value: JSON.parse(body) as T,
});
