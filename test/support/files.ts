// Which files of tests `npm test` plays, in which order, and which begin a process.
import { globSync } from 'node:fs';
import { resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/**
 * These build packages or images, render the chart with Helm's engine, install with npm, play third-party monitors or the
 * benchmarks, take a browser through the console, play whole sandboxes, keep all cores busy, or start or kill programs
 * again and again. `npm run battery` plays them first, also with `--quick`; `npm test` only with `--all`, or where they are named.
 */
const LONG = [
  'test/bench/run',
  'test/bin/install',
  'test/bin/throughline',
  'test/charts/',
  'test/console/',
  'test/crash/',
  'test/deploy/image',
  'test/deploy/package',
  'test/e2e/access-workers',
  'test/e2e/admin-port',
  'test/e2e/brake-workers',
  'test/e2e/counts',
  'test/e2e/last-words',
  'test/e2e/reserved-by-killed',
  'test/e2e/traces',
  'test/e2e/unclean-stop',
  'test/e2e/workers',
  'test/meta/runner',
  'test/platform/replicas',
  'test/proxy/cli/program',
  'test/proxy/cli/sandbox-check',
  'test/proxy/cli/serve',
  'test/proxy/main',
  'test/proxy/spend/store/data-directory',
  'test/proxy/spend/store/postgres/worker',
];

const isLong = (file: string): boolean => LONG.some((start) => file.startsWith(start));

/** Files for a run in which nobody has named any. */
export function filesFor(which: 'short' | 'long' | 'all'): string[] {
  const all = globSync('test/**/*.test.ts', { cwd: ROOT });
  return which === 'all' ? all : all.filter((file) => isLong(file) === (which === 'long'));
}

/** What takes longest, by the durations of a run of all; the rest as it comes. */
const FIRST = [
  'test/crash/workers',
  'test/e2e/workers',
  'test/proxy/spend/store/store',
  'test/crash/',
  'test/console/',
  'test/proxy/cli/',
  'test/proxy/spend/store',
  'test/platform/',
  'test/e2e/traces',
  'test/charts/',
  'test/proxy/bodies',
  'test/e2e/',
  'test/security/',
  'test/proxy/pipeline',
  'test/config',
  'test/proxy/spend/',
];

/** These measure their process or its children, so no other file was played in it before. */
const FIRST_OF_PROCESS = new Set(
  [
    'e2e/admin-port',
    'e2e/bounded-work',
    'e2e/counts',
    'e2e/last-words',
    'e2e/platform-day',
    'e2e/relay',
    'e2e/spend',
    'e2e/traces',
    'e2e/workers',
    'proxy/cli/sandbox-check',
    'security/isolation',
  ].map((name) => `test/${name}.test.ts`),
);

export const beginsProcess = (file: string): boolean => FIRST_OF_PROCESS.has(file);

function rankOf(file: string): number {
  const rank = FIRST.findIndex((start) => file.startsWith(start));
  return rank < 0 ? FIRST.length : rank;
}

/** Those that begin a process come first, so that none ends for them; then those that take long, so that no core waits at the end. */
export const inOrder = (files: readonly string[]): string[] =>
  files.toSorted(
    (a, b) =>
      Number(beginsProcess(b)) - Number(beginsProcess(a)) ||
      rankOf(a) - rankOf(b) ||
      a.localeCompare(b, 'en'),
  );
