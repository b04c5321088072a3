// What `npm test` prints: one plain line for each file, and each failure at once, with its file, its tests, where it
// stands and how the values differ. On a terminal also colours and a line that says how far the run is.
import { relative } from 'node:path';
import type { Parser } from 'tap-parser';
import { stringify } from 'yaml';
import { BETWEEN, WAITING, type Used } from './group-tap.ts';

/** A line of TAP, as the parser tells of it. */
interface Assertion {
  readonly ok: boolean;
  readonly name: string;
  readonly diag?: Readonly<Record<string, unknown>> | null;
  /** It sums up the test of that name. */
  readonly closingTestPoint?: unknown;
  readonly skip?: boolean | string;
  readonly todo?: boolean | string;
}

const out = process.stdout;
const isTerminal = out.isTTY;
const paint = (code: number, text: string): string => (isTerminal ? `\u001B[${code}m${text}\u001B[0m` : text);
const [RED, GREEN, DIM] = [31, 32, 2];
/** Members of a failure's diagnosis that repeat what the line above says. */
const REPEATED = new Set(['at', 'stack', 'source', 'compare', 'diff', 'tapCaught']);

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** A process that plays files one after another. */
export interface Followed {
  /** It will play this file next; settles when that is over, and never where the process ends before. */
  begin(file: string): Promise<void>;
  /**
   * The process has ended.
   * @param fault what was wrong with the end itself; null: nothing
   * @returns the file that it was to play next and had not begun; that one is not counted
   */
  ended(fault: string | null): string | null;
}

/** The file that a process plays. */
interface Playing {
  readonly file: string;
  readonly counts: Counts;
  readonly startedAt: number;
  readonly over: () => void;
  /** The process has taken it. */
  hasBegun: boolean;
}

interface UsedByFile extends Used {
  readonly file: string;
  readonly seconds: string;
}

/** How many files `--used` names. */
const MOST_NAMED = 40;

export class Report {
  readonly #total: Counts = { passed: 0, failed: 0, skipped: 0 };
  readonly #failed: string[] = [];
  readonly #used: UsedByFile[] = [];
  readonly #startedAt = performance.now();
  #ended = 0;

  /** Whether every file was whole and good. */
  get isGood(): boolean {
    return this.#failed.length === 0 && this.#ended > 0;
  }

  /** Follows a process from its start to its end. */
  follow(parser: Parser): Followed {
    let playing: Playing | null = null;
    let hasFailed = false;
    let last = 'its first file';
    const end = (fault: string | null, used: Used | null): void => {
      if (playing === null) return;
      const { over, counts } = playing;
      this.#fileEnded(playing, fault, used);
      last = playing.file;
      hasFailed ||= counts.failed > 0 || fault !== null;
      playing = null;
      over();
    };
    const nowhere: Playing = {
      file: 'between files',
      counts: { passed: 0, failed: 0, skipped: 0 },
      startedAt: performance.now(),
      over: () => undefined,
      hasBegun: true,
    };
    this.#listen(parser, [], () => playing ?? nowhere);
    parser.on('child', (child: Parser) => {
      if (playing !== null && child.name !== WAITING) playing.hasBegun = true;
      if (child.name !== BETWEEN) return;
      let used: Used | null = null;
      child.on('comment', (comment: string) => {
        if (comment.startsWith('# {')) used = JSON.parse(comment.slice(2)) as Used;
      });
      child.on('complete', () => end(null, used));
    });
    return {
      begin: (file) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const counts = { passed: 0, failed: 0, skipped: 0 };
        playing = { file, counts, startedAt: performance.now(), over: resolve, hasBegun: false };
        return promise;
      },
      ended: (fault) => {
        const said = fault ?? (parser.results?.ok === true ? null : 'its TAP output is not whole');
        if (playing?.hasBegun === true) {
          end(said ?? 'it ended before its tests', null);
          return null;
        }
        const left = playing?.file ?? null;
        playing = null;
        if (left !== null || (said !== null && !hasFailed)) {
          this.#total.failed += 1;
          this.#failed.push(`a process of several files, after ${last}`);
          this.#say(
            `${paint(RED, 'FAILED')} a process of several files, after ${last}: ${said ?? 'it ended too early'}`,
          );
        }
        return left;
      },
    };
  }

  #fileEnded({ file, counts, startedAt }: Playing, fault: string | null, used: Used | null): void {
    this.#ended += 1;
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const isEmpty = counts.passed + counts.skipped === 0;
    const isWhole = counts.failed === 0 && fault === null && !isEmpty;
    if (!isWhole) this.#failed.push(file);
    if (!isWhole && counts.failed === 0) this.#total.failed += 1;
    const why = isWhole || counts.failed > 0 ? '' : `: ${fault ?? 'it has no tests'}`;
    const word = isWhole ? paint(GREEN, 'ok    ') : paint(RED, 'FAILED');
    this.#say(`${word} ${file}${why} ${paint(DIM, `${counts.passed} passed, ${seconds} s`)}`);
    if (used !== null) this.#used.push({ ...used, file, seconds });
  }

  /** Prints the end of the run. @param files how many there were in all @param withUsed names what used most CPU */
  end(files: number, withUsed: boolean): void {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    this.#say('');
    if (withUsed) this.#sayUsed();
    if (this.#failed.length > 0)
      this.#say(`failed files:\n${this.#failed.map((name) => `  ${name}`).join('\n')}`);
    this.#say(`${files} files in ${seconds} s`);
    if (isTerminal) out.write('\r\u001B[K');
    out.write(`${sums(this.#total)}\n`);
  }

  #sayUsed(): void {
    const inSeconds = (ms: number): string => (ms / 1000).toFixed(1).padStart(6);
    const line = ({ own, children, seconds, file }: UsedByFile): string =>
      `${inSeconds(own)} s own CPU ${inSeconds(children)} s of children, took ${seconds.padStart(6)} s: ${file}`;
    const sorted = this.#used.toSorted((a, b) => b.own + b.children - a.own - a.children);
    this.#say(sorted.slice(0, MOST_NAMED).map(line).join('\n'));
    const sum = (of: (used: Used) => number): string =>
      inSeconds(this.#used.reduce((all, one) => all + of(one), 0));
    this.#say(`${sum(({ own }) => own)} s own CPU ${sum(({ children }) => children)} s of children in all\n`);
  }

  /** @param playing the file that this line is about */
  #listen(parser: Parser, titles: readonly string[], playing: () => Playing): void {
    let failedBefore = playing().counts.failed;
    parser.on('child', (child: Parser) => {
      failedBefore = playing().counts.failed;
      this.#listen(child, [...titles, child.name], playing);
    });
    parser.on('assert', (assertion: Assertion) => {
      const { file, counts } = playing();
      const isSum = Boolean(assertion.closingTestPoint);
      if (assertion.ok || assertion.todo) {
        if (assertion.skip) counts.skipped += 1;
        else if (!isSum) {
          this.#total.passed += 1;
          counts.passed += 1;
        }
        return;
      }
      // A test fails because an assertion in it did, which was told, or for a reason of its own.
      if (isSum && counts.failed > failedBefore) return;
      this.#total.failed += 1;
      counts.failed += 1;
      this.#say(failureText(file, titles, assertion));
    });
  }

  /** Prints above the line that says how far the run is. */
  #say(text: string): void {
    if (isTerminal) out.write('\r\u001B[K');
    out.write(`${text}\n`);
    if (isTerminal) out.write(`${this.#ended} ended, ${sums(this.#total)}`);
  }
}

const sums = ({ passed, failed }: Counts): string => `${passed} passed, ${failed} failed`;

function failureText(file: string, titles: readonly string[], { name, diag }: Assertion): string {
  const at = diag?.['at'] as { fileName?: string; lineNumber?: number } | undefined;
  const where =
    at?.fileName === undefined ? file : `${relative('.', at.fileName)}:${String(at.lineNumber ?? 1)}`;
  const rest = Object.fromEntries(Object.entries(diag ?? {}).filter(([key]) => !REPEATED.has(key)));
  const details = [
    typeof diag?.['diff'] === 'string' ? diag['diff'].trimEnd() : '',
    Object.keys(rest).length === 0 ? '' : stringify(rest).trimEnd(),
    typeof diag?.['stack'] === 'string' ? diag['stack'].trimEnd() : '',
  ];
  const indented = details
    .filter((text) => text !== '')
    .map((text) => `\n${text.replaceAll(/^/gm, '    ')}`)
    .join('');
  return `${paint(RED, 'FAILED')} ${[file, ...titles, name].join(' > ')}\n    at ${where}${indented}`;
}
