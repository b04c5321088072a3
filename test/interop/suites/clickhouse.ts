// Rows in a real ClickHouse: `spend export --to` against the embedded one of PyPI (chdb), behind a small server that speaks its
// HTTP interface.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT, runWithin } from '../../support/cli.ts';
import { leaveJournal } from '../../support/journal.ts';
import { startRig } from '../../support/rig.ts';
import { beginOf, settleOf } from '../../proxy/spend/record/fixture/records.ts';
import { picoOfDollarText } from '../../../proxy/spend/record/dollars.ts';
import type { SpendRecord } from '../../../proxy/spend/record/record.ts';
import { packageVersion, pythonEnvironment } from '../harness/python.ts';
import type { Case, InteropRun, Suite } from '../harness/suite.ts';

const REQUIREMENTS = join(ROOT, 'test/interop/clickhouse.txt');
const PROGRAM = join(ROOT, 'test/interop/programs/clickhouse-http.py');
/** The lowest Python 3 of chdb. */
const MINOR = 9;
const ROWS = 12_000;
const T0 = Date.parse('2026-11-10T00:00:00Z');
const MONTH = ['--since', '2026-11', '--until', '2026-11'];

export const clickhouse: Suite = {
  name: 'clickhouse',
  about: 'spend rows in an embedded ClickHouse: its table, exact sums, each row once',
  prepare: async (run) => {
    const python = pythonEnvironment(REQUIREMENTS, MINOR);
    const version = packageVersion(python, 'chdb-core');
    return { software: `ClickHouse ${version} (chdb)`, cases: await casesOf(run, python.python) };
  },
};

/** What text, numbers, times and lists can be. */
function recordOf(n: number): SpendRecord {
  const startMs = T0 + n * 60_000;
  const odd = n % 3 === 0 ? { sessionId: 'half \ud800 "pair" \\ \u0000', endUser: null } : {};
  return settleOf(beginOf(`call-${n}`, { startMs, tags: ['a,b', `n:${n}`], ...odd }), {
    spendPico: n % 5 === 0 ? null : n + 1,
    endMs: n === 7 ? 8e15 : startMs + n,
  });
}

async function casesOf(run: InteropRun, python: string): Promise<Case[]> {
  const folder = run.folder();
  const child = spawn(python, [PROGRAM, join(folder, 'clickhouse')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  run.teardown(() => child.kill());
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  const records = Array.from({ length: ROWS }, (_, n) => recordOf(n));
  leaveJournal(join(folder, 'data'), records);
  const rig = await startRig(run, { folder });
  await rig.stop(); // its journal is in the store then
  const ask = async (sql: string): Promise<unknown[][]> => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: sql });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown[]);
  };
  const ship = async (table: string, ...more: string[]): Promise<string> => {
    const to = ['--to', `clickhouse://writer@127.0.0.1:${port}/default.${table}`];
    const { err } = await runWithin(['spend', 'export', '--data-dir', 'data', ...to, ...MONTH, ...more], {
      cwd: folder,
      env: { CLICKHOUSE_PASSWORD: 'any' },
    });
    return err;
  };
  const expect = (what: string, found: unknown, wanted: unknown): void => {
    const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (a !== b) throw new Error(`${what}: ${a}, not ${b}`);
  };
  const pico = records.reduce((sum, { spendPico }) => sum + BigInt(spendPico ?? 0), 0n);
  return [
    {
      name: 'the table is made, and holds every row exactly',
      play: async () => {
        await ship('spend', '--create');
        const [totals] = await ask(
          'SELECT toString(count()), toString(sum(spend)), toString(countIf(spend IS NULL)), ' +
            'toString(min(startTime)), toString(uniqExact(request_id)) FROM spend',
        );
        const nulls = records.filter(({ spendPico }) => spendPico === null).length;
        expect('rows', totals?.[0], String(ROWS));
        expect('spend', String(picoOfDollarText(String(totals?.[1]))), String(pico));
        expect('rows without a price', totals?.[2], String(nulls));
        expect('first', totals?.[3], '2026-11-10 00:00:00.000');
        const [odd] = await ask(
          "SELECT session_id, request_tags, toString(endTime), stream FROM spend WHERE request_id = 'call-0'",
        );
        expect('texts', odd, [
          'half \ufffd "pair" \\ \u0000',
          '["a,b","n:0"]',
          '2026-11-10 00:00:00.000',
          true,
        ]);
        const [far] = await ask("SELECT toString(endTime) FROM spend WHERE request_id = 'call-7'");
        expect('a clock that was far off', far, ['2299-12-31 23:59:59.999']);
        return `${ROWS} rows`;
      },
    },
    {
      name: 'rows that are sent again count once',
      play: async () => {
        await ship('spend');
        const [[count] = []] = await ask('SELECT toString(count()) FROM spend FINAL');
        expect('rows', count, String(ROWS));
        return '';
      },
    },
    {
      name: 'a table of an older version gets the columns that it lacks',
      play: async () => {
        await ship('older', '--create');
        await ask('ALTER TABLE older DROP COLUMN error_text');
        const refused = await ship('older').catch((error: Error) => error.message);
        if (!/run it once with --create/.test(refused)) throw new Error(`not refused: ${refused}`);
        await ship('older', '--create');
        return '';
      },
    },
    {
      name: 'a table that is not there is a sentence',
      play: async () => {
        const refused = await ship('nowhere').catch((error: Error) => error.message);
        if (!/Code: 60\b.* - give --create to make the table$/.test(refused)) throw new Error(refused);
        return '';
      },
    },
  ];
}
