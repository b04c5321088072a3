// How slow an upstream is of late: a moving average that jumps to a peak at once and forgets it slowly, so that one
// stall is seen by the very next request (the "peak EWMA" of Finagle's load balancer).

/** A weight falls to 37% in this time. Calls of language models take seconds; Finagle's 10 s would forget them. */
const DECAY_MS = 60_000;
const FORGOTTEN_MS = 0.001;

export class PeakEwma {
  #valueMs = 0;
  #atMs = -Infinity;

  /** Takes one measurement, ms. */
  observe(sampleMs: number, nowMs: number): void {
    const keep = Math.exp((this.#atMs - nowMs) / DECAY_MS);
    this.#valueMs = Math.max(sampleMs, this.#valueMs * keep + sampleMs * (1 - keep));
    this.#atMs = nowMs;
  }

  /** The average as it is now, ms: it sinks while nothing is measured, so a slow one gets another chance; 0 = unknown. */
  at(nowMs: number): number {
    const left = this.#valueMs * Math.exp((this.#atMs - nowMs) / DECAY_MS);
    return left < FORGOTTEN_MS ? 0 : left;
  }
}
