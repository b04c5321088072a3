// Counts in this process while the shared counters are away: each server lets in its share of what is left, so that all
// together stay within the limits. A share is fixed when a budget is first asked for, by what the spend store says then.
import type { BudgetNeed } from '../budgets/budget-book.ts';
import type {
  ReserveResult,
  ReservingCall,
  CounterName,
  Counters,
  CounterState,
  SettledCall,
} from '../counters.ts';
import type { LimitNeed } from '../limits/rate-book.ts';
import { nameOf } from './json-texts.ts';

export class AloneCounters {
  readonly #counters: Counters;
  readonly #servers: bigint;
  /** What each counter had spent when its share was fixed. */
  readonly #spentBefore = new Map<string, bigint>();
  /** Reserved in the shared counters by calls of this server that still run. */
  readonly #reservedElsewhere: (counter: CounterName) => bigint;

  constructor(counters: Counters, servers: number, reservedElsewhere: (counter: CounterName) => bigint) {
    this.#counters = counters;
    this.#servers = BigInt(Math.max(1, servers));
    this.#reservedElsewhere = reservedElsewhere;
  }

  async reserve(call: ReservingCall): Promise<ReserveResult> {
    const budgets: BudgetNeed[] = [];
    const unseeded: BudgetNeed[] = [];
    for (const need of call.budgets) {
      const state = await this.#counters.read(need);
      if (state === null) unseeded.push(need);
      else budgets.push({ ...need, capPico: this.#capOf(need, state) });
    }
    // All at once: whoever asks gives up after a few rounds.
    if (unseeded.length > 0) return { kind: 'unseeded', counters: unseeded };
    const limits = call.limits.map((need) => shareOf(need, Number(this.#servers)));
    const result = await this.#counters.reserve({ ...call, budgets, limits });
    if (result.kind === 'over_limit') {
      const { refusal } = result;
      const need = call.limits[limits.indexOf(refusal.need)] ?? refusal.need;
      return { kind: 'over_limit', refusal: { ...refusal, need } };
    }
    if (result.kind === 'over_budget') {
      const { refusal } = result;
      const need = call.budgets[budgets.indexOf(refusal.need)] ?? refusal.need;
      return { kind: 'over_budget', refusal: { ...refusal, need } };
    }
    return result;
  }

  seed(counter: CounterName, pico: bigint): void | Promise<void> {
    return this.#counters.seed(counter, pico);
  }

  release(requestId: string): void {
    this.#counters.release(requestId);
  }

  settle(call: SettledCall): void {
    this.#counters.settle(call);
  }

  read(counter: CounterName): CounterState | null | Promise<CounterState | null> {
    return this.#counters.read(counter);
  }

  #capOf(need: BudgetNeed, { spentPico }: CounterState): bigint {
    const name = nameOf(need);
    const before = this.#spentBefore.get(name) ?? spentPico;
    this.#spentBefore.set(name, before);
    const left = need.capPico - before;
    if (left <= 0n) return need.capPico;
    return before + left / this.#servers - this.#reservedElsewhere(need);
  }
}

/** One call at least, else a small limit would stop a server for as long as it is alone. */
function shareOf(need: LimitNeed, servers: number): LimitNeed {
  if ('most' in need)
    return { ...need, most: need.most <= 0 ? 0 : Math.max(1, Math.floor(need.most / servers)) };
  if (need.perMinute <= 0) return need;
  const perMinute = Math.max(Math.min(need.amount, need.perMinute), need.perMinute / servers);
  return { ...need, perMinute };
}
