// Sorted samples and what stands at a share of them. Pure.

/** @returns the value below which `share` (0..1) of the samples lie; NaN of none. Sorts in place. */
export function quantile(samples: number[], share: number): number {
  samples.sort((a, b) => a - b);
  return samples[Math.min(samples.length - 1, Math.floor(samples.length * share))] ?? NaN;
}

/** The smallest of the samples; Infinity of none. Not Math.min(...): 100,000 arguments overflow the stack. */
export function least(samples: readonly number[]): number {
  return samples.reduce((a, b) => Math.min(a, b), Infinity);
}
