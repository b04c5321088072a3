// One request of a client: its headers as sent, and its body on demand. A body is copied once, chunk by chunk, into memory
// that the next body reuses.
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { BodyMemory } from '../bodies/body-memory.ts';
import { Fault } from '../errors/fault.ts';
import { GrowingBytes } from '../bodies/growing-bytes.ts';
import type { CredentialDigest } from './credential-digest.ts';

/** What a request needs of its connection. */
export interface RequestConnection {
  readonly clientAddress: string | null;
  readonly bodies: BodyMemory;
  readonly credentialDigest: CredentialDigest;
  /** Sends `100 Continue`. */
  sendContinue(): void;
}

/** What the client expects before it sends its body (RFC 9110 section 10.1.1). */
export type Expectation = 'none' | 'continue' | 'unknown';

interface DiscardEnds {
  /** The whole body was received. */
  whole(): void;
  /** More than the limit was received. */
  tooMuch(): void;
}

type Body =
  /** Not requested yet. Node buffers up to 64 KiB of it and stops reading. */
  | { readonly is: 'unread' }
  | {
      readonly is: 'reading';
      readonly limitBytes: number;
      /** Memory of the length that Content-Length states, or memory that grows. */
      readonly into: Buffer | GrowingBytes;
      readonly resolve: (body: Buffer) => void;
      readonly reject: (fault: Fault) => void;
    }
  /** Handed out; `memory` is reusable after `release`. */
  | { readonly is: 'read'; readonly memory: Buffer | null }
  /** Not needed: anything still received is discarded. */
  | { readonly is: 'discarded'; readonly why: Fault | null };

const EMPTY = Buffer.alloc(0);
const UNREAD: Body = { is: 'unread' };
const CONTENT_LENGTH = 'content-length';
const TRANSFER_ENCODING = 'transfer-encoding';
const UPGRADE = 'upgrade';

/** Its body is read or discarded by whoever serves it; until then Node buffers 64 KiB of it at most and stops reading. */
export class DownstreamRequest {
  readonly method: string;
  /** As sent. */
  readonly target: string;
  readonly version: string;
  /** Flat name, value list as sent. */
  readonly headers: readonly string[];
  readonly expectation: Expectation;
  /** It has an Upgrade header. */
  readonly asksUpgrade: boolean;
  readonly #message: IncomingMessage;
  readonly #connection: RequestConnection;
  /** Content-Length; -1 = none. */
  readonly #length: number;
  readonly #hasBody: boolean;
  #body: Body = UNREAD;
  #bytes = 0;
  #listens = false;
  /** The client waits for `100 Continue`. After a final response it may or may not send the body. */
  #waits: boolean;

  constructor(message: IncomingMessage, connection: RequestConnection, expectation: Expectation) {
    const { rawHeaders } = message;
    this.method = message.method ?? '';
    this.target = message.url ?? '';
    this.version = message.httpVersion;
    this.headers = rawHeaders;
    this.expectation = expectation;
    this.#message = message;
    this.#connection = connection;
    let length = -1;
    let isChunked = false;
    let hasUpgrade = false;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] ?? '';
      if (name.length === 14 && name.toLowerCase() === CONTENT_LENGTH) length = Number(rawHeaders[i + 1]);
      else if (name.length === 7 && name.toLowerCase() === UPGRADE) hasUpgrade = true;
      else if (name.length === 17 && name.toLowerCase() === TRANSFER_ENCODING) isChunked = true;
    }
    this.#length = length;
    this.#hasBody = isChunked || length > 0;
    this.asksUpgrade = hasUpgrade;
    this.#waits = expectation === 'continue' && message.httpVersion === '1.1'; // HTTP/1.0 has no 100 Continue
  }

  get clientAddress(): string | null {
    return this.#connection.clientAddress;
  }

  /** SHA-256 of a credential, in hex digits. */
  digestOf(credential: string): string {
    return this.#connection.credentialDigest.of(credential);
  }

  /** The whole request was received. */
  get complete(): boolean {
    return !this.#hasBody || this.#bytes === this.#length || this.#message.complete;
  }

  /** Bytes of the body not received yet, according to Content-Length; Infinity when they may never arrive. */
  get outstanding(): number {
    if (this.complete) return 0;
    return this.#waits ? Infinity : Math.max(0, this.#length - this.#bytes);
  }

  /** Bytes of the body that were read or discarded. */
  get received(): number {
    return this.#bytes;
  }

  /** The first value of a header, by its name in lower case. */
  header(name: string): string | null {
    for (let i = 0; i < this.headers.length; i += 2) {
      if (this.headers[i]?.toLowerCase() === name) return this.headers[i + 1] ?? null;
    }
    return null;
  }

  /** Reads the whole body; call it once. @throws Fault body_too_large, client_gone, body_timeout, malformed_request. */
  read(limitBytes: number): Promise<Buffer> {
    if (this.#body.is === 'discarded' && this.#body.why !== null) return Promise.reject(this.#body.why);
    if (this.#length > limitBytes) return Promise.reject(tooLarge(limitBytes));
    if (!this.#hasBody) return Promise.resolve(EMPTY);
    return new Promise((resolve, reject) => {
      const into = this.#length >= 0 ? this.#connection.bodies.take(this.#length) : new GrowingBytes();
      this.#body = { is: 'reading', limitBytes, into, resolve, reject };
      if (this.#waits && this.#message.readableLength === 0) this.#connection.sendContinue();
      this.#waits = false;
      this.#listen();
    });
  }

  /**
   * Gives the body's memory back for the next body. Call it only when nothing reads the body any more: neither this
   * request nor an upstream socket that may still be sending it.
   */
  release(): void {
    if (this.#body.is !== 'read' || this.#body.memory === null) return;
    this.#connection.bodies.giveBack(this.#body.memory);
    this.#body = { is: 'read', memory: null };
  }

  /** The rest of the body will not arrive. */
  fail(fault: Fault): void {
    const body = this.#body;
    if (body.is === 'read' || body.is === 'discarded') return;
    this.#body = { is: 'discarded', why: fault };
    if (body.is === 'reading') body.reject(fault);
  }

  /** Discards what has not been read and what is still to arrive. */
  discard(mostBytes: number, ends: DiscardEnds): void {
    if (this.#body.is === 'unread') this.#body = { is: 'discarded', why: null };
    this.#message.on('end', () => ends.whole());
    this.#message.on('data', () => {
      if (this.#bytes > mostBytes) ends.tooMuch();
    });
    this.#listen();
  }

  #listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    this.#message.on('data', (piece: Buffer) => this.#take(piece));
    if (this.#length < 0) this.#message.on('end', () => this.#finish());
  }

  #take(piece: Buffer): void {
    const at = this.#bytes;
    this.#bytes += piece.length;
    const body = this.#body;
    if (body.is === 'reading') {
      if (this.#bytes > body.limitBytes) this.fail(tooLarge(body.limitBytes));
      else if (body.into instanceof GrowingBytes) body.into.append(piece);
      else piece.copy(body.into, at);
    }
    free(piece);
    if (this.#bytes === this.#length) this.#finish();
  }

  #finish(): void {
    const body = this.#body;
    if (body.is !== 'reading') return;
    const { into } = body;
    const isReusable = !(into instanceof GrowingBytes);
    this.#body = { is: 'read', memory: isReusable ? into : null };
    body.resolve(isReusable ? into : into.view());
  }
}

/**
 * Frees the memory of a copied chunk. V8 counts it as external memory: left to the garbage collector, bodies of 440 KB
 * caused 53 major collections in 2,000 calls instead of 4.
 */
function free({ buffer, length }: Buffer): void {
  if (length === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const tooLarge = (limitBytes: number): Fault =>
  new Fault('body_too_large', `The request body is larger than ${limitBytes} bytes.`);
