// Counts in this process while the shared counters are away: each server lets in its share of what is left, so that all
// together stay within the limits. A share is fixed when a budget is first asked for, by what the spend store says then.
import type { BudgetClaim } from '../budgets/budget-book.ts';
import type { Claimed, ClaimingCall, CounterName, Counters, CounterState, SettledCall } from '../counters.ts';
import type { LimitClaim } from '../limits/rate-book.ts';
import { nameOf } from './claim-arguments.ts';

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

  async claim(call: ClaimingCall): Promise<Claimed> {
    const budgets: BudgetClaim[] = [];
    const unseeded: BudgetClaim[] = [];
    for (const claim of call.budgets) {
      const state = await this.#counters.read(claim);
      if (state === null) unseeded.push(claim);
      else budgets.push({ ...claim, capPico: this.#capOf(claim, state) });
    }
    // All at once: whoever asks gives up after a few rounds.
    if (unseeded.length > 0) return { kind: 'unseeded', counters: unseeded };
    const limits = call.limits.map((claim) => shareOf(claim, Number(this.#servers)));
    const claimed = await this.#counters.claim({ ...call, budgets, limits });
    if (claimed.kind === 'over_limit') {
      const { refusal } = claimed;
      const claim = call.limits[limits.indexOf(refusal.claim)] ?? refusal.claim;
      return { kind: 'over_limit', refusal: { ...refusal, claim } };
    }
    if (claimed.kind === 'over_budget') {
      const { refusal } = claimed;
      const claim = call.budgets[budgets.indexOf(refusal.claim)] ?? refusal.claim;
      return { kind: 'over_budget', refusal: { ...refusal, claim } };
    }
    return claimed;
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

  #capOf(claim: BudgetClaim, { spentPico }: CounterState): bigint {
    const name = nameOf(claim);
    const before = this.#spentBefore.get(name) ?? spentPico;
    this.#spentBefore.set(name, before);
    const left = claim.capPico - before;
    if (left <= 0n) return claim.capPico;
    return before + left / this.#servers - this.#reservedElsewhere(claim);
  }
}

/** One call at least, else a small limit would stop a server for as long as it is alone. */
function shareOf(claim: LimitClaim, servers: number): LimitClaim {
  if (claim.kind === 'parallel')
    return { ...claim, most: claim.most <= 0 ? 0 : Math.max(1, Math.floor(claim.most / servers)) };
  if (claim.perMinute <= 0) return claim;
  const perMinute = Math.max(Math.min(claim.amount, claim.perMinute), claim.perMinute / servers);
  return { ...claim, perMinute };
}
