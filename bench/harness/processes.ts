// Programs that the bench starts and measures: CPU and memory of a whole process tree from /proc, and an end for every
// process that was started, workers included. Linux only; it signals nothing that it did not start.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:net';

const TICKS_PER_SECOND = 100; // USER_HZ is fixed on Linux
const STARTS_WITHIN_MS = 90_000; // at a load average of 30 a start takes 40 s

interface Stat {
  readonly parent: number;
  readonly cpuSeconds: number;
}

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command may hold spaces and parentheses; fields are counted from behind it (proc_pid_stat(5)).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0); // own and reaped children
    return { parent: Number(fields[1]), cpuSeconds: ticks / TICKS_PER_SECOND };
  } catch {
    return null; // it ended between the listing and the reading
  }
}

/** A process and all its descendants, parents first. */
function treeOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const one = /^\d+$/.test(name) ? Number(name) : 0;
    const stat = one === 0 ? null : statOf(one);
    if (stat !== null) children.set(stat.parent, [...(children.get(stat.parent) ?? []), one]);
  }
  const below = (one: number): number[] => [one, ...(children.get(one) ?? []).flatMap(below)];
  return below(pid);
}

/** User and system time so far of all threads of all processes of the tree, in seconds; steps of 0.01. */
export function cpuSeconds(pid: number): number {
  return treeOf(pid).reduce((sum, one) => sum + (statOf(one)?.cpuSeconds ?? 0), 0);
}

/** The same by process id, for what runs in several. */
export function cpuSecondsOfEach(pid: number): ReadonlyMap<number, number> {
  return new Map(treeOf(pid).map((one) => [one, statOf(one)?.cpuSeconds ?? 0]));
}

/** Resident memory of the tree in MB; pages that processes share count for each. */
export function residentMb(pid: number): number {
  let kb = 0;
  for (const one of treeOf(pid)) {
    try {
      kb += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      continue; // it ended meanwhile
    }
  }
  return kb / 1024;
}

/** Waits until a tree does nothing more, because records are shipped after the last answer and are part of its cost. */
export async function quiet(pid: number): Promise<void> {
  let before = cpuSeconds(pid);
  for (let calm = 0, i = 0; calm < 2 && i < 50; i += 1) {
    await pause(100);
    const after = cpuSeconds(pid);
    calm = after - before < 1.5 / TICKS_PER_SECOND ? calm + 1 : 0;
    before = after;
  }
}

/** A port of loopback that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** A child process with what it said on stderr, for the sentence when it does not start. */
export class Program {
  readonly child: ChildProcess;
  readonly pid: number;
  #said = '';

  constructor(command: string, args: readonly string[], stdout: number | 'ignore' = 'ignore', ipc = false) {
    const stdio: StdioOptions = ['ignore', stdout, 'pipe', ...(ipc ? (['ipc'] as const) : [])];
    this.child = spawn(command, args, { stdio, serialization: 'advanced' });
    this.pid = this.child.pid ?? 0;
    this.child.on('error', (error) => (this.#said += error.message));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-4000);
    });
  }

  /** The end of what it said on stderr. */
  get text(): string {
    return this.#said.trim().slice(-500);
  }

  get hasEnded(): boolean {
    return this.pid === 0 || this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Settles with the first match in its stderr. @throws Error when it ends or says nothing fit in time */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(() => pattern.exec(this.#said), `did not say ${pattern}`);
  }

  /** Settles when something listens on the port. @throws Error as `said` does */
  async listens(port: number): Promise<void> {
    await this.#until(async () => ((await accepts(port)) ? true : null), `did not listen on ${port}`);
  }

  /** The first message over IPC: the port of a stand-in. @throws Error as `said` does */
  async port(): Promise<number> {
    let port: number | null = null;
    this.child.once('message', (message) => (port = (message as { port: number }).port));
    return this.#until(() => port, 'did not name its port');
  }

  /** Lets the program end by itself. @throws Error when it has not in time */
  async end(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.#until(() => (this.hasEnded ? true : null), 'did not end', false);
  }

  /** Kills the tree, the parent first, because a master replaces a worker that dies. */
  stop(): void {
    if (this.hasEnded) return;
    for (const pid of treeOf(this.pid)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        continue; // gone already
      }
    }
  }

  async #until<T>(look: () => T | null | Promise<T | null>, problem: string, lives = true): Promise<T> {
    const endsAt = performance.now() + STARTS_WITHIN_MS;
    while (performance.now() < endsAt) {
      const found = await look();
      if (found !== null) return found;
      if (lives && this.hasEnded) throw new Error(`ended at once: ${this.text}`);
      await pause(2);
    }
    throw new Error(`${problem} within ${STARTS_WITHIN_MS / 1000} s: ${this.text}`);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
