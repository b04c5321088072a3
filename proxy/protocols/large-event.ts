// One event of a stream that is too large to be kept, such as a picture: its name, and of its JSON the members that an end, an
// error or usage is stated in, wherever they stand. Read while it passes; the rest is dropped.
import { Buffer } from 'node:buffer';
import { Outline } from '../bodies/outline.ts';
import { parseObject, type Json } from '../bodies/json.ts';
import type { EventRules } from './protocol.ts';

/** Of every protocol. */
const MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'id',
  'model',
  'service_tier',
  'responseId',
  'modelVersion',
  'response',
  'message',
]);
const DATA = Buffer.from('data:');
const EVENT = /^event: ?(.*)$/;
/** Of a line that is no data. */
const MOST_LINE_BYTES = 256;
const LF = 0x0a;
const CR = 0x0d;
const LINE_END = Buffer.from([LF]);

export class LargeEvent {
  readonly #outline: Outline;
  readonly #line = Buffer.allocUnsafe(MOST_LINE_BYTES);
  #lineBytes = 0;
  #isData = false;
  #name = '';

  constructor({ usagePath, endMembers }: EventRules) {
    const usage = usagePath.at(-1);
    this.#outline = new Outline((name) => {
      if (name === usage || name === 'error') return 'all';
      return MEMBERS.has(name) || endMembers.has(name) ? 'members' : null;
    });
  }

  /** '' = none is stated. */
  get name(): string {
    return this.#name;
  }

  /** The event without what does not matter; null: it is no JSON object. */
  get json(): Json | null {
    const text = this.#outline.text();
    return text === null ? null : parseObject(text);
  }

  push(bytes: Buffer): void {
    let lf = bytes.indexOf(LF);
    let cr = bytes.indexOf(CR);
    for (let at = 0; at < bytes.length;) {
      const end = Math.min(lf < 0 ? bytes.length : lf, cr < 0 ? bytes.length : cr);
      this.#read(bytes, at, end);
      if (end < bytes.length) this.#endLine();
      at = end + 1;
      if (lf >= 0 && lf < at) lf = bytes.indexOf(LF, at);
      if (cr >= 0 && cr < at) cr = bytes.indexOf(CR, at);
    }
  }

  /** Of one line, which may go on. */
  #read(bytes: Buffer, at: number, end: number): void {
    if (!this.#isData && at < end) {
      const copied = bytes.copy(this.#line, this.#lineBytes, at, end);
      const before = this.#lineBytes;
      this.#lineBytes += copied;
      this.#isData = this.#lineBytes >= DATA.length && DATA.compare(this.#line, 0, DATA.length) === 0;
      if (this.#isData) at += DATA.length - before;
    }
    if (this.#isData && at < end) this.#outline.push(bytes.subarray(at, end));
  }

  #endLine(): void {
    if (this.#isData) this.#outline.push(LINE_END);
    else this.#name = EVENT.exec(this.#line.toString('utf8', 0, this.#lineBytes))?.[1] ?? this.#name;
    this.#lineBytes = 0;
    this.#isData = false;
  }
}
