// Which deployments cool down, known to several servers through Valkey: what one of them finds the others hear within a
// second, by the sign of life that each gives there, or by the answer to what a call reserves. No call waits for any of it. One
// server at a time tries a deployment whose cooldown is over. While Valkey is away each server knows its own part.
import type { BreakerPeers } from '../../routing/breaker.ts';
import type { HealthRegistry } from '../../routing/deployment-health.ts';
import { ASK_TRIAL, READ_HEALTH, TELL_HEALTH } from './health-scripts.ts';
import { BackgroundFlush } from './background-flush.ts';
import type { Generation, ValkeyLink } from './valkey-link.ts';

/** Shortest time between two questions whether this server may try a deployment. */
const ASK_AGAIN_MS = 200;

interface ValkeyHealthOptions {
  readonly link: ValkeyLink;
  /** This process, as the others know it. */
  readonly server: string;
  /** Monotonic milliseconds. */
  readonly mono: () => number;
  readonly stuckMs: number;
  /** Another server has found that this deployment fails. */
  readonly learned: (id: string) => void;
}

/** A deployment that cools down, as Valkey has it. */
interface Entry {
  readonly news: string;
  readonly leftMs: number;
  readonly by: string;
  readonly holder: string;
}

/** What this server found. */
type Finding = { readonly is: 'open'; readonly untilMs: number } | { readonly is: 'closed' };

interface Trial {
  isMine: boolean;
  askedMs: number;
}

export class ValkeyHealth {
  readonly #options: ValkeyHealthOptions;
  /** Not acknowledged yet; older news say nothing about these. */
  readonly #untold = new Map<string, Finding>();
  /** Deployments that cool down, by the number of the news that said so. */
  readonly #known = new Map<string, string>();
  readonly #trials = new Map<string, Trial>();
  #registry: HealthRegistry | null = null;
  #lastNews = 0;
  readonly #flush: BackgroundFlush;
  #isReading = false;

  constructor(options: ValkeyHealthOptions) {
    this.#options = options;
    this.#flush = new BackgroundFlush(options.link, this.#untold, (at) => this.#tellAll(at));
    options.link.follow({
      register: (generation) => this.#tellAgain(generation),
      catchUp: (generation) => this.#tellAll(generation),
      news: (number) => this.#read(number),
      changed: ({ is }) => {
        if (is === 'shared') void this.#flush.soon();
        else this.#trials.clear();
      },
    });
  }

  /** What news change. */
  follow(registry: HealthRegistry): void {
    this.#registry = registry;
  }

  /** The other servers, for the breaker of one deployment. */
  peersOf(id: string): BreakerPeers {
    if (this.#lastNews > 0) this.#lastNews = -1; // it may cool down already: read anew at the next sign of life
    return {
      opened: (untilMs) => this.#found(id, { is: 'open', untilMs }),
      closed: () => this.#found(id, { is: 'closed' }),
      mayTry: () => this.#mayTry(id),
    };
  }

  /** Tells what is left to tell. */
  async close(): Promise<void> {
    await this.#flush.soon();
  }

  #found(id: string, finding: Finding): void {
    this.#trials.delete(id);
    this.#untold.set(id, finding);
    void this.#flush.soon();
  }

  #mayTry(id: string): boolean {
    const { link, mono } = this.#options;
    if (link.state.is !== 'shared') return true;
    const trial = this.#trials.get(id) ?? { isMine: false, askedMs: -Infinity };
    this.#trials.set(id, trial);
    if (trial.isMine || mono() - trial.askedMs < ASK_AGAIN_MS) return trial.isMine;
    trial.askedMs = mono();
    void this.#ask(link.state, id, trial);
    return false;
  }

  async #ask(at: Generation, id: string, trial: Trial): Promise<void> {
    const { link, server, stuckMs } = this.#options;
    const args = [at.generation, at.prefix, server, id];
    const reply = await at.connection
      .run(ASK_TRIAL, [at.key], args, stuckMs)
      .catch((error: unknown) => link.suspect(error));
    trial.isMine = Array.isArray(reply) && reply[1] === 1;
  }

  /** @throws Error when not all could be told; what another generation is asked for stays untold */
  async #tellAll(at: Generation): Promise<void> {
    const { server, mono, stuckMs } = this.#options;
    while (this.#untold.size > 0) {
      const told = [...this.#untold];
      const args = told.flatMap(([id, finding]) => {
        const ms = finding.is === 'closed' ? -1 : Math.max(0, Math.ceil(finding.untilMs - mono()));
        return [id, String(ms)];
      });
      const all = [at.generation, at.prefix, server, ...args];
      const [kind, ...numbers] = (await at.connection.run(TELL_HEALTH, [at.key], all, stuckMs)) as unknown[];
      if (kind !== 'ok') return;
      for (const [i, [id, finding]] of told.entries()) {
        if (this.#untold.get(id) !== finding) continue;
        this.#untold.delete(id);
        if (finding.is === 'open') this.#known.set(id, String(numbers[i]));
        else this.#known.delete(id);
      }
    }
  }

  /** Another generation knows of no cooldown. */
  async #tellAgain(generation: Generation): Promise<void> {
    this.#known.clear();
    this.#lastNews = 0;
    for (const id of this.#registry?.all ?? []) {
      const untilMs = this.#registry?.find(id)?.breaker.openUntilMs ?? 0;
      if (untilMs > this.#options.mono()) this.#untold.set(id, { is: 'open', untilMs });
    }
    await this.#tellAll(generation);
  }

  #read(number: number): void {
    if (number === this.#lastNews || this.#isReading) return;
    this.#isReading = true;
    void this.#readAll().finally(() => (this.#isReading = false));
  }

  async #readAll(): Promise<void> {
    const { link, stuckMs } = this.#options;
    if (link.state.is !== 'shared') return;
    const { connection, generation, key, prefix } = link.state;
    const reply = await connection
      .run(READ_HEALTH, [key], [generation, prefix], stuckMs)
      .catch((error: unknown) => link.suspect(error));
    const [kind, number, ...rest] = Array.isArray(reply) ? reply : [];
    if (kind !== 'ok') return;
    const entries = new Map<string, Entry>();
    for (let i = 0; i + 4 < rest.length; i += 5) {
      const [id = '', news = '', leftMs, by = '', holder = ''] = rest.slice(i, i + 5).map(String);
      entries.set(id, { news, leftMs: Number(leftMs), by, holder });
    }
    this.#apply(entries);
    this.#lastNews = Number(number);
  }

  #apply(entries: ReadonlyMap<string, Entry>): void {
    for (const [id, entry] of entries) this.#applyOne(id, entry);
    for (const id of this.#known.keys()) {
      if (entries.has(id) || this.#untold.has(id)) continue;
      this.#known.delete(id);
      this.#trials.delete(id);
      this.#registry?.find(id)?.breaker.closeByPeer();
    }
  }

  #applyOne(id: string, { news, leftMs, by, holder }: Entry): void {
    const { server, mono, learned } = this.#options;
    const health = this.#registry?.find(id) ?? null;
    if (health === null || this.#untold.has(id)) return;
    const trial = this.#trials.get(id);
    if (trial?.isMine === true && holder !== server) trial.isMine = false;
    if (this.#known.get(id) === news) return;
    this.#known.set(id, news);
    this.#trials.delete(id);
    health.breaker.openByPeer(mono() + leftMs);
    if (by !== server) learned(id);
  }
}
