// `npm test`: plays test files, a few processes at a time, each of which plays one file after another; those that take
// long begin first, so that no core waits at the end. tap's own runner would do, but starts a process for each file and
// preloads five modules.
//
//   npm test                               all files but those of the battery
//   npm test -- --long                     those of the battery: `npm run battery` plays them first
//   npm test -- --all                      both
//   npm test -- test/e2e test/bin/*.ts     folders and files, whichever they are
//   npm test -- --jobs 1 test/e2e          one at a time
//   npm test -- --used                     and what used most CPU
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, statfsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { Parser } from 'tap-parser';
import { beginsProcess, filesFor, inOrder, ROOT } from './files.ts';
import { TIMEOUT_S } from './group-tap.ts';
import { Report, type Followed } from './report.ts';

const GROUP = join(import.meta.dirname, 'play-files.ts');

/** Files wait for disks, timers and other processes half of their time: six at once are 8 % faster on two cores than four. */
const JOBS = 2 * availableParallelism() + 2;

/** What a process holds grows with each file: it makes place for a new one after so many. */
const FILES_PER_PROCESS = 120;

/** Megabytes: with V8's 16 collections take 13 % more CPU (test/proxy, test/config and test/security, two runs each). */
const YOUNG_GENERATION = '--max-semi-space-size=48';

const { values, positionals } = commandLine();

function commandLine() {
  try {
    return parseArgs({
      options: {
        jobs: { type: 'string', default: String(JOBS) },
        used: { type: 'boolean', default: false },
        long: { type: 'boolean', default: false },
        all: { type: 'boolean', default: false },
      },
      allowPositionals: true,
    });
  } catch (error) {
    return wrong((error as Error).message);
  }
}

function wrong(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}

function filesOf(paths: readonly string[]): string[] {
  if (paths.length > 0 && (values.all || values.long)) wrong('--all and --long take no paths');
  if (values.all) return filesFor('all');
  if (paths.length === 0) return filesFor(values.long ? 'long' : 'short');
  const missing = paths.filter((path) => !existsSync(path));
  if (missing.length > 0)
    wrong(`no such test file or folder: ${missing.join(', ')} - paths are relative to ${process.cwd()}`);
  return paths.flatMap((path) =>
    statSync(path).isDirectory()
      ? globSync(join(relative(ROOT, resolve(path)), '**/*.test.ts'), { cwd: ROOT })
      : [relative(ROOT, resolve(path))],
  );
}

/** Folders in memory spare the tests thousands of waits for the disk; what is to be seen of a disk makes one of its own. */
const MEMORY = '/dev/shm';
const LEAST_MEMORY_BYTES = 4 * 2 ** 30;

function memoryFolder(): { TMPDIR?: string } {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize < LEAST_MEMORY_BYTES ? {} : { TMPDIR: MEMORY };
  } catch {
    return {}; // not Linux
  }
}

const environment = {
  ...memoryFolder(),
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'throughline-tests'),
  ...process.env,
  TAP: '1',
  TAP_TIMEOUT: String(TIMEOUT_S),
};

/** A process that plays files. */
class Group {
  readonly #child: ChildProcess;
  readonly #orders: Writable;
  readonly #followed: Followed;
  /** Settles with the end of the process: with the file that it was to play next and had not begun. */
  readonly #closed: Promise<string | null>;
  #played = 0;

  constructor(report: Report) {
    const parser = new Parser({ name: 'group' });
    this.#followed = report.follow(parser);
    this.#child = spawn(process.execPath, ['--no-warnings', YOUNG_GENERATION, GROUP], {
      cwd: ROOT,
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    this.#closed = once(this.#child, 'close').then(() => this.#end());
    this.#orders = this.#child.stdio[3] as Writable;
    this.#orders.on('error', () => undefined); // the process is gone, which `close` tells
    this.#child.stdout?.pipe(parser);
  }

  /** @returns whether the process can play another file; or that it ended before this one, which another one has to play */
  async play(file: string): Promise<boolean | 'not played'> {
    const stuck = setTimeout(() => this.#child.kill('SIGKILL'), (TIMEOUT_S + 30) * 1000);
    const played = this.#followed.begin(file);
    this.#orders.write(`${file}\n`);
    const ended = this.#closed.then((left) => (left === file && this.#played > 1 ? 'not played' : false));
    this.#played += 1;
    const isReady = await Promise.race([played.then(() => true), ended]);
    clearTimeout(stuck);
    // A file may be over because its process has ended.
    const { exitCode, signalCode } = this.#child;
    const isThere = exitCode === null && signalCode === null;
    return isReady === true ? isThere && this.#played < FILES_PER_PROCESS : isReady;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    const stuck = setTimeout(() => this.#child.kill('SIGKILL'), TIMEOUT_S * 1000);
    this.#orders.end();
    await this.#closed;
    clearTimeout(stuck);
  }

  #end(): string | null {
    const { exitCode, signalCode } = this.#child;
    return this.#followed.ended(
      exitCode === 0 ? null : `it ended with ${signalCode ?? `code ${String(exitCode)}`}`,
    );
  }
}

async function playAll(waiting: Iterator<string>, report: Report): Promise<void> {
  let group: Group | null = null;
  for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
    const file = next.value;
    if (beginsProcess(file)) {
      await group?.close();
      group = null;
    }
    for (let isReady: boolean | 'not played' = 'not played'; isReady === 'not played';) {
      group ??= new Group(report);
      isReady = await group.play(file);
      if (isReady === true) continue;
      await group.close();
      group = null;
    }
  }
  await group?.close();
}

const files = inOrder(filesOf(positionals));
const report = new Report();
const waiting = files.values();
await Promise.all(Array.from({ length: Number(values.jobs) }, () => playAll(waiting, report)));
report.end(files.length, values.used);
process.exitCode = report.isGood ? 0 : 1;
