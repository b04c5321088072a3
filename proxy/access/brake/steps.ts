// The last calls of tools in a thread with what they returned, and how often the last one of them repeats. What an agent
// does to make progress or to wait is no repetition: a call that was answered with something new stands between, or time.
import type { Step } from './turns.ts';

/** Calls of tools that are looked back on. */
export const WINDOW = 20;
const LONGEST_CYCLE = 4;
/** Lists are replaced, never changed, so that all that are empty are one. */
const NONE: readonly number[] = Object.freeze([]);

/** How long the calls of a turn took; unknown: nobody has seen when they began. */
export type Wait = 'none' | 'long' | 'unknown';

/** What is known of a step beside its digests, as bits of a number. */
const LONG = 1;
const UNKNOWN = 2;
/** It has succeeded, and neither it nor its result stood in the window. */
const NEW = 4;
const WAIT_BITS: Readonly<Record<Wait, number>> = { none: 0, long: LONG, unknown: UNKNOWN };

/** What a repetition is worth after which something new was returned, or whose error reads differently. */
const LESS = 0.5;
/** What one is worth that was waited for: the 20 of an agent that polls come to three. */
const WAITED = 0.125;

export class Steps {
  // Side by side, oldest first: one list of numbers takes a third of a list of objects.
  #calls: readonly number[] = NONE;
  #pairs: readonly number[] = NONE;
  #errors: readonly number[] = NONE;
  #marks: readonly number[] = NONE;

  rearm(): void {
    this.#calls = NONE;
    this.#pairs = NONE;
    this.#errors = NONE;
    this.#marks = NONE;
  }

  /**
   * The steps of one turn. They run side by side, so that the first one alone is waited for.
   * @param took what has failed without waiting is work, however long it took
   */
  add(steps: readonly Step[], took: Wait): void {
    const wait = steps.some(({ isFailedWork }) => isFailedWork) ? 'none' : took;
    const [first] = steps;
    const isUnknown = this.#marks.some((mark) => (mark & UNKNOWN) !== 0);
    if (isUnknown && wait !== 'unknown' && first !== undefined) this.#settle(first.call, wait);
    const last = (list: readonly number[], read: (step: Step, at: number) => number): number[] =>
      [...list, ...steps.map(read)].slice(-WINDOW);
    const isNew = ({ pair, error }: Step, at: number): boolean =>
      error === 0 && !this.#pairs.includes(pair) && steps.findIndex((one) => one.pair === pair) === at;
    this.#marks = last(
      this.#marks,
      (step, at) => (at === 0 ? WAIT_BITS[wait] : 0) | (isNew(step, at) ? NEW : 0),
    );
    this.#calls = last(this.#calls, ({ call }) => call);
    this.#pairs = last(this.#pairs, ({ pair }) => pair);
    this.#errors = last(this.#errors, ({ error }) => error);
  }

  /** Calls that nobody has seen begin are taken to have been like the first one of their kind that was seen. */
  #settle(call: number, wait: Wait): void {
    this.#marks = this.#marks.map((mark, at) =>
      (mark & UNKNOWN) === 0 || this.#calls[at] !== call ? mark : (mark & ~UNKNOWN) | WAIT_BITS[wait],
    );
  }

  /** The last step, with the same result. */
  get repeatedSteps(): number {
    const pair = this.#pairs.at(-1);
    return this.#repeats((at, afterNew) => (this.#pairs[at] === pair ? (afterNew ? LESS : 1) : 0));
  }

  /** The last step, when it has failed, with the same kind of error. */
  get repeatedErrors(): number {
    const [call, pair, error] = [this.#calls.at(-1), this.#pairs.at(-1), this.#errors.at(-1)];
    if (error === 0) return 0;
    return this.#repeats((at, afterNew) => {
      if (this.#pairs[at] === pair) return afterNew ? LESS : 1;
      return this.#calls[at] === call && this.#errors[at] === error && !afterNew ? LESS : 0;
    });
  }

  /** The last call, whatever it returned. */
  get repeatedCalls(): number {
    const call = this.#calls.at(-1);
    return call === undefined ? 0 : this.#calls.filter((one) => one === call).length;
  }

  /** Steps at the end that repeat in a cycle of two to four that are not all the same, without a pause. */
  get alternating(): number {
    const list = this.#pairs.slice(this.#unbroken);
    let most = 0;
    for (let period = 2; period <= LONGEST_CYCLE; period++) {
      let i = list.length - 1;
      while (i >= period && list[i] === list[i - period]) i--;
      const run = list.length - 1 - i + period;
      const cycle = list.slice(-period);
      if (i < list.length - 1 && new Set(cycle).size > 1) most = Math.max(most, Math.min(run, list.length));
    }
    return most;
  }

  /** How many at the end failed with one kind of error, without a pause. */
  get sameErrors(): number {
    const errors = this.#errors.slice(this.#unbroken);
    const last = errors.at(-1);
    if (last === undefined || last === 0) return 0;
    return errors.length - 1 - errors.findLastIndex((one) => one !== last);
  }

  /** Where the steps begin that were made without a pause. */
  get #unbroken(): number {
    return this.#marks.findLastIndex((mark) => (mark & (LONG | UNKNOWN)) !== 0) + 1;
  }

  /**
   * The last step and those before it that are like it, back from the end.
   * @param worth of a step before, of which the next one of its kind came at once; 0 = another step
   */
  #repeats(worth: (at: number, afterNew: boolean) => number): number {
    const marks = this.#marks;
    if (marks.length === 0) return 0;
    let count = 1;
    let isWaited = false;
    let isAfterNew = false;
    for (let at = marks.length - 2; at >= 0; at--) {
      isWaited ||= ((marks[at + 1] ?? 0) & (LONG | UNKNOWN)) !== 0;
      const worthOf = worth(at, isAfterNew);
      if (worthOf === 0) isAfterNew ||= ((marks[at] ?? 0) & NEW) !== 0;
      else {
        count += isWaited ? Math.min(worthOf, WAITED) : worthOf;
        isWaited = false;
        isAfterNew = false;
      }
    }
    return Math.floor(count);
  }
}
