// What a part plays on: what was asked for, and the promise that everything started is ended and every file removed,
// in the reverse order. Has the one method that the helpers of test/support need of a test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tally } from './tally.ts';

/** What has not come by then never will, however busy the machine is. */
export const GIVEN_UP_MS = 300_000;

/** A part of the battery. */
export interface Part {
  readonly name: string;
  /** One line for `--list`, and the title of its table. */
  readonly about: string;
  run(stage: Stage): Promise<readonly Tally[]>;
}

/** What the command line asked for; null = the part's own default. */
export interface Wanted {
  readonly seed: number;
  /** Short runs, as `.ci/run` has them: does all of it still hold, in seconds. */
  readonly quick: boolean;
  readonly rounds: number | null;
  readonly executions: number | null;
  readonly seconds: number | null;
}

/** A part's processes, sockets and files. Close it, else they stay. */
export class Stage {
  readonly wanted: Wanted;
  /** Sentences about what could not be tried here. */
  readonly notes: string[] = [];
  readonly #ends: (() => unknown)[] = [];

  constructor(wanted: Wanted) {
    this.wanted = wanted;
  }

  /** `full`, or `quick` in a short run, unless the command line names a number. */
  count(full: number, quick: number, asked: number | null): number {
    return asked ?? (this.wanted.quick ? quick : full);
  }

  /** Done at the end, the last one first. */
  teardown(act: () => unknown): void {
    this.#ends.push(act);
  }

  /** A folder that goes with the stage. */
  folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'throughline-resilience-'));
    this.teardown(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
    return path;
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }
}
