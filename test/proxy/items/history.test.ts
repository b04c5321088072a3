// A history on both databases: pages without gaps, its bounds, two writers of one entry.
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { History } from '../../../proxy/items/history.ts';
import type { HistoryKind } from '../../../proxy/items/history.ts';
import type { ItemStore } from '../../../proxy/items/item-store.ts';
import { PostgresItems } from '../../../proxy/items/postgres-items.ts';
import { openSqliteItems } from '../../../proxy/items/sqlite-store.ts';
import { openExtensionTables } from '../../../proxy/spend/store/postgres/extension-tables.ts';
import { anyPostgres, settingsOf } from '../../support/postgres.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

interface Value {
  readonly n: number;
}

async function behaves(t: Test, store: ItemStore<HistoryKind>): Promise<void> {
  const history = new History<Value>(store, 'alert', { most: 6, keptMs: 1_000 });
  const put = (id: string, atMs: number, state = 'one'): Promise<void> =>
    history.put({ id, atMs }, (before) => ({ state, value: { n: (before?.n ?? 0) + 1 } }));

  await t.test('pages are whole where many happened in one millisecond', async (t) => {
    for (const id of ['b', 'a', 'd', 'c', 'e']) await put(id, 500);
    await put('later', 501, 'other');
    const seen: string[] = [];
    let place = null;
    for (let more = true; more;) {
      const { entries, hasMore } = await history.page(place, 2);
      seen.push(...entries.map(({ id }) => id));
      place = entries.at(-1) ?? null;
      more = hasMore;
    }
    t.same(seen, ['later', 'e', 'd', 'c', 'b', 'a']);
    t.match(await history.page(null, 5, { states: ['other'] }), {
      entries: [{ id: 'later' }],
      hasMore: false,
    });
    t.match(await history.page(null, 5, { sinceMs: 501 }), { entries: [{ id: 'later' }], hasMore: false });
    t.match(await history.page({ id: '', atMs: 0 }, 5), { entries: [], hasMore: false });
  });

  await t.test('writers of one entry take turns, and its place stays', async (t) => {
    await Promise.all([put('a', 900), put('a', 901), put('a', 902)]);
    const { entries } = await history.page({ id: 'b', atMs: 500 }, 5);
    t.match(entries, [{ id: 'a', atMs: 500, value: { n: 4 } }]);
  });

  await t.test('one entry is changed, kept apart as seen, and found by its cause', async (t) => {
    await history.put({ id: 'x', atMs: 503 }, () => ({ state: 'one', cause: 'c', value: { n: 0 } }));
    const seen = (value: Value) => ({ state: 'one', cause: 'c', isSeen: true, value });
    t.match(await history.change('x', ({ value }) => seen({ n: value.n + 1 })), {
      id: 'x',
      atMs: 503,
      cause: 'c',
      isSeen: true,
      value: { n: 1 },
    });
    t.match(await history.change('x', () => null), { value: { n: 1 } }, 'left as it is');
    t.equal(await history.change('nobody', ({ value }) => seen(value)), null);
    t.equal((await history.page(null, 50, {})).entries.length, 7, 'and none was made');
    t.match(await history.page(null, 5, { isSeen: true }), { entries: [{ id: 'x' }], hasMore: false });
    t.match(await history.page(null, 1, { isSeen: false }), { entries: [{ id: 'later' }], hasMore: true });
    t.match(await history.page(null, 5, { cause: 'c', isSeen: true, states: ['one'] }), {
      entries: [{ id: 'x' }],
    });
    t.same((await history.page(null, 5, { cause: 'c', isSeen: false })).entries, []);
    await Promise.all([1, 2, 3].map(() => history.change('x', ({ value }) => seen({ n: value.n + 1 }))));
    t.match(await history.change('x', () => null), { value: { n: 4 } }, 'writers take turns');
    await store.apply([{ remove: { kind: 'alert', id: 'x' } }]);
  });

  await t.test('what is old goes, and what is too much', async (t) => {
    for (const [i, id] of ['f', 'g', 'h'].entries()) await put(id, 1_200 + i);
    await history.prune(1_300); // nothing is older than a second
    const all = await history.page(null, 50);
    t.same(
      all.entries.map(({ id }) => id),
      ['h', 'g', 'f', 'later', 'e', 'd'],
    );
    await history.prune(1_502);
    t.equal((await history.page(null, 50)).entries.length, 3);
  });
}

t.test('SQLite', async (t) => {
  const store = openSqliteItems<HistoryKind>({
    file: join(tempDir(t), 'history.db'),
    sharing: 'shared',
    threadName: 'history',
  });
  t.teardown(() => store.close());
  await behaves(t, store);
});

t.test('PostgreSQL', async (t) => {
  const { url } = await anyPostgres(t);
  const settings = settingsOf(url());
  const extensionTables = openExtensionTables(settings);
  t.teardown(() => extensionTables.close());
  await behaves(
    t,
    new PostgresItems<HistoryKind>(extensionTables, {
      schema: settings.schema,
      prefix: 'history',
      sharedKinds: [],
    }),
  );
});
