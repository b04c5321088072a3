// The embedded store through its interface, with the real worker and real files.
import {
  appendFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import type { Test } from 'tap';
import { Secret } from '../../../config/secret.ts';
import { beginLine, settleLine } from '../../../proxy/record/line.ts';
import type { SpendRecord } from '../../../proxy/record/record.ts';
import { segmentPath } from '../../../proxy/store/segments.ts';
import { SqliteStore } from '../../../proxy/store/sqlite-store.ts';
import type { SpendFilter, StoreEvent } from '../../../proxy/store/store.ts';
import { NO_TOKENS } from '../../../proxy/wire/usage.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { tempDir } from './fixture/temp-dir.ts';

const DAY_MS = 86_400_000;
const NEWEST = { page: 1, pageSize: 100, order: 'newest' } as const;

interface Bench {
  readonly dir: string;
  readonly file: string;
  readonly events: StoreEvent[];
  open(saltKey?: string | null, journalId?: string): SqliteStore;
  /** Appends to segment 1 and returns its end. */
  append(...records: readonly SpendRecord[]): { segment: number; offset: number };
}

function benchOf(t: Test): Bench {
  const dir = tempDir(t);
  const file = join(dir, 'throughline.db');
  const events: StoreEvent[] = [];
  return {
    dir,
    file,
    events,
    open(saltKey = 'salt-key', journalId = 'journal-1') {
      const store = new SqliteStore({
        file,
        journal: { dir, id: journalId },
        saltKey: saltKey === null ? null : new Secret(saltKey),
        onEvent: (event) => events.push(event),
      });
      t.teardown(() => store.close());
      return store;
    },
    append(...records) {
      for (const record of records)
        appendFileSync(segmentPath(dir, 1), beginLine(record) + settleLine(record));
      return { segment: 1, offset: statSync(segmentPath(dir, 1)).size };
    },
  };
}

t.test('a record is read back from the store exactly as it was journalled', async (t) => {
  const bench = benchOf(t);
  const store = bench.open();
  const full = settleOf(beginOf('id-1', { warnings: ['doubtful'], clientCallId: 'theirs' }), {
    errorCode: 'x',
    errorSource: 'client',
    tokens: { prompt: 1, completion: 2, total: 3, cacheRead: 4, cacheWrite: 5, reasoning: 6 },
  });
  const { tags: _tags, ...withoutTags } = settleOf(beginOf('id-2', { startMs: full.startMs - 1 }));
  const end = bench.append(full, {
    ...withoutTags,
    spendLogsMetadata: null,
    usage: null,
  } as unknown as SpendRecord);
  t.same(await store.ship(end), { position: end, rows: 2, damaged: 0 });
  const { rows, total } = await store.query({}, NEWEST);
  t.equal(total, 2);
  t.same(rows[0], full);
  t.match(rows[1], { requestId: 'id-2', tags: [], spendLogsMetadata: null, usage: null });
});

t.test(
  'what was shipped is not shipped again, after a restart neither, and a replayed line is no second row',
  async (t) => {
    const bench = benchOf(t);
    const first = bench.open();
    const record = settleOf(beginOf('id-1'));
    t.equal((await first.ship(bench.append(record))).rows, 1);
    t.equal((await first.ship(bench.append(record))).rows, 0);
    await first.close();
    const second = bench.open();
    t.equal((await second.ship(bench.append(settleOf(beginOf('id-2'))))).rows, 1);
    await second.close();
    const replay = bench.open('salt-key', 'another-journal-id');
    const end = bench.append();
    t.same(await replay.ship(end), { position: end, rows: 0, damaged: 0 });
    t.equal((await replay.query({}, NEWEST)).total, 2);
  },
);

t.test(
  'segments are shipped one after the other, missing ones skipped, damaged lines set aside',
  async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    const line = (id: string): string => settleLine(settleOf(beginOf(id)));
    writeFileSync(
      segmentPath(bench.dir, 3),
      `${line('a')}S 00000000 {"requestId":"bad"}\n\n\n${line('b')}torn piece`,
    );
    writeFileSync(segmentPath(bench.dir, 7), line('c'));
    writeFileSync(segmentPath(bench.dir, 8), `${line('d')}${line('e')}`);
    const to = { segment: 8, offset: line('d').length + 5 };
    const shipped = await store.ship({ ...to, offset: Buffer.byteLength(line('d')) + 5 });
    t.match(shipped, { rows: 4, damaged: 2, position: { segment: 8, offset: Buffer.byteLength(line('d')) } });
    const ids = (await store.query({}, { ...NEWEST, order: 'oldest' })).rows.map((row) => row.requestId);
    t.same(ids, ['a', 'b', 'c', 'd']);
    t.equal(
      readFileSync(join(bench.dir, 'damaged.log'), 'utf8'),
      'S 00000000 {"requestId":"bad"}\ntorn piece\n',
    );
  },
);

t.test('rows are found by every filter, bound and not spliced', async (t) => {
  const bench = benchOf(t);
  const store = bench.open();
  const start = 1_760_000_000_000;
  const one = settleOf(beginOf('id-1'));
  const two = settleOf(
    beginOf('id-2', {
      startMs: start + 10,
      apiKeyHash: 'b'.repeat(64),
      sessionId: 'plain session',
      endUser: "bob' OR 1=1 --",
      model: 'other',
      modelGroup: 'fast',
      tags: ['team:"red"'],
      callType: 'aembedding',
    }),
    { status: 'failure', spendPico: 5_000 },
  );
  const three = settleOf(beginOf('id-3', { startMs: start + 20, endUser: null }), { spendPico: null });
  await store.ship(bench.append(one, two, three));
  const cases: readonly (readonly [SpendFilter, string])[] = [
    [{}, '321'],
    [{ requestId: 'id-2' }, '2'],
    [{ apiKeyHash: 'b'.repeat(64) }, '2'],
    [{ sessionId: '0F8FAD5BD9CB469FA16570867728950E' }, '31'],
    [{ sessionId: '0f8fad5b-d9cb-469f-a165-70867728950e' }, '31'],
    [{ sessionId: 'plain session' }, '2'],
    [{ sessionId: 'plainsession' }, ''],
    [{ endUser: 'alice' }, '1'],
    [{ endUser: "bob' OR 1=1 --" }, '2'],
    [{ endUser: "' OR 1=1 --" }, ''],
    [{ user: '' }, '321'],
    [{ user: 'somebody' }, ''],
    [{ model: 'other' }, '2'],
    [{ modelGroup: 'smart' }, '31'],
    [{ status: 'failure' }, '2'],
    [{ startMs: start + 10 }, '32'],
    [{ endMs: start + 10 }, '1'],
    [{ startMs: start, endMs: start + 11 }, '21'],
    [{ minSpendPico: 5_001 }, '1'],
    [{ minSpendPico: 5_000, maxSpendPico: 5_000 }, '2'],
    [{ tag: 'team:"red"' }, '2'],
    [{ tag: 'team' }, ''],
    [{ callType: 'aembedding', status: 'failure', model: 'other' }, '2'],
    [{ callType: 'aembedding', status: 'success' }, ''],
  ];
  for (const [filter, expected] of cases) {
    const { rows, total } = await store.query(filter, NEWEST);
    t.equal(rows.map((row) => row.requestId.slice(3)).join(''), expected, JSON.stringify(filter));
    t.equal(total, expected.length);
  }
});

t.test('pages hold each row once, in both orders, and tell the total', async (t) => {
  const bench = benchOf(t);
  const store = bench.open();
  const ids = Array.from({ length: 25 }, (_, n) => `id-${String(n).padStart(2, '0')}`);
  await store.ship(bench.append(...ids.map((id) => settleOf(beginOf(id))))); // all in the same millisecond
  const seen: string[] = [];
  for (const page of [1, 2, 3, 4]) {
    const { rows, total } = await store.query({}, { page, pageSize: 10, order: 'oldest' });
    t.equal(total, 25);
    seen.push(...rows.map((row) => row.requestId));
  }
  t.same(seen, ids);
  t.equal((await store.query({}, NEWEST)).rows[0]?.requestId, 'id-24');
});

t.test('days are summed exactly, beyond what a double counts', async (t) => {
  const bench = benchOf(t);
  const store = bench.open();
  const huge = Number.MAX_SAFE_INTEGER;
  const midnight = Math.floor(1_760_000_000_000 / DAY_MS) * DAY_MS;
  await store.ship(
    bench.append(
      settleOf(beginOf('1', { startMs: midnight - 1 }), { spendPico: 7 }),
      settleOf(beginOf('2', { startMs: midnight }), { spendPico: huge }),
      settleOf(beginOf('3', { startMs: midnight + 1, model: 'm2' }), { spendPico: huge }),
      settleOf(beginOf('4', { startMs: midnight + 2, endUser: null, apiKeyHash: '' }), { spendPico: null }),
    ),
  );
  const sum = BigInt(huge) * 2n;
  t.same(await store.summarize({ endMs: midnight + DAY_MS }), [
    {
      day: '2025-10-08',
      requests: 1,
      spendPico: 7n,
      byModel: { 'gpt-4.1': 7n },
      byEndUser: { alice: 7n },
      byApiKey: { ['a'.repeat(64)]: 7n },
    },
    {
      day: '2025-10-09',
      requests: 3,
      spendPico: sum,
      byModel: { 'gpt-4.1': BigInt(huge), m2: BigInt(huge) },
      byEndUser: { alice: sum, '': 0n },
      byApiKey: { ['a'.repeat(64)]: sum, '': 0n },
    },
  ]);
});

t.test('the maker of an upstream object is found by its id, the newest first', async (t) => {
  const bench = benchOf(t);
  const store = bench.open();
  await store.ship(
    bench.append(
      settleOf(beginOf('2', { startMs: 2000, modelId: 'new' }), { upstreamId: 'resp_1' }),
      settleOf(beginOf('1', { startMs: 1000, modelId: 'old' }), { upstreamId: 'resp_1' }),
    ),
  );
  t.same(await store.findByUpstreamId('resp_1'), {
    modelId: 'new',
    modelGroup: 'smart',
    model: 'gpt-4.1',
  });
  t.equal(await store.findByUpstreamId('resp_2'), null);
});

t.test(
  'sessions are summed in the order that was asked for, whatever the spelling of their ids',
  async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    const one = '0f8fad5b-d9cb-469f-a165-70867728950e';
    await store.ship(
      bench.append(
        settleOf(beginOf('1', { startMs: 2000, modelGroup: 'newer' }), {
          upstreamId: 'u-1',
          spendPico: 9_007_199_254_740_991,
        }),
        settleOf(beginOf('2', { startMs: 1000, modelGroup: 'older' }), {
          upstreamId: 'u-2',
          spendPico: 9_007_199_254_740_991,
        }),
        settleOf(beginOf('3', { startMs: 1500 }), { spendPico: null, tokens: NO_TOKENS }),
        settleOf(beginOf('4', { sessionId: 'two' })),
      ),
    );
    const sums = {
      calls: 3,
      spendPico: 2n * 9_007_199_254_740_991n,
      promptTokens: 200,
      completionTokens: 40,
      cacheReadTokens: 60,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      last: { modelGroup: 'newer', tokens: 120, upstreamId: 'u-1' },
    };
    const [none, first, second] = await store.totals([
      'nobody',
      one.replaceAll('-', '').toUpperCase(),
      'two',
    ]);
    t.equal(none, null);
    t.strictSame(first, sums);
    t.match(second, { calls: 1, promptTokens: 100 });
    t.same(await store.totals([]), []);
  },
);

t.test('runtime models survive, keep their order, and never stand in a file as text', async (t) => {
  const bench = benchOf(t);
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

t.test('another key is told from damage and from no key, and nothing is stored under it', async (t) => {
  const bench = benchOf(t);
  const first = bench.open('right key');
  await first.putModel('m-1', { model_name: 'a' });
  await first.close();
  const wrong = bench.open('wrong key');
  const refusal = {
    name: 'StoreUnavailable',
    trouble: 'wrong_salt_key',
    message: /encrypted with another key - set LITELLM_SALT_KEY to/,
  };
  await t.rejects(wrong.listModels(), refusal);
  await t.rejects(wrong.putModel('m-2', {}), refusal);
  t.equal((await wrong.query({}, NEWEST)).total, 0, 'rows need no key');
  await wrong.close();
  const none = bench.open(null);
  await t.rejects(none.listModels(), {
    trouble: 'no_salt_key',
    message: /set LITELLM_SALT_KEY or a master key/,
  });
  await none.close();
  const db = new DatabaseSync(bench.file);
  db.exec("INSERT INTO models SELECT 'm-9', sealed, 0, 0 FROM models");
  db.close();
  await t.rejects(bench.open('right key').listModels(), {
    message: /the stored model m-9 cannot be decrypted/,
  });
});

t.test(
  'a damaged database is moved aside with a word, models are saved, and rows are taken over again',
  async (t) => {
    const bench = benchOf(t);
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
  const bench = benchOf(t);
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
    const bench = benchOf(t);
    const store = bench.open();
    await store.ship(bench.append(settleOf(beginOf('id-1'))));
    for (const suffix of ['', '-wal', '-shm']) rmSync(bench.file + suffix, { force: true });
    t.match(await store.ship(bench.append(settleOf(beginOf('id-2')))), { rows: 2 });
    t.ok(existsSync(bench.file));
    t.same(bench.events, []);
  },
);

t.test('a database of a newer version is left alone', async (t) => {
  const bench = benchOf(t);
  const db = new DatabaseSync(bench.file);
  db.exec('PRAGMA user_version = 99');
  db.close();
  await t.rejects(bench.open().query({}, NEWEST), {
    message: /schema 99, this version of Throughline knows 1/,
  });
});

t.test('a closed store refuses, and closing twice is one closing', async (t) => {
  const store = benchOf(t).open();
  await store.query({}, NEWEST);
  await store.close();
  await store.close();
  await t.rejects(store.listModels(), { name: 'StoreUnavailable' });
});
