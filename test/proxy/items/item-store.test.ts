// The store of items on both databases: conflicts, all or nothing, filters, news.
import { DatabaseSync } from 'node:sqlite';
import { copyFileSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { PostgresItems } from '../../../proxy/items/postgres-items.ts';
import { openSqliteItems } from '../../../proxy/items/sqlite-store.ts';
import type { Item, ItemStore } from '../../../proxy/items/item-store.ts';
import { openExtensionTables } from '../../../proxy/spend/store/postgres/extension-tables.ts';
import { anyPostgres, settingsOf } from '../../support/postgres.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

const item = (id: string, more: Partial<Item> = {}): Item => ({
  kind: 'conversation',
  id,
  userId: 'u',
  createdMs: 1,
  updatedMs: 1,
  title: null,
  link: null,
  parent: null,
  body: '{}',
  sealed: null,
  revision: 0,
  ...more,
});

/** Opens a store on a place of its own; further calls with its place open the same data. */
type Open = (t: Test, place?: string) => { readonly store: ItemStore; readonly place: string };

const inFile =
  (sharing: 'own' | 'shared'): Open =>
  (t, place = join(tempDir(t), 'items.db')) => {
    const store = openSqliteItems({ file: place, sharing, threadName: 'items' });
    t.teardown(() => store.close());
    return { store, place };
  };

const onSqlite = inFile('own');

const onPostgres =
  (url: () => string): Open =>
  (t, place = url()) => {
    const settings = settingsOf(place);
    const extensionTables = openExtensionTables(settings);
    t.teardown(() => extensionTables.close());
    return {
      store: new PostgresItems(extensionTables, {
        schema: settings.schema,
        prefix: 'platform',
        sharedKinds: ['conversation'],
      }),
      place,
    };
  };

function behaves(t: Test, open: Open): void {
  t.test('a write on an old revision changes nothing, nor do the writes beside it', async (t) => {
    const { store } = open(t);
    t.equal(await store.apply([{ put: item('a') }]), 'applied');
    t.equal(await store.apply([{ put: item('a') }]), 'conflict', 'it is there already');
    t.equal(await store.apply([{ put: item('a', { title: 'x', revision: 1 }) }]), 'applied');
    t.equal(
      await store.apply([{ put: item('b') }, { put: item('a', { title: 'y', revision: 1 }) }]),
      'conflict',
    );
    t.match(await store.get('conversation', ['a', 'b', 'a']), [
      { title: 'x', revision: 2 },
      null,
      { title: 'x' },
    ]);
    await store.apply([{ remove: { kind: 'conversation', id: 'a' } }, { put: item('c') }]);
    t.match(await store.scan('conversation', '', 10), [{ id: 'c' }]);
    t.same(await store.scan('conversation', 'c', 10), []);
  });

  t.test('a write that counts on an item changes nothing once that item is another, or gone', async (t) => {
    const { store } = open(t);
    await store.apply([{ put: item('owner') }]);
    const owner = { kind: 'conversation', id: 'owner', revision: 1 } as const;
    t.equal(await store.apply([{ put: item('a') }], [owner]), 'applied');
    await store.apply([{ put: item('owner', { title: 'x', revision: 1 }) }]);
    t.equal(await store.apply([{ put: item('b') }], [owner]), 'conflict');
    t.equal(await store.apply([{ put: item('b') }], [{ ...owner, revision: 2 }]), 'applied');
    await store.apply([{ remove: { kind: 'conversation', id: 'owner' } }]);
    t.equal(await store.apply([{ put: item('c') }], [{ ...owner, revision: 2 }]), 'conflict');
    t.match(await store.get('conversation', ['a', 'b', 'c']), [{ id: 'a' }, { id: 'b' }, null]);
  });

  t.test('pages hold each item once, also of one time and of several users', async (t) => {
    const { store } = open(t);
    const items = Array.from({ length: 30 }, (_, n) =>
      item(`"${n}" é`, { userId: n % 3 === 0 ? '' : 'u', createdMs: (n * 7) % 4, body: `{"n":${n}}` }),
    );
    await store.apply([...items, item('other', { kind: 'sandbox' })].map((put) => ({ put })));
    const told = new Map<string, unknown>();
    for (let after = '', pages = 0; ; pages += 1) {
      const { text, count, last } = await store.page('conversation', after, 4);
      const rows = JSON.parse(text) as readonly (readonly [string, ...unknown[]])[];
      t.equal(rows.length, count);
      if (count === 0) {
        t.same([pages, last], [8, '']);
        break;
      }
      for (const [id, ...rest] of rows) told.set(id, rest);
      after = last;
    }
    t.same(told, new Map(items.map(({ id, createdMs, body }) => [id, [createdMs, 1, 1, JSON.parse(body)]])));
  });

  t.test('filters hold together, orders are whole, items of users do not mix', async (t) => {
    const { store } = open(t);
    const items = Array.from({ length: 30 }, (_, n) =>
      item(String(n).padStart(2, '0'), {
        userId: n % 3 === 0 ? 'other' : 'u',
        createdMs: 100 + (n >> 1),
        updatedMs: 200 - n,
        title: n % 2 === 0 ? `Even ${n}` : null,
        link: n % 5 === 0 ? 'box' : null,
        parent: n > 20 ? '01' : null,
      }),
    );
    await store.apply(items.map((put) => ({ put })));
    const mine = items.filter(({ userId }) => userId === 'u');
    const ids = async (
      more: object,
      order: 'created' | 'created_desc' | 'updated' | 'updated_desc' = 'created',
    ) =>
      (
        await store.search({ kind: 'conversation', userId: 'u', ...more }, { order, offset: 0, limit: 100 })
      ).map(({ id }) => id);
    t.same(
      await ids({}),
      mine.map(({ id }) => id),
    );
    t.same(await ids({}, 'created_desc'), mine.map(({ id }) => id).reverse());
    t.same(
      await ids({}, 'updated_desc'),
      mine.map(({ id }) => id),
    );
    t.same(await ids({ titleContains: 'EVEN 2' }), ['02', '20', '22', '26', '28']);
    t.same(await ids({ link: 'box', topLevel: true }), ['05', '10', '20']);
    t.same(await ids({ parents: ['01', '02'], createdFromMs: 113, createdBeforeMs: 114 }), ['26']);
    t.same(await ids({ updatedFromMs: 195, updatedBeforeMs: 199 }), ['02', '04', '05']);
    t.equal(await store.count({ kind: 'conversation', userId: 'u', titleContains: 'even 2' }), 5);
    t.equal(await store.count({ kind: 'conversation' }), 30);
  });

  t.test('parts of titles are found as they stand, whatever signs are in them', async (t) => {
    const { store, place } = open(t);
    const titles = [
      'Fix the build',
      '100% \\ "quoted" _x_',
      'Ünïcode ÄÖÜ',
      'ab',
      'A'.repeat(200),
      "it's; DROP TABLE",
      null,
    ];
    await store.apply(titles.map((title, n) => ({ put: item(String(n), { title }) })));
    const found = async (titleContains: string, of: ItemStore = store): Promise<string> => {
      const filter = { kind: 'conversation', userId: 'u', titleContains } as const;
      const items = await of.search(filter, { order: 'created', offset: 0, limit: 100 });
      t.equal(await of.count(filter), items.length, titleContains);
      return items.map(({ id }) => id).join();
    };
    const expected = {
      'the b': '0',
      'THE B': '0',
      '0% \\ "q': '1',
      '"quoted"': '1',
      _x_: '1',
      '%': '1',
      _: '1',
      'code äöü': '',
      'code ÄÖÜ': '2',
      ï: '2',
      a: '3,4,5',
      ab: '3,5',
      b: '0,3,5',
      AAAA: '4',
      "'s; drop": '5',
      'x y z': '',
      '   ': '',
    };
    for (const [part, ids] of Object.entries(expected)) t.equal(await found(part), ids, part);
    await store.apply([
      { put: item('0', { title: 'Break the build', revision: 1 }) },
      { put: item('1', { title: null, revision: 1 }) },
      { put: item('6', { title: 'quoted later', revision: 1 }) },
      { remove: { kind: 'conversation', id: '5' } },
    ]);
    t.equal(await found('Fix'), '');
    t.equal(await found('break the'), '0');
    t.equal(await found('quoted'), '6');
    t.equal(await found("'s; drop"), '');
    const many = Array.from({ length: 2_500 }, (_, n) => ({
      put: item(`many-${n}`, { title: `many ${n}`, createdMs: 10 + n }),
    }));
    await store.apply(many);
    t.equal(await store.count({ kind: 'conversation', userId: 'u', titleContains: 'many' }), 2_500);
    t.equal(await found('many 2499'), 'many-2499');
    t.equal(await found('break the', open(t, place).store), '0', 'also after a restart');
  });
}

t.test('SQLite', (t) => {
  behaves(t, onSqlite);
  t.test('shared by several processes', (t) => {
    behaves(t, inFile('shared'));
    t.end();
  });
  t.test('a file that is removed while it is in use: nothing is taken that would be lost', async (t) => {
    const { store, place } = inFile('shared')(t);
    t.equal(await store.apply([{ put: item('a') }]), 'applied');
    const parts = ['', '-wal', '-shm'].map((suffix) => place + suffix);
    for (const path of parts) renameSync(path, `${path}.away`);
    for (const id of ['b', 'c'])
      await t.rejects(store.apply([{ put: item(id) }]), {
        name: 'StoreUnavailable',
        message: /items\.db was removed while it was in use - put it back, or restart/,
      });
    t.notOk(existsSync(place), 'no empty one takes its place');
    for (const path of parts) renameSync(`${path}.away`, path);
    t.equal(await store.apply([{ put: item('d') }]), 'applied');
    t.match(await store.scan('conversation', '', 10), [{ id: 'a' }, { id: 'd' }]);
  });
  t.test('one that another process has opened since the start is not made anew by this one', async (t) => {
    const place = join(tempDir(t), 'items.db');
    const opened = new Set<string>();
    const open = (): ItemStore => {
      const store = openSqliteItems({ file: place, sharing: 'shared', threadName: 'items', opened });
      t.teardown(() => store.close());
      return store;
    };
    const [first, second] = [open(), open()];
    t.equal(await first.apply([{ put: item('a') }]), 'applied');
    t.same([...opened], [place]);
    await first.close();
    renameSync(place, `${place}.away`);
    await t.rejects(second.apply([{ put: item('b') }]), { message: /was removed while it was in use/ });
    t.notOk(existsSync(place));
    renameSync(`${place}.away`, place);
    t.match(await second.scan('conversation', '', 10), [{ id: 'a' }]);
  });
  t.test('another file that takes its place is read and written from then on', async (t) => {
    const { store, place } = onSqlite(t);
    const other = onSqlite(t);
    await store.apply([{ put: item('ours') }]);
    await other.store.apply([{ put: item('backup') }]);
    await other.store.close();
    for (const suffix of ['-wal', '-shm']) rmSync(place + suffix, { force: true });
    copyFileSync(other.place, `${place}.new`);
    renameSync(`${place}.new`, place);
    t.equal(await store.apply([{ put: item('later') }]), 'applied');
    t.match(await onSqlite(t, place).store.scan('conversation', '', 10), [{ id: 'backup' }, { id: 'later' }]);
  });
  t.test('nobody else reads the file, and nobody else writes to it', async (t) => {
    const { store, place } = onSqlite(t);
    t.equal(await store.news(null), null);
    t.equal(await store.count({ kind: 'meta' }), 0);
    t.equal(statSync(place).mode & 0o777, 0o600);
  });
  t.end();
});

t.test('PostgreSQL', async (t) => {
  const server = await anyPostgres(t);
  const open = onPostgres(() => server.url());
  behaves(t, open);

  const skip = server.real ? false : 'PGlite has one session for all';
  t.test(
    'replicas that start at once make the tables once, and one of two writers wins',
    { skip },
    async (t) => {
      const place = server.url();
      const stores = [1, 2, 3].map(() => open(t, place).store);
      const made = await Promise.all(stores.map((store, n) => store.apply([{ put: item(`own-${n}`) }])));
      t.same(made, ['applied', 'applied', 'applied']);
      const raced = stores.map((store, n) => store.apply([{ put: item('one', { title: `of ${n}` }) }]));
      t.same((await Promise.all(raced)).toSorted(), ['applied', 'conflict', 'conflict']);
      t.equal(await stores[0]?.count({ kind: 'conversation' }), 4);
    },
  );

  t.test('writers that meet wait for each other, and none is turned down', { skip }, async (t) => {
    const place = server.url();
    const stores = [1, 2, 3].map(() => open(t, place).store);
    const ends = stores.flatMap((store, n) =>
      Array.from({ length: 30 }, (_, round) => {
        const [a, b] = [`${(n + round) % 3}`, `${(n + 2 * round) % 3}`];
        if (round % 3 === 0) return store.apply([{ put: item(a) }, { put: item(`of-${n}-${round}`) }]);
        if (round % 3 === 1) return store.apply([{ remove: { kind: 'conversation', id: b } }]);
        return store.apply([{ put: item(b, { revision: 1 }) }]);
      }),
    );
    const tally = Map.groupBy(await Promise.all(ends), (end) => end);
    t.same([...tally.keys()].toSorted(), ['applied', 'conflict']);
  });

  t.test('news are what others changed since, removals included', async (t) => {
    const { store, place } = open(t);
    const other = open(t, place).store;
    await store.apply([{ put: item('a') }, { put: item('b', { link: 'box', body: '{"n":1}' }) }]);
    const begin = await other.news(null);
    t.match(begin, { stored: [], removed: [] });
    t.same(await other.news(begin?.number ?? -1), begin, 'nothing yet');
    await store.apply([{ put: item('a', { title: 'x', revision: 1 }) }, { put: item('c') }]);
    await store.apply([{ put: item('c') }]); // a conflict is no change
    await store.apply([{ put: item('s', { kind: 'settings' }) }]); // nobody remembers these
    await store.apply([{ remove: { kind: 'conversation', id: 'b' } }]);
    const news = await other.news(begin?.number ?? -1);
    t.same(news?.stored.map(({ id }) => id).toSorted(), ['a', 'c']);
    t.match(news?.removed, [{ kind: 'conversation', id: 'b', link: 'box', body: '{"n":1}' }]);
    t.match(await other.news(news?.number ?? -1), { stored: [], removed: [] });
  });

  t.test('what was removed is forgotten after a month, also while nobody starts anew', async (t) => {
    const { store, place } = open(t);
    const settings = settingsOf(place);
    const extensionTables = openExtensionTables(settings);
    t.teardown(() => extensionTables.close());
    const removed = `"${settings.schema}".platform_removed`;
    const ids = (prefix: string): string[] => Array.from({ length: 100 }, (_, i) => `${prefix}${i}`);
    const comeAndGo = async (all: readonly string[]): Promise<void> => {
      await store.apply(all.map((id) => ({ put: item(id) })));
      await store.apply(all.map((id) => ({ remove: { kind: 'conversation', id } })));
    };
    await comeAndGo(ids('old'));
    await extensionTables.transact([
      { text: `UPDATE ${removed} SET removed_at = removed_at - interval '31 days'`, values: [] },
    ]);
    await comeAndGo(ids('new'));
    await store.count({ kind: 'meta' }); // behind what was begun before, on one connection
    const left = await extensionTables.transact([{ text: `SELECT id FROM ${removed}`, values: [] }]);
    t.same(left?.[0]?.map(({ id }) => id).toSorted(), ids('new').toSorted());
  });

  t.test('a newer schema is refused, and a database that is away is said so', async (t) => {
    const { store, place } = open(t);
    await store.count({ kind: 'meta' });
    const settings = settingsOf(place);
    const extensionTables = openExtensionTables(settings);
    t.teardown(() => extensionTables.close());
    await extensionTables.transact([
      { text: `UPDATE "${settings.schema}".platform_version SET version = 99`, values: [] },
    ]);
    await t.rejects(open(t, place).store.count({ kind: 'meta' }), {
      name: 'StoreUnavailable',
      message: /\(platform_version\) has version 99, this version of Throughline knows \d+ - run the version/,
    });
    const away = open(t, 'postgresql://name:canary-word@127.0.0.1:1/x').store;
    await t.rejects(away.count({ kind: 'meta' }), {
      name: 'StoreUnavailable',
      message: /ECONNREFUSED/,
    });
  });
});

t.test('a database of the first version is brought to the newest with all it holds', async (t) => {
  const file = join(tempDir(t), 'platform.db');
  const db = new DatabaseSync(file);
  db.exec(`CREATE TABLE items (
     kind TEXT NOT NULL, id TEXT NOT NULL, user_id TEXT NOT NULL, created_ms INTEGER NOT NULL,
     updated_ms INTEGER NOT NULL, title TEXT, link TEXT, parent TEXT, body TEXT NOT NULL, sealed BLOB,
     revision INTEGER NOT NULL, PRIMARY KEY (kind, id)
   ) STRICT;
   CREATE INDEX items_created ON items (kind, user_id, created_ms, id, parent, title, link, updated_ms);
   CREATE INDEX items_updated ON items (kind, user_id, updated_ms, id);
   CREATE INDEX items_link ON items (kind, link) WHERE link IS NOT NULL;
   CREATE INDEX items_parent ON items (kind, parent) WHERE parent IS NOT NULL;
   INSERT INTO items VALUES ('conversation', 'a', 'u', 1, 2, 'An old title', 'box', NULL, '{"x":1}', x'00ff', 3);
   PRAGMA user_version = 1;`);
  db.close();
  const { store } = onSqlite(t, file);
  const whole = {
    title: 'An old title',
    link: 'box',
    body: '{"x":1}',
    sealed: new Uint8Array([0, 255]),
    revision: 3,
  };
  t.match(await store.get('conversation', ['a']), [whole]);
  t.equal(await store.count({ kind: 'conversation', titleContains: 'old t' }), 1);
});

t.test('a database that is none is said so, and mended without a restart', async (t) => {
  const file = join(tempDir(t), 'platform.db');
  writeFileSync(file, 'this is no database, it is a text of some length');
  const store = openSqliteItems({ file, sharing: 'own', threadName: 'items' });
  t.teardown(() => store.close());
  await t.rejects(store.count({ kind: 'conversation' }), {
    name: 'StoreUnavailable',
    message: /^the database .*platform\.db cannot be used: file is not a database - see that it is whole/,
  });
  writeFileSync(file, '');
  t.equal(await store.count({ kind: 'conversation' }), 0);
  await store.close();
  await t.rejects(store.count({ kind: 'conversation' }), /closed/);
});
