// Counts for the processes of one host, in the process that outlives them. What a process reserved and did not settle before
// it ended is kept until its journal is recovered: then the records say what it was.
import { DenseMap } from '../base/dense-map.ts';
import {
  counterId,
  type ReserveResult,
  type ReservingCall,
  type CounterName,
  type CounterState,
  type RecordedCall,
  type SettledCall,
} from './counters.ts';
import { LocalCounters } from './local-counters.ts';

/** What a process says without waiting for an answer. */
export type CounterMessage =
  | { readonly kind: 'released'; readonly requestId: string }
  | { readonly kind: 'settled'; readonly call: SettledCall }
  | { readonly kind: 'forgotten' | 'unused'; readonly counter: CounterName };

interface OpenCall {
  readonly by: number;
  readonly call: ReservingCall;
}

/** What is settled in a counter that nobody knows is kept so long, for whoever reads its sum. */
const LATE_MS = 60_000;
/** A counter that one process needs no more is kept so long for the others: the next sum of it may be without rows of calls that end now. */
const OF_LATE_MS = 1_800_000;

export class HostCounters {
  readonly #mono: () => number;
  readonly #counters: LocalCounters;
  readonly #calls = new DenseMap<string, OpenCall>();
  readonly #ended = new Set<number>();
  /** By budget: when a call began or ended there. */
  readonly #used = new Map<string, number>();
  /** By counter and request: settled while nobody knew what the counter had spent before. */
  readonly #late = new Map<string, Map<string, { readonly pico: bigint; readonly atMs: number }>>();

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number) {
    this.#mono = mono;
    this.#counters = new LocalCounters(mono);
  }

  /**
   * @param by the process: no other one ever has the same number
   * @throws Error when it has ended: its last questions may come after its end, and nobody would give back what they reserve
   */
  reserve(by: number, call: ReservingCall): ReserveResult {
    if (this.#ended.has(by)) throw new Error('this process has ended');
    const result = this.#counters.reserve(call);
    if (result.kind !== 'reserved') return result;
    this.#calls.set(call.requestId, { by, call });
    const nowMs = this.#mono();
    for (const { budget } of call.budgets) this.#used.set(budget, nowMs);
    return result;
  }

  /** The first one counts. @param counted see `Counters` */
  seed(counter: CounterName, pico: bigint, counted: readonly string[]): void {
    if (this.#counters.read(counter) !== null) return;
    const late = this.#late.get(counterId(counter));
    this.#late.delete(counterId(counter));
    let sum = pico;
    const inSum = new Set(counted);
    for (const [requestId, one] of late ?? []) if (!inSum.has(requestId)) sum += one.pico;
    this.#counters.seed(counter, sum);
  }

  tell(messages: readonly CounterMessage[]): void {
    for (const one of messages) {
      if (one.kind === 'released') this.#counters.release(one.requestId);
      else if (one.kind === 'settled') this.#settle(one.call);
      else if (one.kind === 'forgotten' || this.#isUnused(one.counter)) this.#forget(one.counter);
    }
  }

  #isUnused(counter: CounterName): boolean {
    const usedMs = this.#used.get(counter.budget);
    if (usedMs !== undefined && this.#mono() - usedMs < OF_LATE_MS) return false;
    return (this.#counters.read(counter)?.reservedPico ?? 0n) === 0n;
  }

  #forget(counter: CounterName): void {
    this.#counters.forget(counter);
    this.#used.delete(counter.budget);
  }

  read(counter: CounterName): CounterState | null {
    return this.#counters.read(counter);
  }

  /** A process has ended: its calls run no more. @returns those that it did not settle */
  ended(by: number): readonly string[] {
    this.#ended.add(by);
    const open = [...this.#calls].filter(([, one]) => one.by === by).map(([requestId]) => requestId);
    for (const requestId of open) this.#counters.release(requestId);
    return open;
  }

  /** What the records of an ended process say. One without a record never began: it gives back what it had reserved. */
  recovered(requestIds: readonly string[], records: readonly RecordedCall[]): void {
    const byId = new Map(records.map((record) => [record.requestId, record]));
    for (const requestId of requestIds) {
      const open = this.#calls.get(requestId);
      if (open === undefined) continue; // it has told before it ended
      const { pico, tokens } = byId.get(requestId) ?? { pico: 0n, tokens: 0 };
      const spent = open.call.budgets.map(({ budget, windowStartMs }) => ({ budget, windowStartMs, pico }));
      this.#settle({ requestId, spent, tokens });
    }
  }

  #settle(call: SettledCall): void {
    this.#calls.delete(call.requestId);
    const nowMs = this.#mono();
    for (const counter of call.spent) {
      if (this.#counters.read(counter) !== null) {
        this.#used.set(counter.budget, nowMs);
        continue;
      }
      const name = counterId(counter);
      const late = this.#late.get(name) ?? new Map<string, { pico: bigint; atMs: number }>();
      this.#late.set(name, late);
      if (!late.has(call.requestId)) late.set(call.requestId, { pico: counter.pico, atMs: nowMs });
    }
    this.#counters.settle(call);
    this.#prune(nowMs);
  }

  #prune(nowMs: number): void {
    for (const [name, late] of this.#late) {
      for (const [requestId, { atMs }] of late) if (nowMs - atMs > LATE_MS) late.delete(requestId);
      if (late.size === 0) this.#late.delete(name);
    }
  }
}
