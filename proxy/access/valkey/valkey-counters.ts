// Budgets and limits counted by several servers together, in Valkey or Redis. Owns who decides what a call may reserve: one script there,
// or this server alone with its share while the counters are away, unless it is configured to refuse then. What calls hold meanwhile is
// in held-calls.ts; what ends is told in batches, again and again until it is acknowledged, and what a call did cost when its row is in
// the journal (`counters.ts` says why).
import type { Log } from '../../observability/logger.ts';
import type { ValkeySettings } from '../../../config/valkey-settings.ts';
import {
  CountersUnavailable,
  type ReserveResult,
  type ReservingCall,
  type CounterName,
  type Counters,
  type CounterState,
  type SettledCall,
  type SumOrigin,
  type SumReading,
} from '../counters.ts';
import { AloneCounters } from './alone.ts';
import { HeldCalls } from './held-calls.ts';
import { JsonTexts, nameOf } from './json-texts.ts';
import { settleOrphans, type KnownRecords } from './orphans.ts';
import { reserveText, resultOf } from './reserve-arguments.ts';
import { OwnRows } from './own-rows.ts';
import { operation, PendingOperations } from './pending-operations.ts';
import { ReserveBatches } from './reserve-batches.ts';
import { COUNTER_MS } from './scripts.ts';
import { SharedSums } from './shared-sums.ts';
import { UntoldCosts } from './untold-costs.ts';
import {
  VALKEY_TIMES,
  type ReconnectPause,
  ValkeyLink,
  type Generation,
  type LinkState,
  type ValkeyTimes,
} from './valkey-link.ts';

/** Places of parallel limits live 30 s without this. */
const KEEP_EVERY_MS = 10_000;

interface ValkeyCountersOptions extends KnownRecords {
  readonly settings: ValkeySettings;
  readonly log: Log;
  readonly randomId: () => string;
  /** Monotonic milliseconds. */
  readonly mono: () => number;
  /** Counts in this process, from nothing: for as long as the shared counters are away. */
  readonly local: () => Counters;
  /** Servers that are known to live, this one included. */
  readonly servers: () => number;
  /** How long ago a former process wrote its journal; 0 = there was none. */
  readonly journalAgeMs?: number;
  /** All that was settled here is in the spend store: before a new generation reads its sums there. */
  readonly stored?: () => Promise<void>;
  readonly times?: Partial<ValkeyTimes>;
  readonly pause?: ReconnectPause;
}

/** How the counters are, for metrics. */
export interface SharedCountersState {
  /** null = they are shared. */
  readonly away: string | null;
  /** Servers that share them, this one included, as it last saw them. */
  readonly servers: number;
  /** Not acknowledged yet. */
  readonly pending: number;
  readonly open: number;
}

export class ValkeyCounters implements Counters {
  readonly isShared = true;
  readonly #options: ValkeyCountersOptions;
  readonly #times: ValkeyTimes;
  readonly #server: string;
  readonly #link: ValkeyLink;
  readonly #batches: ReserveBatches;
  readonly #pending: PendingOperations;
  readonly #rows: OwnRows;
  readonly #sums: SharedSums;
  readonly #costs: UntoldCosts;
  readonly #texts = new JsonTexts();
  readonly #held: HeldCalls;
  readonly #keeping: NodeJS.Timeout;
  readonly #alone: AloneCounters;
  /** The last that was logged. */
  #said: LinkState['is'] | null = null;

  /** @returns after the first attempt to connect; without a server it counts alone, and goes on trying */
  static async start(options: ValkeyCountersOptions): Promise<ValkeyCounters> {
    const counters = new ValkeyCounters(options);
    if ((options.journalAgeMs ?? 0) >= COUNTER_MS) {
      // Others have given up the calls in it: what their rows say now is in no counter.
      await options.stored?.().catch(() => undefined);
      counters.#link.renew();
    }
    await counters.#link.start();
    return counters;
  }

  private constructor(options: ValkeyCountersOptions) {
    this.#options = options;
    this.#times = { ...VALKEY_TIMES, ...options.times };
    this.#server = `${options.journals?.()[0] ?? ''}/${options.randomId()}`;
    this.#link = new ValkeyLink(
      { ...options, server: this.#server, times: this.#times },
      {
        register: (generation) => this.#register(generation),
        gathers: (generation) => this.#costs.gathers(generation),
        catchUp: (generation) => this.#catchUp(generation),
        orphaned: (requestIds, gone) => void settleOrphans(requestIds, gone, this.#pending, options),
        changed: (state) => this.#changed(state),
      },
    );
    this.#pending = new PendingOperations(this.#link, this.#server, this.#times.stuckMs);
    this.#held = new HeldCalls({ server: this.#server, texts: this.#texts, pending: this.#pending });
    this.#alone = new AloneCounters(options.local(), this.#held);
    this.#rows = new OwnRows(options.stored ?? (() => Promise.resolve()), () => this.#link.renew());
    this.#costs = new UntoldCosts({
      pending: this.#pending,
      rows: this.#rows,
      link: this.#link,
      mono: options.mono,
      withinMs: this.#times.stuckMs,
    });
    this.#sums = new SharedSums({
      link: this.#link,
      withinMs: this.#times.answerMs,
      recordsOf: options.recordsOf ?? (() => Promise.resolve([])),
      untold: (counter) => [...this.#held.untoldIn(counter).keys()],
    });
    this.#batches = new ReserveBatches({
      server: this.#server,
      withinMs: this.#times.answerMs,
      pending: this.#pending,
      told: (news) => this.#link.told(news),
    });
    this.#keeping = setInterval(() => this.#held.keepPlaces(), KEEP_EVERY_MS);
    this.#keeping.unref();
  }

  /** For what else is kept there. */
  get link(): ValkeyLink {
    return this.#link;
  }

  get times(): ValkeyTimes {
    return this.#times;
  }

  /** This process, as the others know it. */
  get server(): string {
    return this.#server;
  }

  get away(): string | null {
    return this.#link.away;
  }

  get state(): SharedCountersState {
    const { away, servers } = this.#link;
    return { away, servers, pending: this.#pending.size, open: this.#held.size };
  }

  reserve(call: ReservingCall): Promise<ReserveResult> {
    const by = this.#held.holderOf(call.requestId) ?? 'shared';
    return by !== 'shared' ? this.#reserveAlone(call) : this.#reserveShared(call);
  }

  beginSums(counters: readonly CounterName[]): Promise<SumReading> {
    return this.#sums.begin(counters);
  }

  async seed(
    counter: CounterName,
    pico: bigint,
    counted: readonly string[] = [],
    origin?: SumOrigin,
  ): Promise<void> {
    const later = (): bigint => origin?.laterPico() ?? 0n;
    if (this.#alone.isCounting) await this.#alone.seed(counter, pico + later());
    if (counted.length > 0) await this.#pending.flush(); // they must come before the sum that holds them
    await this.#sums.seed(counter, pico, counted, origin);
    // Where they are away now, the call counts alone next, and reading its sums once more may take longer than they are away.
    if (this.#link.state.is !== 'shared') await this.#countingAlone().seed(counter, pico + later());
  }

  release(requestId: string): void {
    const by = this.#held.release(requestId);
    if (by === 'alone' || by === 'both') this.#alone.release(requestId);
  }

  settle(call: SettledCall): void {
    if (this.#alone.isCounting) this.#alone.settle(call);
    this.#held.settle(call);
  }

  journaled(requestId: string): void {
    this.#held.journaled(requestId);
  }

  forget(counter: CounterName): void {
    this.#pending.add(operation('d', nameOf(counter)));
  }

  held(): ReadonlySet<string> {
    return this.#held.budgets;
  }

  async read(counter: CounterName): Promise<CounterState | null> {
    return this.#link.state.is === 'shared'
      ? await this.#sums.read(counter)
      : await this.#alone.read(counter);
  }

  /** Tells what is left to tell, and ends the connection. */
  async close(): Promise<void> {
    clearInterval(this.#keeping);
    this.#rows.stop();
    await this.#pending.flush();
    this.#link.stop();
  }

  /** Alone where the shared counters do not decide. */
  async #reserveShared(call: ReservingCall): Promise<ReserveResult> {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { state } = this.#link;
      if (state.is !== 'shared') break;
      try {
        const reply = await this.#batches.send(state, reserveText(this.#server, call, this.#texts));
        const result = resultOf(call, Array.isArray(reply) ? reply : [reply]);
        if (typeof result === 'object') {
          if (result.kind === 'reserved') this.#held.hold(call, 'shared');
          return result;
        }
        if (result === 'ended') break;
      } catch (error) {
        // It may have run, or may run later: undone in either case.
        this.#pending.add(operation('x', call.requestId));
        this.#link.suspect(error);
        break;
      }
      await this.#link.rejoin();
    }
    return await this.#reserveAlone(call);
  }

  async #reserveAlone(call: ReservingCall): Promise<ReserveResult> {
    const { failClosed, shown } = this.#options.settings;
    if ((failClosed.limits && call.limits.length > 0) || (failClosed.budgets && call.budgets.length > 0))
      throw new CountersUnavailable(`the counters at ${shown} do not answer`);
    const result = await this.#countingAlone().reserve(call);
    if (result.kind !== 'reserved') return result;
    this.#held.hold(call, 'alone');
    if (this.#link.state.is === 'shared') this.#shareAgain(); // they came back meanwhile
    return result;
  }

  #countingAlone(): AloneCounters {
    if (!this.#alone.isCounting) this.#alone.begin(this.#link.servers);
    return this.#alone;
  }

  async #register(generation: Generation): Promise<void> {
    await this.#costs.register(generation);
    this.#held.tellAlone(); // once more, behind what undoes their reservations in the generation before
    await this.#pending.tell(generation, this.#held.takeOverAll());
  }

  async #catchUp(generation: Generation): Promise<void> {
    this.#costs.catchUp(generation);
    this.#held.tellAlone();
    this.#held.keepPlaces(); // without a sign of life they may have been given to others
    await this.#pending.catchUp(generation);
  }

  /** Nothing is counted alone any more, also what was let in while the counters heard of the rest. */
  #shareAgain(): void {
    this.#held.share((requestId) => this.#alone.handOver(requestId));
    this.#alone.end();
  }

  #changed(state: LinkState): void {
    const { settings, log } = this.#options;
    const was = this.#said;
    this.#said = state.is;
    this.#costs.changed(state);
    if (state.is === 'shared') {
      if (was !== 'shared') log.info({ valkey: settings.shown }, 'budgets and limits are shared');
      if (this.#alone.isCounting) this.#shareAgain();
      this.#pending.send();
    } else if (was !== state.is) {
      const about = { valkey: settings.shown, why: state.why, fail_closed: settings.failClosed };
      if (state.is === 'gathering') log.info(about, 'budgets and limits wait for the other servers to come');
      else
        log.warn(about, 'the shared counters are away: this server allows its share of budgets and limits');
    }
  }
}
