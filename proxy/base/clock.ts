// Time as a value that is passed in, so that tests control it.

export interface Clock {
  /** Wall clock, epoch milliseconds: for records and logs. May step. */
  readonly now: () => number;
  /** Monotonic milliseconds with fractions: for durations and deadlines. */
  readonly mono: () => number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
};
