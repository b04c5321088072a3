// `npm test`: plays test files, two at a time for each core; those that take long begin first, so that no core
// waits at the end. Files that are named run in a process each; in a run of all, small ones of a folder share one. tap's
// own runner would do, but sorts by name and preloads five modules, which makes the start of a file half as long again.
//
//   npm test                               all files
//   npm test -- test/e2e test/bin/*.ts     folders and files
//   npm test -- --jobs 1 test/e2e          one at a time
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Parser } from 'tap-parser';
import { batchesOf, ROOT, type Batch } from './files.ts';
import { Report } from './report.ts';

/** A hang ends after this long; a busy machine alone must never bring it about. */
const TIMEOUT_S = 600;

/** What takes longest, by the durations of a run of all; the rest as it comes. */
const FIRST = [
  'test/crash/workers',
  'test/proxy/spend/store',
  'test/proxy/cli',
  'test/proxy/bodies',
  'test/crash/',
  'test/e2e/workers',
  'test/platform/',
  'test/e2e/traces',
  'test/proxy/pipeline',
  'test/e2e/',
  'test/security/',
  'test/config',
  'test/proxy/spend/',
];
const GROUP = join(import.meta.dirname, 'group.ts');

/** Files wait for disks, timers and other processes half of their time. */
const JOBS_PER_CORE = 2;

const { values, positionals } = parseArgs({
  options: { jobs: { type: 'string', default: String(JOBS_PER_CORE * availableParallelism()) } },
  allowPositionals: true,
});

function filesOf(paths: readonly string[]): string[] {
  if (paths.length === 0) return globSync('test/**/*.test.ts', { cwd: ROOT });
  return paths.flatMap((path) =>
    statSync(path).isDirectory()
      ? globSync(join(relative(ROOT, resolve(path)), '**/*.test.ts'), { cwd: ROOT })
      : [relative(ROOT, resolve(path))],
  );
}

function rankOf(file: string): number {
  const rank = FIRST.findIndex((start) => file.startsWith(start));
  return rank < 0 ? FIRST.length : rank;
}

const environment = {
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'throughline-tests'),
  ...process.env,
  TAP: '1',
  TAP_TIMEOUT: String(TIMEOUT_S),
};

async function play({ name, files }: Batch, report: Report): Promise<void> {
  const parser = new Parser({ name });
  const followed = report.follow(name, parser);
  const entry = files.length === 1 ? files : [GROUP, ...files];
  const child = spawn(process.execPath, ['--no-warnings', ...entry], {
    cwd: ROOT,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stuck = setTimeout(() => child.kill('SIGKILL'), (TIMEOUT_S + 30) * 1000);
  child.stdout.pipe(parser);
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  clearTimeout(stuck);
  followed.ended(code === 0 ? null : `it ended with ${signal ?? `code ${code}`}`);
}

const files = filesOf(positionals);
const isAll = positionals.length === 0;
const batches = (isAll ? batchesOf(files) : files.map((file) => ({ name: file, files: [file] }))).toSorted(
  (a, b) => rankOf(a.name) - rankOf(b.name) || a.name.localeCompare(b.name, 'en'),
);
const report = new Report();
const waiting = batches.values();
const jobs = Array.from({ length: Number(values.jobs) }, async () => {
  for (const batch of waiting) await play(batch, report);
});
await Promise.all(jobs);
report.end(files.length);
process.exitCode = report.isGood ? 0 : 1;
