// Plays files of tests one after another in one process, as the runner names them, a line each, on descriptor 3; it ends
// when that stream does. A process of its own would cost each file 0.5 to 1.5 s of CPU, for its start and for code that
// runs cold. A file leaves nothing behind: what it tears down at the top level is torn down before the next one is loaded.
// What it may not do is await a test of its own there: that one would wait for the end of the loading.
//
// In the TAP of the process each file begins with a subtest that loads it, and ends with one that says what it has used.
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { BETWEEN, TIMEOUT_S, type Used } from './group-tap.ts';

// tap makes the names of temporary folders of the command line: it tells this process from others.
process.argv.push(`group-${process.pid}`);
const { default: t } = await import('tap');
const orders = new Socket({ fd: 3 });
const lines = createInterface({ input: orders })[Symbol.asyncIterator]();

/** Of the present file, the last one first. */
let teardowns: (() => unknown)[] = [];
const teardown = (act: () => unknown): void => void teardowns.unshift(act);
Object.assign(t, { teardown, after: teardown });

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

/** At the end of the last file; null before the first one. */
let before: Used | null = null;

function playNext(): void {
  void t.test(BETWEEN, async (t) => {
    for (const act of teardowns) await act();
    teardowns = [];
    const now = used();
    if (before !== null)
      t.comment(JSON.stringify({ own: now.own - before.own, children: now.children - before.children }));
    before = now;
    const { value: file, done = false } = await lines.next();
    if (done || file === undefined) orders.destroy();
    else play(file);
  });
}

function play(file: string): void {
  t.setTimeout(TIMEOUT_S * 1000); // from now on
  void t.test(`loading ${file}`, async () => {
    await import(resolve(file));
    playNext(); // behind the tests of the file
  });
}

playNext();
