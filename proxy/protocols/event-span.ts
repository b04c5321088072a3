// Where the JSON of an event stands in its bytes, and a member in it, for those who change a few bytes and leave the rest. Knows one
// plain shape, which is what gateways send: a single data line that holds an object.
import type { Buffer } from 'node:buffer';
import { RESPONSE_DEPTH } from '../bodies/json.ts';
import type { PeekedBody } from '../bodies/members.ts';
import { peek } from '../bodies/peek.ts';

/** Byte offsets; the end is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

// A byte order mark may stand before the first event.
const DATA_LINE = /^(?:\u00ef\u00bb\u00bf)?data: ?(\{.*\})\r?$/gm;

/** The JSON object of an event; null where it has another shape. @param scan its bytes as latin1 */
export function jsonSpan(scan: string): Span | null {
  const lines = [...scan.matchAll(DATA_LINE)];
  const [line] = lines;
  if (line?.[1] === undefined || lines.length > 1) return null;
  const start = line.index + line[0].indexOf('{');
  return { start, end: start + line[1].length };
}

/** The value at `path` in the object at `span`; null where there is none, or more than one of a name. */
export function valueSpan(bytes: Buffer, span: Span, path: readonly string[]): Span | null {
  let { start, end } = span;
  for (const name of path) {
    const member = peekMember(bytes.subarray(start, end), name)?.members[0];
    if (member === undefined) return null;
    end = start + member.valueEnd;
    start += member.valueStart;
  }
  return { start, end };
}

/** The object, looked through for one member; null where it is none. */
export function peekMember(object: Buffer, name: string): PeekedBody | null {
  const peeked = peek(object, { names: new Set([name]), prefixes: [] }, RESPONSE_DEPTH);
  return peeked.ok ? peeked : null;
}
