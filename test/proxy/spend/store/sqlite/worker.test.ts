// The embedded store's own: its file, its damage, its older versions. What all stores do is in store.test.ts.
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { beginOf, settleOf } from '../../record/fixture/records.ts';
import { NEWEST, sqliteBench } from '../fixture/benches.ts';
import { EARLIER_ROWS, earlierRowsStay } from '../fixture/earlier-rows.ts';

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
      { level: 'error', name: 'store_moved_aside', message: /models were copied.*sqlite3 .* \.dump/ },
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
    code: 'unavailable',
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
    t.match(bench.events, [
      {
        level: 'error',
        name: 'store_removed',
        message: /was removed or replaced .* put that one or a backup back/,
      },
    ]);
    t.equal(bench.events.length, 1);
  },
);

t.test('a database of a newer version is left alone', async (t) => {
  const bench = sqliteBench(t);
  const db = new DatabaseSync(bench.file);
  db.exec('PRAGMA user_version = 99');
  db.close();
  await t.rejects(bench.open().query({}, NEWEST), {
    message: /schema 99, this version of Throughline knows \d+/,
  });
});

const FIRST_SCHEMA = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB) STRICT, WITHOUT ROWID;
  CREATE TABLE cursor (journal_id TEXT PRIMARY KEY, segment INTEGER, offset INTEGER) STRICT, WITHOUT ROWID;
  CREATE TABLE models (id TEXT PRIMARY KEY, sealed BLOB, created_ms INTEGER, updated_ms INTEGER) STRICT;
  CREATE TABLE spend (
    request_id TEXT PRIMARY KEY, call_type TEXT, start_ms INTEGER, end_ms INTEGER, first_byte_ms INTEGER,
    api_key TEXT, model TEXT, model_group TEXT, model_id TEXT, provider TEXT, api_base TEXT,
    session_id TEXT, session_key TEXT, session_source TEXT, end_user TEXT, tags TEXT,
    spend_logs_metadata TEXT, client_call_id TEXT, client_address TEXT, user_agent TEXT, stream INTEGER,
    request_bytes INTEGER, response_bytes INTEGER, warnings TEXT, status TEXT, end_reason TEXT,
    http_status INTEGER, error_code TEXT, error_source TEXT, attempts INTEGER, upstream_id TEXT,
    upstream_call_id TEXT, usage TEXT, usage_source TEXT, prompt_tokens INTEGER, completion_tokens INTEGER,
    total_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER,
    spend_pico INTEGER, cost_source TEXT, cost_reason TEXT
  ) STRICT;
  CREATE INDEX spend_start ON spend (start_ms, request_id);
  CREATE INDEX spend_session ON spend (session_key, start_ms);
  CREATE INDEX spend_end_user ON spend (end_user, start_ms);
  CREATE INDEX spend_api_key ON spend (api_key, start_ms);
  CREATE INDEX spend_upstream ON spend (upstream_id) WHERE upstream_id IS NOT NULL;
  INSERT INTO cursor VALUES ('journal-1', 1, 0);
  PRAGMA user_version = 1;`;

t.test(
  'a database of version 0.1.0 is brought forward: rows, positions, and daily sums of all rows',
  async (t) => {
    const bench = sqliteBench(t);
    const db = new DatabaseSync(bench.file);
    db.exec(FIRST_SCHEMA);
    const put = db.prepare(
      `INSERT INTO spend (request_id, start_ms, model, tags, prompt_tokens, completion_tokens, spend_pico, status)
     VALUES (?, ?, 'old', '["x"]', 2, 3, ?, 'success')`,
    );
    db.exec('BEGIN');
    for (let n = 0; n < 9_000; n += 1) put.run(`old-${n}`, 1_760_000_000_000 + n, n);
    db.exec('COMMIT');
    db.close();
    const store = bench.open();
    t.match(await store.ship(bench.append(settleOf(beginOf('new')))), { rows: 1 });
    const [old] = await store.activity({ model: ['old'] }, ['model'], 10);
    t.match(old?.sums, { requests: 9_000, totalTokens: 45_000, spendPico: 40_495_500n });
    t.equal((await store.activity({ tag: ['x'] }, [], 10))[0]?.sums.requests, 9_000);
    t.equal((await store.query({}, NEWEST)).total, 9_001);
  },
);

t.test('rows from before rows said their organization: their sums stay, apart', async (t) => {
  const bench = sqliteBench(t);
  const store = bench.open();
  await store.ship(bench.append(...EARLIER_ROWS));
  await store.close();
  const db = new DatabaseSync(bench.file);
  db.exec(`DELETE FROM spend_daily WHERE axis IN ('organization', 'earlier');
    DROP INDEX spend_daily_organization;
    ALTER TABLE spend DROP COLUMN organization_id;
    PRAGMA user_version = 7`);
  db.close();
  await earlierRowsStay(t, bench);
});
