// What a scenario is, and what it runs with: the peers that can run here, one upstream, one load client, and the
// promise that every process is ended and every file removed, whatever happens.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Job, Reply, Report } from '../client.ts';
import { built } from './built.ts';
import { GATEWAYS } from './gateways.ts';
import {
  folderFor,
  OURS,
  RELAYS,
  ROOT,
  startUpstream,
  throughline,
  type Peer,
  type Running,
} from './peers.ts';
import { Program } from './processes.ts';

/** A table of text cells; the first column names the row and is aligned left, the others right. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

export interface Scenario {
  readonly name: string;
  /** One line for `--list`. */
  readonly about: string;
  run(bench: Bench): Promise<readonly Table[]>;
}

/** A built or unpacked proxy next to the working tree. */
export interface Revision {
  readonly name: string;
  /** Holds proxy/, config/, node_modules. */
  readonly folder: string;
}

/** What the command line asked for. */
export interface Wanted {
  readonly quick: boolean;
  readonly rounds: number;
  readonly requests: number | null;
  readonly connections: number | null;
  readonly streams: number | null;
  /** Names or beginnings of names; empty = all. */
  readonly peers: readonly string[];
  readonly revisions: readonly Revision[];
  /** The working tree's proxy runs compiled. */
  readonly built: boolean;
  /** Folder for a CPU profile of the proxy, written when it ends; null = none. */
  readonly profileInto: string | null;
}

/** One scenario's processes and files. Close it, else they stay. */
export class Bench {
  readonly wanted: Wanted;
  readonly folder = mkdtempSync(join(tmpdir(), 'throughline-bench-'));
  /** Sentences about peers that could not run, and about what those that ran leave out. */
  readonly notes: string[] = [];
  readonly #programs: Program[] = [];
  readonly #proxies: Program[] = [];
  #client: Program | null = null;
  #firstLoadUs = Infinity;
  #built: string | null = null;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
  }

  /** `full`, or `quick` in a smoke run, unless the command line names a number. */
  count(full: number, quick: number, asked: number | null = this.wanted.requests): number {
    return asked ?? (this.wanted.quick ? quick : full);
  }

  /** The proxy of every revision asked for, that of the working tree last. */
  ours(nodeFlags: readonly string[] = []): Peer[] {
    const older = this.wanted.revisions.map(({ name, folder }) =>
      throughline(`${OURS} at ${name}`, join(folder, 'proxy/main.ts'), nodeFlags),
    );
    const into = this.wanted.profileInto;
    const profiling =
      into === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${into}`, '--cpu-prof-interval=250'];
    const flags = [...nodeFlags, ...profiling];
    const main = this.wanted.built ? (this.#built ??= built(this.folder)) : join(ROOT, 'proxy/main.ts');
    return [...older, throughline(OURS, main, flags)];
  }

  /** The others of these names that can run, and ours. */
  peers(others: readonly string[]): Peer[] {
    const named = [...RELAYS, ...GATEWAYS].filter(({ name }) => others.some((one) => name.startsWith(one)));
    return [...named, ...this.ours()].filter((peer) => {
      const { name, lacks } = peer;
      const asked = this.wanted.peers;
      if (asked.length > 0 && !asked.some((one) => name.toLowerCase().startsWith(one.toLowerCase())))
        return false;
      const missing = peer.missing();
      if (missing !== null) this.notes.push(`${name} was not run: ${missing}.`);
      else if (lacks !== null) this.notes.push(`${name} does without: ${lacks}.`);
      return missing === null;
    });
  }

  async upstream(mode: 'json' | 'asked'): Promise<number> {
    const { program, port } = await startUpstream(mode);
    this.#programs.push(program);
    return port;
  }

  /** Starts the peers one after the other. One that fails is noted, unless it is ours. */
  async start(peers: readonly Peer[], upstreamPort: number): Promise<Running[]> {
    const running: Running[] = [];
    for (const peer of peers) {
      try {
        running.push(await this.startOne(peer, upstreamPort));
      } catch (error) {
        if (peer.name.startsWith(OURS)) throw error;
        this.notes.push(`${peer.name} could not be started: ${(error as Error).message}.`);
      }
    }
    return running;
  }

  async startOne(peer: Peer, upstreamPort: number, models = 1, place = peer.name): Promise<Running> {
    const running = await peer.start({ folder: folderFor(this.folder, place), upstreamPort, models });
    this.#programs.push(running.program);
    if (peer.name.startsWith(OURS)) this.#proxies.push(running.program);
    return running;
  }

  /** Runs a job in the load client. @throws Error when an answer was not what it must be */
  async client(job: Job): Promise<Report> {
    this.#firstLoadUs = Math.min(this.#firstLoadUs, Number(process.hrtime.bigint() / 1000n));
    if (this.#client === null) {
      this.#client = new Program(process.execPath, [join(ROOT, 'bench/client.ts')], 'ignore', true);
      this.#programs.push(this.#client);
    }
    const { child } = this.#client;
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('the load client ended'));
      child.once('exit', ended);
      child.once('message', (message) => {
        child.removeListener('exit', ended);
        const reply = message as Reply;
        if ('report' in reply) resolve(reply.report);
        else reject(new Error(reply.problem));
      });
      child.send(job);
    });
  }

  /** When the first load began, in microseconds of CLOCK_MONOTONIC: what came before is start. */
  get firstLoadUs(): number {
    return this.#firstLoadUs;
  }

  /** Ends every proxy in its own time, so that it leaves its profile. */
  async endProxies(): Promise<void> {
    await Promise.all(this.#proxies.map((program) => program.end()));
  }

  close(): void {
    for (const program of this.#programs) program.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}
