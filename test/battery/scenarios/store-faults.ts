// Disks, databases and clocks that fail under load: calls are served or refused as the policy says, and once all is
// well again every call that the gateway saw has exactly one row. What this machine cannot simulate is reported, not skipped.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MAIN, runCli, workersOf, type CliOptions } from '../../support/cli.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { ownPostgres } from '../../support/postgres.ts';
import { send } from '../../support/rig.ts';
import { noSmallDisk, smallDisk } from '../../support/small-disk.ts';
import { rowsOf } from '../harness/compare-rows.ts';
import { openProxySetup, type Served } from '../harness/proxy-setup.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';
import { LoadCheck } from '../harness/load-check.ts';

const CLOCKS = pathToFileURL(join(import.meta.dirname, '../harness/clock-steps.ts')).href;

interface Case {
  readonly what: string;
  /** Why it cannot be staged here; false when it can. */
  readonly lacks?: () => string | false;
  /** Left out of short runs, which have 90 s on a busy machine; others of the same kind are in them. */
  readonly isLong?: boolean;
  run(check: LoadCheck, scenario: ScenarioRun): Promise<void>;
}

function noStrace(): string | false {
  const args = ['-f', '-o', '/dev/null', '-e', 'inject=fdatasync:error=EIO', 'true'];
  return spawnSync('strace', args).status === 0 ? false : 'needs strace and the right to trace';
}

/** The program with faults in its system calls on one file of the journal. */
function faulty(dataDir: string, inject: string): CliOptions {
  const segment = join(dataDir, 'journal', 'journal-00000001.log');
  const flags = ['-f', '--seccomp-bpf', '-o', '/dev/null', '-P', segment];
  return { command: ['strace', ...flags, '-e', `inject=${inject}`, process.execPath, MAIN] };
}

/** strace keeps signals to itself: the program below it is asked to end. */
async function endTraced(proxy: Served): Promise<void> {
  for (const pid of workersOf(proxy.pid)) process.kill(pid, 'SIGTERM');
  await proxy.ended;
}

async function end(proxy: Served): Promise<void> {
  proxy.kill('SIGTERM');
  await proxy.ended;
}

const databaseOf = (dataDir: string): string => join(dataDir, 'throughline.db');
const noise = (random: () => number, bytes: number): Buffer =>
  Buffer.from(Array.from({ length: bytes }, () => Math.floor(random() * 256)));

function damage(dataDir: string, random: () => number, from: number): void {
  const file = databaseOf(dataDir);
  const bytes = readFileSync(file);
  noise(random, bytes.length - from).copy(bytes, from);
  writeFileSync(file, bytes);
}

const CASES: readonly Case[] = [
  {
    what: 'SQLite file overwritten with noise between two runs',
    run: async (check) => {
      await end(await loaded(check));
      const before = check.sent;
      damage(check.dataDir, seededRandom(check.sent), 0);
      const next = await check.setup.serve(check.dataDir);
      await check.load(next);
      await check.close(next, before);
      await next.said(/store_moved_aside/);
      check.demand(globSync(`${databaseOf(check.dataDir)}.damaged-*`).length > 0, 'the damaged file is gone');
      await end(next);
    },
  },
  {
    what: 'SQLite file damaged behind its first page while it is in use',
    isLong: true,
    run: async (check) => {
      const proxy = await loaded(check);
      const running = check.load(proxy);
      damage(check.dataDir, seededRandom(check.sent), 4096);
      await running;
      const before = check.sent;
      await send(proxy.url, 'GET', '/spend/logs'); // meets the damage
      await end(proxy);
      const next = await check.setup.serve(check.dataDir);
      await send(next.url, 'GET', '/spend/logs');
      await check.load(next);
      await check.close(next, before);
      await end(next);
    },
  },
  {
    what: 'SQLite file removed under a running proxy',
    run: async (check) => {
      const proxy = await loaded(check);
      const before = check.sent;
      for (const path of globSync(`${databaseOf(check.dataDir)}*`)) spawnSync('rm', [path]);
      await check.load(proxy);
      await check.close(proxy, before);
      await end(proxy);
    },
  },
  {
    what: 'disk full, then room again',
    lacks: noSmallDisk,
    run: async (check, scenario) => {
      const disk = smallDisk(scenario, check.dataDir, '8m');
      const proxy = await loaded(check);
      const running = check.load(proxy, ['refused']);
      disk.fill();
      await running;
      await check.refuses(proxy, 'while the disk is full');
      await check.until(proxy, '/health/readiness', 503);
      disk.free();
      await check.until(proxy, '/health/readiness', 200);
      await check.load(proxy);
      await check.close(proxy);
      await end(proxy);
    },
  },
  {
    what: 'killed while the disk is full',
    isLong: true,
    lacks: noSmallDisk,
    run: async (check, scenario) => {
      const disk = smallDisk(scenario, check.dataDir, '8m');
      const proxy = await loaded(check);
      const running = check.load(proxy, ['refused', 'broken']);
      disk.fill();
      await check.refuses(proxy, 'while the disk is full');
      proxy.kill('SIGKILL');
      await proxy.ended;
      await running;
      disk.free();
      const next = await check.setup.serve(check.dataDir);
      await check.load(next);
      const rows = await rowsOf(next.url);
      const have = new Set(rows.map((row) => String(row['session_id'])));
      const seen = check.setup.seen.filter((session) => session.startsWith('call-'));
      check.result.violations(
        'lost',
        seen.filter((session) => !have.has(session)),
      );
      await end(next);
    },
  },
  {
    what: 'start on a read-only disk: refused in one sentence',
    lacks: noSmallDisk,
    run: async (check, scenario) => {
      const disk = smallDisk(scenario, check.dataDir, '8m');
      await end(await loaded(check));
      disk.protect(true);
      const { configPath } = check.setup;
      const ended = await runCli(scenario, [
        'serve',
        '--config',
        configPath,
        '--port',
        '0',
        '--data-dir',
        check.dataDir,
      ]);
      check.demand(
        ended.code === 1 && /^throughline: [^\n]*(?:read-?only|EROFS)[^\n]*\n$/i.test(ended.err),
        `exit ${ended.code}: ${ended.err}`,
      );
      disk.protect(false);
      const next = await loaded(check);
      await check.close(next);
      await end(next);
    },
  },
  ...[
    ['the journal file turns read-only (EROFS)', 'pwrite64:error=EROFS:when=20..60'],
    ['each write to the journal file fails (EIO)', 'pwrite64:error=EIO:when=15+'],
    ['syncs of the journal fail (EIO)', 'fdatasync:error=EIO:when=1+'],
  ].map(([what = '', inject = '']): Case => ({
    what,
    lacks: noStrace,
    run: async (check) => {
      const proxy = await check.setup.serve(check.dataDir, [], faulty(check.dataDir, inject));
      await check.loadUntilSaid(proxy, /journal_unwritable/, ['refused']);
      await check.until(proxy, '/health/readiness', 200);
      await check.load(proxy, ['refused']);
      await check.close(proxy);
      await endTraced(proxy);
    },
  })),
  {
    what: 'syncs of the journal take 300 ms',
    lacks: noStrace,
    run: async (check) => {
      const slow = 'fdatasync:delay_enter=300000';
      const proxy = await check.setup.serve(check.dataDir, [], faulty(check.dataDir, slow));
      await check.load(proxy);
      await check.load(proxy);
      await check.close(proxy);
      await endTraced(proxy);
    },
  },
  {
    what: 'clock stepped by an hour, forth and back, under load',
    run: async (check, scenario) => {
      const path = join(scenario.folder(), 'step');
      const env = { CLOCK_STEP_FILE: path };
      const command: CliOptions['command'] = [process.execPath, '--import', CLOCKS, MAIN];
      const proxy = await check.setup.serve(check.dataDir, [], { env, command });
      for (const hours of [0, 1, -1, 24, 0]) {
        const running = check.load(proxy);
        writeFileSync(path, String(hours * 3_600_000));
        await running;
      }
      const rows = await rowsOf(proxy.url);
      const day = (row: (typeof rows)[number]): string => String(row['startTime']).slice(0, 13);
      check.demand(new Set(rows.map(day)).size >= 3, 'the clock was not stepped');
      check.result.notes.push(`Clock: rows stand in ${new Set(rows.map(day)).size} different hours.`);
      await check.close(proxy);
      await end(proxy);
    },
  },
];

async function loaded(check: LoadCheck): Promise<Served> {
  const proxy = await check.setup.serve(check.dataDir);
  await check.load(proxy);
  await rowsOf(proxy.url); // all of them are in the store now
  return proxy;
}

async function postgres(
  scenario: ScenarioRun,
  calls: number,
  random: () => number,
): Promise<ResultRow | null> {
  const server = await ownPostgres(scenario);
  if (server === null) {
    scenario.notes.push('PostgreSQL stopped under load: not tried, no server is installed here.');
    return null;
  }
  const result = new ResultRow(
    'PostgreSQL stopped and started, the proxy killed in between',
    ['lost', 'doubled'],
    scenario.options.seed,
  );
  const setup = await openProxySetup(scenario, `  database_url: "${server.url()}"\n`);
  const check = new LoadCheck(setup, result, join(scenario.folder(), 'data'), calls, random);
  const proxy = await loaded(check);
  const running = check.load(proxy);
  await server.stop();
  await running;
  await check.load(proxy);
  proxy.kill('SIGKILL');
  await proxy.ended;
  const next = await setup.serve(check.dataDir);
  await check.load(next);
  const away = await send(next.url, 'GET', '/spend/logs');
  check.demand(away.status === 503, `rows were read from a stopped server: ${away.status}`);
  await server.start();
  await check.until(next, '/spend/logs', 200);
  await check.load(next);
  await check.close(next);
  await end(next);
  result.notes.push(`The server was ${server.name}.`);
  return result;
}

export const storeFaults: Scenario = {
  name: 'store-faults',
  about:
    'disks, databases and clocks that fail under load: served or refused as said, rows complete afterwards',
  run: async (scenario) => {
    const { seed } = scenario.options;
    const random = seededRandom(seed);
    const calls = scenario.count(200, 30, scenario.options.rounds);
    const results: ResultRow[] = [];
    for (const one of CASES) {
      if (scenario.options.quick && one.isLong === true) continue;
      const lacks = one.lacks?.() ?? false;
      if (lacks !== false) {
        scenario.notes.push(`${one.what}: not tried, it ${lacks}.`);
        continue;
      }
      const result = new ResultRow(one.what, ['lost', 'doubled'], seed);
      const setup = await openProxySetup(scenario);
      await one.run(new LoadCheck(setup, result, join(scenario.folder(), 'data'), calls, random), scenario);
      results.push(result);
    }
    if (scenario.options.quick) return results; // a start of PostgreSQL alone takes seconds
    const last = await postgres(scenario, calls, random);
    return last === null ? results : [...results, last];
  },
};
