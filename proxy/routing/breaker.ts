// The circuit breaker of one deployment: closed -> open when too many calls failed within a minute -> half open after the
// cooldown, when one trial call decides. It does not judge responses: callers report what failed and whose fault it was.

/** When a deployment cools down, and for how long. */
export interface CooldownRules {
  /** Failures within a minute that do not open the breaker. */
  readonly allowedFails: number;
  readonly cooldownMs: number;
}

/** Why a breaker opened: too many calls failed, the upstream asked for a pause, its trial call failed, another server saw it fail. */
export type OpenReason = 'failures' | 'asked' | 'trial' | 'other_server';

/** `closed` lets all calls pass, `open` none, `half_open` one trial. */
export type BreakerState = 'closed' | 'open' | 'half_open';

/** Other servers, where they share what they know of a deployment. Nothing here waits. */
export interface BreakerPeers {
  /** @param untilMs monotonic */
  opened(untilMs: number): void;
  closed(): void;
  /** Whether the trial call is this server's to send; else asking makes it so a little later, unless another one has it. */
  mayTry(): boolean;
}

const WINDOW_MS = 60_000;
/** One upstream cannot take itself out for longer than this by a `Retry-After`. */
const MAX_COOLDOWN_MS = 300_000;

export class Breaker {
  #windowAt = -Infinity;
  #calls = 0;
  #fails = 0;
  /** 0: closed. */
  #openUntilMs = 0;
  #openReason: OpenReason = 'failures';
  /** Counts openings: a call that began before the last one says nothing about the time after it. */
  #era = 0;
  #probing = false;
  readonly #peers: BreakerPeers | null;

  constructor(peers: BreakerPeers | null = null) {
    this.#peers = peers;
  }

  state(nowMs: number): BreakerState {
    if (this.#openUntilMs === 0) return 'closed';
    return nowMs < this.#openUntilMs ? 'open' : 'half_open';
  }

  /** Whether a call may go here while another deployment could take it. */
  admits(nowMs: number): boolean {
    const state = this.state(nowMs);
    if (state !== 'half_open') return state === 'closed';
    return !this.#probing && (this.#peers?.mayTry() ?? true);
  }

  /** When the cooldown ends, monotonic ms; 0 when closed. */
  get openUntilMs(): number {
    return this.#openUntilMs;
  }

  /** Why it opened last; says nothing while it is closed. */
  get openReason(): OpenReason {
    return this.#openReason;
  }

  /** A call begins. @returns its era, for its end; negative: it is the trial call of a half-open breaker. */
  begin(nowMs: number): number {
    if (this.state(nowMs) !== 'half_open' || this.#probing) return this.#era;
    this.#probing = true;
    return -this.#era;
  }

  /** The upstream did its part. */
  succeeded(era: number, nowMs: number): void {
    this.#release(era);
    this.#count(nowMs);
    if (this.#openUntilMs === 0 || Math.abs(era) !== this.#era) return;
    this.#close();
    this.#peers?.closed();
  }

  /** Another server found the upstream failing: calls that run already say nothing about the time from now on. */
  openByPeer(untilMs: number): void {
    this.#open(untilMs, 'other_server');
  }

  /** Another server found it well. */
  closeByPeer(): void {
    this.#close();
  }

  /** The call says nothing about the upstream: the client left. */
  abandoned(era: number): void {
    this.#release(era);
  }

  /**
   * The upstream failed.
   * @param cooldownMs the upstream asked for a pause: open at once, for this long (bounded); null = by the failure count
   * @returns whether the breaker was closed and is open now
   */
  failed(era: number, nowMs: number, rules: CooldownRules, cooldownMs: number | null): boolean {
    this.#release(era);
    this.#count(nowMs);
    this.#fails += 1;
    if (Math.abs(era) !== this.#era || !Number.isFinite(rules.allowedFails)) return false;
    const wasClosed = this.#openUntilMs === 0;
    const tooMany = this.#fails > rules.allowedFails && this.#fails * 2 >= this.#calls;
    if (!(era < 0 || cooldownMs !== null || (wasClosed && tooMany))) return false;
    const untilMs = nowMs + Math.min(Math.max(cooldownMs ?? 0, rules.cooldownMs), MAX_COOLDOWN_MS);
    this.#open(untilMs, reasonOf(era, cooldownMs));
    this.#peers?.opened(this.#openUntilMs);
    return wasClosed;
  }

  #open(untilMs: number, reason: OpenReason): void {
    this.#openReason = reason;
    this.#era += 1;
    this.#probing = false;
    this.#openUntilMs = untilMs;
  }

  #close(): void {
    this.#openUntilMs = 0;
    this.#windowAt = -Infinity;
  }

  #count(nowMs: number): void {
    if (nowMs - this.#windowAt > WINDOW_MS) {
      this.#windowAt = nowMs;
      this.#calls = 0;
      this.#fails = 0;
    }
    this.#calls += 1;
  }

  #release(era: number): void {
    if (era < 0 && -era === this.#era) this.#probing = false;
  }
}

function reasonOf(era: number, cooldownMs: number | null): OpenReason {
  if (cooldownMs !== null) return 'asked';
  return era < 0 ? 'trial' : 'failures';
}
