// The real program as a child process: what an operator runs, with its exit codes and its two streams. Its environment
// is empty unless a test says otherwise, so that no key of the machine can make a test pass.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runProgram } from '../../proxy/cli/program.ts';
import type { Terminal } from '../../proxy/cli/terminal.ts';
import { PATIENCE_MS } from './patience.ts';
import { RUN, RUN_MARK, type Teardown } from './process-cleanup.ts';

export const ROOT = resolve(import.meta.dirname, '../..');
/** What a command line of one's own starts. */
export const MAIN = join(ROOT, 'proxy', 'main.ts');
/** The launcher's own: a start from sources takes 0.4 s of CPU less with it. */
const CACHE = join(ROOT, 'node_modules', '.cache', 'throughline');

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Default: a folder that holds nothing the program should find. */
  readonly cwd?: string;
  /** The whole command line; default: this Node, main.ts, the arguments. */
  readonly command?: readonly [string, ...string[]];
  /** Killed after so long, so that a test which waits in vain ends with a sentence. Default 9 minutes. */
  readonly patienceMs?: number;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface Cli {
  readonly pid: number;
  /** Settles with the first match in what the program has said on either stream; rejects when it ends or `PATIENCE_MS` pass before. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

/** Starts the program; killed with the test. */
export function startCli(t: Teardown, args: readonly string[], options: CliOptions = {}): Cli {
  const [file, ...before] = options.command ?? [process.execPath, MAIN];
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    NODE_COMPILE_CACHE: CACHE,
    [RUN_MARK]: RUN,
    ...options.env,
  };
  const child = spawn(file, [...before, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  let over = false;
  const looks = new Set<() => void>();
  const look = (): void => looks.forEach((one) => one());
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    look();
  });
  const ended = new Promise<Ended>((settle, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      over = true;
      settle({ code, signal, out, err });
      look();
    });
  });
  const impatience = setTimeout(() => child.kill('SIGKILL'), options.patienceMs ?? PATIENCE_MS).unref();
  t.teardown(async () => {
    clearTimeout(impatience);
    child.kill('SIGKILL');
    await ended;
  });
  return {
    pid: child.pid as number,
    said: (pattern) =>
      new Promise((settle, reject) => {
        const settleWith = (match: RegExpExecArray | null, why: string): void => {
          looks.delete(check);
          clearTimeout(silence);
          if (match !== null) settle(match);
          else reject(new Error(`the program ${why} without saying ${pattern}:\n${out}\n${err}`));
        };
        const check = (): void => {
          const match = pattern.exec(out) ?? pattern.exec(err);
          if (match !== null || over) settleWith(match, 'ended');
        };
        const silence = setTimeout(settleWith, PATIENCE_MS, null, `ran for ${PATIENCE_MS / 60_000} minutes`);
        looks.add(check);
        check();
      }),
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

/** Runs the program to its end. */
export function runCli(t: Teardown, args: readonly string[], options: CliOptions = {}): Promise<Ended> {
  return startCli(t, args, options).ended;
}

/**
 * The command line within this process: 0.3 s less for each of many.
 * @throws UsageError, CannotStart, ConfigRefused, which main.ts turns into sentences and exit codes
 */
export async function runWithin(
  args: readonly string[],
  {
    cwd = tmpdir(),
    env = {},
    ask = null,
  }: Pick<CliOptions, 'cwd' | 'env'> & Partial<Pick<Terminal, 'ask'>> = {},
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let [out, err] = ['', ''];
  const code = await runProgram(args, '1.2.3', {
    env,
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    logStyle: 'json',
    onSignal: () => undefined,
    ask,
    cwd,
    home: ROOT,
  });
  return { code, out, err };
}

/** The help of every command by its name, those below `spend`, `keys` and alike among them. */
export async function helpOfAll(name = ''): Promise<ReadonlyMap<string, string>> {
  const { out } = await runWithin([...name.split(' '), '--help'].filter(Boolean));
  const [, list = ''] = /\nCommands:\n([^]*?)(?:\n\n|$)/.exec(out) ?? [];
  const below = [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, word = '']) => word);
  const all = new Map([[name, out]]);
  for (const word of below.filter((one) => one !== 'help')) {
    for (const [one, text] of await helpOfAll(`${name} ${word}`.trim())) all.set(one, text);
  }
  return all;
}

/** Starts `serve` on a free port of loopback; settles when it listens. */
export async function serveCli(
  t: Teardown,
  config: string,
  dataDir: string,
  more: readonly string[] = [],
  options: CliOptions = {},
): Promise<Cli & { readonly url: string; readonly port: number }> {
  const args = [
    'serve',
    '--config',
    config,
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '--data-dir',
    dataDir,
    ...more,
  ];
  const cli = startCli(t, args, options);
  const [, url = '', port = ''] = await cli.said(/serves \d+ models on (https?:\/\/127\.0\.0\.1:(\d+))\n/);
  return { ...cli, url, port: Number(port) };
}

/** Process ids of the workers of a supervisor. */
export function workersOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** Whether a process is there and not merely waiting to be reaped. */
export function runs(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** A folder that is removed with the test. */
export function folder(t: Teardown): string {
  const path = mkdtempSync(join(tmpdir(), 'throughline-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
