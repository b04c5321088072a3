// How fast rows go from the journal into a store and what that costs, and how long a month's report of a year takes.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ownPostgres } from '../../test/support/postgres.ts';
import { fixed } from '../harness/measure.ts';
import { ROOT } from '../harness/peers.ts';
import { Program } from '../harness/processes.ts';
import type { Bench, Scenario, Table } from '../harness/scenario.ts';
import type { Filled } from '../store.ts';

async function fill(bench: Bench, name: string, rows: number, url: string): Promise<Filled> {
  const folder = join(bench.folder, `store-${name}`);
  mkdirSync(folder);
  const args = [join(ROOT, 'bench/store.ts'), folder, String(rows), url];
  const program = new Program(process.execPath, args, 'ignore', true);
  try {
    return await new Promise<Filled>((resolve, reject) => {
      program.child.once('message', (message) => resolve(message as Filled));
      program.child.once('exit', () => reject(new Error(`filling ${name} ended early: ${program.text}`)));
    });
  } finally {
    program.stop();
  }
}

function tablesOf(
  filled: readonly (readonly [name: string, filled: Filled])[],
  notes: readonly string[],
): Table[] {
  const reports = filled[0]?.[1].reports ?? [];
  return [
    {
      title: 'Rows from the journal into a store, one process, daily sums included',
      columns: ['', 'rows', 'rows/s', 'CPU us per row', 'bytes per row'],
      rows: filled.map(([name, { rows, rowsPerSecond, cpuUsPerRow, bytesPerRow }]) => [
        name,
        String(rows),
        fixed(rowsPerSecond, 0),
        fixed(cpuUsPerRow, 1),
        bytesPerRow === null ? '' : fixed(bytesPerRow, 0),
      ]),
      notes: [
        'CPU of our process with its worker thread; the server of PostgreSQL is not in it and shares the cores.',
        ...notes,
      ],
    },
    {
      title: '`throughline spend report --by ...` of one month out of the year, ms',
      columns: ['by', 'groups', ...filled.flatMap(([name]) => [name, 'CPU'])],
      rows: reports.map(({ by, groups }, i) => [
        by,
        String(groups),
        ...filled.flatMap(([, { reports }]) => [
          fixed(reports[i]?.ms ?? NaN, 0),
          fixed(reports[i]?.cpuMs ?? NaN, 0),
        ]),
      ]),
      notes: [
        'From opening the store to the rows, without the start of the program; at most 10,000 groups.',
        'CPU of our process: on a busy machine the rest of the time is mostly waiting for a core or the disk.',
      ],
    },
  ];
}

export const store: Scenario = {
  name: 'store',
  about: 'rows/s and CPU per row into SQLite and PostgreSQL; a month of a year reported',
  run: async (bench) => {
    const rows = bench.count(1_000_000, 20_000);
    const filled: [string, Filled][] = [['SQLite', await fill(bench, 'sqlite', rows, '')]];
    const ends: (() => unknown)[] = [];
    try {
      const server = await ownPostgres({ teardown: (act) => ends.unshift(act) }, () => []);
      if (server === null) bench.notes.push('PostgreSQL was not run: no server is installed.');
      else filled.push(['PostgreSQL', await fill(bench, 'postgresql', rows, server.url())]);
    } finally {
      for (const end of ends) await end();
    }
    return tablesOf(filled, bench.notes);
  },
};

/** What a busy company has after a year. Some 15 minutes and 20 GB of disk. */
export const year: Scenario = {
  name: 'year',
  about: 'ten million rows in SQLite; a month of them reported',
  run: async (bench) => {
    const rows = bench.count(10_000_000, 20_000);
    return tablesOf([['SQLite', await fill(bench, 'year', rows, '')]], bench.notes);
  },
};
