// Keeps a server in touch with the shared counters: connects again, joins the generation in force, says what this server
// holds, and gives a sign of life each second. Knows whether calls may be counted there at the moment.
import { setTimeout as wait } from 'node:timers/promises';
import type { ValkeySettings } from '../../../config/valkey-settings.ts';
import { asError } from '../../base/as-error.ts';
import type { Log } from '../../observability/logger.ts';
import { ValkeyConnection } from './connection.ts';
import { BEAT, JOIN, LAYOUT } from './scripts.ts';

/** Signs of life between two looks at the server's settings. */
const LOOK_EVERY = 10;
/** Where a generation must end, and it does not matter which. */
const ANY = '*';
/** Until the others have come, calls are counted alone or refused. */
const OPEN_SOON_MS = 100;

/** How long things may take; tests choose others. */
export interface ValkeyTimes {
  /** A call waits at most so long for the counters, once: after that the server counts alone until they answer again. */
  readonly answerMs: number;
  readonly beatMs: number;
  /** A connection that has not answered for so long is given up. */
  readonly stuckMs: number;
  /** Longest pause between two attempts to connect. */
  readonly pauseMs: number;
}

export const VALKEY_TIMES: ValkeyTimes = { answerMs: 250, beatMs: 1000, stuckMs: 5000, pauseMs: 1000 };

/** Where to count. */
export interface Generation {
  readonly connection: ValkeyConnection;
  readonly generation: string;
  /** Key of the generation itself. */
  readonly key: string;
  /** Of all other keys. */
  readonly prefix: string;
}

/** A server without a sign of life. */
export interface GoneServer {
  readonly name: string;
  /** By Valkey's clock. */
  readonly silentMs: number;
}

/** What the link asks of whoever keeps something there. */
interface LinkDuties {
  /** Tells what this server holds to a generation that it has not counted in before. */
  register(generation: Generation): Promise<void>;
  /** It waits for others: nobody reads sums for it yet. */
  gathers(generation: Generation): Promise<void>;
  /** Tells what has happened while the counters were away. */
  catchUp(generation: Generation): Promise<void>;
  /** Requests of a server that is gone, some of them. */
  orphaned(requestIds: readonly string[], gone: GoneServer): void;
  /** The number of the last news that there is. */
  news(number: number): void;
  /** The counters can be used, or cannot any more. */
  changed(state: LinkState): void;
}

/** `gathering`: they answer, and nobody counts there until all servers that live have come. */
export type LinkState =
  { readonly is: 'away' | 'gathering'; readonly why: string } | ({ readonly is: 'shared' } & Generation);

interface LinkOptions {
  readonly settings: ValkeySettings;
  readonly log: Log;
  /** Names this process, another one after each start. */
  readonly server: string;
  /** Servers that are known to live, this one included. */
  readonly servers: () => number;
  readonly randomId: () => string;
  /** Monotonic milliseconds. */
  readonly mono: () => number;
  readonly times: ValkeyTimes;
  /** Between two attempts to connect; tests say when it ends. */
  readonly pause?: ReconnectPause;
}

/** Ends after so long, or rejects when `signal` says so. */
export type ReconnectPause = (ms: number, signal: AbortSignal) => Promise<void>;

const pauseFor: ReconnectPause = (ms, signal) => wait(ms, undefined, { ref: false, signal });

export class ValkeyLink {
  readonly #options: LinkOptions;
  readonly #duties: Partial<LinkDuties>[];
  readonly #tag: string;
  readonly #stopped = new AbortController();
  #state: LinkState = { is: 'away', why: 'not connected yet' };
  #connection: ValkeyConnection | null = null;
  /** The last one that was joined. */
  #joined: Generation | null = null;
  /** The next join ends this generation, and begins another one; '*' = whichever is in force, '' = none. */
  #ending = '';
  #beat: NodeJS.Timeout | null = null;
  /** Servers that counted there at the last sign of life, this one included. */
  #seenServers = 1;
  /** Calls were counted over the connection. */
  #wasOfUse = false;
  #beats = 0;
  /** The last `maxmemory-policy` that was complained of. */
  #policy: string | null = null;
  /** A beat or a join is under way. */
  #busy: Promise<void> | null = null;

  constructor(options: LinkOptions, duties: Partial<LinkDuties>) {
    this.#options = options;
    this.#duties = [duties];
    this.#tag = `{throughline:${options.settings.namespace}:${LAYOUT}}`;
  }

  /** From now on these are asked as well. */
  follow(duties: Partial<LinkDuties>): void {
    this.#duties.push(duties);
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Why the counters cannot be used; null = they can. */
  get away(): string | null {
    return this.#state.is === 'shared' ? null : this.#state.why;
  }

  /** Servers that share the counters, as far as this one knows. */
  get servers(): number {
    return Math.max(1, this.#seenServers, this.#options.servers());
  }

  /** Resolves after the first attempt, whatever came of it. */
  async start(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#run(resolve);
    await promise;
  }

  stop(): void {
    this.#stopped.abort();
    this.#connection?.close();
    if (this.#beat !== null) clearInterval(this.#beat);
  }

  /** A script said how far the news are. */
  told(number: number): void {
    for (const one of this.#duties) one.news?.(number);
  }

  /**
   * All is counted anew from the spend store.
   * @param generation whose sums are wrong; absent where those of any other may be as well
   */
  renew(generation = ANY): void {
    if (this.#ending !== ANY) this.#ending = generation;
  }

  /** The generation that a script was called for is over: joins the one in force. Resolves when that is done or failed. */
  rejoin(): Promise<void> {
    this.#busy ??= this.#join().finally(() => (this.#busy = null));
    return this.#busy;
  }

  /** It answers too late or with errors: nothing is counted there until the next sign of life succeeds. */
  suspect(error: unknown): void {
    if (this.#state.is === 'shared') this.#becomeAway(error);
  }

  async #run(tried: () => void): Promise<void> {
    const { times, settings, pause = pauseFor } = this.#options;
    for (let failures = 0; !this.#stopped.signal.aborted; failures += 1) {
      try {
        const connection = await ValkeyConnection.open(settings, times.stuckMs);
        this.#connection = connection;
        if (this.#stopped.signal.aborted) connection.close();
        const { evicts } = connection.facts;
        if (evicts !== null) this.#refuse(connection, evicts);
        else if (await this.#useUntilItEnds(connection, tried)) failures = 0;
        this.#policy = evicts;
      } catch (error) {
        this.#becomeAway(error);
      }
      tried();
      const pauseMs = Math.min(times.pauseMs, 20 * 2 ** Math.min(failures, 10));
      await pause(pauseMs, this.#stopped.signal).catch(() => undefined);
    }
  }

  /** @return whether calls were counted over it */
  async #useUntilItEnds(connection: ValkeyConnection, tried: () => void): Promise<boolean> {
    this.#wasOfUse = false;
    await this.rejoin();
    this.#beat = setInterval(() => void this.#lookAfter(), this.#options.times.beatMs);
    this.#beat.unref();
    tried();
    const error = await connection.ended;
    clearInterval(this.#beat);
    const wasOfUse = this.#wasOfUse;
    this.#becomeAway(error);
    return wasOfUse;
  }

  #refuse(connection: ValkeyConnection, evicts: string): void {
    const { settings, log } = this.#options;
    if (evicts !== this.#policy)
      log.error(
        { valkey: settings.shown, version: connection.facts.version, policy: evicts },
        'the shared counters are not used: the server throws keys away when its memory is full - set its maxmemory-policy to noeviction',
      );
    connection.close();
    this.#become({ is: 'away', why: refusalOf(evicts) });
  }

  async #join(): Promise<void> {
    const connection = this.#connection;
    if (connection === null) return;
    try {
      const key = `${this.#tag}:g`;
      const args = [connection.facts.runId, this.#options.randomId(), this.#ending];
      const joined = String(await connection.run(JOIN, [key], args, this.#options.times.stuckMs));
      this.#ending = '';
      const generation = { connection, generation: joined, key, prefix: `${this.#tag}:${joined}:` };
      if (this.#joined?.generation !== joined)
        await Promise.all(this.#duties.map(async (one) => await one.register?.(generation)));
      this.#joined = generation;
      await this.#signOfLife(generation);
    } catch (error) {
      this.#gaveUp(connection, asError(error));
    }
  }

  /** Also opens a new generation, when the others have come as well. */
  async #signOfLife(at: Generation): Promise<void> {
    const { server, times, mono } = this.#options;
    const args = [at.generation, at.prefix, server, String(this.servers)];
    const askedMs = mono();
    const reply = (await at.connection.run(BEAT, [at.key], args, times.stuckMs)) as readonly unknown[];
    if (reply[0] === 'clock') this.renew(at.generation);
    if (reply[0] !== 'ok') return await this.#join();
    const isSlow = mono() - askedMs > times.answerMs;
    if (reply[1] !== 1) {
      this.#become({ is: 'gathering', why: 'the other servers have not come yet' });
      await Promise.all(this.#duties.map(async (one) => await one.gathers?.(at)));
      setTimeout(() => !this.#stopped.signal.aborted && void this.#lookAfter(), OPEN_SOON_MS).unref();
    } else if (isSlow) this.#become({ is: 'away', why: `it needs more than ${times.answerMs} ms to answer` });
    else {
      if (this.#state.is !== 'shared')
        await Promise.all(this.#duties.map(async (one) => await one.catchUp?.(at)));
      this.#become({ is: 'shared', ...at });
    }
    if (reply[1] === 1) this.#seenServers = Number(reply[2]); // else some of those that counted have not come yet
    this.told(Number(reply[3]));
    for (const gone of reply.slice(4)) {
      const [name, silentMs, ...requestIds] = Array.isArray(gone) ? gone.map(String) : [];
      if (name === undefined) continue;
      for (const one of this.#duties) one.orphaned?.(requestIds, { name, silentMs: Number(silentMs) });
    }
  }

  #lookAfter(): Promise<void> {
    const joined = this.#joined;
    if (joined === null || this.#ending !== '' || joined.connection !== this.#connection)
      return this.rejoin();
    this.#busy ??= this.#beatOnce(joined)
      .catch((error: unknown) => this.#gaveUp(joined.connection, asError(error)))
      .finally(() => (this.#busy = null));
    return this.#busy;
  }

  async #beatOnce(at: Generation): Promise<void> {
    await this.#signOfLife(at);
    this.#beats += 1;
    if (this.#beats % LOOK_EVERY !== 0) return;
    const evicts = await at.connection.evicts(this.#options.times.stuckMs);
    if (evicts !== null) throw new Error(refusalOf(evicts));
  }

  #gaveUp(connection: ValkeyConnection, error: Error): void {
    this.#becomeAway(error);
    // Also after an answer with an error: another server may be the right one by now, and only who connects anew finds it.
    connection.close(error);
  }

  #becomeAway(error: unknown): void {
    this.#become({ is: 'away', why: asError(error).message });
  }

  #become(state: LinkState): void {
    this.#state = state;
    if (this.#stopped.signal.aborted) return; // an end of our own is no outage
    if (state.is === 'shared') this.#wasOfUse = true;
    for (const one of this.#duties) one.changed?.(state);
  }
}

const refusalOf = (policy: string): string => `maxmemory-policy is ${policy}, not noeviction`;
