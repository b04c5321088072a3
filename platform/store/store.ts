// The platform's durable state behind one interface: items of a few kinds, with the columns that searches need, a JSON
// body and an encrypted part that no store can read. Callers do not depend on the database behind it.

export type Kind =
  'meta' | 'settings' | 'conversation' | 'start_task' | 'sandbox' | 'replica' | 'event_log' | 'event';

/** One thing of one user. */
export interface Item {
  readonly kind: Kind;
  /** Unique within its kind. */
  readonly id: string;
  /** Owner; '' = the one user of a plain key. */
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly createdMs: number;
  readonly updatedMs: number;
  /** What `titleContains` looks at. */
  readonly title: string | null;
  /** The thing it belongs to: a conversation's sandbox, a start task's conversation. */
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
export interface Filter {
  readonly kind: Kind;
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

/** `put`: the item's `revision` must be the stored one (0 = not stored), else nothing at all is changed. */
export type Change =
  { readonly put: Item } | { readonly remove: { readonly kind: Kind; readonly id: string } };

/** What is left to know of an item that is no more. */
export type Removed = Pick<Item, 'kind' | 'id' | 'link' | 'body'>;

/** What replicas must know of each other's changes: conversations, sandboxes, and the replicas themselves. */
export interface News {
  /** Of the last change that is told; a later one may be among them already. */
  readonly number: number;
  readonly stored: readonly Item[];
  /** To be taken after `stored`. */
  readonly removed: readonly Removed[];
}

/** Every call may reject with `PlatformStoreUnavailable`. */
export interface PlatformStore {
  /** In the order of the ids; null for those that are not there. */
  get(kind: Kind, ids: readonly string[]): Promise<readonly (Item | null)[]>;
  search(filter: Filter, part: Part): Promise<readonly Item[]>;
  count(filter: Filter): Promise<number>;
  /** All items of a kind by id, a page at a time; `after` '' = from the first. */
  scan(kind: Kind, after: string, limit: number): Promise<readonly Item[]>;
  /** All changes or none; on the disk when it resolves. `conflict`: an item has changed since it was read. */
  apply(changes: readonly Change[]): Promise<'applied' | 'conflict'>;
  /**
   * What anybody has changed after the change with this number; null = nothing yet, but the number to begin with.
   * A store that only this process writes to answers null.
   */
  news(after: number | null): Promise<News | null>;
  /** Idempotent; later calls reject. */
  close(): Promise<void>;
}

/** The store could not answer; the message says why and holds no secret. */
export class PlatformStoreUnavailable extends Error {
  override readonly name = 'PlatformStoreUnavailable';
}
