// A clock that stands still until a test moves it: what depends on time happens when the test says so, however busy the
// machine is. The proxy looks at its clock every 50 ms of real time, so a deadline that has passed is noticed soon.
import { systemClock, type Clock } from '../../proxy/base/clock.ts';

/** How far one step goes, unless a test says otherwise. */
const STEP_MS = 50;

export class ManualClock implements Clock {
  #monoMs = 1_000;
  #nowMs: number;

  /** @param nowMs the wall clock at the beginning; default: that of the machine */
  constructor(nowMs = Date.now()) {
    this.#nowMs = nowMs;
  }

  readonly now = (): number => this.#nowMs;
  readonly mono = (): number => this.#monoMs;

  /** Lets so much time pass at once. */
  advance(ms: number): void {
    this.#monoMs += ms;
    this.#nowMs += ms;
  }

  /** Puts the wall clock forward or back, as somebody does who puts it right. */
  step(ms: number): void {
    this.#nowMs += ms;
  }

  /** Lets time pass until the promise settles: for something that a deadline must end. */
  async during<T>(promise: Promise<T>, stepMs = STEP_MS): Promise<T> {
    const step = setInterval(() => this.advance(stepMs), 5);
    try {
      return await promise;
    } finally {
      clearInterval(step);
    }
  }
}

/** A clock of which the wall clock alone stands still, for times of hours: deadlines go on as they do. */
export class WallClock implements Clock {
  #nowMs = Date.now();

  readonly now = (): number => this.#nowMs;
  readonly mono = systemClock.mono;

  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
