// One run of a scenario: its options, and a cleanup that stops every process and removes every file,
// in the reverse order. Has the one method that the helpers of test/support need of a test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ResultRow } from './result-row.ts';

/** What has not come by then never will, however busy the machine is. */
export const DEADLINE_MS = 300_000;

/** A scenario of the battery. */
export interface Scenario {
  readonly name: string;
  /** One line for `--list`, and the title of its table. */
  readonly about: string;
  run(run: ScenarioRun): Promise<readonly ResultRow[]>;
}

/** What the command line asked for; null = the scenario's own default. */
export interface RunOptions {
  readonly seed: number;
  /** Short runs, as `.ci/run` has them: does all of it still hold, in seconds. */
  readonly quick: boolean;
  readonly rounds: number | null;
  readonly executions: number | null;
  readonly seconds: number | null;
}

/** A run's processes, sockets and files. Close it, else they stay. */
export class ScenarioRun {
  readonly options: RunOptions;
  /** Sentences about what could not be tried here. */
  readonly notes: string[] = [];
  readonly #ends: (() => unknown)[] = [];

  constructor(options: RunOptions) {
    this.options = options;
  }

  /** `full`, or `quick` in a short run, unless the command line names a number. */
  count(full: number, quick: number, asked: number | null): number {
    return asked ?? (this.options.quick ? quick : full);
  }

  /** Done at the end, the last one first. */
  teardown(act: () => unknown): void {
    this.#ends.push(act);
  }

  /** A folder that is removed with the run. */
  folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'throughline-resilience-'));
    this.teardown(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
    return path;
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }
}
