// Asks the counters for what a call needs until they say yes or no. Waits for a limit where that is configured, and for the store where
// nobody knows what a budget has spent; a call that may be let in without such a budget asks for it no more.
import type { BudgetRefusal } from '../access/budgets/budget-book.ts';
import type { Cap } from '../access/budgets/caps.ts';
import { CountersUnavailable, type ReserveResult, type ReservingCall } from '../access/counters.ts';
import { needsOfLimits, type ScopedLimit } from '../access/limits/call-limits.ts';
import type { LimitNeed } from '../access/limits/rate-book.ts';
import { Fault } from '../errors/fault.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import type { Exchange } from './exchange.ts';
import { headersOfLimits, LimitQueue } from './reserve-limits.ts';
import { seedCounters } from './seed-counters.ts';

/**
 * For so long a call asks again where its counters are not known: on a full machine shared counters come and go, and what is
 * seeded here is gone again before it is asked for.
 */
const SEED_WITHIN_MS = 30_000;

/** With what the client is told of its limits, or with the budget that has no room. */
type ReservationEnd =
  | { readonly is: 'reserved'; readonly headers: readonly string[]; readonly holdsBudget: boolean }
  | { readonly is: 'over budget'; readonly cap: Cap; readonly refusal: BudgetRefusal };

/** Of one call; asked again when it may go elsewhere. */
export class CallReservation {
  readonly #x: Exchange;
  readonly #limits: readonly ScopedLimit[];
  readonly #needs: readonly LimitNeed[];
  readonly #queue: LimitQueue;
  /** Counters that the store could not be asked for, and that the call is let in without; null = none. */
  #unknown: Set<string> | null = null;

  /** @param tokensOf the tokens that it will use, of a limit */
  constructor(x: Exchange, limits: readonly ScopedLimit[], tokensOf: (perMinute: number) => number) {
    this.#x = x;
    this.#limits = limits;
    this.#needs = needsOfLimits(limits, tokensOf);
    this.#queue = new LimitQueue(x, limits);
  }

  /** How long it has waited for limits. */
  get waitedMs(): number {
    return this.#queue.waitedMs;
  }

  /** @throws Fault budget_unverified, rate_limit_exceeded, counters_unavailable, client_gone, shutting_down */
  async reserve(caps: readonly Cap[], pico: bigint): Promise<ReservationEnd> {
    if (caps.length === 0 && this.#limits.length === 0) return NOTHING_RESERVED; // where the call goes now has no budget
    const { budgets, clock } = this.#x.active.services;
    let untilMs = clock.mono() + SEED_WITHIN_MS;
    const call = { requestId: this.#x.id, pico, limits: this.#needs };
    let asked = this.#knownOf(caps);
    for (let seedings = 0; clock.mono() <= untilMs;) {
      const result = await askCounters(this.#x, {
        ...call,
        budgets: budgets.needsOf(asked, this.#x.startMs),
      });
      if (result.kind === 'over_budget') return overBudget(caps, result.refusal);
      if (result.kind === 'reserved') return this.#reserved(result.remaining, asked.length > 0);
      if (result.kind === 'over_limit') {
        await this.#queue.wait(result.refusal);
        continue;
      }
      seedings += 1;
      try {
        await seedCounters(this.#x, result.counters, seedings);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        if (!letsPass(this.#x, error)) throw unverified(error);
        this.#unknown ??= new Set();
        for (const { budget } of result.counters) this.#unknown.add(budget);
        asked = this.#knownOf(asked); // its limits and its other budgets hold all the same
        untilMs = clock.mono() + SEED_WITHIN_MS; // a store that is stuck takes as long to say so
      }
    }
    throw unverified(new Error(`counters are forgotten again and again, for ${SEED_WITHIN_MS / 1000} s`));
  }

  #knownOf(caps: readonly Cap[]): readonly Cap[] {
    const unknown = this.#unknown;
    return unknown === null ? caps : caps.filter(({ counter }) => !unknown.has(counter));
  }

  #reserved(remaining: readonly number[], holdsBudget: boolean): ReservationEnd {
    return { is: 'reserved', headers: headersOfLimits(this.#x, this.#limits, remaining), holdsBudget };
  }
}

function overBudget(asked: readonly Cap[], refusal: BudgetRefusal): ReservationEnd {
  const cap = asked.find(({ counter }) => counter === refusal.need.budget);
  if (cap === undefined) throw new Error('a budget refused that the call did not ask');
  return { is: 'over budget', cap, refusal };
}

const NOTHING_RESERVED: ReservationEnd = { is: 'reserved', headers: [], holdsBudget: false };

async function askCounters(x: Exchange, call: ReservingCall): Promise<ReserveResult> {
  try {
    const result = x.active.services.counters.reserve(call);
    return result instanceof Promise ? await result : result;
  } catch (cause) {
    if (!(cause instanceof CountersUnavailable)) throw cause;
    const what = call.budgets.length > 0 ? 'Budget' : 'Rate limit'; // as the dialect says it
    const text = `${what} enforcement unavailable: ${cause.message}. Try again.`;
    throw new Fault('counters_unavailable', text, { cause, headers: [['retry-after', '1']] });
  }
}

function letsPass(x: Exchange, err: Error): boolean {
  if (!x.active.snapshot.budgets.allowUnverified) return false;
  const text =
    'served although its budgets cannot be read (general_settings.allow_requests_on_db_unavailable)';
  x.active.services.log.warn({ call_id: x.id, err }, text);
  return true;
}

function unverified(cause: Error): Fault {
  const text =
    'Budget enforcement unavailable: what was spent cannot be read from the store at the moment. Try again.';
  return new Fault('budget_unverified', text, { cause, headers: [['retry-after', '5']] });
}
