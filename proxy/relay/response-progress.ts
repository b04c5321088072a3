// What has come of an upstream's response so far: its head, the tap that reads it, its bytes and their times.
import { setHeader, withoutHeaders } from '../headers/flat-list.ts';
import { keepForThePage } from '../headers/held-back.ts';
import { readResponseHead, type ResponseHead } from '../headers/response-headers.ts';
import type { ReceivedHead } from '../upstream/response-head.ts';
import { concealInHeaders, concealInText } from './conceal-key.ts';
import { documentTap, streamTap, tapFor, type Tap } from './tap.ts';
import type { UpstreamRequest } from './upstream-request.ts';

/** Says that bytes are coded. */
const CODED: ReadonlySet<string> = new Set(['content-encoding']);

export class ResponseProgress {
  readonly status: number;
  readonly statusText: string;
  /** Monotonic milliseconds, as all times here. */
  readonly headAt: number;
  firstByteAt: number | null = null;
  lastByteAt: number;
  /** Of the body, as the upstream sent them. */
  bytes = 0;
  #head: ResponseHead;
  #tap: Tap;
  readonly #startedAt: number;
  readonly #expectsAnswer: boolean;

  constructor(
    { status, text, list }: ReceivedHead,
    request: Pick<
      UpstreamRequest,
      'answerNames' | 'ownPrefix' | 'isForThePage' | 'protocol' | 'observation' | 'apiKey'
    >,
    startedAt: number,
    now: number,
  ) {
    this.#startedAt = startedAt;
    this.#expectsAnswer = request.observation.expectsAnswer;
    this.status = status;
    this.statusText = concealInText(text, request.apiKey);
    this.#head = readResponseHead(list, request.answerNames, request.ownPrefix);
    if (request.isForThePage) keepForThePage(this.#head.pass);
    concealInHeaders(this.#head.pass, request.apiKey);
    this.#tap = tapFor(this.head, request.protocol, request.observation);
    this.headAt = this.lastByteAt = now;
  }

  get head(): ResponseHead {
    return this.#head;
  }

  get tap(): Tap {
    return this.#tap;
  }

  /** An error so far: its status, or an event. */
  get saysError(): boolean {
    return this.status >= 400 || this.#tap.failed;
  }

  /** What is a stream by its bytes is read as one from the first byte on, and the client is told so: some SDKs look at the type. */
  takeAsStream({ protocol, observation }: Pick<UpstreamRequest, 'protocol' | 'observation'>): void {
    setHeader(this.head.pass, 'content-type', 'text/event-stream');
    this.#tap = streamTap(protocol, observation);
  }

  /** Its bytes are not coded any more. */
  takeAsPlain(): void {
    this.#head = { ...this.#head, pass: withoutHeaders(this.#head.pass, CODED), contentEncoding: null };
  }

  /** A document that is called a stream. */
  takeAsDocument({ protocol, observation }: Pick<UpstreamRequest, 'protocol' | 'observation'>): void {
    setHeader(this.head.pass, 'content-type', 'application/json');
    this.#tap = documentTap(protocol, observation);
  }

  /**
   * At its end: it can be what was asked for. A redirect, a response without a body, a page of HTML or an error object is not,
   * whatever the status. (A stream is judged by its events.)
   */
  get isAnswer(): boolean {
    const { status, tap } = this;
    if (!this.#expectsAnswer) return status < 400;
    if (status >= 300 || status === 204 || status === 205) return false;
    return tap.streams || (this.bytes > 0 && tap.isAnswer);
  }

  /** By its head: it is passed on as it comes. */
  isLarge(gatherBytes: number): boolean {
    return this.head.contentType.startsWith('audio/') || Number(this.head.contentLength) > gatherBytes;
  }

  /** The Content-Length that the client gets if the body is passed on as it comes; events may be left out of a stream. */
  get announcedLength(): string | null {
    return this.tap.streams ? null : this.head.contentLength;
  }

  /** The upstream's headers as the client gets them, flat; once, as they are not kept. @param isFlowing the body is passed on as it comes */
  takeClientHeaders(isFlowing: boolean): string[] {
    const list = this.head.pass.splice(0); // texts that a slow stream would hold for minutes
    if (this.tap.streams) {
      setHeader(list, 'cache-control', 'no-cache');
      setHeader(list, 'x-accel-buffering', 'no');
    } else if (isFlowing && this.announcedLength !== null) list.push('content-length', this.announcedLength);
    return list;
  }

  /** From the start to the head of a response that is passed on as it comes, or to the last byte of another. */
  upstreamMs(isFlowing: boolean): number {
    return Math.max(0, (isFlowing ? this.headAt : this.lastByteAt) - this.#startedAt);
  }

  count(bytes: number, now: number): void {
    this.bytes += bytes;
    this.firstByteAt ??= now;
    this.lastByteAt = now;
  }
}
