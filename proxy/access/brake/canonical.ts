// Brings what is compared into one form: two calls of a tool, or two results, are the same when only ids, times and the
// members that the operator lists differ. Pure.
import { asObject, parseJson, type Json } from '../../bodies/json.ts';

/** Names of members that say which call it is, not what is called. */
const VOLATILE: ReadonlySet<string> = new Set([
  'cache_control',
  'call_id',
  'nonce',
  'request_id',
  'timestamp',
  'tool_call_id',
  'tool_use_id',
]);
const MOST_DEPTH = 32;
const DIGIT = /\d/;
/** Of a result; times and ids in the middle of a longer one count as they are. */
const EDGE_CHARS = 4_096;

/**
 * UUIDs, dates with times, clock times, epochs, addresses in memory, durations, process ids, Codex's names of outputs. Each
 * alternative is linear.
 */
const CHANGING = new RegExp(
  [
    String.raw`\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b`,
    String.raw`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?`,
    String.raw`\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b`,
    String.raw`\b1[5-9]\d{8}(?:\d{3})?(?:\.\d{1,9})?\b`,
    String.raw`\b0x[\da-f]{4,16}\b`,
    String.raw`\b\d{1,9}(?:\.\d{1,9})? ?(?:ns|us|µs|ms|s|sec|secs|seconds?|min|minutes?)\b`,
    String.raw`\bp[pg]?ids?[ :=]{1,3}\d{1,9}(?:, \d{1,9}){0,20}`,
    String.raw`\bchunk id: [\da-f]{6}\b`,
  ].join('|'),
  'gi',
);

/** A text without what changes from one time to the next. */
export function canonicalText(text: string): string {
  if (text.length <= 2 * EDGE_CHARS) return settledText(text).trim();
  const middle = text.slice(EDGE_CHARS, -EDGE_CHARS);
  return `${settledText(text.slice(0, EDGE_CHARS))}${middle}${settledText(text.slice(-EDGE_CHARS))}`.trim();
}

/** What changes has a digit in it, and most lines of code have none: the search takes 9 ns a character. */
function settledText(text: string): string {
  if (!DIGIT.test(text)) return text;
  return text
    .split('\n')
    .map((line) => (DIGIT.test(line) ? line.replace(CHANGING, '#') : line))
    .join('\n');
}

/** The text of a message or of a result: a string, or a list of blocks. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) return canonicalJson(content, VOLATILE) ?? '';
  return content
    .map((block: unknown) => {
      const { text } = asObject(block) ?? {};
      return typeof text === 'string' ? text : (canonicalJson(block, VOLATILE) ?? '');
    })
    .join('\n');
}

/** The input of a tool, an object or the JSON text of one, with its members in order. @param ignored names left out */
export function canonicalInput(input: unknown, ignored: ReadonlySet<string>): string {
  const value = typeof input === 'string' ? parseJson(input) : input;
  const json = value === undefined ? null : canonicalJson(value, ignored);
  return json ?? (typeof input === 'string' ? input : '');
}

/** null: it nests too deep to be ordered. */
function canonicalJson(value: unknown, ignored: ReadonlySet<string>): string | null {
  const ordered = orderedCopy(value, ignored, 0);
  return ordered === TOO_DEEP ? null : JSON.stringify(ordered);
}

const TOO_DEEP = Symbol('too deep');

function orderedCopy(value: unknown, ignored: ReadonlySet<string>, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MOST_DEPTH) return TOO_DEEP;
  // Pairs in place of an object: `__proto__` is a name like any other.
  const entries = Array.isArray(value)
    ? value.map((one: unknown): [string, unknown] => ['', one])
    : Object.entries(value as Json)
        .filter(([name]) => !VOLATILE.has(name) && !ignored.has(name))
        .sort(([a], [b]) => (a < b ? -1 : 1));
  const copy: unknown[] = [Array.isArray(value) ? 0 : 1];
  for (const [name, inner] of entries) {
    const one = orderedCopy(inner, ignored, depth + 1);
    if (one === TOO_DEEP) return TOO_DEEP;
    copy.push(name, one);
  }
  return copy;
}

const LOOKED_AT = 2_048;
const FAILED_START =
  /^[\s[(*#>✗❌-]{0,16}(?:error|fatal|traceback \(|exception|failed|failure|permission denied|command not found)/i;
const FAILED_MEMBER = /^\s*\{\s*"(?:error|is_error)"\s*:(?!\s*(?:null|false|""|\[\]))/;
const FAILED_EXIT = /\bexit(?:ed)?(?: with)?(?: code| status)?\s?[:=]?\s?-?[1-9]\d{0,4}\b/i;
/** Codex states it before the output. */
const FAILED_HEAD =
  /^(?:Chunk ID:[^\n]{0,99}\n)?(?:Wall time:[^\n]{0,99}\n)?(?:Process exited with|Exit) code:? -?[1-9]/;
const CODEX_LINES =
  /^(?:(?:Chunk ID|Wall time|Process exited with code|Exit code|Original token count|Output)\b[^\n]{0,99}\n){2,}/;
/** `FileNotFoundError`, `java.io.IOException`, `ENOENT`. */
const CLASS = /\b(?:[A-Za-z]\w{0,60}(?:Error|Exception)|E[A-Z]{4,14})\b/;

/** What kind of error a result reports; null: none. @param isError the agent says that it failed */
export function errorClassOf(text: string, isError: boolean): string | null {
  const head = text.slice(0, LOOKED_AT);
  const tail = text.slice(-LOOKED_AT);
  const failed =
    isError ||
    FAILED_START.test(head) ||
    FAILED_MEMBER.test(head) ||
    FAILED_HEAD.test(head) ||
    FAILED_EXIT.test(tail);
  if (!failed) return null;
  const named = CLASS.exec(head)?.[0] ?? CLASS.exec(tail)?.[0];
  if (named !== undefined) return named;
  const line = head.replace(CODEX_LINES, '').trim().split('\n', 1)[0] ?? '';
  return line
    .replaceAll(/(["'`])[^"'`]{0,400}\1/g, '#')
    .replaceAll(/\S*[/\\]\S*/g, '#')
    .replaceAll(/\d+/g, '#')
    .toLowerCase();
}
