// All items of a kind, a page at a time: what a start and the exchange of the key read.
import type { Item, Kind, PlatformStore } from './store.ts';

/** What a page leaves behind for the collector is what a start grows by. */
const PAGE = 1_000;

/** In the order of their ids. */
export async function* allItems(store: PlatformStore, kind: Kind): AsyncGenerator<Item> {
  for (let after = ''; ;) {
    const page = await store.scan(kind, after, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}
