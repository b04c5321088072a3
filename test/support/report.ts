// What `npm test` prints: one plain line for each file, and each failure at once, with its file, its tests, where it
// stands and how the values differ. On a terminal also colours and a line that says how far the run is.
import { relative } from 'node:path';
import type { Parser } from 'tap-parser';
import { stringify } from 'yaml';

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

/** A file of tests, or a folder of them in one process, on its way through. */
interface Followed {
  /** Its process has ended. @param fault what was wrong with the end itself; null: nothing */
  ended(fault: string | null): void;
}

export class Report {
  readonly #total: Counts = { passed: 0, failed: 0, skipped: 0 };
  readonly #failed: string[] = [];
  readonly #startedAt = performance.now();
  #ended = 0;

  /** Whether every file was whole and good. */
  get isGood(): boolean {
    return this.#failed.length === 0 && this.#ended > 0;
  }

  /** Follows a file from its start to its end. */
  follow(file: string, parser: Parser): Followed {
    const startedAt = performance.now();
    const own: Counts = { passed: 0, failed: 0, skipped: 0 };
    this.#listen(parser, file, [], own);
    return {
      ended: (fault) => {
        this.#ended += 1;
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        const said = fault ?? (parser.results?.ok === true ? null : 'its TAP output is not whole');
        const isEmpty = own.passed + own.skipped === 0;
        const isWhole = own.failed === 0 && said === null && !isEmpty;
        if (!isWhole) this.#failed.push(file);
        if (!isWhole && own.failed === 0) this.#total.failed += 1;
        const why = isWhole || own.failed > 0 ? '' : `: ${said ?? 'it has no tests'}`;
        const word = isWhole ? paint(GREEN, 'ok    ') : paint(RED, 'FAILED');
        this.#say(`${word} ${file}${why} ${paint(DIM, `${own.passed} passed, ${seconds} s`)}`);
      },
    };
  }

  /** Prints the end of the run. @param files how many there were in all */
  end(files: number): void {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    this.#say('');
    if (this.#failed.length > 0)
      this.#say(`failed files:\n${this.#failed.map((name) => `  ${name}`).join('\n')}`);
    this.#say(`${files} files in ${seconds} s`);
    if (isTerminal) out.write('\r\u001B[K');
    out.write(`${sums(this.#total)}\n`);
  }

  /** @param own what this file has counted */
  #listen(parser: Parser, file: string, titles: readonly string[], own: Counts): void {
    let failedBefore = own.failed;
    parser.on('child', (child: Parser) => {
      failedBefore = own.failed;
      this.#listen(child, file, [...titles, child.name], own);
    });
    parser.on('assert', (assertion: Assertion) => {
      const isSum = Boolean(assertion.closingTestPoint);
      if (assertion.ok || assertion.todo) {
        if (assertion.skip) own.skipped += 1;
        else if (!isSum) {
          this.#total.passed += 1;
          own.passed += 1;
        }
        return;
      }
      // A test fails because an assertion in it did, which was told, or for a reason of its own.
      if (isSum && own.failed > failedBefore) return;
      this.#total.failed += 1;
      own.failed += 1;
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
