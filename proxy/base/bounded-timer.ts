// Node's timers count in 32 bits: one that is longer would run at once (nodejs.org/api/timers.html).
const LONGEST_MS = 2 ** 31 - 1;

/** What a timer may be set to: 24 days, where it would be longer. */
export const boundedTimer = (ms: number): number => Math.min(ms, LONGEST_MS);
