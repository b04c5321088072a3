// What `npm test` prints: one plain line for each file, and each failure at once, with its file, its tests, where it
// stands and how the values differ. On a terminal also colours and a line that says how far the run is.
import { Writable } from 'node:stream';
import { relative } from 'node:path';
import { t } from 'tap';
import { stringify } from 'yaml';

/** A line of TAP, as tap's parser tells of it. */
interface Assertion {
  readonly ok: boolean;
  readonly name: string;
  readonly diag?: Readonly<Record<string, unknown>> | null;
  /** It sums up the test of that name. */
  readonly closingTestPoint?: boolean;
  readonly skip?: boolean | string;
  readonly todo?: boolean | string;
}

interface Parser {
  on(event: 'assert', act: (assertion: Assertion) => void): unknown;
  on(event: 'child', act: (parser: Parser) => void): unknown;
  readonly name: string;
}

/** A file of tests. */
interface TestFile {
  readonly name: string;
  readonly parser: Parser;
  readonly time: number | null;
  readonly results?: { readonly ok: boolean } | null;
  on(event: 'complete', act: () => void): unknown;
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

class Run {
  readonly total: Counts = { passed: 0, failed: 0, skipped: 0 };
  /** Names of files. */
  readonly failed: string[] = [];
  #files = 0;

  /** Follows a file from its start to its end. */
  follow(file: TestFile): void {
    const name = relative(process.cwd(), file.name);
    const own: Counts = { passed: 0, failed: 0, skipped: 0 };
    this.#listen(file.parser, name, [], own);
    file.on('complete', () => {
      this.#files += 1;
      const seconds = ((file.time ?? 0) / 1000).toFixed(1);
      // A run that is broken off ends its files too, those that have not begun among them.
      const isWhole = own.failed === 0 && file.results?.ok === true && own.passed + own.skipped > 0;
      if (!isWhole) this.failed.push(name);
      if (!isWhole && own.failed === 0) this.total.failed += 1;
      const word = isWhole ? paint(GREEN, 'ok    ') : paint(RED, 'FAILED');
      this.say(`${word} ${name} ${paint(DIM, `${own.passed} passed, ${seconds} s`)}`);
    });
  }

  /** @param own what this file has counted */
  #listen(parser: Parser, file: string, titles: readonly string[], own: Counts): void {
    let failedBefore = own.failed;
    parser.on('child', (child) => {
      failedBefore = own.failed;
      this.#listen(child, file, [...titles, child.name], own);
    });
    parser.on('assert', (assertion) => {
      const isSum = assertion.closingTestPoint === true;
      if (assertion.ok || assertion.todo) {
        if (!isSum && !assertion.skip) {
          this.total.passed += 1;
          own.passed += 1;
        } else if (assertion.skip) own.skipped += 1;
        return;
      }
      // A test fails because an assertion in it did, which was told, or for a reason of its own.
      if (isSum && own.failed > failedBefore) return;
      this.total.failed += 1;
      own.failed += 1;
      this.say(failureText(file, titles, assertion));
    });
  }

  /** Prints above the line that says how far the run is. */
  say(text: string): void {
    if (isTerminal) out.write('\r\u001B[K');
    out.write(`${text}\n`);
    if (isTerminal) out.write(`${this.#files} files, ${sums(this.total)}`);
  }
}

const sums = ({ passed, failed }: Counts): string => `${passed} passed, ${failed} failed`;

function failureText(file: string, titles: readonly string[], { name, diag }: Assertion): string {
  const at = diag?.['at'] as { fileName?: string; lineNumber?: number } | undefined;
  const where = at?.fileName === undefined ? file : `${at.fileName}:${at.lineNumber ?? 1}`;
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

const run = new Run();
const seen = new Set<unknown>();
t.on('subtestStart', (file) => {
  if (seen.has(file)) return;
  seen.add(file);
  run.follow(file);
});

/** Takes the TAP of the whole run, of which it needs the end alone. */
export default class Report extends Writable {
  readonly #startedAt = performance.now();

  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }

  override _final(done: () => void): void {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    run.say('');
    if (run.failed.length > 0) run.say(`failed files:\n${run.failed.map((name) => `  ${name}`).join('\n')}`);
    run.say(`${seen.size} files in ${seconds} s`);
    if (isTerminal) out.write('\r\u001B[K');
    out.write(`${sums(run.total)}\n`);
    done();
  }

  /** tap pipes every reporter somewhere; this one prints by itself, failures before the text of a run has come. */
  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    return destination;
  }
}
