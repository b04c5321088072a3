// Reading stores from outside, both of them, while they are written: the same tests on SQLite and PostgreSQL.
import { statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import pg from 'pg';
import t from 'tap';
import type { Test } from 'tap';
import { keepThreads } from '../../../../proxy/base/worker-rpc.ts';
import { verify } from '../../../../proxy/spend/report/verify.ts';
import { settleLine } from '../../../../proxy/spend/record/line.ts';
import type { SpendRecord } from '../../../../proxy/spend/record/record.ts';
import type { StoreReader } from '../../../../proxy/spend/store/reader.ts';
import { storeBackend, type StorePlace } from '../../../../proxy/spend/store/backends.ts';
import { segmentPath } from '../../../../proxy/spend/store/segments.ts';
import { leaveJournal } from '../../../support/journal.ts';
import { anyPostgres, settingsOf } from '../../../support/postgres.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { tempDir } from './fixture/temp-dir.ts';
import type { Store } from '../../../../proxy/spend/store/store.ts';

keepThreads(); // each store that is opened would start one

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2025-10-09T00:00:00Z');

interface Site {
  readonly dataDir: string;
  readonly store: Store;
  readonly reader: () => Promise<StoreReader>;
  /** Changes the database behind everybody's back. */
  readonly meddle: (sql: string) => Promise<void>;
  readonly place: StorePlace;
}

/** A data directory as a proxy has it, whose journal's id is known. */
function siteOn(t: Test, dataDir: string, place: StorePlace, meddle: Site['meddle']): Site {
  leaveJournal(dataDir, []);
  const dir = join(dataDir, 'journal');
  writeFileSync(join(dir, 'id'), 'journal-1\n');
  const { store } = storeBackend(place).openStore({
    journal: { dir, id: 'journal-1', writer: 'test' },
    saltKey: null,
    onEvent: () => undefined,
  });
  t.teardown(() => store.close());
  const reader = async (): Promise<StoreReader> => {
    const opened = await storeBackend(place).openReader();
    t.teardown(() => opened.close());
    return opened;
  };
  return { dataDir, store, reader, meddle, place };
}

function row(n: number, more: Partial<SpendRecord> = {}): SpendRecord {
  return settleOf(beginOf(`id-${String(n).padStart(5, '0')}`, { startMs: START_MS + n * 1000 }), more);
}

async function ship(site: Site, records: readonly SpendRecord[], segment = 1): Promise<void> {
  leaveJournal(site.dataDir, records, segment);
  await site.store.ship(endOf(site, segment));
}

function endOf({ dataDir }: Site, segment: number): { segment: number; offset: number } {
  return { segment, offset: statSync(segmentPath(join(dataDir, 'journal'), segment)).size };
}

async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of rows) all.push(one);
  return all;
}

t.test('SQLite', (t) =>
  suiteOn(t, (t) => {
    const dataDir = tempDir(t);
    const file = join(dataDir, 'throughline.db');
    return siteOn(t, dataDir, { file }, async (sql) => {
      const db = new DatabaseSync(file);
      db.exec(sql);
      db.close();
    });
  }),
);

t.test('PostgreSQL', async (t) => {
  const server = await anyPostgres(t);
  return suiteOn(t, (t) => {
    const url = server.url();
    const database = settingsOf(url);
    return siteOn(t, tempDir(t), { database }, async (sql) => {
      const { host, port, database: name, user, schema, password } = database;
      const client = new pg.Client({ host, port, database: name, user, password: password?.reveal() ?? '' });
      await client.connect();
      await client.query(`SET search_path TO "${schema}"`);
      await client.query(sql);
      await client.end();
    });
  });
});

async function suiteOn(suite: Test, siteOf: (t: Test) => Site): Promise<void> {
  suite.test('all rows come in the order of time, many of one moment too, each once', async (t) => {
    const site = siteOf(t);
    const records = Array.from({ length: 5_000 }, (_, n) =>
      settleOf(
        beginOf(`id-${String((n * 7_919) % 5_000).padStart(5, '0')}`, { startMs: START_MS + (n >> 11) }),
      ),
    );
    await ship(site, records);
    const read = await collect((await site.reader()).rows({}));
    t.equal(read.length, 5_000);
    const expected = records.toSorted(
      (a, b) => a.startMs - b.startMs || (a.requestId < b.requestId ? -1 : 1),
    );
    t.same(
      read.map(({ requestId }) => requestId),
      expected.map(({ requestId }) => requestId),
    );
    t.same(read[0], expected[0]);
    const some = await collect((await site.reader()).rows({ startMs: START_MS + 1, endMs: START_MS + 2 }));
    t.equal(some.length, 2_048);
  });

  suite.test('an reader sees the store as it was at its first question', async (t) => {
    const site = siteOf(t);
    await ship(site, [row(1)]);
    const before = await site.reader();
    t.equal((await before.activity({}, [], 1))[0]?.sums.requests, 1);
    await ship(site, [row(2)]);
    t.equal((await collect(before.rows({}))).length, 1);
    t.same([...(await before.known(['id-00001', 'id-00002']))], ['id-00001']);
    t.equal((await collect((await site.reader()).rows({}))).length, 2);
  });

  suite.test('journal and store agree, while some calls wait and some are under way', async (t) => {
    const site = siteOf(t);
    await ship(site, [
      row(1),
      row(2, { tags: ['a', 'b'], spendPico: null }),
      row(90_000, { status: 'failure' }),
    ]);
    leaveJournal(site.dataDir, [row(3)]);
    writeFileSync(segmentPath(join(site.dataDir, 'journal'), 2), `${settleLine(row(4))}B 00000000 torn`);
    t.same(await verify(site.dataDir, await site.reader(), {}), {
      journals: 1,
      shipped: 3,
      waiting: 2,
      open: 0,
      rows: 3,
      days: 2,
      daysWithoutRows: 0,
      findings: [],
    });
  });

  suite.test('a row that is gone, a sum that is wrong, a hole and damage are each told', async (t) => {
    const site = siteOf(t);
    await ship(site, [row(1), row(2), row(3, { startMs: START_MS + DAY_MS })]);
    await site.meddle(`DELETE FROM spend WHERE request_id = 'id-00002'`);
    const gone = await verify(site.dataDir, await site.reader(), {});
    t.equal(gone.findings.length, 2);
    t.match(gone.findings[0], /^1 settled calls of the journal .* are no rows: id-00002$/);
    t.match(
      gone.findings[1],
      /^2025-10-09: \d sums are not those of the rows; the sums tell of 2 calls for 0\.0025 USD, the rows of 1 calls for 0\.00125 USD$/,
    );
    await site.meddle(`DELETE FROM spend WHERE start_ms >= ${START_MS + DAY_MS}`);
    const days = await verify(site.dataDir, await site.reader(), {});
    t.match(days.findings.at(-1), /^2025-10-10: there are sums of this day and no rows$/);
    t.same(
      (await verify(site.dataDir, await site.reader(), { startDay: '2025-10-11' })).findings.length,
      1,
      'journals only',
    );

    const dir = join(site.dataDir, 'journal');
    writeFileSync(segmentPath(dir, 5), `S 00000000 {}\n${settleLine(row(7))}`);
    writeFileSync(join(dir, 'damaged.log'), 'x');
    const { findings } = await verify(site.dataDir, await site.reader(), { startDay: '2025-10-11' });
    t.match(findings[0], /lacks what came before segment 5/);
    t.match(findings[2], /has 1 damaged lines/);
    t.match(findings[3], /damaged\.log holds damaged lines that are no rows/);
  });

  suite.test(
    'new costs change rows and their sums alike, once, whatever a proxy ships meanwhile',
    async (t) => {
      const site = siteOf(t);
      const big = 9_000_000_000_000_000; // 9,000 USD
      const rows = [
        row(1, { tags: ['a', 'b'], spendPico: big, costs: { entry: big } }),
        row(2, { tags: ['a'], spendPico: null, costSource: 'none', costReason: 'no price' }),
        row(3, { startMs: START_MS + DAY_MS, spendPico: 999_999_999_999 }),
      ];
      await ship(site, rows);
      const writer = await storeBackend(site.place).openCostWriter();
      t.teardown(() => writer.close());
      const to =
        (spendPico: number | null, priceVersion = 'new') =>
        (before: SpendRecord) => ({
          before,
          after: {
            ...before,
            spendPico,
            costSource: 'entry' as const,
            costReason: '',
            costs: spendPico === null ? {} : { entry: spendPico },
            priceVersion,
          },
        });
      const read = async (): Promise<SpendRecord[]> => collect((await site.reader()).rows({}));
      const [one, two, three] = (await read()) as [SpendRecord, SpendRecord, SpendRecord];
      const batch = [to(1)(one), to(2_000_000_000_001)(two), to(null)(three)];
      t.equal(await writer.write(batch), 3);
      t.same(
        await read(),
        batch.map(({ after }) => after),
        'nothing but the cost is another',
      );
      t.same((await verify(site.dataDir, await site.reader(), {})).findings, []);
      const [sums] = await (await site.reader()).activity({}, [], 1);
      t.match(sums?.sums, { spendPico: 2_000_000_000_002n, unpriced: 1, requests: 3 });

      t.equal(await writer.write(batch), 0, 'rows that were priced anew since they were read stay');
      await ship(site, [row(4, { tags: ['a'] })]);
      t.equal(await writer.write([to(big, 'back')(batch[0]?.after ?? one)]), 1);
      const after = await verify(site.dataDir, await site.reader(), {});
      t.match(after, { rows: 4, findings: [] });
      t.equal(await writer.write([]), 0);
    },
  );

  suite.test('days that retention has emptied are no disagreement', async (t) => {
    const site = siteOf(t);
    await ship(site, [row(1), row(2, { startMs: START_MS + 40 * DAY_MS })]);
    while (!(await site.store.prune(START_MS + 30 * DAY_MS)).done);
    const dir = tempDir(t);
    t.match(await verify(dir, await site.reader(), {}), {
      rows: 1,
      daysWithoutRows: 1,
      findings: [],
      journals: 0,
    });
  });

  suite.test('a store of another version is not read, and says which version reads it', async (t) => {
    const site = siteOf(t);
    await ship(site, []);
    const sqlite = 'file' in site.place;
    await site.meddle(sqlite ? 'PRAGMA user_version = 99' : 'UPDATE schema_version SET version = 99');
    await t.rejects(collect((await site.reader()).rows({})), {
      name: 'StoreUnavailable',
      message: /99, this version of Throughline reads \d+ - use the version that serves it/,
    });
  });
}

t.test('a file that is not there, or no database, is said in one sentence', async (t) => {
  const dir = tempDir(t);
  await t.rejects((await storeBackend({ file: join(dir, 'none.db') }).openReader()).positions(), {
    message:
      /none\.db does not exist - name the data directory of the proxy with --data-dir, or its PostgreSQL with --database-url$/,
  });
  writeFileSync(join(dir, 'text.db'), 'x'.repeat(5_000));
  await t.rejects((await storeBackend({ file: join(dir, 'text.db') }).openReader()).positions(), {
    message:
      /text\.db is damaged \(file is not a database\) - see "A damaged database" in docs\/operating\.md/,
  });
});
