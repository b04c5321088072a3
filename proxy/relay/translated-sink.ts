// Stands between the relay and a client that speaks another protocol than the upstream. The relay writes what the upstream
// sends; the client gets it translated: streams event by event, with the backpressure that it makes; whole answers and
// errors in one piece. A call that needs no translation never comes here.
import { Buffer } from 'node:buffer';
import { exactObject } from '../bodies/json.ts';
import { withoutMark } from '../bodies/utf8.ts';
import type { WriteDone } from '../downstream/downstream-response.ts';
import { Fault, toFault } from '../errors/fault.ts';
import { withoutHeaders } from '../headers/flat-list.ts';
import type { ErrorShape } from '../protocols/protocol.ts';
import { badAnswer, tooComplex } from '../protocols/translation/failures.ts';
import { errorIn, statedStatus } from '../protocols/upstream-error.ts';
import { codingOf, inflated, isCompressed, isEventStream } from './content-coding.ts';
import { endWithError } from './finish-response.ts';
import type { Outcome } from './outcome.ts';
import type { AbortAttempt, HeadWriter } from './relay-handle.ts';
import { HELD_BYTES } from './relay-state.ts';
import { ForwardingSink, type ResponseSink } from './response-sink.ts';
import type { TranslatedResponse } from './translated-response.ts';
import { TranslatedStream } from './translated-stream.ts';

/** A response that is ready to be sent. */
interface Prepared {
  readonly status: number;
  readonly body: Buffer;
  readonly type: string;
  /** Ours, not the upstream's. */
  readonly isOwn: boolean;
}

interface Head {
  readonly status: number;
  readonly headers: readonly string[];
  readonly text: string | undefined;
}

/** What the client has of the response. */
type Stage =
  | { readonly is: 'nothing' }
  /** Nothing either, and the head is known: of an answer that goes whole, or of a stream without a token so far. */
  | { readonly is: 'whole' | 'held'; readonly head: Head }
  | { readonly is: 'flowing' }
  | { readonly is: 'over' };

const JSON_TYPE = 'application/json';
/** Of a compressed answer. */
const MOST_INFLATED_BYTES = 67_108_864;
/** Describe the bytes of the upstream: what they say is not true of ours. */
const OF_THE_BYTES: ReadonlySet<string> = new Set([
  'content-length',
  'content-encoding',
  'content-type',
  'etag',
]);

/** Of one attempt. */
export class TranslatedSink extends ForwardingSink {
  readonly #response: TranslatedResponse;
  readonly #stream: TranslatedStream;
  readonly #isReplaceable: boolean;
  #stage: Stage = { is: 'nothing' };
  #prepared: Prepared | null = null;
  /** Of a stream: translated, and not sent. */
  #text = '';
  /** All of the stream is in `#text`: it was translated before the relay writes it. */
  #isAhead = false;
  /** The answer cannot be read at all. */
  #unreadable: Fault | null = null;
  /** The relay's error event, and what it tells. */
  #told: { readonly event: Buffer; readonly fault: Fault } | null = null;
  /** Told when the client has the last event that it needs. */
  #onDelivered: WriteDone | null = null;
  #lastText = '';
  #onValid: HeadWriter['onValid'];
  readonly #endAttempt: AbortAttempt;

  /**
   * @param endAttempt called when the attempt has been started
   * @param isReplaceable nothing of a stream goes out before its first token, so that another upstream can take over
   */
  constructor(
    client: ResponseSink,
    response: TranslatedResponse,
    endAttempt: AbortAttempt,
    isReplaceable: boolean,
  ) {
    super(client);
    this.#endAttempt = endAttempt;
    this.#response = response;
    this.#stream = new TranslatedStream(response);
    this.#isReplaceable = isReplaceable;
  }

  /** An attempt beside this one goes on until something here is translated: a head says little. */
  headWriter(head: HeadWriter): HeadWriter {
    this.#onValid = head.onValid;
    return { ownHeaders: (status, upstreamMs) => head.ownHeaders(status, upstreamMs) };
  }

  /** How the relay tells of a broken stream. */
  get errors(): ErrorShape {
    return {
      body: (fault) => this.#response.caller.errors.body(fault),
      event: (fault) => {
        const { isStream, caller } = this.#response;
        // A client that waits for a document gets the error as the response.
        const event = isStream ? Buffer.from(this.#stream.failed(fault)) : caller.errors.body(fault);
        this.#told = { event, fault };
        return event;
      },
      endsStream: this.#response.translation.failureEnds,
    };
  }

  /**
   * Translates what is left of a response, all of it where nothing has been sent. Call it before `end`, and before the
   * outcome is judged and recorded: an answer that cannot be translated is a failure of its upstream, and another one may answer.
   */
  settle(outcome: Outcome): Outcome {
    const { status, isStream, end } = outcome;
    if (end === 'stopped') return this.#told === null ? outcome : this.#unsent(outcome, this.#told.fault);
    if (status !== null && status < 400 && isStream) return this.#settleStream(outcome);
    return this.#fault === null || end === 'client_gone'
      ? this.#settleWhole(outcome)
      : this.#broken(outcome, this.#fault);
  }

  #settleStream(outcome: Outcome): Outcome {
    const { end, unsent, contentEncoding } = outcome;
    if (end === 'client_gone') return outcome;
    if (unsent !== null) {
      if (codingOf(contentEncoding) !== '') this.#unreadable ??= compressed();
      this.#isAhead = true;
      if (this.#fault === null) for (const piece of unsent) this.#text += this.#stream.push(piece);
    }
    if (this.#fault === null && outcome.fault === null) this.#text += this.#stream.end();
    const fault = this.#fault;
    if (fault !== null && (outcome.fault === null || outcome.fault === fault))
      return this.#broken(outcome, fault);
    return end === 'complete' ? outcome : this.#unsent(outcome, outcome.fault);
  }

  /** What came is no answer of its protocol, or not all of one. */
  #broken(outcome: Outcome, fault: Fault): Outcome {
    const isCut = fault.code === 'stream_truncated' && outcome.end !== 'upstream_error';
    return this.#unsent({ ...outcome, end: isCut ? 'truncated' : 'upstream_error', fault }, fault);
  }

  /** As long as the client has nothing, another upstream may take over; else it gets an error in place of the response. */
  #unsent(outcome: Outcome, fault: Fault | null): Outcome {
    if (this.#stage.is === 'flowing') return outcome;
    const unsent = outcome.unsent ?? [];
    if (fault === null) return { ...outcome, unsent };
    const told = refusalOf(fault);
    return { ...outcome, unsent, status: told.status, fault: told };
  }

  #settleWhole(outcome: Outcome): Outcome {
    const { status, unsent, contentEncoding, end, readOn } = outcome;
    if (status === null || unsent === null) return outcome;
    // Its client has left: it matters where the response is kept for a repeated call.
    if (end === 'client_gone' && readOn !== 'whole') return outcome;
    const body = inflated(Buffer.concat(unsent), contentEncoding, MOST_INFLATED_BYTES);
    if (status < 300 && (end === 'complete' || readOn === 'whole')) {
      const answer = body === null ? badAnswer('its bytes cannot be read.') : this.#answer(body);
      if (Buffer.isBuffer(answer)) {
        this.#onValid?.();
        return this.#prepare(outcome, { status, body: answer, type: this.#answerType, isOwn: false });
      }
      return this.#refuse(end === 'complete' ? { ...outcome, end: 'upstream_error' } : outcome, answer);
    }
    if (status >= 400) {
      const error = this.#response.translation.error(status, dataOf(readable(body)));
      return this.#prepare(outcome, { ...error, type: JSON_TYPE, isOwn: false });
    }
    const error = errorIn(unsent);
    if (error === null || error.message === '')
      return this.#refuse(outcome, badAnswer(`it has the status ${status}, and is without an answer.`));
    return this.#prepare(outcome, {
      ...this.#response.translation.error(statedStatus(error) ?? 502, body ?? Buffer.alloc(0)),
      type: JSON_TYPE,
      isOwn: true,
    });
  }

  /** As the client asked for it. */
  get #answerType(): string {
    const { isStream, streamType } = this.#response;
    return isStream ? streamType : JSON_TYPE;
  }

  #answer(body: Buffer): Buffer | Fault {
    const plain = withoutMark(body); // the scan takes no mark, and would count nothing behind it
    const refused = tooComplex(plain);
    if (refused !== null) return refused;
    const json = exactObject(plain.toString('utf8'));
    if (json === null) return badAnswer('it is no JSON object.');
    try {
      const answer = this.#response.translation.answer(json);
      return this.#response.isStream ? (this.#stream.priced(answer) ?? answer) : answer;
    } catch (thrown) {
      return toFault(thrown);
    }
  }

  #refuse(outcome: Outcome, why: Fault): Outcome {
    const fault = refusalOf(why);
    return this.#prepare({ ...outcome, fault }, this.#errorOf(fault));
  }

  #errorOf(fault: Fault): Prepared {
    return {
      status: fault.status,
      body: this.#response.caller.errors.body(fault),
      type: JSON_TYPE,
      isOwn: true,
    };
  }

  #prepare(outcome: Outcome, prepared: Prepared): Outcome {
    this.#prepared = prepared;
    return { ...outcome, status: prepared.status };
  }

  override writeHead(status: number, headers: readonly string[], text?: string): void {
    const isStream = status < 400 && isEventStream(headers);
    const head = { status, headers, text };
    if (isStream && !isCompressed(headers)) {
      this.#stage = { is: 'held', head };
      if (!this.#isReplaceable && this.#response.isStream) this.#writeHead(head);
      return;
    }
    this.#stage = { is: 'whole', head };
    if (isStream) this.#refuseToRead(compressed());
  }

  #writeHead({ status, headers, text }: Head): void {
    this.#stage = { is: 'flowing' };
    this.#onValid?.();
    const list = [
      'content-type',
      this.#answerType,
      ...withoutHeaders(headers, OF_THE_BYTES),
      ...this.#response.headers,
    ];
    this.client.writeHead(status, list, text);
  }

  override flushHeaders(): void {
    if (this.#stage.is === 'flowing') this.client.flushHeaders();
  }

  override write(piece: Buffer, done?: WriteDone): boolean {
    if (piece === this.#told?.event) return this.#tell(piece, done);
    if (this.#isAhead || this.#fault !== null) return true;
    if (this.#stage.is === 'whole') {
      this.#refuseToRead(badAnswer('it is longer than 32 MiB.'));
      return true;
    }
    if (done !== undefined) this.#onDelivered = done;
    const isFast = this.#pass(this.#stream.push(piece));
    if (this.#fault !== null) this.#endAttempt(this.#fault);
    return isFast;
  }

  #pass(text: string): boolean {
    const stage = this.#stage;
    if (stage.is === 'held') {
      this.#text += text;
      if (!this.#response.isStream) return true; // a document goes when it is whole
      if (this.#text.length <= HELD_BYTES && !this.#stream.holdsToken(text)) return true;
      this.#writeHead(stage.head);
      return this.#send(this.#takeText());
    }
    return this.#send(text);
  }

  #takeText(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  override end(): void {
    const stage = this.#stage;
    if (stage.is === 'over') return;
    if (stage.is === 'whole' || (stage.is === 'held' && this.#fault !== null)) return this.#endWhole();
    if (stage.is === 'held') this.#writeHead(stage.head);
    const bytes = this.#stream.bytesOf(this.#takeText());
    if (this.#fault === null || this.#told !== null) this.client.end(bytes);
    else {
      if (bytes !== null) this.client.write(bytes);
      endWithError(this.client, this.errors, this.#fault);
    }
    this.#onDelivered?.();
    this.#onDelivered = null;
  }

  /** The response is not whole. A client that has got nothing yet is told. */
  override destroy(): void {
    if (this.#stage.is === 'over') return; // the connection may serve another call
    if ('head' in this.#stage && !this.client.destroyed) this.#endWhole();
    else this.client.destroy();
  }

  /** Of the answer itself; the relay knows of others. */
  get #fault(): Fault | null {
    return this.#unreadable ?? this.#stream.fault;
  }

  #refuseToRead(fault: Fault): void {
    if (this.#unreadable !== null) return;
    this.#unreadable = fault;
    this.#endAttempt(fault);
  }

  #send(text: string): boolean {
    const bytes = this.#stream.bytesOf(text);
    const last = this.#lastText;
    if (text !== '') this.#lastText = text;
    const isDelivered = this.#onDelivered !== null && this.#stream.isSaidBy(text === '' ? last : text);
    const done = isDelivered ? this.#onDelivered : null;
    if (isDelivered) this.#onDelivered = null;
    if (bytes !== null) return this.client.write(bytes, done ?? undefined);
    done?.();
    return true;
  }

  /** The error event goes into a stream that flows; else the client gets the error as the response. */
  #tell(event: Buffer, done?: WriteDone): boolean {
    if (!('head' in this.#stage)) return this.client.write(event, done);
    this.#endWhole();
    done?.();
    return true;
  }

  /** Sends the response in one piece: the answer that was prepared, else the error. */
  #endWhole(): void {
    if (!('head' in this.#stage)) return this.client.destroy();
    const { head } = this.#stage;
    this.#stage = { is: 'over' };
    const fault =
      this.#told?.fault ?? this.#fault ?? new Fault('upstream_broken', 'The upstream broke off its answer.');
    const { status, body, type, isOwn } = this.#prepared ?? this.#errorOf(refusalOf(fault));
    const { headers, errorHeaders } = this.#response;
    const list = ['content-type', type, ...withoutHeaders(head.headers, OF_THE_BYTES), ...headers];
    if (isOwn && head.status < 400) list.push(...errorHeaders);
    list.push('content-length', String(body.length));
    this.client.writeHead(status, list);
    this.client.end(body);
  }
}

const compressed = (): Fault => badAnswer('it is compressed, although the upstream was asked not to.');

/** A client that has got nothing yet reads what it may send again. */
function refusalOf(fault: Fault): Fault {
  return fault.code === 'bad_upstream_answer' ? new Fault('upstream_broken', fault.message) : fault;
}

/** What is not read says nothing. */
const readable = (body: Buffer | null): Buffer =>
  body === null || tooComplex(body) !== null ? Buffer.alloc(0) : body;

/** An error that is sent as an event: its data. */
function dataOf(body: Buffer): Buffer {
  const found = /^(?:event:[^\n]*\n)?data: ?(\{.*\})\s*$/m.exec(body.toString('latin1', 0, 65_536))?.[1];
  return found === undefined ? body : Buffer.from(found, 'latin1');
}
