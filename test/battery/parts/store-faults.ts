// Disks, databases and clocks that fail under load: calls are served or refused as the policy says, and once all is
// well again every call that the gateway saw has exactly one row. What this machine cannot stage is said, not skipped.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MAIN, runCli, workersOf, type CliOptions } from '../../support/cli.ts';
import { dice } from '../../support/dice.ts';
import { ownPostgres } from '../../support/postgres.ts';
import { send } from '../../support/rig.ts';
import { noSmallDisk, smallDisk } from '../../support/small-disk.ts';
import { rowsOf } from '../harness/books.ts';
import { openHouse, type Served } from '../harness/house.ts';
import type { Part, Stage } from '../harness/stage.ts';
import { Tally } from '../harness/tally.ts';
import { Trial } from '../harness/trial.ts';

const CLOCKS = pathToFileURL(join(import.meta.dirname, '../harness/clock-steps.ts')).href;

interface Case {
  readonly what: string;
  /** Why it cannot be staged here; false when it can. */
  readonly lacks?: () => string | false;
  /** Left out of short runs, which have 90 s on a busy machine; others of the same kind are in them. */
  readonly isLong?: boolean;
  run(trial: Trial, stage: Stage): Promise<void>;
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
    run: async (trial) => {
      await end(await loaded(trial));
      const before = trial.sent;
      damage(trial.dataDir, dice(trial.sent), 0);
      const next = await trial.house.serve(trial.dataDir);
      await trial.load(next);
      await trial.close(next, before);
      await next.said(/store_moved_aside/);
      trial.demand(globSync(`${databaseOf(trial.dataDir)}.damaged-*`).length > 0, 'the damaged file is gone');
      await end(next);
    },
  },
  {
    what: 'SQLite file damaged behind its first page while it is in use',
    isLong: true,
    run: async (trial) => {
      const proxy = await loaded(trial);
      const running = trial.load(proxy);
      damage(trial.dataDir, dice(trial.sent), 4096);
      await running;
      const before = trial.sent;
      await send(proxy.url, 'GET', '/spend/logs'); // meets the damage
      await end(proxy);
      const next = await trial.house.serve(trial.dataDir);
      await send(next.url, 'GET', '/spend/logs');
      await trial.load(next);
      await trial.close(next, before);
      await end(next);
    },
  },
  {
    what: 'SQLite file removed under a running proxy',
    run: async (trial) => {
      const proxy = await loaded(trial);
      const before = trial.sent;
      for (const path of globSync(`${databaseOf(trial.dataDir)}*`)) spawnSync('rm', [path]);
      await trial.load(proxy);
      await trial.close(proxy, before);
      await end(proxy);
    },
  },
  {
    what: 'disk full, then room again',
    lacks: noSmallDisk,
    run: async (trial, stage) => {
      const disk = smallDisk(stage, trial.dataDir, '8m');
      const proxy = await loaded(trial);
      const running = trial.load(proxy, ['refused']);
      disk.fill();
      await running;
      await trial.refuses(proxy, 'while the disk is full');
      await trial.until(proxy, '/health/readiness', 503);
      disk.free();
      await trial.until(proxy, '/health/readiness', 200);
      await trial.load(proxy);
      await trial.close(proxy);
      await end(proxy);
    },
  },
  {
    what: 'killed while the disk is full',
    isLong: true,
    lacks: noSmallDisk,
    run: async (trial, stage) => {
      const disk = smallDisk(stage, trial.dataDir, '8m');
      const proxy = await loaded(trial);
      const running = trial.load(proxy, ['refused', 'broken']);
      disk.fill();
      await trial.refuses(proxy, 'while the disk is full');
      proxy.kill('SIGKILL');
      await proxy.ended;
      await running;
      disk.free();
      const next = await trial.house.serve(trial.dataDir);
      await trial.load(next);
      const rows = await rowsOf(next.url);
      const have = new Set(rows.map((row) => String(row['session_id'])));
      const seen = trial.house.seen.filter((session) => session.startsWith('call-'));
      trial.tally.harm(
        'lost',
        seen.filter((session) => !have.has(session)),
      );
      await end(next);
    },
  },
  {
    what: 'start on a read-only disk: refused in one sentence',
    lacks: noSmallDisk,
    run: async (trial, stage) => {
      const disk = smallDisk(stage, trial.dataDir, '8m');
      await end(await loaded(trial));
      disk.protect(true);
      const { configPath } = trial.house;
      const ended = await runCli(stage, [
        'serve',
        '--config',
        configPath,
        '--port',
        '0',
        '--data-dir',
        trial.dataDir,
      ]);
      trial.demand(
        ended.code === 1 && /^throughline: [^\n]*(?:read-?only|EROFS)[^\n]*\n$/i.test(ended.err),
        `exit ${ended.code}: ${ended.err}`,
      );
      disk.protect(false);
      const next = await loaded(trial);
      await trial.close(next);
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
    run: async (trial) => {
      const proxy = await trial.house.serve(trial.dataDir, [], faulty(trial.dataDir, inject));
      await trial.load(proxy, ['refused']);
      await proxy.said(/journal_unwritable/);
      await trial.until(proxy, '/health/readiness', 200);
      await trial.load(proxy, ['refused']);
      await trial.close(proxy);
      await endTraced(proxy);
    },
  })),
  {
    what: 'syncs of the journal take 300 ms',
    lacks: noStrace,
    run: async (trial) => {
      const slow = 'fdatasync:delay_enter=300000';
      const proxy = await trial.house.serve(trial.dataDir, [], faulty(trial.dataDir, slow));
      await trial.load(proxy);
      await trial.load(proxy);
      await trial.close(proxy);
      await endTraced(proxy);
    },
  },
  {
    what: 'clock stepped by an hour, forth and back, under load',
    run: async (trial, stage) => {
      const path = join(stage.folder(), 'step');
      const env = { CLOCK_STEP_FILE: path };
      const command: CliOptions['command'] = [process.execPath, '--import', CLOCKS, MAIN];
      const proxy = await trial.house.serve(trial.dataDir, [], { env, command });
      for (const hours of [0, 1, -1, 24, 0]) {
        const running = trial.load(proxy);
        writeFileSync(path, String(hours * 3_600_000));
        await running;
      }
      const rows = await rowsOf(proxy.url);
      const day = (row: (typeof rows)[number]): string => String(row['startTime']).slice(0, 13);
      trial.demand(new Set(rows.map(day)).size >= 3, 'the clock was not stepped');
      trial.tally.notes.push(`Clock: rows stand in ${new Set(rows.map(day)).size} different hours.`);
      await trial.close(proxy);
      await end(proxy);
    },
  },
];

async function loaded(trial: Trial): Promise<Served> {
  const proxy = await trial.house.serve(trial.dataDir);
  await trial.load(proxy);
  await rowsOf(proxy.url); // all of them are in the store now
  return proxy;
}

async function postgres(stage: Stage, calls: number, random: () => number): Promise<Tally | null> {
  const server = await ownPostgres(stage);
  if (server === null) {
    stage.notes.push('PostgreSQL stopped under load: not tried, no server is installed here.');
    return null;
  }
  const tally = new Tally(
    'PostgreSQL stopped and started, the proxy killed in between',
    ['lost', 'doubled'],
    stage.wanted.seed,
  );
  const house = await openHouse(stage, `  database_url: "${server.url()}"\n`);
  const trial = new Trial(house, tally, join(stage.folder(), 'data'), calls, random);
  const proxy = await loaded(trial);
  const running = trial.load(proxy);
  await server.stop();
  await running;
  await trial.load(proxy);
  proxy.kill('SIGKILL');
  await proxy.ended;
  const next = await house.serve(trial.dataDir);
  await trial.load(next);
  const away = await send(next.url, 'GET', '/spend/logs');
  trial.demand(away.status === 503, `rows were read from a stopped server: ${away.status}`);
  await server.start();
  await trial.until(next, '/spend/logs', 200);
  await trial.load(next);
  await trial.close(next);
  await end(next);
  tally.notes.push(`The server was ${server.name}.`);
  return tally;
}

export const storeFaults: Part = {
  name: 'store-faults',
  about:
    'disks, databases and clocks that fail under load: served or refused as said, rows complete afterwards',
  run: async (stage) => {
    const { seed } = stage.wanted;
    const random = dice(seed);
    const calls = stage.count(200, 30, stage.wanted.rounds);
    const tallies: Tally[] = [];
    for (const one of CASES) {
      if (stage.wanted.quick && one.isLong === true) continue;
      const lacks = one.lacks?.() ?? false;
      if (lacks !== false) {
        stage.notes.push(`${one.what}: not tried, it ${lacks}.`);
        continue;
      }
      const tally = new Tally(one.what, ['lost', 'doubled'], seed);
      const house = await openHouse(stage);
      await one.run(new Trial(house, tally, join(stage.folder(), 'data'), calls, random), stage);
      tallies.push(tally);
    }
    if (stage.wanted.quick) return tallies; // a start of PostgreSQL alone takes seconds
    const last = await postgres(stage, calls, random);
    return last === null ? tallies : [...tallies, last];
  },
};
