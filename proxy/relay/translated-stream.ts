// One stream as a client of another protocol gets it: pieces of the upstream's bytes become whole events of the caller's
// protocol, up to its end or to the fault that ends it. Sends nothing.
import { Buffer } from 'node:buffer';
import type { Fault } from '../errors/fault.ts';
import { EventReading } from '../protocols/event-reading.ts';
import { holdsToken } from '../protocols/first-token.ts';
import { badAnswer, tooComplex } from '../protocols/translation/failures.ts';
import type { EventTranslation } from '../protocols/translation/translation.ts';
import { EventTexts, type EventText } from './event-texts.ts';
import { SseTap } from './sse-tap.ts';
import type { TranslatedResponse } from './translated-response.ts';

/** One event of a stream, such as the arguments of a tool call. */
const MOST_EVENT_BYTES = 16_777_216;

/** Of one attempt. */
export class TranslatedStream {
  readonly #response: TranslatedResponse;
  readonly #texts = new EventTexts(MOST_EVENT_BYTES);
  readonly #events: EventTranslation;
  /** Writes the cost into what the client gets. */
  readonly #priced: SseTap | null;
  #reading: EventReading | null = null;
  #fault: Fault | null = null;

  constructor(response: TranslatedResponse) {
    this.#response = response;
    this.#events = response.translation.events();
    const { priceUsage, caller } = response;
    this.#priced =
      priceUsage === null || !response.isStream
        ? null
        : new SseTap(caller.events, { stripUsage: false, priceUsage });
  }

  /** Why the rest cannot be translated: only `failed` gives something more then. */
  get fault(): Fault | null {
    return this.#fault ?? this.#events.fault;
  }

  /** What the client gets for a piece; '' = nothing yet. */
  push(piece: Buffer): string {
    if (this.fault !== null) return '';
    const events = this.#texts.push(piece);
    if (events === null) this.#fault = badAnswer('an event of its stream is longer than 16 MiB.');
    return this.#translated(events ?? []);
  }

  /** The upstream has ended: what is still owed. */
  end(): string {
    if (this.fault !== null) return '';
    const rest = this.#translated(this.#texts.rest());
    return this.fault === null ? rest + this.#events.end() : rest;
  }

  /** The error event; '' = the client has the end of the stream already. */
  failed(fault: Fault): string {
    return this.#events.failed(fault);
  }

  bytesOf(text: string): Buffer | null {
    return text === '' ? null : this.priced(Buffer.from(text));
  }

  /** Whole events with the cost in their usage. */
  priced(events: Buffer): Buffer | null {
    return this.#priced === null ? events : this.#priced.push(events);
  }

  /** Another upstream must not take over once the client has this. Elements of an array are no events; each one counts. */
  holdsToken(text: string): boolean {
    const isEvents = this.#response.streamType.startsWith('text/event-stream');
    return isEvents ? holdsToken(Buffer.from(text), this.#response.caller.events) : text !== '';
  }

  /** The client has the last event that it needs with this text. */
  isSaidBy(text: string): boolean {
    const { caller, lastEvent } = this.#response;
    this.#reading ??= new EventReading(caller.events);
    for (const event of text.split('\n\n'))
      if (event !== '' && this.#reading.count(event)) this.#reading.read(event);
    const { finished, terminal, usage } = this.#reading;
    if (finished) return true;
    return terminal && (lastEvent === 'finish' || (lastEvent === 'usage' && usage !== null));
  }

  #translated(events: readonly EventText[]): string {
    let text = '';
    for (const { name, data } of events) {
      this.#fault ??= tooComplex(data);
      if (this.fault === null) text += this.#events.event(name, data);
    }
    return text;
  }
}
