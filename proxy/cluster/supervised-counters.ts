// The counters of a worker: the supervisor counts for all of them. Reserving is one question over the channel; what ends is
// told in batches, and what a call did cost when its row is in the journal (`access/counters.ts` says why).
import { DenseMap } from '../base/dense-map.ts';
import {
  CountersUnavailable,
  costsAnything,
  type ReserveResult,
  type ReservingCall,
  type CounterName,
  type Counters,
  type CounterState,
  type SettledCall,
} from '../access/counters.ts';
import type { CounterMessage } from '../access/host-counters.ts';
import type { Channel } from './channel.ts';
import type { OfSupervisor, OfWorker } from './protocol.ts';

/** A supervisor that lives answers within a millisecond; nobody waits for one that is stuck. */
const ANSWER_MS = 5_000;

export class SupervisedCounters implements Counters {
  readonly isShared = true;
  readonly #channel: Channel<OfSupervisor, OfWorker>;
  #untold: CounterMessage[] = [];
  /** Calls that hold something, and in which budgets. */
  readonly #reserved = new DenseMap<string, ReservingCall['budgets']>();
  /** Settled calls whose rows are not in the journal yet. */
  readonly #unjournaled = new DenseMap<string, SettledCall>();

  constructor(channel: Channel<OfSupervisor, OfWorker>) {
    this.#channel = channel;
  }

  async reserve(call: ReservingCall): Promise<ReserveResult> {
    this.#tellNow(); // what is free already is free for this call
    const result = await this.#channel.ask('reserve', call, ANSWER_MS).catch((cause: unknown) => {
      this.#tell({ kind: 'settled', call: { requestId: call.requestId, spent: [], tokens: 0 } });
      throw new CountersUnavailable('the supervisor does not answer', { cause });
    });
    if (result.kind === 'reserved') this.#reserved.set(call.requestId, call.budgets);
    return inWordsOf(call, result);
  }

  async seed(counter: CounterName, pico: bigint, counted: readonly string[] = []): Promise<void> {
    this.#tellNow(); // those in `counted` must come before the sum that holds them
    await this.#channel.ask('seed', { counter, pico, counted }, ANSWER_MS).catch((cause: unknown) => {
      throw new CountersUnavailable('the supervisor does not answer', { cause });
    });
  }

  release(requestId: string): void {
    if (this.#reserved.has(requestId)) this.#tell({ kind: 'released', requestId });
  }

  settle(call: SettledCall): void {
    if (this.#reserved.has(call.requestId) || costsAnything(call))
      this.#unjournaled.set(call.requestId, call);
  }

  journaled(requestId: string): void {
    const call = this.#unjournaled.get(requestId);
    if (call === undefined) return;
    this.#unjournaled.delete(requestId);
    this.#reserved.delete(requestId);
    this.#tell({ kind: 'settled', call });
  }

  forget(counter: CounterName): void {
    this.#tell({ kind: 'forgotten', counter });
  }

  unused(counter: CounterName): void {
    this.#tell({ kind: 'unused', counter });
  }

  held(): ReadonlySet<string> {
    const held = new Set<string>();
    for (const budgets of this.#reserved.values()) for (const { budget } of budgets) held.add(budget);
    return held;
  }

  async read(counter: CounterName): Promise<CounterState | null> {
    this.#tellNow(); // what this worker has told is in what it reads
    return await this.#channel.ask('spent', counter, ANSWER_MS).catch(() => null);
  }

  #tell(told: CounterMessage): void {
    this.#untold.push(told);
    if (this.#untold.length === 1) setImmediate(() => this.#tellNow());
  }

  #tellNow(): void {
    if (this.#untold.length === 0) return;
    const told = this.#untold;
    this.#untold = [];
    // Without a supervisor this worker is ending, and the next one counts anew.
    this.#channel.ask('count', told).catch(() => null);
  }
}

/** What came over the channel is a copy: callers look for what they asked by identity. */
function inWordsOf(call: ReservingCall, result: ReserveResult): ReserveResult {
  if (result.kind === 'over_budget') {
    const { refusal } = result;
    const need = call.budgets.find(({ budget }) => budget === refusal.need.budget) ?? refusal.need;
    return { kind: 'over_budget', refusal: { ...refusal, need } };
  }
  if (result.kind === 'over_limit') {
    const { refusal } = result;
    const need = call.limits.find(({ limit }) => limit === refusal.need.limit) ?? refusal.need;
    return { kind: 'over_limit', refusal: { ...refusal, need } };
  }
  return result;
}
