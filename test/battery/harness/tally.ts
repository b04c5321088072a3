// One row of the battery's table: what was tried, what held, and what was lost, doubled, leaked or crossed on the way.
// Counts only; a part decides what counts.
import type { Table } from '../../../bench/harness/scenario.ts';

/** What a row is asked for beside `tried` and `passed`; a part names those it looks at, the others stay empty. */
export type Harm = 'lost' | 'doubled' | 'leaked' | 'crossed';

const HARMS: readonly Harm[] = ['lost', 'doubled', 'leaked', 'crossed'];
/** More sentences than these are only counted: the first ones say what is wrong. */
const SENTENCES = 20;

/** Counts one kind of trial. */
export class Tally {
  readonly what: string;
  readonly seed: number | null;
  /** The first 20 sentences about what did not hold. */
  readonly problems: string[] = [];
  /** What is worth knowing of a run that held. */
  readonly notes: string[] = [];
  readonly #harms = new Map<Harm, number>();
  #tried = 0;
  #failed = 0;

  constructor(what: string, looksAt: readonly Harm[] = [], seed: number | null = null) {
    this.what = what;
    this.seed = seed;
    for (const harm of looksAt) this.#harms.set(harm, 0);
  }

  get tried(): number {
    return this.#tried;
  }

  get passed(): number {
    return this.#tried - this.#failed;
  }

  /** Whether all that was tried passed, without harm. Nothing tried is no proof. */
  get holds(): boolean {
    return this.#tried > 0 && this.#failed === 0 && [...this.#harms.values()].every((count) => count === 0);
  }

  /** Counts trials that held. */
  pass(count = 1): void {
    this.#tried += count;
  }

  /** Counts a trial that did not hold. */
  fail(problem: string): void {
    this.#tried += 1;
    this.#failed += 1;
    this.#say(problem);
  }

  /** Counts a trial by its outcome. */
  check(holds: boolean, problem: () => string): void {
    if (holds) this.pass();
    else this.fail(problem());
  }

  /** Counts what was lost, doubled, leaked or crossed, one for each name. */
  harm(kind: Harm, names: readonly string[]): void {
    this.#harms.set(kind, (this.#harms.get(kind) ?? 0) + names.length);
    for (const name of names) this.#say(`${kind}: ${name}`);
  }

  /** The row of the table. */
  cells(): string[] {
    const harms = HARMS.map((harm) => String(this.#harms.get(harm) ?? ''));
    return [this.what, String(this.#tried), String(this.passed), ...harms, String(this.seed ?? '')];
  }

  #say(problem: string): void {
    if (this.problems.length < SENTENCES) this.problems.push(problem);
  }
}

/** The table of a part. */
export function tableOf(title: string, tallies: readonly Tally[], notes: readonly string[]): Table {
  return {
    title,
    columns: ['', 'tried', 'passed', ...HARMS, 'seed'],
    rows: tallies.map((tally) => tally.cells()),
    notes: [
      ...notes,
      ...tallies.flatMap(({ notes }) => notes),
      ...tallies.flatMap(({ what, problems }) => problems.map((problem) => `**${what}**: ${problem}`)),
    ],
  };
}
