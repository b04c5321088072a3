// One request as it comes: its head, and its body when somebody asks for it. A body is copied once, off the common read
// memory into memory of its own, with room before it for the head of the upstream request.
import { Buffer } from 'node:buffer';
import { Fault } from '../errors/fault.ts';
import { ChunkedDecoder } from '../wire/chunked.ts';
import { GrowingBytes } from '../wire/growing-bytes.ts';
import type { RequestHead } from '../wire/head.ts';
import type { BodyMemory } from '../wire/headroom.ts';

/** What a request needs of the connection it came on. */
export interface Carrier {
  readonly clientAddress: string | null;
  readonly bodies: BodyMemory;
  /** Bytes of the body may come now. @param waits the client sends none before it is told so (`100 Continue`). */
  wantBody(waits: boolean): void;
}

const EMPTY = Buffer.alloc(0);

interface Waiting {
  readonly limitBytes: number;
  readonly resolve: (body: Buffer) => void;
  readonly reject: (fault: Fault) => void;
}

export class Incoming {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  /** Flat name, value list as sent. */
  readonly headers: readonly string[];
  /** An expectation that nobody knows (RFC 9110 section 10.1.1). */
  readonly expectsOther: boolean;
  readonly #carrier: Carrier;
  /** The client sends no body before it is told to; whether it does so after a final answer is its choice. */
  #waits: boolean;
  readonly #length: number;
  readonly #chunks: ChunkedDecoder | null;
  #target: Buffer | null = null;
  #grown: GrowingBytes | null = null;
  #bytes = 0;
  #complete: boolean;
  #waiting: Waiting | null = null;
  #asked = false;

  constructor(head: RequestHead, carrier: Carrier) {
    this.method = head.method;
    this.target = head.target;
    this.version = head.version;
    this.headers = head.list;
    const expectsContinue = head.expect !== null && head.expect.toLowerCase() === '100-continue';
    this.#waits = expectsContinue && head.version === '1.1'; // before, nobody was told to wait for it
    this.expectsOther = head.expect !== null && !expectsContinue;
    this.#carrier = carrier;
    this.#length = head.contentLength;
    this.#chunks = head.transferEncoding === null ? null : new ChunkedDecoder();
    this.#complete = this.#chunks === null && this.#length <= 0;
  }

  get clientAddress(): string | null {
    return this.#carrier.clientAddress;
  }

  /** The whole body has come. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Somebody asked for the body: it may be fed in, also what is no longer wanted. */
  get asked(): boolean {
    return this.#asked;
  }

  /** Bytes of the body that have not come, as far as they were announced; Infinity when they may never come. */
  get outstanding(): number {
    if (this.#complete) return 0;
    if (this.#waits) return Infinity;
    return Math.max(0, this.#length - this.#bytes);
  }

  /** The first value of a header, by its name in lower case. */
  header(name: string): string | null {
    for (let i = 0; i < this.headers.length; i += 2) {
      if ((this.headers[i] as string).toLowerCase() === name) return this.headers[i + 1] as string;
    }
    return null;
  }

  /** The whole body. @throws Fault body_too_large, client_gone, body_timeout. Ask once. */
  read(limitBytes: number): Promise<Buffer> {
    this.#asked = true;
    if (this.#length > limitBytes) return Promise.reject(tooLarge(limitBytes));
    if (this.#complete) return Promise.resolve(EMPTY);
    return new Promise((resolve, reject) => {
      this.#waiting = { limitBytes, resolve, reject };
      const waits = this.#waits;
      this.#waits = false;
      this.#carrier.wantBody(waits);
    });
  }

  /**
   * Takes bytes of the body; keeps them when somebody reads it, else throws them away.
   * @returns the offset behind what belongs to this request. @throws BadMessage
   */
  push(bytes: Buffer, at: number): number {
    if (this.#chunks !== null) {
      const end = this.#chunks.push(bytes, at, (data) => this.#append(data, 0, data.length));
      if (this.#chunks.done) this.#finish();
      return end;
    }
    const end = Math.min(bytes.length, at + this.#length - this.#bytes);
    this.#append(bytes, at, end);
    if (this.#bytes === this.#length) this.#finish();
    return end;
  }

  /**
   * Gives the memory of the body back for the next one. Only when nobody reads it any more: neither a step of this
   * request nor the system, which may still be sending it.
   */
  release(): void {
    if (this.#target !== null && this.#complete) this.#carrier.bodies.giveBack(this.#target);
    this.#target = null;
  }

  /** No more will come. */
  fail(fault: Fault): void {
    this.#waiting?.reject(fault);
    this.#waiting = null;
  }

  /** Bytes of the body so far, read or thrown away. */
  get received(): number {
    return this.#bytes;
  }

  #append(bytes: Buffer, from: number, to: number): void {
    const at = this.#bytes;
    this.#bytes += to - from;
    const waiting = this.#waiting;
    if (waiting === null) return;
    if (this.#bytes > waiting.limitBytes) this.fail(tooLarge(waiting.limitBytes));
    else if (this.#length >= 0) {
      this.#target ??= this.#carrier.bodies.take(this.#length);
      bytes.copy(this.#target, at, from, to);
    } else (this.#grown ??= new GrowingBytes()).append(bytes, from, to);
  }

  #finish(): void {
    this.#complete = true;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve(this.#target ?? this.#grown?.view() ?? EMPTY);
    this.#grown = null;
  }
}

const tooLarge = (limitBytes: number): Fault =>
  new Fault('body_too_large', `The request body is larger than ${limitBytes} bytes.`);
