// Rows into a warehouse: each of them once, whatever the server answers and whenever the command is ended.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { ClickHouse } from '../../../proxy/cli/clickhouse.ts';
import { ship, type Shipping } from '../../../proxy/cli/spend-ship.ts';
import type { SpendRecord } from '../../../proxy/spend/record/record.ts';
import { folder, runWithin } from '../../support/cli.ts';
import { leaveJournal } from '../../support/journal.ts';
import { startRig } from '../../support/rig.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';
import { startClickHouse, type StandIn } from './fixture/clickhouse-server.ts';

const HOUR_MS = 3_600_000;
const T0 = Date.parse('2026-11-10T12:00:00Z');
const TABLE = { database: 'billing', table: 'spend' };
const BUSY = { status: 500, code: 252, text: 'Too many parts' };

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

const rowAt = (id: string, startMs: number, more: Partial<SpendRecord> = {}): SpendRecord =>
  settleOf(beginOf(id, { startMs }), more);
const many = (count: number): SpendRecord[] =>
  Array.from({ length: count }, (_, n) => rowAt(`call-${n}`, T0 + Math.floor(n / 2)));

/** A run on rows in memory. */
function run(server: StandIn, rows: readonly SpendRecord[], more: Partial<Shipping> = {}): Promise<number> {
  const password = new Secret('pass word');
  const target = new ClickHouse({
    ...TABLE,
    origin: `http://127.0.0.1:${server.port}`,
    user: 'writer',
    password,
  });
  return ship({
    target,
    table: TABLE,
    rows: async (startMs, endMs, take) => {
      const found = rows.filter((row) => row.startMs >= startMs && row.startMs < endMs);
      for (const row of found.toSorted((a, b) => a.startMs - b.startMs)) if (!take(row)) return;
    },
    startMs: T0 - HOUR_MS,
    endMs: T0 + HOUR_MS,
    overlapMs: HOUR_MS,
    batchRows: 4,
    follow: null,
    create: false,
    state: null,
    now: () => T0 + HOUR_MS,
    pause: async () => undefined,
    signal: new AbortController().signal,
    say: () => undefined,
    ...more,
  });
}

t.test('batches, compressed, with user and password in headers, each row once', async (t) => {
  const server = await startClickHouse(t);
  t.equal(await run(server, many(10), { create: true }), 10);
  t.match(
    server.statements[0],
    /^CREATE TABLE IF NOT EXISTS `billing`\.`spend` \(\n {2}`request_id` String,/,
  );
  t.match(server.statements[0], /`spend` Nullable\(Decimal\(38, 12\)\)/);
  t.match(server.statements[0], /ENGINE = ReplacingMergeTree\(`exported_at`\)/);
  t.match(server.statements[1], /^ALTER TABLE `billing`\.`spend` ADD COLUMN IF NOT EXISTS `request_id`/);
  t.match(server.statements[2], /^INSERT INTO `billing`\.`spend` \(`request_id`, .*\) FORMAT JSONEachRow$/);
  t.same(
    server.inserts.map((rows) => rows.length),
    [4, 4, 2],
  );
  t.equal(server.rows.size, 10);
  t.match(server.headers[2], {
    authorization: basic('writer:pass word'),
    'content-encoding': 'gzip',
  });
});

t.test(
  'what a cell becomes: exact money, UTC, JSON as text, nothing that the server cannot parse',
  async (t) => {
    const server = await startClickHouse(t);
    const odd = rowAt('odd', T0, {
      spendPico: 1,
      sessionId: 'half \ud800 pair',
      endMs: 8e15,
      spendLogsMetadata: { a: '\ud800', b: ['x'] },
    });
    await run(server, [odd]);
    const [row = {}] = server.inserts[0] ?? [];
    t.match(row, {
      request_id: 'odd',
      startTime: '2026-11-10T12:00:00.000Z',
      endTime: '2299-12-31T23:59:59.999Z',
      spend: '0.000000000001',
      session_id: 'half \ufffd pair',
      stream: true,
      prompt_tokens: 100,
    });
    t.same(JSON.parse(String(row['spend_logs_metadata'])), { a: '\ud800', b: ['x'] });
  },
);

t.test(
  'a busy server, a cut connection, an answer that got lost: tried again, and no row is there twice',
  async (t) => {
    const server = await startClickHouse(t);
    const said: string[] = [];
    const pauses: number[] = [];
    server.faults.push(BUSY, 'cut', { ...BUSY, isLate: true }, { ...BUSY, status: 200, inBody: true });
    const count = await run(server, many(10), {
      say: (line) => said.push(line),
      pause: async (ms) => void pauses.push(ms),
    });
    t.equal(count, 10);
    t.equal(server.rows.size, 10);
    t.same(pauses, [1000, 2000, 4000, 8000], 'a pause before each, twice as long');
    t.match(said[0], /answers 500: Code: 252\. DB::Exception: Too many parts - tried again in 1 s/);
    t.match(said[1], /does not answer/);
  },
);

t.test(
  'a refusal ends it with a sentence, without the password; what was acknowledged is not sent again',
  async (t) => {
    const server = await startClickHouse(t);
    const state = join(folder(t), 'place.json');
    const quoting = { status: 403, code: 516, text: 'writer: "pass word" is wrong' };
    server.faults.push({ status: 200, code: 0, text: '', isLate: true, inBody: true });
    server.faults[0] = { ...quoting, isLate: false };
    await t.rejects(run(server, many(10), { state }), {
      message: /answers 403: Code: 516.*"\[secret\]" is wrong - see the user of --to and CLICKHOUSE_PASSWORD/,
    });
    t.throws(() => readFileSync(state), { code: 'ENOENT' }, 'nothing was acknowledged');
    await run(server, many(4), { state });
    server.faults.push({ status: 404, code: 60, text: 'Table billing.spend does not exist' });
    await t.rejects(run(server, many(10), { state, overlapMs: 0 }), {
      message: / - give --create to make the table$/,
    });
    server.inserts.length = 0;
    t.ok((await run(server, many(10), { state, overlapMs: 0 })) < 10, 'goes on where the file says');
    t.equal(server.rows.size, 10);
    writeFileSync(state, 'null');
    await t.rejects(run(server, [], { state }), { message: /is no file of this command - name another one/ });
  },
);

t.test('a state file of another table is refused', async (t) => {
  const server = await startClickHouse(t);
  const state = join(folder(t), 'place.json');
  await run(server, many(2), { state });
  const other = await startClickHouse(t);
  await t.rejects(run(other, many(2), { state }), {
    message: /is of http.*, not of .* - a file for each target/,
  });
});

t.test(
  'following takes rows that come later, also those that began before others, until it is stopped',
  async (t) => {
    const server = await startClickHouse(t);
    const rows = many(5);
    const stop = new AbortController();
    const more = [
      () => rows.push(rowAt('late', T0 - HOUR_MS / 2), rowAt('ahead', T0 + 90 * HOUR_MS)),
      () => rows.push(rowAt('after-ahead', T0 + 5)),
      () => stop.abort(),
    ];
    await run(server, rows, {
      follow: { everyMs: 60_000 },
      endMs: Infinity,
      signal: stop.signal,
      pause: async (ms) => {
        t.equal(ms, 60_000);
        more.shift()?.();
      },
    });
    const ids = server.inserts.flat().map((row) => row['request_id']);
    t.equal(new Set(ids).size, ids.length, 'none was sent twice');
    t.same(new Set(ids), new Set(rows.map(({ requestId }) => requestId)));
  },
);

t.test('on the command line, from the store of a proxy that runs', async (t) => {
  const dir = folder(t);
  leaveJournal(join(dir, 'data'), many(25));
  const rig = await startRig(t, { folder: dir });
  await rig.rows();
  const server = await startClickHouse(t);
  const to = `clickhouse://writer@127.0.0.1:${server.port}/billing.spend`;
  const month = ['--since', '2026-11', '--until', '2026-11'];
  const call = (...args: string[]): ReturnType<typeof runWithin> =>
    runWithin(['spend', 'export', '--data-dir', 'data', ...args], {
      cwd: dir,
      env: { CLICKHOUSE_PASSWORD: 'from-env' },
    });
  const first = await call('--to', to, '--create', '--state', 'place.json', ...month);
  t.match(first, {
    code: 0,
    out: '',
    err: /25 rows were sent to http:\/\/127\.0\.0\.1:\d+\/billing\.spend\n$/,
  });
  t.equal(server.headers[0]?.authorization, basic('writer:from-env'));
  writeFileSync(join(dir, 'password'), ' über-geheim\n');
  const again = await call('--to', to, '--state', 'place.json', '--password-file', 'password', ...month);
  t.match(again, { code: 0, err: /^goes on behind 2026-11-10T12:00:00\.012Z/ });
  t.equal(server.headers.at(-1)?.authorization, basic('writer: über-geheim'));
  t.equal(server.rows.size, 25);
  for (const [args, says] of [
    [['--to', 'clickhouse://u:secret-1@h/t'], /^--to holds a password - set CLICKHOUSE_PASSWORD/],
    [['--to', 'ftp://h/t'], /^--to is no address of a ClickHouse - for example clickhouse:/],
    [['--to', 'clickhouse://h/a.b;DROP'], /^--to names no table/],
    [['--to', 'clickhouse://h/a.b.c'], /^--to names no table/],
    [['--to', to, '--format', 'csv'], /^--format is for files/],
    [['--to', to, '--follow', '--until', '2026-11'], /^--follow has no end/],
    [['--to', to, '--every', '5'], /^--every needs --follow/],
    [['--to', to, '--password-file', 'none'], /password file none does not exist - check/],
    [['--create'], /^--create needs --to/],
    [['--password-file', 'x'], /^--password-file needs --to/],
  ] as const) {
    const refused = await call(...args).catch((error: Error) => error);
    t.match(refused, { name: 'UsageError', message: says }, args.join(' '));
    t.notMatch(String(refused), /secret-1/);
  }
});
