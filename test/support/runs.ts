// How often a property is tried. `npm test` takes few samples of each, and other ones in every run; with TEST_RUNS=10, ten
// times as many.
const FACTOR = Number(process.env['TEST_RUNS'] ?? 1);

/** @param count of samples in an ordinary run */
export const runs = (count: number): number => Math.max(1, Math.round(count * FACTOR));
