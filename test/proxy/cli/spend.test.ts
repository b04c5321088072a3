// `throughline spend` as an operator and a finance person meet it: on the data of a proxy that runs meanwhile.
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import t from 'tap';
import { NO_TOKENS } from '../../../proxy/protocols/usage.ts';
import type { SpendRecord } from '../../../proxy/spend/record/record.ts';
import { parseCsv } from '../../../proxy/spend/report/csv.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';
import { openHistoryStore } from '../../../proxy/items/history.ts';
import { openReconciliations } from '../../../proxy/server/reconciliations.ts';
import { folder, ROOT, runWithin } from '../../support/cli.ts';
import { leaveJournal } from '../../support/journal.ts';
import { defaultConfig, KEY, startRig } from '../../support/rig.ts';
import { KEEPS_IDLE } from '../../support/keeps-idle.ts';

const CSV = join(ROOT, 'test/proxy/spend/report/fixture/litellm-table.csv');
const LEDGER = parseCsv(readFileSync(CSV, 'utf8'));
const NOVEMBER = ['--since', '2026-11', '--until', '2026-11'];

/** What we would have recorded of the calls in the recorded ledger. */
function ours(row: Record<string, string>, n: number): SpendRecord {
  const startMs = Date.parse(`${(row['startTime'] ?? '').replace(' ', 'T')}Z`) - 3;
  const count = (name: string): number => Number(row[name]);
  const begin = beginOf(`ours-${n}`, {
    startMs,
    model: row['model_group'] ?? '',
    sessionId: row['session_id'] ?? '',
    tags: ['support'],
    teamId: n % 2 === 0 ? '=cmd' : 'blue',
  });
  const tokens = {
    ...NO_TOKENS,
    prompt: count('prompt_tokens'),
    completion: count('completion_tokens'),
    total: null,
  };
  return settleOf(begin, {
    endMs: startMs + 100,
    tokens,
    spendPico: Math.round(count('spend') * 1e12),
    upstreamCallId: row['litellm_call_id'] ?? null,
    upstreamId: row['request_id'] ?? null,
  });
}

t.test('spend', async (t) => {
  const dir = folder(t);
  const dataDir = join(dir, 'data');
  leaveJournal(dataDir, LEDGER.map(ours));
  const rig = await startRig(t, { folder: dir });
  t.equal((await rig.rows()).length, LEDGER.length);

  /** In this process: 0.4 s less for each of many. */
  async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    return runWithin(['spend', ...args, '--data-dir', 'data'], { cwd: dir });
  }
  const total = LEDGER.reduce((sum, row) => sum + Math.round(Number(row['spend']) * 1e12), 0);

  t.test('a report is a table with a sum, and says what was read', async (t) => {
    const { code, out } = await run('report', '--by', 'model', ...NOVEMBER);
    t.equal(code, 0);
    t.match(
      out,
      /^Spend by model, 2026-11-01 to 2026-11-30 \(UTC\), from the SQLite file .*throughline\.db\n/,
    );
    t.match(out, /^demo +\d /m);
    t.match(out, new RegExp(`^all calls +${LEDGER.length} .* ${(total / 1e12).toFixed(6)}$`, 'm'));
  });

  t.test('the running proxy gives the same report as its file', async (t) => {
    const json = ['--format', 'json', '--by', 'session', ...NOVEMBER];
    const file = await run('report', ...json);
    const { code, out } = await runWithin(['spend', 'report', ...json, '--url', rig.url, '--key', KEY]);
    t.equal(code, 0);
    t.same(JSON.parse(out), JSON.parse(file.out));
    // As all other commands take it: an argument can be read by other users of the machine.
    const ofEnvironment = ['spend', 'report', ...json, '--url', rig.url];
    const env = { THROUGHLINE_MASTER_KEY: KEY };
    t.same(JSON.parse((await runWithin(ofEnvironment, { env })).out), JSON.parse(file.out));
    const keyFile = join(dir, 'master.key');
    writeFileSync(keyFile, `${KEY}\n`);
    const ofFile = await runWithin([...ofEnvironment, '--key-file', keyFile]);
    t.same(JSON.parse(ofFile.out), JSON.parse(file.out));
    const wrong = ['spend', 'report', '--by', 'day', '--url', rig.url, '--key', 'sk-wrong'];
    const error = (await runWithin(wrong).catch((one: unknown) => one)) as Error;
    t.match(error, {
      name: 'CannotStart',
      message: /answers 401: [^{}]* - give its master key with --key-file$/,
    });
    t.notMatch(error.message, /sk-wrong/);
  });

  t.test('what the running proxy refuses is its own sentence', async (t) => {
    const away = await startRig(t, {
      config: (demo) => defaultConfig(demo, '  database_url: postgresql://name:word@127.0.0.1:1/spend\n'),
    });
    await t.rejects(runWithin(['spend', 'report', '--by', 'day', '--url', away.url, '--key', KEY]), {
      name: 'CannotStart',
      message: /^the proxy at \S+ answers 503: The spend store does not answer; [^{}\n]*$/,
    });
    const text = '  admin_port: 0\n';
    const admin = await startRig(t, { config: (demo) => defaultConfig(demo, text) });
    await t.rejects(runWithin(['spend', 'report', '--by', 'day', '--url', admin.url, '--key', KEY]), {
      message: /answers 404: [^{}\n]*admin_port[^{}\n]*$/,
    });
  });

  t.test('CSV, JSON and Parquet tell the same, exactly', async (t) => {
    const by = ['report', '--by', 'team', ...NOVEMBER];
    const csv = parseCsv((await run(...by, '--format', 'csv')).out);
    const json = JSON.parse((await run(...by, '--format', 'json')).out) as {
      rows: Record<string, unknown>[];
    };
    t.same(
      csv.map((row) => row['spend']),
      json.rows.map((row) => row['spend']),
    );
    t.ok(
      csv.some((row) => row['team'] === "'=cmd"),
      'no formula for a spreadsheet',
    );
    t.match(await run(...by, '--format', 'parquet', '--out', 'r.parquet'), { code: 0, out: '' });
    const file = await asyncBufferFromFile(join(dir, 'r.parquet'));
    const rows = await parquetReadObjects({ file });
    t.same(
      rows.map((row) => row['team']),
      json.rows.map((row) => row['key']),
    );
    t.equal(
      rows.reduce((sum, row) => sum + Math.round(Number(row['spend']) * 1e12), 0),
      total,
    );
  });

  t.test('an export has every row of the days, in each format', async (t) => {
    const csv = await run('export', ...NOVEMBER);
    t.match(csv.err, new RegExp(`^${LEDGER.length} rows of 2026-11-01 to 2026-11-30`));
    const rows = parseCsv(csv.out);
    t.same(
      rows.map((row) => row['upstream_id']),
      LEDGER.map((row) => row['request_id']),
    );
    t.equal(
      rows.reduce((sum, row) => sum + Math.round(Number(row['spend']) * 1e12), 0),
      total,
    );
    const lines = (await run('export', '--format', 'jsonl', ...NOVEMBER)).out.trim().split('\n');
    t.match(JSON.parse(lines[0] ?? ''), {
      request_tags: ['support'],
      stream: true,
      spend: rows[0]?.['spend'],
    });
    await run('export', '--format', 'parquet', '--out', 'rows.parquet', ...NOVEMBER);
    const file = await asyncBufferFromFile(join(dir, 'rows.parquet'));
    t.equal((await parquetReadObjects({ file })).length, LEDGER.length);
    await run('export', '--out', 'rows.csv', ...NOVEMBER);
    t.equal(readFileSync(join(dir, 'rows.csv'), 'utf8'), csv.out);
    t.match((await run('export', '--since', '2020-01-01', '--until', '2020-01-01')).err, /^0 rows/);
  });

  t.test('verify agrees while the proxy runs', async (t) => {
    t.match(await run('verify'), { code: 0, out: /journal and store agree: no gap, no double\n$/ });
    t.match(await run('verify', '--since', '2026-11-01'), { code: 0, out: /: \d+ rows of 1 day, compared/ });
  });

  /** What is kept for the console, the newest first. */
  const keptResults = async () => {
    const store = openHistoryStore({ dataDir, database: null });
    const { entries } = await openReconciliations(store).page(null, 50);
    await store.close();
    return entries;
  };

  t.test('reconcile exits 0 on equal ledgers', async (t) => {
    const { code, out } = await run('reconcile', '--csv', CSV, ...NOVEMBER);
    t.equal(code, 0, out);
    t.match(out, /^The ledgers agree: no difference above 0\.000000001 USD a call\.$/m);
    t.match(out, new RegExp(`joined by call id ${LEDGER.length}, by response id 0`));
  });

  t.test('planted differences are found, each as what it is, and exit 1', async (t) => {
    const planted = LEDGER.map((row, n) => {
      if (n === 0) return { ...row, spend: String(Number(row['spend']) + 0.5) };
      if (n === 1) return { ...row, prompt_tokens: '1' };
      if (n === 2) return { ...row, request_id: 'x', litellm_call_id: '', metadata: '' }; // found by session and time
      return row;
    }).filter((_, n) => n !== 3);
    const stranger = {
      ...LEDGER[4],
      request_id: 'y',
      litellm_call_id: 'z',
      session_id: 'another',
      spend: '0.25',
      metadata: '',
    };
    const names = Object.keys(LEDGER[0] ?? {});
    const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
    const lines = [...planted, stranger].map((row) =>
      names.map((name) => quoted((row as Record<string, string>)[name] ?? '')).join(','),
    );
    const file = join(dir, 'planted.csv');
    writeFileSync(file, `${[names.join(','), ...lines].join('\n')}\n`);
    const { code, out } = await run('reconcile', '--csv', file, '--format', 'json', ...NOVEMBER);
    t.equal(code, 1);
    t.match(JSON.parse(out), {
      agrees: false,
      differences: [
        { kind: 'cost', here_id: 'ours-0', difference: '0.5' },
        { kind: 'only_there', there_id: 'y', difference: '0.25' },
        { kind: 'only_here', here_id: 'ours-3', there_id: null },
        { kind: 'tokens', here_id: 'ours-1', difference: '0' },
      ],
      joined_by: { session_and_time: 1 },
      by_day: [{ key: '2026-11-21', only_here: 1, only_there: 1, differing: 2 }],
    });
    const [kept] = await keptResults();
    t.match(kept, {
      state: 'differs',
      value: { differences_total: 4, kinds: { cost: { calls: 1, difference: '0.5' } }, there: /planted/ },
    });
    const before = (await keptResults()).length;
    const table = await run('reconcile', '--csv', file, '--out', 'report.txt', '--no-keep', ...NOVEMBER);
    t.equal((await keptResults()).length, before, 'not with --no-keep');
    t.match(table, { code: 1, out: '' });
    t.match(readFileSync(join(dir, 'report.txt'), 'utf8'), /^The ledgers DIFFER: 4 calls above/m);
    const tolerant = await run(
      'reconcile',
      '--csv',
      CSV,
      '--tolerance',
      '0.5%',
      '--api-base',
      'https://nobody.example',
      ...NOVEMBER,
    );
    t.match(tolerant, { code: 1, out: /above 0\.5%/ }, 'what was sent elsewhere is not here');
  });

  t.test('the gateway itself is asked with --url', async (t) => {
    const server = createServer(KEEPS_IDLE, (req, res) => {
      t.equal(req.headers.authorization, 'Bearer sk-admin');
      const day = new URL(req.url ?? '', 'http://x').searchParams.get('start_date')?.startsWith('2026-11-21');
      const data =
        day === true
          ? LEDGER.map((row) => ({ ...row, startTime: `${(row['startTime'] ?? '').replace(' ', 'T')}` }))
          : [];
      res.end(JSON.stringify({ data, total: data.length, total_pages: 1 }));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    t.teardown(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const day = ['--since', '2026-11-21', '--until', '2026-11-21'];
    const { code, out } = await run('reconcile', '--url', url, '--key', 'sk-admin', ...day);
    t.match({ code, out }, { code: 0, out: new RegExp(`LiteLLM at ${url}`) });
  });

  t.test('reprice shows what new prices would change, and changes it when told to', async (t) => {
    const priced = (input: string): string => `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:1", input_cost_per_token: ${input}, output_cost_per_token: 0.000002 }
    model_info: { id: deployment-1 }
`;
    writeFileSync(join(dir, 'prices.yaml'), priced('0.000001'));
    const tokens = LEDGER.reduce(
      (sum, row) => sum + Number(row['prompt_tokens']) + 2 * Number(row['completion_tokens']),
      0,
    );
    const reprice = ['reprice', '--config', 'prices.yaml', ...NOVEMBER];
    const shown = await run(...reprice);
    t.equal(shown.code, 0);
    t.match(
      shown.out,
      new RegExp(`^all +${LEDGER.length} +${LEDGER.length} .* ${(tokens / 1e6).toFixed(6)} `, 'm'),
    );
    t.match(shown.out, /nothing was changed; --apply changes the rows and their daily sums\n$/);
    t.match(await run('report', '--by', 'day', ...NOVEMBER), { out: new RegExp((total / 1e12).toFixed(6)) });

    t.match((await run(...reprice, '--apply')).out, /^demo .* changed|^all +\d+ +\d+ /m);
    const report = await run('report', '--by', 'day', '--format', 'json', ...NOVEMBER);
    t.match(JSON.parse(report.out), { total: { spend: String(tokens / 1e6) } });
    t.match(await run('verify'), { code: 0 });
    const rows = await rig.rows();
    t.ok(rows.every((row) => row['cost_source'] === 'entry' && row['price_version'] !== null));
    t.match(
      (await run(...reprice)).out,
      new RegExp(`^all +${LEDGER.length} +0 `, 'm'),
      'a second time changes nothing',
    );

    // Whoever else prices rows, between our reading and our writing.
    const db = new DatabaseSync(join(dataDir, 'throughline.db'));
    db.exec(`CREATE TRIGGER other AFTER UPDATE OF spend_pico ON spend WHEN new.request_id = 'ours-0'
      BEGIN UPDATE spend SET price_version = 'other' WHERE request_id = 'ours-1'; END`);
    writeFileSync(join(dir, 'prices.yaml'), priced('0.000003'));
    t.match(
      (await run(...reprice, '--apply')).out,
      /^1 of the changed rows had been removed or priced anew /m,
    );
    db.exec('DROP TRIGGER other');
    db.close();
    t.notMatch((await run(...reprice, '--apply')).out, /priced anew/, 'a second time finds it');

    writeFileSync(join(dir, 'others.yaml'), priced('0.000001').replace('deployment-1', 'another'));
    t.match(
      (await run('reprice', '--config', 'others.yaml', ...NOVEMBER)).out,
      /rows stay as they are: their deployment is not in/,
    );
  });

  t.test('a wrong command line is answered with one sentence', async (t) => {
    const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
      [[], /^unknown option '--data-dir' - see/],
      [['frobnicate'], /^unknown command 'frobnicate' - see throughline spend --help/],
      [['reprot'], /^unknown command 'reprot' - did you mean report\?/],
      [
        ['report'],
        /^the report needs a grouping - give --by with one of session, user, team, tag, model, key, day/,
      ],
      [['report', '--by', 'month'], /^--by month is not known - one of/],
      [['report', '--by', 'modl'], /^--by modl is not known - did you mean model\? One of session/],
      [
        ['report', '--by', 'day', '--format', 'xml'],
        /^--format xml is not known - one of table, csv, json, parquet/,
      ],
      [['report', '--by', 'day', '--format', 'parquet'], /^parquet is no text - name a file with --out FILE/],
      [
        ['report', '--by', 'day', '--since', '2026-02-30'],
        /^--since 2026-02-30 is no day - write YYYY-MM-DD/,
      ],
      [['report', '--by', 'day', '--since', '2026-13'], /^--since 2026-13 is no day/],
      [
        ['report', '--by', 'day', '--since', '2026-02', '--until', '2026-01'],
        /^--until 2026-01-31 is before --since 2026-02-01/,
      ],
      [['report', '--by', 'day', '--limit', '0'], /^--limit 0 is not a number from 1/],
      [['report', '--by', 'day', '--url', 'here'], /^--url here is no URL of a proxy/],
      [
        ['report', '--by', 'day', '--database-url', 'mysql://x'],
        /^--database-url: the URL is not the URL of a PostgreSQL/,
      ],
      [['export', '--format', 'table'], /^--format table is not known - one of csv, jsonl, parquet/],
      [['reprice'], /^no configuration is named/],
      [['reconcile'], /^name the ledger of the gateway: either --url U --key K, or --csv FILE/],
      [
        ['reconcile', '--upstream', 'bifrost', '--csv', CSV],
        /^--upstream bifrost is not known - one of litellm/,
      ],
      [['reconcile', '--csv', CSV, '--tolerance', 'x'], /^--tolerance x is neither dollars/],
      [['reconcile', '--csv', 'none.csv'], /^the ledger none\.csv does not exist - check the path/],
      [['reconcile', '--url', 'http://x'], /^no key of the gateway - give --key K or set UPSTREAM_KEY/],
    ];
    for (const [args, says] of cases) {
      const error = await run(...args).catch((one: unknown) => one as Error);
      t.match(error, { name: 'UsageError', message: says }, args.join(' '));
    }
    writeFileSync(join(dir, 'bad.csv'), 'a\n"x');
    await t.rejects(run('reconcile', '--csv', 'bad.csv'), {
      name: 'CannotStart',
      message: /^bad\.csv is no CSV of a ledger: line 2/,
    });
    await t.rejects(run('export', '--out', 'no/such/folder/x', ...NOVEMBER), {
      name: 'CannotStart',
      message: /cannot be written/,
    });
  });
});
