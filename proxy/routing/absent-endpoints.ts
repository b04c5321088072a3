// What one deployment was found not to serve, by names: protocols, and endpoints that only count tokens. Kept for some minutes,
// because gateways are updated. Pure: the time is passed in.

const KEPT_MS = 600_000;

/** Of one deployment of one configuration. */
export class AbsentEndpoints {
  readonly #until = new Map<string, number>();

  /** Nothing was ever found: the usual case, which costs no look-up. */
  get isEmpty(): boolean {
    return this.#until.size === 0;
  }

  /** @param nowMs monotonic */
  has(name: string, nowMs: number): boolean {
    const until = this.#until.get(name);
    if (until === undefined) return false;
    if (nowMs < until) return true;
    this.#until.delete(name);
    return false;
  }

  add(name: string, nowMs: number): void {
    this.#until.set(name, nowMs + KEPT_MS);
  }

  delete(name: string): void {
    this.#until.delete(name);
  }
}
