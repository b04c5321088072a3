// Small JSON items in a durable store, behind one interface: the columns that searches need, a JSON body, and an encrypted
// part that no store can read. Whoever opens a store names its kinds of items; no caller depends on the database behind it.

/** One thing of one user. */
export interface Item<K extends string = string> {
  readonly kind: K;
  /** Unique within its kind. */
  readonly id: string;
  /** Owner; '' = the one user of a plain key. */
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly createdMs: number;
  readonly updatedMs: number;
  /** What `titleContains` looks at. */
  readonly title: string | null;
  /** The thing it belongs to: a conversation's sandbox, a key's team. */
  readonly link: string | null;
  readonly parent: string | null;
  /** JSON without secrets. */
  readonly body: string;
  /** Secrets, sealed by whoever put it; null = none. */
  readonly sealed: Uint8Array | null;
  /** 0 = never stored; each stored version has one more. */
  readonly revision: number;
}

/** Which items; absent = no condition. All conditions must hold. */
export interface Filter<K extends string = string> {
  readonly kind: K;
  /** Absent = of all users. */
  readonly userId?: string;
  /** Without regard to the case of ASCII letters. */
  readonly titleContains?: string;
  /** Half open: from <= value < before, epoch milliseconds. */
  readonly createdFromMs?: number;
  readonly createdBeforeMs?: number;
  readonly updatedFromMs?: number;
  readonly updatedBeforeMs?: number;
  readonly link?: string;
  /** Items whose parent is one of these. */
  readonly parents?: readonly string[];
  /** Items without a parent only. */
  readonly topLevel?: boolean;
}

export type Order = 'created' | 'created_desc' | 'updated' | 'updated_desc';

export interface Part {
  readonly order: Order;
  readonly offset: number;
  readonly limit: number;
}

/**
 * `put`: the item's `revision` must be the stored one (0 = not stored), else nothing at all is changed. `remove`: the same
 * where a revision is stated; without one, an item that is not there is no conflict.
 */
export type Change<K extends string = string> =
  | { readonly put: Item<K> }
  | { readonly remove: { readonly kind: K; readonly id: string; readonly revision?: number } };

/** One version of an item. */
export interface Version<K extends string = string> {
  readonly kind: K;
  readonly id: string;
  readonly revision: number;
}

/** What is left to know of an item that is no more. */
export type Removed<K extends string = string> = Pick<Item<K>, 'kind' | 'id' | 'link' | 'body'>;

/** Changes of items of shared kinds, by any process: of each item what has become of it, in no order. */
export interface News<K extends string = string> {
  /** Of the last change that is told; a later one may be among them already. */
  readonly number: number;
  readonly stored: readonly Item<K>[];
  /** Are not there at this moment. */
  readonly removed: readonly Removed<K>[];
  /** There is more to tell after `number`. */
  readonly isPart: boolean;
}

/** Items of a kind as one text, in the order in which the store reads them best. */
export interface Page {
  /** A JSON array of `[id, createdMs, updatedMs, revision, body]`. */
  readonly text: string;
  readonly count: number;
  /** What to ask for the page after it with; '' = there are none. */
  readonly last: string;
}

/** Every call may reject with `StoreUnavailable`. */
export interface ItemStore<K extends string = string> {
  /** In the order of the ids; null for those that are not there. */
  get(kind: K, ids: readonly string[]): Promise<readonly (Item<K> | null)[]>;
  search(filter: Filter<K>, part: Part): Promise<readonly Item<K>[]>;
  count(filter: Filter<K>): Promise<number>;
  /** All items of a kind by id, a page at a time; `after` '' = from the first. */
  scan(kind: K, after: string, limit: number): Promise<readonly Item<K>[]>;
  /** What of `scan` is needed to hold all items in memory, at half its cost or less; `after` '' = from the first. */
  page(kind: K, after: string, limit: number): Promise<Page>;
  /**
   * All changes or none; on the disk when it resolves. `conflict`: an item has changed since it was read.
   * @param unchanged what the changes count on: items that are not written, and must be these versions
   */
  apply(changes: readonly Change<K>[], unchanged?: readonly Version<K>[]): Promise<'applied' | 'conflict'>;
  /**
   * What anybody has changed after the change with this number; null = nothing yet, but the number to begin with.
   * A store that only this process writes to answers null.
   */
  news(after: number | null): Promise<News<K> | null>;
  /**
   * Calls back soon after each change of a shared kind, by any process; who must know of every change asks for `news` once
   * a second, too. False: it will not be called, so ask more often. Absent: this kind of store tells nobody.
   */
  listen?(act: () => void): Promise<boolean>;
  /** Idempotent; later calls reject. */
  close(): Promise<void>;
}
