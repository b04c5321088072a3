// Plays files of tests one after another in one process, as the runner names them, a line each, on descriptor 3; it ends
// when that stream does. A process of its own would cost each file 0.5 to 1.5 s of CPU, for its start and for code that
// runs cold. A file leaves nothing behind: what it tears down at the top level is torn down before the next one is loaded.
// What it may not do is await a test of its own there: that one would wait for the end of the loading.
//
// In the TAP of the process each file begins with a subtest that loads it, and ends with one that tears it down and says
// what it has used; then the process waits in a third. Whatever fails in them, the next file is played.
import asyncHooks from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type * as Tap from 'tap';
import { BETWEEN, TIMEOUT_S, WAITING, type Used } from './group-tap.ts';

// tap makes the names of temporary folders of the command line: it tells this process from others.
process.argv.push(`group-${process.pid}`);
const { default: t } = await importTap();
const orders = new Socket({ fd: 3 });
const lines = createInterface({ input: orders })[Symbol.asyncIterator]();

/** Of the present file, the last one first. */
let teardowns: (() => unknown)[] = [];
const teardown = (act: () => unknown): void => void teardowns.unshift(act);
Object.assign(t, { teardown, after: teardown });

/**
 * tap follows every promise and socket of the process, to know of an error that nobody caught in which test it was thrown.
 * That takes 5 % of all CPU. Without it such an error ends this process, and the runner names the file.
 */
async function importTap(): Promise<typeof Tap> {
  const { createHook } = asyncHooks;
  const none = createHook({});
  Object.assign(none, { enable: () => none, disable: () => none });
  asyncHooks.createHook = () => none;
  syncBuiltinESMExports();
  try {
    return await import('tap');
  } finally {
    asyncHooks.createHook = createHook;
    syncBuiltinESMExports();
  }
}

/** CPU in ms of this process and its threads, and of processes that it has waited for, and that they have. */
function used(): Used {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1000;
  try {
    // proc_pid_stat(5): cutime and cstime are the 16th and 17th; the name in brackets may hold blanks
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /, '')
      .split(' ');
    return { own, children: (Number(fields[13]) + Number(fields[14])) * 10 };
  } catch {
    return { own, children: 0 };
  }
}

/** What keeps the process alive, by kind, when its files were over. */
interface OpenAfter {
  readonly file: string;
  readonly kinds: Readonly<Record<string, number>>;
}

const openKinds = (): Record<string, number> => {
  const kinds: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return kinds;
};

const openAfter: OpenAfter[] = [];

/** Tears a file down. @param before used up to its beginning */
function tearDown(file: string, before: Used): void {
  void t.test(BETWEEN, async (t) => {
    for (const act of teardowns) {
      try {
        await act();
      } catch (error) {
        t.error(error, 'a teardown of the file'); // the others are called all the same
      }
    }
    teardowns = [];
    const now = used();
    t.comment(JSON.stringify({ own: now.own - before.own, children: now.children - before.children }));
  });
  void t.test(WAITING, async () => {
    const { value: next, done = false } = await lines.next();
    openAfter.push({ file, kinds: openKinds() });
    if (done || next === undefined) end();
    else play(next);
  });
}

function play(file: string): void {
  t.setTimeout(TIMEOUT_S * 1000); // from now on
  const before = used();
  void t.test(`loading ${file}`, async () => {
    try {
      await import(resolve(file));
    } finally {
      tearDown(file, before); // behind the tests of the file
    }
  });
}

/** How long what a file has closed may take to be gone. */
const CLOSING_MS = 2_000;

/** Ends the process, also where a file has left something open that would keep it alive. */
function end(): void {
  orders.destroy();
  t.on('complete', () => {
    setTimeout(() => {
      const left = Object.entries(openKinds()).map(([kind, count]) => `${kind} (${leftBy(kind, count)})`);
      if (left.length > 0) console.error(`these files left something open: ${left.join(', ')}`);
      process.exit();
    }, CLOSING_MS).unref();
  });
  setImmediate(() => t.end()); // when the subtest that waited is over
}

/** The file since which so many of a kind were open. */
function leftBy(kind: string, count: number): string {
  const first = openAfter.findLastIndex(({ kinds }) => (kinds[kind] ?? 0) < count) + 1;
  return openAfter[first]?.file ?? 'the last file';
}

const { value: first } = await lines.next();
if (first === undefined) orders.destroy();
else play(first);
