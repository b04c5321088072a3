// Stands between the relay and the client where a stream may be continued by another upstream: the sink of the first
// attempt notes the events that the client gets, the sink of a later one fits its events to those. It holds nothing back
// and passes the end on; what is no such stream aborts the attempt.
import { Buffer } from 'node:buffer';
import { Fault } from '../errors/fault.ts';
import type { ResponseWatcher, WriteDone } from '../downstream/downstream-response.ts';
import type { Transcript } from '../protocols/protocol.ts';
import { isCompressed, isEventStream } from './content-coding.ts';
import type { AbortAttempt } from './relay-handle.ts';
import { ForwardingSink, type ResponseSink } from './response-sink.ts';

/** How an attempt goes on with a stream. */
export interface Resumption {
  /** The text of an SSE comment where the stream goes on; clients skip it. */
  readonly comment: string;
  /** It gives the whole answer anew, and may give another one. */
  readonly isAnew: boolean;
  /** Called when its first bytes go out. */
  readonly onResumed: () => void;
}

/** Of one attempt; the transcript is that of the whole stream. */
export class ResumableSink extends ForwardingSink {
  readonly transcript: Transcript;
  readonly #resumption: Resumption | null;
  #isReadable = false;
  #hasWritten = false;
  #hasDiverged = false;
  /** The relay has ended: what it still writes is its error event. */
  #isOver = false;
  /** All of the stream comes after that. */
  #isWhole = false;
  readonly #endAttempt: AbortAttempt;

  /**
   * @param endAttempt called when the attempt has been started
   * @param resumption null for the attempt that begins the stream
   */
  constructor(
    client: ResponseSink,
    transcript: Transcript,
    endAttempt: AbortAttempt,
    resumption: Resumption | null = null,
  ) {
    super(client);
    this.transcript = transcript;
    this.#endAttempt = endAttempt;
    this.#resumption = resumption;
  }

  /** Something of this attempt went to the client. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** It ended because its text does not go on with the one that was sent: no fault of its upstream. */
  get hasDiverged(): boolean {
    return this.#hasDiverged;
  }

  override get watcher(): ResponseWatcher | null {
    return this.client.watcher;
  }

  override set watcher(watcher: ResponseWatcher | null) {
    this.#isOver = watcher === null;
    this.client.watcher = watcher;
  }

  override writeHead(status: number, headers: readonly string[], text?: string): void {
    this.#isReadable = status < 400 && isEventStream(headers) && !isCompressed(headers);
    if (this.#resumption === null) {
      this.#isWhole = this.#isOver;
      if (!this.#isReadable) this.transcript.close();
      this.client.writeHead(status, headers, text);
    } else if (!this.#isReadable) this.#abort('is no stream that can be read');
  }

  override flushHeaders(): void {
    if (this.#resumption === null) this.client.flushHeaders();
  }

  override write(piece: Buffer, done?: WriteDone): boolean {
    // After its end a relay writes an error event, for which it waits, and perhaps pieces that it had held back. Those go
    // where they are all of a stream, which failed before its first token.
    if (this.#isOver) return (done === undefined && !this.#isWhole) || this.client.write(piece, done);
    if (this.#resumption !== null && !this.#isReadable) return true;
    const { bytes, broken } =
      this.#resumption === null ? this.transcript.noteSent(piece) : this.transcript.rewrite(piece);
    if (bytes === null) done?.();
    const isFast = bytes === null || this.#pass(bytes, done);
    this.#hasDiverged = broken !== null && this.#resumption?.isAnew === true && !this.#hasWritten;
    if (broken !== null) this.#abort(`holds ${broken}`);
    return isFast;
  }

  #pass(bytes: Buffer, done?: WriteDone): boolean {
    const isFirst = !this.#hasWritten;
    this.#hasWritten = true;
    if (!isFirst || this.#resumption === null) return this.client.write(bytes, done);
    this.#resumption.onResumed();
    return this.client.write(Buffer.concat([Buffer.from(`: ${this.#resumption.comment}\n\n`), bytes]), done);
  }

  #abort(why: string): void {
    this.#endAttempt(new Fault('stream_broken', `The answer of the upstream ${why}; it is not complete.`));
  }
}
