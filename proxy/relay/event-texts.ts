// Cuts pieces of an event stream into events: name and data, by the rules of WHATWG
// (html.spec.whatwg.org/multipage/server-sent-events.html). For those who need each event; the taps look for markers only.
import { Buffer } from 'node:buffer';

/** One event that has data. */
export interface EventText {
  /** '' = none is stated. */
  readonly name: string;
  readonly data: string;
}

const LF = 0x0a;
const CR = 0x0d;

export class EventTexts {
  readonly #mostHeldBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;

  /** @param mostHeldBytes of one event */
  constructor(mostHeldBytes: number) {
    this.#mostHeldBytes = mostHeldBytes;
  }

  /** The events that end with `piece`; null when one is larger than allowed. The piece's bytes are not kept. */
  push(piece: Buffer): readonly EventText[] | null {
    if (this.#heldBytes === 0 && endsAnEvent(piece)) return eventsIn(piece.toString('utf8'));
    this.#heldBytes += piece.length;
    if (this.#heldBytes > this.#mostHeldBytes) return null;
    this.#held.push(Buffer.from(piece));
    return endsAnEvent(piece) ? this.rest() : [];
  }

  /** What is left when the stream has ended: some upstreams leave out the last blank line. */
  rest(): readonly EventText[] {
    if (this.#heldBytes === 0) return [];
    const text = Buffer.concat(this.#held).toString('utf8');
    this.#held = [];
    this.#heldBytes = 0;
    return eventsIn(text);
  }
}

/** The last line is blank. */
function endsAnEvent(piece: Buffer): boolean {
  const last = piece.length - 1;
  const before = piece[last - 1];
  if (piece[last] === CR) return before === CR;
  if (piece[last] !== LF) return false;
  if (before === LF) return true;
  return before === CR && (piece[last - 2] === LF || piece[last - 2] === CR);
}

/** Events without data (comments, a lone name) are left out. */
function eventsIn(text: string): EventText[] {
  const found: EventText[] = [];
  let name = '';
  let data: string | null = null;
  let start = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  while (start < text.length) {
    const lf = text.indexOf('\n', start);
    let end = lf === -1 ? text.length : lf;
    let next = end + 1;
    const cr = text.indexOf('\r', start);
    if (cr !== -1 && cr < end) {
      end = cr;
      next = cr + 1 === lf ? lf + 1 : cr + 1;
    }
    if (end === start) {
      if (data !== null) found.push({ name, data });
      name = '';
      data = null;
    } else if (text.startsWith('data', start)) {
      const value = valueAt(text, start + 4, end);
      if (value !== null) data = data === null ? value : `${data}\n${value}`;
    } else if (text.startsWith('event', start)) name = valueAt(text, start + 5, end) ?? name;
    start = next;
  }
  if (data !== null) found.push({ name, data });
  return found;
}

/** What stands behind the colon; null: the field has another name. */
function valueAt(text: string, colon: number, end: number): string | null {
  if (colon === end) return '';
  if (text.charCodeAt(colon) !== 0x3a) return null;
  return text.slice(text.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1, end);
}
