// How much may be sent again, over all requests of this process: a token bucket that requests fill and retries empty.
// When a gateway is down, retries of every caller at every hop multiply the load on what is left of it; a share of the
// traffic, unlike a number per request, cannot.

/** Retries that a fresh process may make before it has seen requests; also what keeps few requests per hour retried. */
const RESERVE = 10;
/** What quiet hours save up at most: retries in a row. */
const MOST_SAVED = 100;

/** One for the whole process. */
export class RetryBudget {
  #tokens = RESERVE;

  /** A request came. @param ratio retries per request */
  earn(ratio: number): void {
    if (this.#tokens < MOST_SAVED) this.#tokens = Math.min(MOST_SAVED, this.#tokens + ratio);
  }

  /** Takes one retry; false when there is none. A ratio of 0 switches retries off. */
  spend(ratio: number): boolean {
    if (ratio === 0 || this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
