// Finds form fields in a multipart/form-data body (RFC 7578) by byte offsets and edits them; files are never touched
// and never copied apart. It never guesses: framing that two parsers could read differently is refused, because
// the upstream would then see another model than the proxy did. The multipart counterpart of peek.ts and splice.ts.
import { Buffer, isUtf8 } from 'node:buffer';
import { readParameters } from './disposition.ts';
import type { Wanted } from './members.ts';
import { copyWithCuts, type Cut } from './splice.ts';

/** A form field (never a file); all numbers are byte offsets into the body, ends are exclusive. */
export interface Field {
  readonly name: string;
  readonly value: string;
  /** Of the delimiter line that opens the part. */
  readonly partStart: number;
  /** Of the delimiter line that follows the part. */
  readonly partEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

type MultipartFaultKind =
  'not_multipart' | 'too_many_parts' | 'duplicate_member' | 'odd_member' | 'invalid_utf8';

interface MultipartFault {
  readonly ok: false;
  readonly fault: MultipartFaultKind;
  readonly at: number;
  /** The field's name, where the fault is one field's. */
  readonly name?: string;
  /** One sentence; quotes nothing of the body but a field's name. */
  readonly detail: string;
}

/** A form, looked into. */
export interface PeekedForm {
  readonly ok: true;
  /** The wanted fields in the order of the body; no two of one name. */
  readonly fields: readonly Field[];
  readonly boundary: string;
  /** How many parts the body has, files and unwanted fields included. */
  readonly partCount: number;
  /** Offset of the closing delimiter line. */
  readonly closing: number;
}

/** One change of a form. Values are plain text. */
export type FormEdit =
  | { readonly kind: 'replace'; readonly field: Field; readonly value: string }
  | { readonly kind: 'remove'; readonly field: Field }
  /** `name` must have been wanted when the form was peeked, else the form could end up with two of it. */
  | { readonly kind: 'append'; readonly name: string; readonly value: string };

const MOST_PARTS = 200;
const MOST_HEADER_BYTES = 8_192;
/** Of a field that the proxy reads. */
const MOST_VALUE_BYTES = 262_144;
/** Searched at a time. What looks like the boundary but for its end takes 20 ns a byte, 5 ms for a slice. */
const SLICE_BYTES = 262_144;
const LONGEST_SHOWN_NAME = 64;
const CRLF = '\r\n';
// RFC 2046 section 5.1.1: bchars, no space at the end, at most 70.
const BOUNDARY = /^[\w'()+,\-./:=? ]{0,69}[\w'()+,\-./:=?]$/;
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~\w]+):(.*)$/s;
const CONTROL = /\p{Cc}/u;
const CONTROL_BUT_SPACE = /[^\P{Cc}\t\r\n]/u;
const NAME_ESCAPES: Readonly<Record<string, string>> = { '"': '%22', '\r': '%0D', '\n': '%0A', '\\': '%5C' };

/** The boundary of a `multipart/form-data` content type; null when it is another type or has no valid boundary. */
export function boundaryOf(contentType: string): string | null {
  const read = readParameters(contentType);
  if (read?.type !== 'multipart/form-data') return null;
  const boundary = read.parameters.get('boundary');
  return boundary !== undefined && BOUNDARY.test(boundary) ? boundary : null;
}

/** Thrown and caught in this file only: a fault ends the scan from any depth. */
class Refusal extends Error {
  readonly fault: MultipartFault;

  constructor(fault: MultipartFaultKind, at: number, detail: string, name?: string) {
    super(detail);
    this.fault = { ok: false, fault, at, detail, ...(name === undefined ? {} : { name }) };
  }
}

/** Scans a form once. Names match exactly; at most 200 parts with at most 8 KiB of part headers each. */
export function peekMultipart(body: Buffer, boundary: string, wanted: Wanted): PeekedForm | MultipartFault {
  try {
    const steps = scan(body, boundary, wanted);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  } catch (error) {
    return faultOf(error);
  }
}

/**
 * As `peekMultipart`, but of a large form only a slice at a time: between two slices the event loop serves others.
 * @param turn waits for the next turn of the loop
 */
export async function peekMultipartInSlices(
  body: Buffer,
  boundary: string,
  wanted: Wanted,
  turn: () => Promise<unknown>,
): Promise<PeekedForm | MultipartFault> {
  try {
    const steps = scan(body, boundary, wanted);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await turn();
    }
  } catch (error) {
    return faultOf(error);
  }
}

function faultOf(error: unknown): MultipartFault {
  if (error instanceof Refusal) return error.fault;
  throw error;
}

/** The offset of `needle` from `start` on, or -1. Stops after each slice. */
function* indexIn(body: Buffer, needle: Buffer, start: number): Generator<void, number> {
  for (let from = start; ; from += SLICE_BYTES) {
    const end = Math.min(body.length, from + SLICE_BYTES + needle.length - 1);
    const found = body.subarray(from, end).indexOf(needle);
    if (found !== -1) return from + found;
    if (end === body.length) return -1;
    yield;
  }
}

/** Stops after each slice. @throws Refusal */
function* scan(body: Buffer, boundary: string, wanted: Wanted): Generator<void, PeekedForm> {
  const dashBoundary = Buffer.from(`--${boundary}`, 'latin1');
  const fields: Field[] = [];
  const names = new Set<string>();
  let partCount = 0;
  let lineStart = 0; // of the delimiter line that opens the next part
  if (!body.subarray(0, dashBoundary.length).equals(dashBoundary)) {
    const detail = 'The body does not begin with the boundary that its content-type names.';
    throw new Refusal('not_multipart', 0, detail);
  }
  for (;;) {
    const afterBoundary = lineStart + dashBoundary.length;
    if (isClosing(body, afterBoundary)) return { ok: true, fields, boundary, partCount, closing: lineStart };
    if (++partCount > MOST_PARTS) {
      throw new Refusal('too_many_parts', lineStart, `The form has more than ${MOST_PARTS} parts.`);
    }
    const headStart = afterBoundary + CRLF.length;
    const { lines, end: valueStart } = readPartHeaders(body, headStart);
    const partEnd = yield* indexIn(body, dashBoundary, headStart);
    const valueEnd = valueEndOf(body, valueStart, partEnd);
    const { text: name, isField } = partName(lines, headStart);
    if (isWanted(name, wanted)) {
      if (names.has(name)) {
        const detail = `The field ${shown(name)} stands in the form twice, and two readers could choose differently; send it once.`;
        throw new Refusal('duplicate_member', lineStart, detail, name);
      }
      names.add(name);
      if (!isField) {
        const detail = `The part ${shown(name)} is a file or encoded; send it as a plain text field.`;
        throw new Refusal('odd_member', lineStart, detail, name);
      }
      const value = readValue(body, valueStart, valueEnd, name);
      fields.push({ name, value, partStart: lineStart, partEnd, valueStart, valueEnd });
    }
    lineStart = partEnd;
  }
}

/** Whether the boundary before `at` closes the form; else a part begins behind it. @throws Refusal */
function isClosing(body: Buffer, at: number): boolean {
  const suffix = body.toString('latin1', at, at + 2);
  if (suffix === CRLF) return false;
  if (suffix !== '--') {
    const detail = 'A boundary of the form is not followed by CRLF or two dashes.';
    throw new Refusal('not_multipart', at, detail);
  }
  const rest = body.toString('latin1', at + 2, at + 5);
  if (rest !== '' && rest !== CRLF)
    throw new Refusal('not_multipart', at + 2, 'Bytes follow the closing boundary of the form.');
  return true;
}

/**
 * Where the value of a part ends. Readers differ on a boundary after a bare LF or within a line (some take it, some do not),
 * so neither passes. @param partEnd of the next boundary; -1: there is none @throws Refusal
 */
function valueEndOf(body: Buffer, valueStart: number, partEnd: number): number {
  if (partEnd === -1) {
    const detail = 'The form is cut short: its closing boundary is missing.';
    throw new Refusal('not_multipart', body.length, detail);
  }
  const valueEnd = partEnd - CRLF.length;
  if (valueEnd < valueStart || body[valueEnd] !== 0x0d || body[valueEnd + 1] !== 0x0a) {
    const detail = 'A boundary of the form does not stand on a line of its own.';
    throw new Refusal('not_multipart', partEnd, detail);
  }
  return valueEnd;
}

/** Header lines of the part at `start`, and the offset of its value. */
function readPartHeaders(body: Buffer, start: number): { lines: Map<string, string>; end: number } {
  const window = body.subarray(start, start + MOST_HEADER_BYTES + 4);
  const close = window.indexOf('\r\n\r\n');
  if (close === -1) {
    const what =
      window.length < MOST_HEADER_BYTES ? 'are cut short' : `are longer than ${MOST_HEADER_BYTES} bytes`;
    throw new Refusal('not_multipart', start, `The headers of a part of the form ${what}.`);
  }
  const lines = new Map<string, string>();
  const head = window.subarray(0, close);
  if (!isUtf8(head))
    throw new Refusal('invalid_utf8', start, 'The headers of a part of the form are not valid UTF-8.');
  for (const line of head.toString('utf8').split(CRLF)) {
    const [, name, value] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined || CONTROL.test(value)) {
      throw new Refusal('not_multipart', start, 'A part of the form has a malformed header line.');
    }
    const key = name.toLowerCase();
    if (lines.has(key)) throw new Refusal('not_multipart', start, 'A part of the form has a header twice.');
    lines.set(key, value);
  }
  return { lines, end: start + close + 4 };
}

/** The name of a part and whether it is a plain text field for every reader. */
function partName(lines: ReadonlyMap<string, string>, at: number): { text: string; isField: boolean } {
  const disposition = readParameters(lines.get('content-disposition') ?? '');
  const name = disposition?.parameters.get('name');
  if (disposition?.type !== 'form-data' || name === undefined) {
    const detail =
      'A part of the form has no strictly formed `Content-Disposition: form-data; name="..."` header.';
    throw new Refusal('not_multipart', at, detail);
  }
  const parameterNames = [...disposition.parameters.keys()];
  // RFC 2231 spellings (name*=, name*0=) and backslashes are decoded by some readers and taken as they are by others.
  if (name.includes('\\') || parameterNames.some((parameter) => parameter.startsWith('name*'))) {
    throw new Refusal(
      'not_multipart',
      at,
      'A part of the form spells its name in a way that readers decode differently.',
    );
  }
  const isFile = parameterNames.some((parameter) => parameter.startsWith('filename'));
  const encoding = (lines.get('content-transfer-encoding') ?? 'binary').trim().toLowerCase();
  const isPlain =
    /^(?:7bit|8bit|binary)$/.test(encoding) && isText(lines.get('content-type') ?? 'text/plain');
  return { text: name, isField: !isFile && isPlain };
}

/** Some readers take a part of another type for a file, or decode it by its charset. */
function isText(contentType: string): boolean {
  const read = readParameters(contentType);
  if (read === null || !(read.type === 'application/json' || read.type.startsWith('text/'))) return false;
  return /^(?:utf-8|us-ascii)$/i.test(read.parameters.get('charset') ?? 'utf-8');
}

function readValue(body: Buffer, start: number, end: number, name: string): string {
  const bytes = body.subarray(start, end);
  if (bytes.length > MOST_VALUE_BYTES) {
    const detail = `The field ${shown(name)} is longer than ${MOST_VALUE_BYTES} bytes.`;
    throw new Refusal('odd_member', start, detail, name);
  }
  if (!isUtf8(bytes)) {
    throw new Refusal(
      'invalid_utf8',
      start,
      `The value of the field ${shown(name)} is not valid UTF-8.`,
      name,
    );
  }
  const value = bytes.toString('utf8');
  // JSON in a field (metadata) may be laid out over lines; a model name may not.
  const odd = /^[{[]/.test(value) ? CONTROL_BUT_SPACE : CONTROL;
  if (odd.test(value)) {
    const detail = `The value of the field ${shown(name)} holds a line break or another control character.`;
    throw new Refusal('odd_member', start, detail, name);
  }
  return value;
}

function isWanted(name: string, wanted: Wanted): boolean {
  if (wanted.names.has(name) || wanted.prefixes.some((prefix) => name.startsWith(prefix))) return true;
  return wanted.also?.(name) === true;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, LONGEST_SHOWN_NAME));
}

/**
 * Applies `edits` to the form that `peeked` describes; one allocation, and the same Buffer when there are no edits.
 * @throws RangeError when a value holds the boundary; TypeError when a field is appended that is there
 */
export function spliceMultipart(body: Buffer, peeked: PeekedForm, edits: readonly FormEdit[]): Buffer {
  return edits.length === 0 ? body : copyWithCuts(body, formCutsOf(peeked, edits));
}

/** The cuts that `edits` come to. @throws RangeError, TypeError as `spliceMultipart` */
export function formCutsOf(peeked: PeekedForm, edits: readonly FormEdit[]): Cut[] {
  const cuts: Cut[] = [];
  const appended: string[] = [];
  for (const edit of edits) {
    if (edit.kind !== 'remove' && edit.value.includes(`--${peeked.boundary}`)) {
      throw new RangeError('the value of a form field holds the boundary of the form');
    }
    if (edit.kind === 'remove') {
      cuts.push({ start: edit.field.partStart, end: edit.field.partEnd, insert: [] });
    } else if (edit.kind === 'replace') {
      cuts.push({ start: edit.field.valueStart, end: edit.field.valueEnd, insert: [edit.value] });
    } else {
      if (peeked.fields.some((field) => field.name === edit.name))
        throw new TypeError(`the form has a field ${edit.name}`);
      const name = edit.name.replace(/["\r\n\\]/g, (c) => NAME_ESCAPES[c] ?? '');
      const head = `--${peeked.boundary}${CRLF}Content-Disposition: form-data; name="${name}"${CRLF}${CRLF}`;
      appended.push(head, edit.value, CRLF);
    }
  }
  if (appended.length > 0) cuts.push({ start: peeked.closing, end: peeked.closing, insert: appended });
  return cuts;
}
