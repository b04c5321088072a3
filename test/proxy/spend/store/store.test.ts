// What every store does, through its interface, with the real worker and real databases: the same tests on both.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import type { Test } from 'tap';
import { settleLine } from '../../../../proxy/spend/record/line.ts';
import { wasUnderWay } from '../../../../proxy/spend/store/under-way.ts';
import type { SpendRecord } from '../../../../proxy/spend/record/record.ts';
import { segmentPath, type Position } from '../../../../proxy/spend/store/segments.ts';
import type {
  Activity,
  Facet,
  SpendFilter,
  SpentColumn,
  SpentQuery,
} from '../../../../proxy/spend/store/store.ts';
import { runs } from '../../../support/runs.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { anyPostgres } from '../../../support/postgres.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { NEWEST, postgresBench, sqliteBench, type Bench } from './fixture/benches.ts';
import { NO_TOKENS } from '../../../../proxy/protocols/usage.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2025-10-09T00:00:00Z');

t.test('SQLite', (t) => suiteOn(t, sqliteBench));

t.test('PostgreSQL', async (t) => {
  const server = await anyPostgres(t);
  return suiteOn(t, (t) => postgresBench(t, server.url()));
});

async function suiteOn(suite: Test, benchOf: (t: Test) => Bench): Promise<void> {
  suite.test('what was spent since any moment is the sum of the rows, by every column', async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    const random = seededRandom(7);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const records = Array.from({ length: 300 }, (_, i) =>
      settleOf(
        beginOf(`id-${i}`, {
          startMs: START_MS + Math.floor(random() * 4 * DAY_MS),
          apiKeyHash: pick(['k1', 'k2']),
          teamId: pick(['blue', 'red', null]),
          ...pick([{ organizationId: 'east' }, { organizationId: 'west' }, { organizationId: null }, {}]),
          userId: pick(['ann', 'bob', null]),
          endUser: pick(['e1', null]),
          modelGroup: pick(['smart', 'small']),
          modelId: pick(['d1', 'd2']),
          profile: pick(['p', null]),
          sessionId: pick(['0f8fad5b-d9cb-469f-a165-70867728950e', 'plain']),
          tags: pick([[], ['x'], ['x', 'y']]),
        }),
        { spendPico: pick([null, 0, 1, 999_999_999_999, 9_007_199_254_740_991]) },
      ),
    ).map((record) => ({
      ...record,
      endMs: record.startMs + Math.floor(random() * 1.2 * DAY_MS),
      endReason: pick(['complete', 'interrupted'] as const),
    }));
    await store.ship(bench.append(...records));
    const columns: Readonly<Record<SpentColumn, (record: SpendRecord) => readonly string[]>> = {
      apiKeyHash: (r) => [r.apiKeyHash],
      team: (r) => [r.teamId ?? ''],
      organization: ({ organizationId }) => (typeof organizationId === 'string' ? [organizationId] : []),
      user: (r) => [r.userId ?? ''],
      endUser: (r) => [r.endUser ?? ''],
      modelGroup: (r) => [r.modelGroup],
      provider: (r) => [r.provider ?? ''],
      tag: (r) => r.tags,
      deployment: (r) => [r.modelId ?? ''],
      profile: (r) => [r.profile ?? ''],
      session: (r) => [r.sessionId.replaceAll('-', '')],
    };
    const sumsOf = ({ by, ids, sinceMs, underWay, earlier }: SpentQuery): Record<string, string> => {
      const sums = new Map<string, bigint>();
      const isSince = (one: SpendRecord): boolean =>
        one.startMs >= sinceMs || (underWay === true && wasUnderWay(one, sinceMs));
      const isAsked = (one: SpendRecord): boolean =>
        isSince(one) && (earlier !== true || one.organizationId === undefined);
      for (const record of records.filter(isAsked)) {
        const groups = by.reduce<string[][]>(
          (all, column) => all.flatMap((group) => columns[column](record).map((value) => [...group, value])),
          [[]],
        );
        for (const group of groups)
          if (ids?.includes(group[0] ?? '') ?? true)
            sums.set(group.join('|'), (sums.get(group.join('|')) ?? 0n) + BigInt(record.spendPico ?? 0));
      }
      return Object.fromEntries(Array.from(sums, ([group, pico]) => [group, String(pico)]));
    };
    const starts = [0, START_MS, START_MS + DAY_MS + 1, START_MS + 2.5 * DAY_MS, START_MS + 9 * DAY_MS];
    const queries: SpentQuery[] = starts.flatMap((sinceMs): SpentQuery[] => [
      ...Object.keys(columns).map((column) => ({ by: [column as SpentColumn], ids: null, sinceMs })),
      { by: ['apiKeyHash'], ids: ['k2'], sinceMs },
      { by: ['tag'], ids: ['y', 'none'], sinceMs },
      { by: ['session'], ids: ['0F8FAD5BD9CB469FA16570867728950E'], sinceMs },
      { by: ['team', 'user'], ids: ['blue'], sinceMs },
      { by: ['organization'], ids: ['west', 'none'], sinceMs },
      { by: ['organization', 'modelGroup'], ids: ['east'], sinceMs },
      { by: ['team', 'apiKeyHash'], ids: null, sinceMs, earlier: true },
      { by: ['apiKeyHash', 'modelGroup'], ids: ['k1'], sinceMs },
      ...Object.keys(columns).map((column): SpentQuery => {
        return { by: [column as SpentColumn], ids: null, sinceMs, underWay: true };
      }),
      { by: ['tag'], ids: ['y', 'none'], sinceMs, underWay: true },
    ]);
    const answers = await store.spentSince(queries);
    for (const [i, query] of queries.entries()) {
      const found = (answers[i] ?? []).map(({ values, pico }) => [values.join('|'), String(pico)]);
      const asked =
        query.by[0] === 'session' && query.ids !== null
          ? { ...query, ids: ['0f8fad5bd9cb469fa16570867728950e'] }
          : query;
      t.same(Object.fromEntries(found), sumsOf(asked), JSON.stringify(query));
    }
    const many = [...Array.from({ length: 29_999 }, (_, n) => `none ${n}`), 'k1']; // as a start asks for its keys
    const [ofMany, ofOne] = await store.spentSince(
      [many, ['k1']].map((ids): SpentQuery => ({ by: ['apiKeyHash'], ids, sinceMs: 1 })),
    );
    t.same(ofMany, ofOne);
    t.equal(ofOne?.length, 1);
    const [all = []] = await store.spentSince([{ by: [], ids: null, sinceMs: 0 }]);
    t.equal(
      all[0]?.pico,
      records.reduce((sum, { spendPico }) => sum + BigInt(spendPico ?? 0), 0n),
    );
  });

  suite.test('a record is read back from the store exactly as it was journalled', async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    const full = settleOf(beginOf('id-1', { warnings: ['doubtful'], clientCallId: 'theirs' }), {
      errorCode: 'x',
      errorSource: 'client',
      tokens: {
        prompt: 1,
        completion: 2,
        total: 3,
        cacheRead: 4,
        cacheWrite: 5,
        reasoning: 6,
        cacheWrite1h: 7,
        inputAudio: 8,
        outputAudio: 9,
        inputImage: 10,
        outputImage: 11,
      },
      estimatedBy: 'o200k_base',
      usageSource: 'estimate',
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

  suite.test(
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

  suite.test(
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
      t.match(shipped, {
        rows: 4,
        damaged: 2,
        position: { segment: 8, offset: Buffer.byteLength(line('d')) },
      });
      const ids = (await store.query({}, { ...NEWEST, order: 'oldest' })).rows.map((row) => row.requestId);
      t.same(ids, ['a', 'b', 'c', 'd']);
      t.equal(
        readFileSync(join(bench.dir, 'damaged.log'), 'utf8'),
        'S 00000000 {"requestId":"bad"}\ntorn piece\n',
      );
    },
  );

  suite.test('a directory that is restored from an older state is shipped from its beginning', async (t) => {
    const bench = benchOf(t);
    const first = bench.open();
    const write = (segment: number, ...ids: readonly string[]): Position => {
      const text = ids.map((id) => settleLine(settleOf(beginOf(id)))).join('');
      writeFileSync(segmentPath(bench.dir, segment), text);
      return { segment, offset: Buffer.byteLength(text) };
    };
    await first.ship(write(1, 'a', 'b'));
    t.equal((await first.ship(write(4, 'c', 'd', 'e'))).rows, 3);
    await first.close();
    rmSync(segmentPath(bench.dir, 4)); // what was written since the copy is not in it
    const second = bench.open();
    t.equal((await second.ship({ segment: 2, offset: 0 })).rows, 0);
    const end = write(2, 'f', 'g');
    t.same(await second.ship(end), { position: end, rows: 2, damaged: 0 });
    t.equal((await second.query({}, NEWEST)).total, 7, 'and no row is there twice');
    await second.close();
    t.equal((await bench.open().ship(write(3, 'h'))).rows, 1);
  });

  suite.test('rows are found by every filter, bound and not spliced', async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    const start = 1_760_000_000_000;
    const nobody = { teamId: null, userId: null };
    const one = settleOf(beginOf('id-1', nobody));
    const two = settleOf(
      beginOf('id-2', {
        ...nobody,
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
    const three = settleOf(
      beginOf('id-3', { startMs: start + 20, endUser: null, teamId: 't-1', userId: 'u-1' }),
      { spendPico: null },
    );
    await store.ship(bench.append(one, two, three));
    const cases: readonly (readonly [SpendFilter, string])[] = [
      [{}, '321'],
      [{ requestId: 'id-2' }, '2'],
      [{ requestIds: ['id-1', 'id-3', 'id-4', "' OR 1=1 --"] }, '31'],
      [{ requestIds: [] }, ''],
      [{ apiKeyHash: 'b'.repeat(64) }, '2'],
      [{ sessionId: '0F8FAD5BD9CB469FA16570867728950E' }, '31'],
      [{ sessionId: '0f8fad5b-d9cb-469f-a165-70867728950e' }, '31'],
      [{ sessionId: 'plain session' }, '2'],
      [{ sessionId: 'plainsession' }, ''],
      [{ endUser: 'alice' }, '1'],
      [{ endUser: "bob' OR 1=1 --" }, '2'],
      [{ endUser: "' OR 1=1 --" }, ''],
      [{ user: '' }, '21'],
      [{ user: 'somebody' }, ''],
      [{ user: 'u-1', team: 't-1' }, '3'],
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

  suite.test('pages hold each row once, in both orders, and tell the total', async (t) => {
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
    const whole = await store.query({}, { page: 1, pageSize: 25, order: 'oldest' });
    t.equal(whole.total, 25, 'also where the last page is full');
    const uncounted = await store.query({}, { page: 1, pageSize: 10, order: 'oldest', counts: false });
    t.equal(uncounted.total, 10, 'where nobody asks, nothing is counted');
    for (const order of ['oldest', 'newest'] as const) {
      const after: string[] = [];
      let last: SpendRecord | undefined;
      do {
        const place = last === undefined ? {} : { after: last };
        const { rows } = await store.query({}, { page: 1, pageSize: 10, order, counts: false, ...place });
        after.push(...rows.map((row) => row.requestId));
        last = rows.length === 10 ? rows.at(-1) : undefined;
      } while (last !== undefined);
      t.same(after, order === 'oldest' ? ids : ids.toReversed(), `${order} first, each page after a row`);
    }
  });

  suite.test('days are summed exactly, beyond what a double counts', async (t) => {
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

  suite.test(
    'sessions are summed in the order that was asked for, whatever the dialect of their ids',
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
          settleOf(beginOf('3', { startMs: 1500 }), {
            spendPico: null,
            tokens: { ...NO_TOKENS, prompt: 2 ** 50 },
          }),
          settleOf(beginOf('4', { sessionId: 'two' })),
        ),
      );
      const sums = {
        calls: 3,
        spendPico: 2n * 9_007_199_254_740_991n,
        promptTokens: 200 + 2 ** 40, // no stated number makes the sum overflow
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

  suite.test('the maker of an upstream object is found by its id, the newest first', async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    await store.ship(
      bench.append(
        settleOf(beginOf('2', { startMs: 2000, modelId: 'new', callType: 'aresponses' }), {
          upstreamId: 'resp_1',
        }),
        settleOf(beginOf('1', { startMs: 1000, modelId: 'old', callType: 'aresponses' }), {
          upstreamId: 'resp_1',
        }),
      ),
    );
    t.same(await store.findByUpstreamId('resp_1'), {
      modelId: 'new',
      modelGroup: 'smart',
      model: 'gpt-4.1',
      apiKeyHash: beginOf('2').apiKeyHash,
      tokens: 120,
    });
    t.equal(await store.findByUpstreamId('resp_2'), null);
  });

  suite.test('another key is told from damage and from no key, and nothing is stored under it', async (t) => {
    const bench = benchOf(t);
    const first = bench.open('right key');
    await first.putModel('m-1', { model_name: 'a' });
    await first.close();
    const wrong = bench.open('wrong key');
    const refusal = {
      name: 'StoreUnavailable',
      code: 'wrong_salt_key',
      message: /encrypted with another key - set LITELLM_SALT_KEY to/,
    };
    await t.rejects(wrong.listModels(), refusal);
    await t.rejects(wrong.putModel('m-2', {}), refusal);
    t.equal((await wrong.query({}, NEWEST)).total, 0, 'rows need no key');
    await wrong.close();
    const none = bench.open(null);
    await t.rejects(none.listModels(), {
      code: 'no_salt_key',
      message: /set LITELLM_SALT_KEY or a master key/,
    });
    await none.close();
    t.match(await bench.open('right key').listModels(), [{ id: 'm-1' }]);
  });

  suite.test('runtime models survive, are replaced in place and keep their order', async (t) => {
    const bench = benchOf(t);
    const first = bench.open();
    t.same(await first.listModels(), []);
    await first.putModel('m-1', { model_name: 'a' });
    await first.putModel('m-2', { model_name: 'b' });
    await first.putModel('m-1', { model_name: 'a2' });
    await first.close();
    const second = bench.open();
    const expected = [
      { id: 'm-1', entry: { model_name: 'a2' } },
      { id: 'm-2', entry: { model_name: 'b' } },
    ];
    t.same(await second.listModels(), expected);
    t.equal(await second.deleteModel('m-1'), true);
    t.equal(await second.deleteModel('m-1'), false);
    t.same(await second.listModels(), expected.slice(1));
  });

  suite.test('a store that several servers share tells of each change of a model', async (t) => {
    const bench = benchOf(t);
    const [first, second] = [bench.open(), bench.open()];
    const before = await second.modelsMark();
    if (before === null) return; // only one server writes to it
    const marks = [before];
    await first.putModel('m-1', { model_name: 'a' });
    marks.push(String(await second.modelsMark()));
    t.equal(await second.modelsMark(), marks[1], 'nothing has changed since');
    await first.putModel('m-1', { model_name: 'a' });
    marks.push(String(await second.modelsMark()));
    await first.deleteModel('m-1');
    await first.putModel('m-1', { model_name: 'a' });
    marks.push(String(await second.modelsMark()));
    t.equal(new Set(marks).size, marks.length, 'put, put again, put anew');
    await first.deleteModel('m-1');
    t.equal(await second.modelsMark(), before, 'as it was');
  });

  suite.test('a closed store refuses, and closing twice is one closing', async (t) => {
    const store = benchOf(t).open();
    await store.query({}, NEWEST);
    await store.close();
    await store.close();
    await t.rejects(store.listModels(), { name: 'StoreUnavailable' });
  });

  suite.test('daily sums are those of the rows, whatever the rows are', async (t) => {
    const word = (...words: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...words);
    const count = fc.option(fc.oneof(fc.nat(5_000), fc.constant(-3), fc.constant(2 ** 41)), { nil: null });
    const rows = fc.array(
      fc.record({
        startMs: fc.integer({ min: START_MS - 40 * DAY_MS, max: START_MS + 3 * DAY_MS }),
        apiKeyHash: word('a', 'b', ''),
        teamId: fc.option(word('red', 'blue'), { nil: null }),
        endUser: fc.option(word('alice', "o'hara", 'x:1', 'x'), { nil: null }),
        model: word('gpt', '1:gpt', ''),
        sessionId: word(
          's1',
          's2',
          '0f8fad5b-d9cb-469f-a165-70867728950e',
          '0F8FAD5BD9CB469FA16570867728950E',
        ),
        tags: fc.array(word('t1', 't2', 't"3', ''), { maxLength: 3 }),
        status: word('success', 'failure') as fc.Arbitrary<SpendRecord['status']>,
        prompt: count,
        completion: count,
        total: count,
        spendPico: fc.option(fc.oneof(fc.nat(2_000_000_000), fc.constant(Number.MAX_SAFE_INTEGER)), {
          nil: null,
        }),
      }),
      { minLength: 1, maxLength: 60 },
    );
    const groupings: readonly (readonly (Facet | 'day')[])[] = [
      [],
      ['day'],
      ['apiKeyHash', 'model'],
      ['team', 'endUser', 'day'],
      ['tag'],
      ['session'],
      ['session', 'model'],
    ];
    let serial = 0;
    await fc.assert(
      fc.asyncProperty(rows, async (rows) => {
        const bench = benchOf(t);
        const store = bench.open();
        const records = rows.map(({ prompt, completion, total, spendPico, status, ...begin }) =>
          settleOf(beginOf(`id-${serial++}`, begin), {
            status,
            spendPico,
            tokens: { ...NO_TOKENS, prompt, completion, total },
          }),
        );
        const half = Math.floor(records.length / 2);
        await store.ship(bench.append(...records.slice(0, half)));
        await store.ship(bench.append(...records.slice(half), ...records.slice(0, half))); // some come twice
        for (const groupBy of groupings) {
          const found = await store.activity({}, groupBy, 10_000);
          t.same(new Map(found.map(keyed)), summed(records, groupBy), groupBy.join() || 'all');
          const spends = found.map(({ sums }) => sums.spendPico);
          t.same(
            spends,
            spends.toSorted((a, b) => (a > b ? -1 : a < b ? 1 : 0)),
            'the dearest first',
          );
        }
        const days = await store.summarize({});
        const byDay = summed(records, ['day']);
        t.same(
          days.map(({ day, requests, spendPico }) => [day, requests, spendPico]),
          [...byDay].sort().map(([key, sums]) => [key, sums.requests, sums.spendPico]),
        );
        const perRow = await store.summarize({ status: 'failure' }); // the sums cannot tell, so rows are read
        const failed = summed(
          records.filter(({ status }) => status === 'failure'),
          ['day'],
        );
        t.same(
          perRow.map(({ day, spendPico }) => [day, spendPico]),
          [...failed].sort().map(([key, sums]) => [key, sums.spendPico]),
        );
        await store.close();
      }),
      { numRuns: runs(4) },
    );
  });

  suite.test('activity is filtered by days and lists of values, and refuses tag with session', async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    const at = (day: number, more: Partial<SpendRecord>): SpendRecord =>
      settleOf(beginOf(`id-${day}`, { startMs: START_MS + day * DAY_MS, ...more }), { spendPico: day });
    await store.ship(
      bench.append(
        at(1, { modelGroup: 'a', tags: ['x', 'y'] }),
        at(2, { modelGroup: 'b', tags: ['y'] }),
        at(3, { modelGroup: 'c', tags: [], endUser: null }),
      ),
    );
    const groups = async (...args: Parameters<typeof store.activity>): Promise<unknown[]> =>
      (await store.activity(...args)).map(({ group, sums }) => [
        ...Object.values(group),
        Number(sums.spendPico),
      ]);
    t.same(await groups({ startDay: '2025-10-11', endDay: '2025-10-12' }, ['modelGroup'], 9), [
      ['c', 3],
      ['b', 2],
    ]);
    t.same(await groups({ modelGroup: ['a', 'b'] }, ['day'], 9), [
      ['2025-10-11', 2],
      ['2025-10-10', 1],
    ]);
    t.same(await groups({}, ['modelGroup'], 1), [['c', 3]], 'the dearest alone');
    t.same(await groups({ tag: ['y'] }, ['modelGroup'], 9), [
      ['b', 2],
      ['a', 1],
    ]);
    t.same(await groups({ endUser: [''] }, ['modelGroup'], 9), [['c', 3]]);
    t.same(await groups({ session: ['0F8FAD5BD9CB469FA16570867728950E'] }, [], 9), [[6]]);
    t.same(await groups({ model: [] }, [], 9), [], 'any of none is none');
    t.same(await groups({ model: ["' OR 1=1 --"] }, ['day'], 9), []);
    await t.rejects(store.activity({ tag: ['y'] }, ['session'], 9), {
      name: 'RangeError',
      message: /ask for one/,
    });
  });

  suite.test('text that a database may not hold is bounded or replaced, and stops no row', async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    const nasty = `nul \0, lone \ud800 and \udc00, escaped \\u0000, "quoted" \u{1f600} ${'x'.repeat(10_000)}`;
    const record = settleOf(
      beginOf('id-1', {
        startMs: 8.7e15,
        endUser: nasty,
        sessionId: nasty,
        modelGroup: nasty,
        tags: [nasty, 'plain'],
        callType: 'aresponses',
        spendLogsMetadata: { [nasty]: nasty },
      }),
      { upstreamId: nasty, usage: { nasty }, spendPico: Number.NaN as unknown as null },
    );
    await store.ship(bench.append(record, settleOf(beginOf('id-2'))));
    t.equal((await store.query({}, NEWEST)).total, 2);
    const clean = nasty.replaceAll(/\0|\ud800|\udc00(?!.)/gu, '\ufffd');
    const { rows } = await store.query({ requestId: 'id-1' }, NEWEST);
    t.equal(rows[0]?.startMs, 0);
    t.equal(rows[0]?.modelGroup.length, clean.length);
    t.match(rows[0]?.modelGroup, /lone \ufffd and \ufffd, escaped \\u0000, "quoted" \u{1f600}/u);
    t.equal(rows[0]?.endUser?.length, 600);
    t.ok(await store.findByUpstreamId(nasty), 'and looked up as it was given');
    t.equal((await store.activity({ tag: ['plain'] }, [], 1))[0]?.sums.requests, 1);
  });

  suite.test('whole months go when they are too old, in pieces; daily sums stay', async (t) => {
    const bench = benchOf(t);
    const store = bench.open();
    const on = (day: string, n: number): SpendRecord =>
      settleOf(beginOf(`${day} ${n}`, { startMs: Date.parse(`${day}T12:00:00Z`), sessionId: day }));
    const days = ['2025-06-30', '2025-07-01', '2025-08-31', '2025-09-01'];
    await store.ship(bench.append(...days.flatMap((day) => [on(day, 1), on(day, 2)])));
    const prune = async (beforeMs: number): Promise<number> => {
      for (let rows = 0; ;) {
        const pruned = await store.prune(beforeMs);
        rows += pruned.rows;
        if (pruned.done) return rows;
      }
    };
    t.equal(await prune(Date.parse('2025-06-30T23:59:59Z')), 0, 'the month has not ended');
    t.equal(await prune(Date.parse('2025-08-31T23:00:00Z')), 4);
    t.equal(await prune(Date.parse('2025-08-31T23:00:00Z')), 0);
    const left = (await store.query({}, NEWEST)).rows.map(({ sessionId }) => sessionId);
    t.same(left, ['2025-09-01', '2025-09-01', '2025-08-31', '2025-08-31']);
    t.equal((await store.activity({}, ['day'], 10)).length, 4);
    t.equal((await store.activity({}, ['session'], 10)).length, 2);
    await store.ship(bench.append(on('2025-06-30', 3), on('1969-12-31', 4), on('2345-01-01', 5)));
    t.equal(
      (await store.query({}, NEWEST)).total,
      7,
      'rows of any date are taken, also of a month that went',
    );
  });
}

type Sums = Activity['sums'];

function keyed({ group, sums }: Activity): [string, Sums] {
  return [Object.values(group).join('|'), sums];
}

/** The oracle: adds up records one by one. */
function summed(records: readonly SpendRecord[], groupBy: readonly (Facet | 'day')[]): Map<string, Sums> {
  const counted = (tokens: number | null): number => Math.min(Math.max(tokens ?? 0, 0), 2 ** 40);
  const groups = new Map<string, Record<keyof Sums, number | bigint>>();
  for (const r of records) {
    const values: Record<Facet | 'day', readonly string[]> = {
      day: [new Date(r.startMs).toISOString().slice(0, 10)],
      apiKeyHash: [r.apiKeyHash],
      team: [r.teamId ?? ''],
      user: [r.userId ?? ''],
      endUser: [r.endUser ?? ''],
      model: [r.model],
      modelGroup: [r.modelGroup],
      provider: [r.provider ?? ''],
      tag: [...new Set(r.tags)].filter((tag) => tag !== ''),
      session: [r.sessionId.length > 30 ? '0f8fad5bd9cb469fa16570867728950e' : r.sessionId],
    };
    let keys: string[][] = [[]];
    for (const facet of groupBy) keys = keys.flatMap((key) => values[facet].map((value) => [...key, value]));
    const [prompt, completion] = [counted(r.tokens.prompt), counted(r.tokens.completion)];
    const amounts: Sums = {
      requests: 1,
      failures: r.status === 'failure' ? 1 : 0,
      unpriced: r.spendPico === null ? 1 : 0,
      promptTokens: prompt,
      completionTokens: completion,
      totalTokens: r.tokens.total === null ? prompt + completion : counted(r.tokens.total),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      spendPico: BigInt(r.spendPico ?? 0),
    };
    for (const key of keys.map((parts) => parts.join('|'))) {
      const sums = groups.get(key);
      if (sums === undefined) groups.set(key, { ...amounts });
      else
        for (const name of Object.keys(amounts) as (keyof Sums)[])
          sums[name] =
            name === 'spendPico' ? BigInt(sums[name]) + amounts[name] : Number(sums[name]) + amounts[name];
    }
  }
  return groups as unknown as Map<string, Sums>;
}
