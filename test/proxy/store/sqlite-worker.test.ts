// The embedded store's own: its file, its damage, its older versions. What all stores do is in store.test.ts.
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { NEWEST, sqliteBench } from './fixture/benches.ts';

t.test('runtime models survive, keep their order, and never stand in a file as text', async (t) => {
  const bench = sqliteBench(t);
  const canary = 'sk-canary-4f1d2c';
  const first = bench.open();
  t.same(await first.listModels(), []);
  await first.putModel('m-1', { model_name: 'a', litellm_params: { api_key: canary } });
  await first.putModel('m-2', { model_name: 'b', litellm_params: { api_key: `${canary}2` } });
  await first.putModel('m-1', { model_name: 'a2', litellm_params: { api_key: canary } });
  const files = (): string[] => readdirSync(bench.dir).filter((name) => name.startsWith('throughline.db'));
  const clean = (): boolean =>
    files().every((name) => !readFileSync(join(bench.dir, name)).includes('canary'));
  t.ok(files().length >= 2, 'the write-ahead log is looked at, too');
  t.ok(clean());
  await first.close();
  t.ok(clean());
  const second = bench.open();
  const expected = [
    { id: 'm-1', entry: { model_name: 'a2', litellm_params: { api_key: canary } } },
    { id: 'm-2', entry: { model_name: 'b', litellm_params: { api_key: `${canary}2` } } },
  ];
  t.same(await second.listModels(), expected);
  t.equal(await second.deleteModel('m-1'), true);
  t.equal(await second.deleteModel('m-1'), false);
  t.same(await second.listModels(), expected.slice(1));
  t.equal(statSync(bench.file).mode & 0o077, 0, 'only the owner reads the file');
});

t.test(
  'a damaged database is moved aside with a word, models are saved, and rows are taken over again',
  async (t) => {
    const bench = sqliteBench(t);
    const first = bench.open();
    await first.putModel('m-1', { model_name: 'a' });
    await first.ship(bench.append(...Array.from({ length: 200 }, (_, n) => settleOf(beginOf(`id-${n}`)))));
    await first.close();
    const db = new DatabaseSync(bench.file);
    const page = Number(
      db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'spend'").get()?.['rootpage'],
    );
    db.close();
    const bytes = readFileSync(bench.file);
    bytes.fill(0xaa, (page - 1) * 4096, page * 4096);
    writeFileSync(bench.file, bytes);

    const second = bench.open();
    await t.rejects(second.query({}, NEWEST), { name: 'StoreUnavailable', message: /malformed/ });
    t.match(bench.events, [
      { level: 'error', name: 'store_moved_aside', message: /models were copied.*sqlite3 .* \.recover/ },
    ]);
    t.ok(readdirSync(bench.dir).some((name) => /^throughline\.db\.damaged-[-0-9TZ]+$/.test(name)));
    t.match(await second.ship(bench.append()), { rows: 200 });
    t.equal((await second.query({}, NEWEST)).total, 200);
    t.match(await second.listModels(), [{ id: 'm-1', entry: { model_name: 'a' } }]);
  },
);

t.test('a file that is no database is moved aside, too', async (t) => {
  const bench = sqliteBench(t);
  writeFileSync(bench.file, 'no database at all '.repeat(500));
  const store = bench.open();
  await t.rejects(store.ship(bench.append(settleOf(beginOf('id-1')))), {
    trouble: 'unavailable',
    message: /cannot be used/,
  });
  t.match(await store.ship(bench.append()), { rows: 1 });
  t.match(bench.events, [{ name: 'store_moved_aside', message: /models could not be read/ }]);
});

t.test(
  'a database that was deleted under the running store is made anew and filled from the journal',
  async (t) => {
    const bench = sqliteBench(t);
    const store = bench.open();
    await store.ship(bench.append(settleOf(beginOf('id-1'))));
    for (const suffix of ['', '-wal', '-shm']) rmSync(bench.file + suffix, { force: true });
    t.match(await store.ship(bench.append(settleOf(beginOf('id-2')))), { rows: 2 });
    t.ok(existsSync(bench.file));
    t.same(bench.events, []);
  },
);

t.test('a database of a newer version is left alone', async (t) => {
  const bench = sqliteBench(t);
  const db = new DatabaseSync(bench.file);
  db.exec('PRAGMA user_version = 99');
  db.close();
  await t.rejects(bench.open().query({}, NEWEST), {
    message: /schema 99, this version of Throughline knows 1/,
  });
});
