// A row of the wing's table as an item, whichever database it came from: the columns are the same in both.
import type { Item, Kind } from './store.ts';

/** The item of a row with all columns. */
export function itemOf(row: Readonly<Record<string, unknown>>): Item {
  return {
    kind: row['kind'] as Kind,
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
