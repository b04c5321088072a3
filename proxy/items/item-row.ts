// The table of items: both databases have the same columns, and a row is an item.
import type { Item, Order } from './item-store.ts';

/** Columns of the table, for SELECT. */
export const COLUMNS =
  'kind, id, user_id, created_ms, updated_ms, title, link, parent, body, sealed, revision' as const;

/** For ORDER BY. */
export const ORDERS: Readonly<Record<Order, string>> = {
  created: 'created_ms, id',
  created_desc: 'created_ms DESC, id DESC',
  updated: 'updated_ms, id',
  updated_desc: 'updated_ms DESC, id DESC',
};

/** Text of less than three characters has no trigram. */
export const SHORT = /^.{0,2}$/su;

/** The item of a row with all columns. */
export function itemOf<K extends string>(row: Readonly<Record<string, unknown>>): Item<K> {
  return {
    kind: row['kind'] as K,
    id: row['id'] as string,
    userId: row['user_id'] as string,
    createdMs: row['created_ms'] as number,
    updatedMs: row['updated_ms'] as number,
    title: row['title'] as string | null,
    link: row['link'] as string | null,
    parent: row['parent'] as string | null,
    body: row['body'] as string,
    sealed: row['sealed'] as Uint8Array | null,
    revision: row['revision'] as number,
  };
}
