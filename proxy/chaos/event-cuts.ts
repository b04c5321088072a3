// Takes the bytes of an event stream apart into whole events. Only for calls with a fault: relay/sse-tap.ts reads all others.
import { Buffer } from 'node:buffer';

/** An event over this size is passed on in pieces, each of them as if it were one. */
const MOST_HELD_BYTES = 1_048_576;
const BLANK_LINE = /\r\n\r\n|\n\n|\r\r(?!\n)/g;
const DATA_LINE = /(?:^|[\r\n])data[:\r\n]/;

/** An event, or what stands between two: comments. */
export interface CutEvent {
  readonly bytes: Buffer;
  readonly hasData: boolean;
}

export class EventCuts {
  #held: Buffer = Buffer.alloc(0);

  /** The events that are whole now. */
  push(chunk: Buffer): readonly CutEvent[] {
    const bytes = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    const text = bytes.toString('latin1');
    const events: CutEvent[] = [];
    let from = 0;
    for (const match of text.matchAll(BLANK_LINE)) {
      const end = match.index + match[0].length;
      events.push(eventOf(bytes.subarray(from, end), text.slice(from, end)));
      from = end;
    }
    this.#held = bytes.subarray(from);
    if (this.#held.length > MOST_HELD_BYTES) events.push(...this.rest());
    return events;
  }

  /** What has come of an event that is not whole. */
  rest(): readonly CutEvent[] {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held.length === 0 ? [] : [eventOf(held, held.toString('latin1'))];
  }
}

const eventOf = (bytes: Buffer, text: string): CutEvent => ({ bytes, hasData: DATA_LINE.test(text) });

/** The same number of bytes, and no JSON any more. */
export function garbled(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const at = copy.lastIndexOf('}');
  if (at >= 0) copy[at] = '{'.charCodeAt(0);
  return copy;
}
