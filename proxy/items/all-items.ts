// Iterates over all items of a kind, page by page. Used at start and for key rotation.
import type { Item, ItemStore } from './item-store.ts';

/** Small pages keep the memory peak at start low. */
const PAGE = 1_000;

/** In the order of their ids. */
export async function* allItems<K extends string>(store: ItemStore<K>, kind: K): AsyncGenerator<Item<K>> {
  for (let after = ''; ;) {
    const page = await store.scan(kind, after, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}
