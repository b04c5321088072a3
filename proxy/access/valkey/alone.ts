// Counts in this process while the shared counters are away: each server lets in its share of what is left, so that all
// together stay within the limits. A share of a budget is fixed when it is first asked for, by what the spend store says then.
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

/** What calls of this server that still run hold in the shared counters. */
interface HeldElsewhere {
  reserved(counter: CounterName): bigint;
  /** What ended calls of this server did cost of which they have not heard. */
  untold(counter: CounterName): bigint;
  places(limit: string): number;
}

export class AloneCounters {
  readonly #counters: Counters;
  /** Servers that share while these counters decide; null = the shared ones do. */
  #sharing: number | null = null;
  /** How often they were away. */
  #times = 0;
  /** What each counter had spent when its share was fixed, but for what others may not know. */
  readonly #spentBefore = new Map<string, bigint>();
  readonly #seeded = new Map<string, CounterName>();
  readonly #elsewhere: HeldElsewhere;

  constructor(counters: Counters, elsewhere: HeldElsewhere) {
    this.#counters = counters;
    this.#elsewhere = elsewhere;
  }

  /** The shared counters are away. */
  begin(servers: number): void {
    this.#sharing = Math.max(1, servers);
    this.#times += 1;
  }

  get isCounting(): boolean {
    return this.#sharing !== null;
  }

  get #servers(): number {
    return this.#sharing ?? 1;
  }

  /** They are back. Limits by time go on, so that who is away again soon gives nobody one anew; budgets are read again then. */
  end(): void {
    this.#sharing = null;
    for (const counter of this.#seeded.values()) this.#counters.forget?.(counter);
    this.#seeded.clear();
    this.#spentBefore.clear();
  }

  /** A call that was let in here is held by the shared counters now. */
  handOver(requestId: string): void {
    this.settle({ requestId, spent: [], tokens: null });
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
    const limits = call.limits.map((need) => this.#shareOf(need));
    const requestId = this.#nameOf(call.requestId);
    const result = await this.#counters.reserve({ ...call, requestId, budgets, limits });
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
    this.#seeded.set(counter.budget, counter);
    return this.#counters.seed(counter, pico);
  }

  release(requestId: string): void {
    this.#counters.release(this.#nameOf(requestId));
  }

  settle(call: SettledCall): void {
    this.#counters.settle({ ...call, requestId: this.#nameOf(call.requestId) });
  }

  read(counter: CounterName): CounterState | null | Promise<CounterState | null> {
    return this.#counters.read(counter);
  }

  /** Another one each time: a call that was handed over is settled for that time, and may cost something in the next one. */
  #nameOf(requestId: string): string {
    return `${this.#times}/${requestId}`;
  }

  #capOf(need: BudgetNeed, { spentPico }: CounterState): bigint {
    const name = nameOf(need);
    // Others share what this server has ended of late, unless they read its rows: it counts for this server's own share alone.
    const before = this.#spentBefore.get(name) ?? spentPico - this.#elsewhere.untold(need);
    this.#spentBefore.set(name, before);
    const left = need.capPico - before;
    if (left <= 0n) return need.capPico;
    return before + left / BigInt(this.#servers) - this.#elsewhere.reserved(need);
  }

  /** One call at least, else a small limit would stop a server for as long as it is alone. */
  #shareOf(need: LimitNeed): LimitNeed {
    if ('most' in need) {
      const most = need.most <= 0 ? 0 : Math.max(1, Math.floor(need.most / this.#servers));
      return { ...need, most: need.kind === 'parallel' ? most - this.#elsewhere.places(need.limit) : most };
    }
    if (need.perMinute <= 0) return need;
    const perMinute = Math.max(Math.min(need.amount, need.perMinute), need.perMinute / this.#servers);
    return { ...need, perMinute };
  }
}
