// One row of the battery's table: what was tried, what held, and what was lost, doubled, leaked or crossed on the way.
// It only counts; the scenario decides what.
import type { Table } from '../../../bench/harness/scenario.ts';

/** Columns beside `tried` and `passed`; a scenario names those it checks, the others stay empty. */
export type Violation = 'lost' | 'doubled' | 'leaked' | 'crossed';

const VIOLATIONS: readonly Violation[] = ['lost', 'doubled', 'leaked', 'crossed'];
/** More sentences than these are only counted: the first ones say what is wrong. */
const SENTENCES = 20;

/** Counts one kind of case. */
export class ResultRow {
  readonly what: string;
  readonly seed: number | null;
  /** The first 20 sentences about what did not hold. */
  readonly problems: string[] = [];
  /** What is worth knowing of a run that held. */
  readonly notes: string[] = [];
  readonly #violations = new Map<Violation, number>();
  #tried = 0;
  #failed = 0;

  constructor(what: string, looksAt: readonly Violation[] = [], seed: number | null = null) {
    this.what = what;
    this.seed = seed;
    for (const kind of looksAt) this.#violations.set(kind, 0);
  }

  get tried(): number {
    return this.#tried;
  }

  get passed(): number {
    return this.#tried - this.#failed;
  }

  /** Whether all that was tried passed, without a violation. Nothing tried is no proof. */
  get holds(): boolean {
    return (
      this.#tried > 0 && this.#failed === 0 && [...this.#violations.values()].every((count) => count === 0)
    );
  }

  /** Counts cases that passed. */
  pass(count = 1): void {
    this.#tried += count;
  }

  /** Counts a case that failed. */
  fail(problem: string): void {
    this.#tried += 1;
    this.#failed += 1;
    this.#say(problem);
  }

  /** Counts a case by its outcome. */
  check(holds: boolean, problem: () => string): void {
    if (holds) this.pass();
    else this.fail(problem());
  }

  /** Counts what was lost, doubled, leaked or crossed, one for each name. */
  violations(kind: Violation, names: readonly string[]): void {
    this.#violations.set(kind, (this.#violations.get(kind) ?? 0) + names.length);
    for (const name of names) this.#say(`${kind}: ${name}`);
  }

  /** The row of the table. */
  cells(): string[] {
    const violations = VIOLATIONS.map((kind) => String(this.#violations.get(kind) ?? ''));
    return [this.what, String(this.#tried), String(this.passed), ...violations, String(this.seed ?? '')];
  }

  #say(problem: string): void {
    if (this.problems.length < SENTENCES) this.problems.push(problem);
  }
}

/** The table of a scenario. */
export function tableOf(title: string, results: readonly ResultRow[], notes: readonly string[]): Table {
  return {
    title,
    columns: ['', 'tried', 'passed', ...VIOLATIONS, 'seed'],
    rows: results.map((result) => result.cells()),
    notes: [
      ...notes,
      ...results.flatMap(({ notes }) => notes),
      ...results.flatMap(({ what, problems }) => problems.map((problem) => `**${what}**: ${problem}`)),
    ],
  };
}
