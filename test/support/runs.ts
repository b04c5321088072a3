// How often a property is tried. `npm test` takes few samples of each, and other ones in every run; with TEST_RUNS=4, four
// times as many, as in `.ci/run`.
const FACTOR = Number(process.env['TEST_RUNS'] ?? 1);

/** @param count of samples in an ordinary run */
export const runs = (count: number): number => Math.max(1, Math.round(count * FACTOR));
