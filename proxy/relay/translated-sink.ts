// Stands between the relay and a client that speaks another protocol than the upstream. The relay writes what the upstream
// sends; the client gets it translated: streams event by event, with the backpressure that it makes; whole answers and
// errors in one piece. A call that needs no translation never comes here.
import { Buffer } from 'node:buffer';
import { parseObject } from '../bodies/json.ts';
import type { WriteDone } from '../downstream/downstream-response.ts';
import { Fault, toFault } from '../errors/fault.ts';
import { EventReading } from '../protocols/event-reading.ts';
import type { ErrorShape } from '../protocols/protocol.ts';
import type { EventTranslation } from '../protocols/translation/translation.ts';
import { errorIn } from '../protocols/upstream-error.ts';
import { inflated, isCompressed, isEventStream } from './content-coding.ts';
import { EventTexts } from './event-texts.ts';
import type { Outcome } from './outcome.ts';
import { ForwardingSink, type ResponseSink } from './response-sink.ts';
import { SseTap } from './sse-tap.ts';
import type { TranslatedResponse } from './translated-response.ts';

/** A response that is ready to be sent. */
interface Prepared {
  readonly status: number;
  readonly body: Buffer;
  /** Ours, not the upstream's. */
  readonly isOwn: boolean;
}

/** One event of a stream, such as the arguments of a tool call. */
const MOST_EVENT_BYTES = 16_777_216;
/** Of a compressed answer. */
const MOST_INFLATED_BYTES = 67_108_864;
/** Describe the bytes of the upstream. */
const OF_THE_BYTES: ReadonlySet<string> = new Set([
  'content-length',
  'content-encoding',
  'content-type',
  'etag',
]);

/** Of one attempt. */
export class TranslatedSink extends ForwardingSink {
  readonly #response: TranslatedResponse;
  readonly #texts = new EventTexts(MOST_EVENT_BYTES);
  readonly #events: EventTranslation;
  /** Writes the cost into what the client gets. */
  readonly #priced: SseTap | null;
  #head: { readonly status: number; readonly headers: readonly string[] } | null = null;
  #isStream = false;
  #prepared: Prepared | null = null;
  #errorEvent: Buffer | null = null;
  #broken: Fault | null = null;
  /** Told when the client has the last event that it needs. */
  #onDelivered: WriteDone | null = null;
  #reading: EventReading | null = null;
  #lastText = '';
  /** Ends the attempt; set when it has been started. */
  abort: (fault: Fault) => void = () => undefined;

  constructor(client: ResponseSink, response: TranslatedResponse) {
    super(client);
    this.#response = response;
    this.#events = response.translation.events();
    const { priceUsage, caller } = response;
    this.#priced = priceUsage === null ? null : new SseTap(caller.events, { stripUsage: false, priceUsage });
  }

  /** How the relay tells of a broken stream. */
  get errors(): ErrorShape {
    return {
      body: (fault) => this.#response.caller.errors.body(fault),
      event: (fault) => (this.#errorEvent = Buffer.from(this.#events.failed(fault))),
    };
  }

  /**
   * Translates a response of which nothing has been sent. Call it before the outcome is judged and recorded: an answer that
   * cannot be translated is a failure of its upstream, and another one may answer.
   */
  settle(outcome: Outcome): Outcome {
    const { status, unsent, isStream, contentEncoding, end, readOn } = outcome;
    if (this.#isRefused && end !== 'client_gone') return { ...outcome, status: this.#refusal.status };
    if (status === null || unsent === null || (isStream && status < 400)) return outcome;
    // Its client has left: it matters where the response is kept for a repeated call.
    if (end === 'client_gone' && readOn !== 'whole') return outcome;
    const body = inflated(Buffer.concat(unsent), contentEncoding, MOST_INFLATED_BYTES);
    if (status < 300 && (end === 'complete' || readOn === 'whole')) {
      const answer = body === null ? null : this.#answer(body);
      if (Buffer.isBuffer(answer)) return this.#prepare(outcome, { status, body: answer, isOwn: false });
      const why = answer?.message ?? 'its bytes cannot be read';
      return this.#refuse(end === 'complete' ? { ...outcome, end: 'upstream_error' } : outcome, why);
    }
    if (status >= 400) {
      const error = this.#response.translation.error(status, dataOf(body ?? Buffer.alloc(0)));
      return this.#prepare(outcome, { ...error, isOwn: false });
    }
    const error = errorIn(unsent);
    if (error === null || error.message === '')
      return this.#refuse(outcome, `status ${status} without an answer`);
    const code = Number(error.code);
    const stated = code >= 400 && code < 600 ? code : 502;
    return this.#prepare(outcome, {
      ...this.#response.translation.error(stated, body ?? Buffer.alloc(0)),
      isOwn: true,
    });
  }

  #answer(body: Buffer): Buffer | Fault {
    const json = parseObject(body.toString('utf8'));
    if (json === null) return new Fault('upstream_broken', 'it is no JSON object');
    try {
      return this.#response.translation.answer(json);
    } catch (thrown) {
      return toFault(thrown);
    }
  }

  #refuse(outcome: Outcome, why: string): Outcome {
    const text = `The upstream answered with something that cannot be translated into the protocol of this call: ${why}.`;
    const fault = new Fault('upstream_broken', text);
    const body = this.#response.caller.errors.body(fault);
    return this.#prepare({ ...outcome, fault }, { status: fault.status, body, isOwn: true });
  }

  #prepare(outcome: Outcome, prepared: Prepared): Outcome {
    this.#prepared = prepared;
    return { ...outcome, status: prepared.status };
  }

  override writeHead(status: number, headers: readonly string[], text?: string): void {
    const isStream = status < 400 && isEventStream(headers);
    this.#isStream = isStream && !isCompressed(headers);
    if (!this.#isStream) {
      this.#head = { status, headers };
      if (isStream) this.#break('is compressed, although it was asked not to be');
      return;
    }
    const list = ['content-type', this.#response.streamType, ...without(headers), ...this.#response.headers];
    this.client.writeHead(status, list, text);
  }

  override flushHeaders(): void {
    if (this.#isStream) this.client.flushHeaders();
  }

  override write(piece: Buffer, done?: WriteDone): boolean {
    if (piece === this.#errorEvent) return this.client.write(piece, done);
    if (!this.#isStream) this.#break('is longer than what can be translated');
    if (done !== undefined) this.#onDelivered = done;
    if (this.#broken !== null) return true;
    const events = this.#texts.push(piece);
    if (events === null) this.#break('has an event that is longer than what can be translated');
    return this.#send(this.#translated(events ?? []));
  }

  override end(): void {
    if (this.#isStream) this.#endStream();
    else this.#endWhole();
  }

  /** The response is not whole. A client that has got nothing yet is told. */
  override destroy(): void {
    if (this.#isStream || this.#head === null || this.client.destroyed) this.client.destroy();
    else {
      const fault = this.#refusal;
      const body = this.#response.caller.errors.body(fault);
      this.#prepared = { status: fault.status, body, isOwn: true };
      this.#endWhole();
    }
  }

  /** The client gets a response of our own in place of one that has begun to flow. */
  get #isRefused(): boolean {
    return this.#broken !== null && this.#head !== null && !this.#isStream;
  }

  get #refusal(): Fault {
    return this.#broken ?? new Fault('upstream_broken', 'The upstream broke off its answer.');
  }

  #translated(events: Iterable<{ readonly name: string; readonly data: string }>): string {
    let text = '';
    try {
      for (const { name, data } of events) text += this.#events.event(name, data);
    } catch (thrown) {
      const fault = toFault(thrown);
      if (fault.code === 'internal_error') throw thrown;
      this.#break(`has an event that cannot be translated: ${fault.message}`);
    }
    return text;
  }

  #send(text: string): boolean {
    const bytes = this.#bytesOf(text);
    const last = this.#lastText;
    if (text !== '') this.#lastText = text;
    const isDelivered = this.#onDelivered !== null && this.#says(text === '' ? last : text);
    const done = isDelivered ? this.#onDelivered : null;
    if (isDelivered) this.#onDelivered = null;
    if (bytes !== null) return this.client.write(bytes, done ?? undefined);
    done?.();
    return true;
  }

  #bytesOf(text: string): Buffer | null {
    if (text === '') return null;
    const bytes = Buffer.from(text);
    return this.#priced === null ? bytes : this.#priced.push(bytes);
  }

  /** Whether the client has the last event that it needs with this text. */
  #says(text: string): boolean {
    const { caller, lastEvent } = this.#response;
    this.#reading ??= new EventReading(caller.events);
    for (const event of text.split('\n\n'))
      if (event !== '' && this.#reading.count(event)) this.#reading.read(event);
    const { finished, terminal, usage } = this.#reading;
    if (finished) return true;
    return terminal && (lastEvent === 'finish' || (lastEvent === 'usage' && usage !== null));
  }

  #endStream(): void {
    const rest = this.#translated(this.#texts.rest());
    if (this.#broken !== null) {
      // The relay had ended before: all of the stream came at once.
      this.client.write(Buffer.from(this.#events.failed(this.#broken)), () => this.client.destroy());
      return;
    }
    this.client.end(this.#bytesOf(rest + this.#events.end()));
    this.#onDelivered?.();
    this.#onDelivered = null;
  }

  #endWhole(): void {
    if (this.#head === null || this.#prepared === null) return this.client.destroy();
    const { headers, errorHeaders } = this.#response;
    const { status, body, isOwn } = this.#prepared;
    const list = ['content-type', 'application/json', ...without(this.#head.headers), ...headers];
    if (isOwn && this.#head.status < 400) list.push(...errorHeaders);
    list.push('content-length', String(body.length));
    this.client.writeHead(status, list);
    this.client.end(body);
  }

  #break(why: string): void {
    if (this.#broken !== null) return;
    this.#broken = new Fault('stream_broken', `The answer of the upstream ${why}; it is not complete.`);
    this.abort(this.#broken);
  }
}

/** What is said of the upstream's bytes is not true of ours. */
function without(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2);
    if (!OF_THE_BYTES.has(name)) kept.push(name, value);
  }
  return kept;
}

/** An error that is sent as an event: its data. */
function dataOf(body: Buffer): Buffer {
  const found = /^(?:event:[^\n]*\n)?data: ?(\{.*\})\s*$/m.exec(body.toString('latin1', 0, 65_536))?.[1];
  return found === undefined ? body : Buffer.from(found, 'latin1');
}
