// What an interop suite is: the real software of others, prepared once, and cases that are played with it in order. And
// what one run owns: processes, sockets and folders that end with it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One file of `suites/`. */
export interface Suite {
  readonly name: string;
  /** One line for `--list`. */
  readonly about: string;
  /** Installs what it needs. @throws Missing when this machine cannot play it */
  readonly prepare: (run: InteropRun) => Promise<Prepared>;
}

export interface Prepared {
  /** Whose software is played with, with versions. */
  readonly software: string;
  readonly cases: readonly Case[];
}

export interface Case {
  readonly name: string;
  /** Why it cannot be played here; null when it can. */
  readonly missing?: string | null;
  /** Rejects when it does not hold. @returns a figure or a remark for the table; '' = none */
  readonly play: () => Promise<string>;
}

/** This machine lacks something that a suite needs: the message says what, and where to get it. */
export class Missing extends Error {
  override readonly name = 'Missing';
}

/** What does not happen within this time never will, however busy the machine is. */
const DEADLINE_MS = 240_000;
const POLL_MS = 100;

/** The resources of one suite's run. Has the one method that the helpers of test/support need of a test. */
export class InteropRun {
  readonly #ends: (() => unknown)[] = [];

  /** Done at the end, the last one first. */
  teardown(act: () => unknown): void {
    this.#ends.push(act);
  }

  /** A folder that is removed with the run. */
  folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'throughline-interop-'));
    this.teardown(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
    return path;
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) await end();
  }
}

/** Asks until the answer is neither null nor undefined. @throws Error that names what was waited for */
export async function until<T>(
  what: string,
  ask: () => T | null | undefined | Promise<T | null | undefined>,
): Promise<T> {
  const endsAt = performance.now() + DEADLINE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== undefined) return answer;
    if (performance.now() > endsAt) throw new Error(`waited ${DEADLINE_MS / 1000} s in vain: ${what}`);
    await new Promise((wake) => setTimeout(wake, POLL_MS));
  }
}
