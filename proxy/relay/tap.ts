// Chooses how an answer is observed, by its head: an event stream, JSON, something compressed, or nothing.
// The relay talks to one shape and does not care which.
import { Buffer } from 'node:buffer';
import type { ResponseHead } from '../headers/response-headers.ts';
import type { Json } from '../bodies/json.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { Delivered } from '../protocols/text.ts';
import type { Units } from '../protocols/usage.ts';
import { codingOf } from './content-coding.ts';
import { DecodedTap } from './decoded-tap.ts';
import { JsonTap } from './json-tap.ts';
import { SseTap, type LastEvent, type PriceUsage } from './sse-tap.ts';

/** What was read on the side. */
export interface Reading {
  /** Usage as the upstream sent it. */
  readonly usage: Json | null;
  /** The usage states the input alone; the output was still to come. */
  readonly usageIsPartial: boolean;
  readonly serviceTier: string | null;
  /** Uses of the upstream's own tools, as far as its usage does not state them; absent: none. */
  readonly tools?: Units;
  /** `duration` of a transcript, as sent. */
  readonly duration?: unknown;
  readonly id: string | null;
  readonly model: string | null;
  /** The response is compressed and larger than what is read: usage may have stood in the rest. */
  readonly isPartlyRead?: boolean;
  /** What tokens can be counted from where there is no usage; null unless `keepText`. */
  readonly delivered: Delivered | null;
  /** Of a stream: the number that an event of ours has behind those that have come. */
  readonly nextNumber?: number;
}

/** What is wanted of an answer beside its bytes. */
export interface Observation {
  /** We asked for the usage event; the client did not. */
  readonly stripUsage: boolean;
  /** Hold the beginning of the answer until its end, for a count of its tokens. */
  readonly keepText: boolean;
  /** Writes the cost into the usage of a stream; null = do not. */
  readonly priceUsage: PriceUsage | null;
  /** The model that the answer states towards the client; null: the one that the upstream states. */
  readonly askedModel: string | null;
  /** The last event of a stream that the client needs. */
  readonly lastEvent: LastEvent;
  /** A model is to answer: what no model sends is none. False for calls on what is stored. */
  readonly expectsAnswer: boolean;
}

export interface Tap {
  /** It holds on to the bytes it is given: give it its own. */
  readonly keeps: boolean;
  /** The answer is an event stream. */
  readonly streams: boolean;
  /** What has come are events, although the head says something else. */
  readonly areEvents: boolean;
  /** No event of ours may be mixed in: the bytes are compressed, or half an event is out already. */
  readonly opaque: boolean;
  /** The terminal event was seen; of a JSON answer: its document is whole. */
  readonly terminal: boolean;
  /** Nothing of worth can follow: `[DONE]`, `response.completed`, `message_stop` and the like. */
  readonly finished: boolean;
  /** An error event was seen. */
  readonly failed: boolean;
  /** At the end of a response that is no stream: it can be what was asked for, by its kind and its members. */
  readonly isAnswer: boolean;
  /** Takes a chunk; returns the bytes to pass on now. */
  push(chunk: Buffer): Buffer | null;
  /** The upstream ended cleanly; returns what was held. */
  end(): Buffer | null;
  /** Resolves when a decoder on the side has caught up; null when there is none. No more bytes will be pushed. */
  decoded(): Promise<void> | null;
  reading(): Reading;
}

/** Of a response that says nothing of itself, or that nobody could read. */
export const NOTHING_READ: Reading = Object.freeze({
  usage: null,
  usageIsPartial: false,
  serviceTier: null,
  id: null,
  model: null,
  delivered: null,
});

/** The tap for an answer with this head. */
export function tapFor(head: ResponseHead, protocol: Protocol, wanted: Observation): Tap {
  const type = head.contentType.toLowerCase();
  const coding = codingOf(head.contentEncoding);
  if (coding === '') return plainTap(type, protocol, wanted);
  // The bytes that the client gets are the compressed ones: nothing of them can be changed.
  const inner = plainTap(type, protocol, {
    ...wanted,
    stripUsage: false,
    priceUsage: null,
    askedModel: null,
  });
  return new CompressedTap(inner, coding);
}

/** The tap for an event stream, whatever its head calls it. */
export const streamTap = ({ events }: Pick<Protocol, 'events'>, wanted: Observation): Tap =>
  new StreamTap(new SseTap(events, wanted));

/** The tap for a document, whatever its head calls it. @param isJson its content type or its first byte says so */
export function documentTap(
  { events, response }: Pick<Protocol, 'events' | 'response'>,
  { keepText, lastEvent }: Observation,
  isJson = true,
): Tap {
  const asEvents = (): SseTap => new SseTap(events, { stripUsage: false, keepText, lastEvent });
  return new WholeTap(new JsonTap(response, keepText), isJson, asEvents);
}

function plainTap(type: string, protocol: Protocol, wanted: Observation): Tap {
  if (type.startsWith('text/event-stream')) return streamTap(protocol, wanted);
  const isJson = type.includes('json');
  // Some gateways forget the type, or call JSON text/plain.
  if (isJson || protocol.response.isObject) return documentTap(protocol, wanted, isJson);
  return new BlindTap(!type.startsWith('text/html'));
}

class StreamTap implements Tap {
  readonly isAnswer = true;
  readonly keeps = false;
  readonly streams = true;
  readonly areEvents = false;
  readonly #sse: SseTap;

  constructor(sse: SseTap) {
    this.#sse = sse;
  }

  get opaque(): boolean {
    return this.#sse.torn;
  }

  get terminal(): boolean {
    return this.#sse.terminal;
  }

  get finished(): boolean {
    return this.#sse.finished;
  }

  get failed(): boolean {
    return this.#sse.failed;
  }

  push(chunk: Buffer): Buffer | null {
    return this.#sse.push(chunk);
  }

  end(): Buffer | null {
    return this.#sse.end();
  }

  decoded(): null {
    return null;
  }

  reading(): Reading {
    return this.#sse;
  }
}

/** The beginning of an event stream that comes without its content type. */
const EVENTS = /^\ufeff?\s*(?:data|event|id|retry)?:/;
const EVENTS_BYTES = 64;
const beginsEvents = (first: Buffer): boolean => EVENTS.test(first.toString('utf8', 0, EVENTS_BYTES));
const NO_BYTES = Buffer.alloc(0);

/** The first bytes of a response are those of a JSON object, and so of no event stream. */
export const beginsDocument = (first: Buffer): boolean =>
  first[0] === BRACE || DOCUMENT.test(first.toString('utf8', 0, EVENTS_BYTES));
const BRACE = 0x7b;
const DOCUMENT = /^\ufeff?\s*\{/;

/** An answer that is not called an event stream. Some gateways call events JSON or text all the same: the first bytes tell. */
class WholeTap implements Tap {
  readonly keeps = true;
  readonly streams = false;
  readonly opaque = true;
  readonly #json: JsonTap;
  readonly #isJson: boolean;
  readonly #events: () => SseTap;
  /** What has come while it is not known what it is. */
  #first: Buffer | null = NO_BYTES;
  #sse: SseTap | null = null;
  #read: Reading | null = null;

  /** @param isJson its content type says so @param events made where they are events */
  constructor(json: JsonTap, isJson: boolean, events: () => SseTap) {
    this.#json = json;
    this.#isJson = isJson;
    this.#events = events;
  }

  get areEvents(): boolean {
    return this.#sse !== null;
  }

  /** Half a document is no end, even where the transport saw one. */
  get terminal(): boolean {
    this.reading();
    return this.#sse?.terminal ?? (!this.#json.damaged || !(this.#isJson || this.#json.isObject));
  }

  get finished(): boolean {
    return this.#sse?.finished ?? false;
  }

  get failed(): boolean {
    return this.#sse?.failed ?? false;
  }

  get isAnswer(): boolean {
    this.reading();
    return this.#sse !== null || this.#json.isAnswer;
  }

  push(chunk: Buffer): Buffer {
    if (this.#first === null) (this.#sse ?? this.#json).push(chunk);
    else {
      this.#first = this.#first.length === 0 ? chunk : Buffer.concat([this.#first, chunk]);
      if (this.#first.length >= EVENTS_BYTES || beginsEvents(this.#first)) this.#decide();
    }
    return chunk;
  }

  end(): null {
    this.#decide();
    this.#sse?.end();
    return null;
  }

  decoded(): null {
    return null;
  }

  reading(): Reading {
    this.#decide();
    if (this.#sse !== null) return this.#sse;
    this.#read ??= { ...this.#json.end(), usageIsPartial: false, delivered: this.#json.delivered };
    return this.#read;
  }

  #decide(): void {
    const first = this.#first;
    if (first === null) return;
    this.#first = null;
    if (beginsEvents(first)) this.#sse = this.#events();
    if (first.length > 0) (this.#sse ?? this.#json).push(first);
  }
}

/** Neither JSON nor events: speech, HTML error pages. */
class BlindTap implements Tap {
  readonly keeps = false;
  readonly streams = false;
  readonly opaque = true;
  readonly areEvents = false;
  readonly terminal = true;
  readonly finished = false;
  readonly failed = false;
  readonly isAnswer: boolean;

  constructor(isAnswer: boolean) {
    this.isAnswer = isAnswer;
  }

  push(chunk: Buffer): Buffer {
    return chunk;
  }

  end(): null {
    return null;
  }

  decoded(): null {
    return null;
  }

  reading(): Reading {
    return NOTHING_READ;
  }
}

/** Passes compressed bytes on as they are; `inner` reads a copy that is inflated beside. */
class CompressedTap implements Tap {
  readonly keeps = true;
  readonly opaque = true;
  readonly areEvents = false; // and if they are: the client gets compressed bytes
  readonly streams: boolean;
  readonly #inner: Tap;
  readonly #decoder: DecodedTap;

  constructor(inner: Tap, coding: string) {
    this.streams = inner.streams;
    this.#inner = inner;
    this.#decoder = new DecodedTap(inner, coding);
  }

  /** What we cannot read is not called truncated; what nobody can read is. */
  get terminal(): boolean {
    return !this.#decoder.damaged && (this.#inner.terminal || this.#decoder.failed);
  }

  /** Known late: the decoder runs behind. */
  get finished(): boolean {
    return this.#inner.finished;
  }

  get isAnswer(): boolean {
    return this.#decoder.failed || this.#inner.isAnswer;
  }

  get failed(): boolean {
    return this.#inner.failed;
  }

  push(chunk: Buffer): Buffer {
    this.#decoder.push(chunk);
    return chunk;
  }

  end(): null {
    return null;
  }

  async decoded(): Promise<void> {
    await this.#decoder.end();
    this.#inner.end();
  }

  reading(): Reading {
    const reading = this.#inner.reading();
    if (!this.#decoder.isLimited) return reading;
    const { usage, usageIsPartial, serviceTier, tools = {}, id, model, delivered } = reading;
    return { usage, usageIsPartial, serviceTier, tools, id, model, delivered, isPartlyRead: true };
  }
}
