// Sandboxes as process groups of this machine, each with a folder and a log file of its own. They outlive the server:
// the next one finds them by their mark. Ends them whole, children that left the group included.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { errorCode } from '../../config/error-code.ts';
import type { SandboxSpec } from '../../config/snapshot.ts';
import {
  filled,
  SandboxFailure,
  type SandboxCondition,
  type SandboxDriver,
  type SandboxPlace,
  type SandboxPlan,
} from './driver.ts';
import { commandLine, PASSWD_FD, passwdOf, type Bubblewrap } from './isolation.ts';
import { HOME_MARK, ID_MARK, markedProcesses } from './process-table.ts';

interface ProcessDriverOptions {
  readonly dataDir: string;
  /** PATH of the commands; nothing else of the server's environment is inherited. */
  readonly path: string;
  /** What a sandbox of these specs is kept apart with; null = nothing. @throws SandboxFailure when they cannot be as they must */
  readonly isolate: (specs: readonly SandboxSpec[]) => Promise<Bubblewrap | null>;
}

/** Time to end by itself after SIGTERM. */
const GRACE_MS = 10_000;
const POLL_MS = 50;
/** A process that is just replacing its program has no environment to be known by for an instant. */
const LOOKS = 3;
/** A signal takes effect when the process is scheduled next, and one that forks meanwhile has a child to be found. */
const ROUNDS = 200;

export class ProcessDriver implements SandboxDriver {
  readonly #options: ProcessDriverOptions;
  /** How children of this very process ended: of others nothing is known but that they are gone. */
  readonly #ends = new Map<string, string>();

  constructor(options: ProcessDriverOptions) {
    this.#options = options;
  }

  async start({ id, spec, env }: SandboxPlan): Promise<SandboxPlace> {
    const { dataDir, path, isolate } = this.#options;
    const bubblewrap = await isolate([spec]);
    const own = this.#folderOf(id);
    mkdirSync(own, { recursive: true, mode: 0o700 });
    const port = await freePort();
    const values = { port: String(port), sandbox_dir: own, sandbox_id: id };
    const workingDir = filled(spec.workingDir, values);
    if (workingDir.startsWith(own)) mkdirSync(workingDir, { recursive: true, mode: 0o700 });
    const command = spec.command.map((part) => filled(part, values));
    const [file, ...args] = commandLine(spec, command, bubblewrap, { own, working: workingDir, path });
    const log = openSync(join(own, 'sandbox.log'), 'a', 0o600);
    try {
      const child = spawn(file, args, {
        cwd: bubblewrap === null ? workingDir : own,
        env: {
          PATH: path,
          HOME: own,
          TMPDIR: bubblewrap === null ? own : '/tmp',
          LANG: 'C.UTF-8',
          ...Object.fromEntries(
            [...spec.initialEnv, ...env].map(([name, value]) => [name, filled(value.reveal(), values)]),
          ),
          [ID_MARK]: id,
          [HOME_MARK]: dataDir,
        },
        detached: true, // a session and process group of its own: signals of our terminal do not reach it
        // A pipe for output would fill up and stop it once we are gone; the one for /etc/passwd ends at once.
        stdio: bubblewrap === null ? ['ignore', log, log] : ['ignore', log, log, 'pipe'],
      });
      const spawned = this.#spawned(id, child, command[0] ?? '');
      const passwd = child.stdio[PASSWD_FD];
      if (passwd instanceof Writable) passwd.on('error', () => {}).end(passwdOf(own)); // its end tells of a bwrap that failed
      await spawned;
      return { handle: String(child.pid), url: `http://127.0.0.1:${port}`, port, workingDir };
    } finally {
      closeSync(log);
    }
  }

  async inspect(id: string, place: SandboxPlace): Promise<SandboxCondition> {
    for (let round = 0; round < LOOKS; round += 1) {
      if (round > 0) await wait(POLL_MS);
      const leader = (await this.#members(id)).find(({ pid }) => String(pid) === place.handle);
      if (leader !== undefined) return { state: leader.state === 'T' ? 'paused' : 'running', detail: '' };
      if (this.#ends.has(id)) break;
    }
    const end = this.#ends.get(id);
    if (end !== undefined) return { state: 'exited', detail: `the command ${end}; see its sandbox.log` };
    return { state: 'gone', detail: 'no process of it is there any more' };
  }

  async pause(id: string): Promise<void> {
    await this.#signalAll(id, 'SIGSTOP', (state) => state !== 'T');
  }

  async resume(id: string): Promise<void> {
    await this.#signalAll(id, 'SIGCONT', (state) => state === 'T');
  }

  async remove(id: string): Promise<void> {
    await this.#end(id);
    this.#ends.delete(id);
    await rm(this.#folderOf(id), { recursive: true, force: true });
  }

  async removeOrphans(known: ReadonlySet<string>): Promise<readonly string[]> {
    const marked = await markedProcesses(this.#options.dataDir);
    const strays = [...new Set(marked.map(({ sandboxId }) => sandboxId))].filter((id) => !known.has(id));
    for (const id of strays) await this.remove(id);
    return strays;
  }

  async #spawned(id: string, child: ChildProcess, command: string): Promise<void> {
    child.once('exit', (code, signal) => {
      this.#ends.set(id, code === null ? `was ended by ${String(signal)}` : `ended with code ${code}`);
    });
    try {
      await once(child, 'spawn');
    } catch (cause) {
      const missing = errorCode(cause) === 'ENOENT';
      const why = missing ? `the command ${command} was not found` : 'the command could not be started';
      throw new SandboxFailure(why, { cause });
    }
    child.unref(); // it outlives us
  }

  async #end(id: string): Promise<void> {
    await this.#signalAll(id, 'SIGTERM', () => true, 1);
    await this.#signalAll(id, 'SIGCONT', (state) => state === 'T', 1); // one that is stopped does not see SIGTERM
    for (let waited = 0; waited < GRACE_MS; waited += POLL_MS) {
      if ((await this.#members(id)).length === 0) return;
      await wait(POLL_MS);
    }
    await this.#signalAll(id, 'SIGKILL', () => true);
  }

  /** Signals every process of a sandbox that still needs it, until there is none. */
  async #signalAll(
    id: string,
    signal: NodeJS.Signals,
    needs: (state: string) => boolean,
    rounds = ROUNDS,
  ): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      const members = (await this.#members(id)).filter(({ state }) => needs(state));
      if (members.length === 0) return;
      for (const { pid } of members) {
        try {
          process.kill(pid, signal);
        } catch {
          // it ended meanwhile
        }
      }
      if (round < rounds - 1) await wait(POLL_MS / 5);
    }
  }

  async #members(id: string): Promise<readonly { readonly pid: number; readonly state: string }[]> {
    return (await markedProcesses(this.#options.dataDir)).filter((one) => one.sandboxId === id);
  }

  #folderOf(id: string): string {
    return join(this.#options.dataDir, 'sandboxes', id);
  }
}

/** Below what systems give to connections and to servers that ask for any port: Linux from 32768, others from 49152 on. */
const PORTS = { from: 20_000, count: 12_000 };
const MOST_TRIES = 100;

/**
 * A port that is free now, and that no connection is given while the runtime starts. Should another server take it first,
 * the runtime fails to bind and the sandbox is in ERROR.
 */
async function freePort(): Promise<number> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const port = PORTS.from + randomInt(PORTS.count);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer().once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
  throw new SandboxFailure('no free port was found');
}
