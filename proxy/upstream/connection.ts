// One connection to an upstream: one request on the wire at a time, its answer read strictly. It gives the bytes of a
// body out as they come and keeps none. A connection on which anything was odd is never used again: one answer's bytes
// must not be taken for another's.
import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { FIELD_NAME, FIELD_VALUE } from '../../config/resolve/headers.ts';
import type { Seated } from '../base/roster.ts';
import { ChunkedDecoder } from '../wire/chunked.ts';
import {
  BadMessage,
  checkAnswerBeginning,
  HeadCutter,
  persists,
  readAnswerHead,
  type AnswerHead,
} from '../wire/head.ts';
import { headroomOf } from '../wire/headroom.ts';

/** One request, ready to send. */
export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** Flat name, value list; without host, content-length and what belongs to the connection. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** Gets the answer. After `onEnd` or `onError` nothing comes any more. */
export interface AnswerReader {
  /** The connection is open and the request goes out. */
  onSent(): void;
  onHead(head: AnswerHead): void;
  /** Bytes of the body, valid during the call only. */
  onData(bytes: Buffer): void;
  /**
   * The answer is whole, as far as its framing tells.
   * @param written the whole request is with the system: its memory may be used for something else
   */
  onEnd(written: boolean): void;
  onError(error: Error): void;
}

/** What a connection tells its pool. */
export interface Keeper {
  /** The exchange is over and the connection can take another one, until `idleUntil` (monotonic ms). */
  free(connection: UpstreamConnection): void;
  gone(connection: UpstreamConnection): void;
  mono(): number;
}

const HEAD_BYTES = 65_536;
/** Gateways in front of gateways close idle sockets at about 30 s; ours go before. */
const KEEP_ALIVE_MAX_MS = 25_000;
/** Of an upstream that does not say how long it keeps one: the shortest time of common servers (Node) is 5 s. */
const KEEP_ALIVE_MS = 4_000;
const SAFETY_MS = 1_000;
const PATH = /^[\x21-\x7e]+$/;
/** Up to here a body is cheaper copied behind its head than written by itself. */
const COPY_BYTES = 16_384;

/** The last look before the wire, whoever made the request. @throws TypeError when it would not be one message */
export function checkRequest({ path, headers }: UpstreamRequest): void {
  if (!PATH.test(path)) throw new TypeError('the path of a request cannot be sent');
  for (let i = 0; i < headers.length; i += 2) {
    if (!FIELD_NAME.test(headers[i] as string)) throw new TypeError('the name of a header cannot be sent');
    if (!FIELD_VALUE.test(headers[i + 1] as string))
      throw new TypeError(`the value of the header ${headers[i]} cannot be sent`);
  }
}

type Body = 'none' | 'length' | 'chunked' | 'close';

export class UpstreamConnection implements Seated {
  seat = -1; // on the roster of its pool
  /** Monotonic ms; meaningful while idle. */
  idleUntil = 0;
  readonly #keeper: Keeper;
  readonly #cutter = new HeadCutter(HEAD_BYTES);
  /** The lines of every head that come from the pool: host, and the proxy's credential. */
  readonly #fixed: string;
  /** What stands before the path: the origin, on the way to a forwarding proxy; else ''. */
  readonly #before: string;
  #socket: Socket | null = null;
  #stopDialing: (() => void) | null = null;
  #request: UpstreamRequest | null = null;
  #reader: AnswerReader | null = null;
  #head: AnswerHead | null = null;
  #body: Body = 'none';
  #left = 0;
  #chunks: ChunkedDecoder | null = null;
  #closed = false;

  constructor(keeper: Keeper, fixed: string, before: string) {
    this.#keeper = keeper;
    this.#fixed = fixed;
    this.#before = before;
  }

  /** For the pool: how to break off what is being opened. */
  opening(stop: () => void): void {
    this.#stopDialing = stop;
  }

  /** For the pool: the socket is open. */
  opened(socket: Socket): void {
    this.#stopDialing = null;
    this.#socket = socket;
    socket.on('error', (error) => this.#broke(error));
    socket.on('end', () => this.#over());
    socket.on('close', () => this.#broke(closedEarly()));
    if (this.#request !== null) this.#write(this.#request);
  }

  /** For the pool: there will be no socket, or it is to go; a reader is told why. */
  failed(error: Error): void {
    this.#stopDialing = null;
    this.#broke(error);
  }

  /** Sends a request (see `checkRequest`), at once or when the connection is open. */
  send(request: UpstreamRequest, reader: AnswerReader): void {
    this.#request = request;
    this.#reader = reader;
    this.#head = null;
    if (this.#socket !== null) this.#write(request);
  }

  get closed(): boolean {
    return this.#closed;
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** For a reader, or the pool while there is none: ends the connection without a word. */
  destroy(): void {
    this.#reader = null;
    this.#broke(closedEarly());
  }

  /** For the pool: the bytes of one read. */
  take(bytes: Buffer): void {
    if (this.#closed) return;
    if (this.#reader === null) {
      this.destroy(); // bytes that belong to no request
      return;
    }
    try {
      let at = 0;
      while (this.#head === null && at >= 0) {
        at = this.#cutter.push(bytes, at);
        if (at < 0) {
          checkAnswerBeginning(this.#cutter.beginning());
          return;
        }
        this.#readHead();
        if (this.#isOver()) return;
      }
      this.#readBody(bytes, at);
    } catch (error) {
      this.#broke(error as Error); // no answer, or a bug in its reader: that ends one exchange, not the process
    }
  }

  /** A reader may end an exchange in any of its calls. */
  #isOver(): boolean {
    return this.#closed || this.#reader === null;
  }

  #write({ method, path, headers, body }: UpstreamRequest): void {
    const socket = this.#socket as Socket;
    let head = `${method} ${this.#before}${path} HTTP/1.1\r\n${this.#fixed}`;
    for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
    if (body !== null || method === 'POST') head += `content-length: ${body?.length ?? 0}\r\n`;
    head += '\r\n';
    this.#reader?.onSent();
    if (body === null) socket.write(head, 'latin1');
    else if (headroomOf(body) >= head.length) {
      // The head goes right before the body, where there is room for it: one write, nothing copied.
      const whole = Buffer.from(body.buffer, body.byteOffset - head.length, head.length + body.length);
      whole.write(head, 0, 'latin1');
      socket.write(whole);
    } else if (body.length <= COPY_BYTES) socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]));
    else {
      socket.cork();
      socket.write(head, 'latin1');
      socket.write(body);
      socket.uncork();
    }
    this.#request = null;
  }

  #readHead(): void {
    const head = readAnswerHead(this.#cutter.text);
    if (head.status === 101)
      throw new BadMessage('The upstream changed the protocol, which nobody asked for.');
    if (head.status < 200 && head.version === '1.1') return; // 1xx are between the hops; 1.0 knows none
    if (head.status < 200)
      throw new BadMessage('The answer is an interim one, which HTTP/1.0 does not know.');
    if (head.transferEncoding !== null && head.transferEncoding.toLowerCase() !== 'chunked')
      throw new BadMessage('The answer has a transfer coding that is not known.');
    this.#head = head;
    this.#chunks = head.transferEncoding === null ? null : new ChunkedDecoder();
    this.#left = head.contentLength;
    if (head.status === 204 || head.status === 304) this.#body = 'none';
    else this.#body = this.#chunks !== null ? 'chunked' : head.contentLength >= 0 ? 'length' : 'close';
    this.#reader?.onHead(head);
  }

  #readBody(bytes: Buffer, at: number): void {
    let end = at;
    switch (this.#body) {
      case 'none':
        break;
      case 'close':
        if (at < bytes.length) this.#reader?.onData(at === 0 ? bytes : bytes.subarray(at));
        return;
      case 'length':
        end = Math.min(bytes.length, at + this.#left);
        this.#left -= end - at;
        if (end > at)
          this.#reader?.onData(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
        if (this.#left > 0) return;
        break;
      default: {
        const chunks = this.#chunks as ChunkedDecoder;
        end = chunks.push(bytes, at, (data) => this.#reader?.onData(data));
        if (!chunks.done) return;
      }
    }
    if (!this.#isOver()) this.#finish(end === bytes.length);
  }

  /** @param clean nothing followed the answer. */
  #finish(clean: boolean): void {
    const reader = this.#reader as AnswerReader;
    const { version, connection, keepAlive, transferEncoding } = this.#head as AnswerHead;
    const socket = this.#socket as Socket;
    this.#reader = null;
    this.#head = null;
    const written = socket.writableLength === 0;
    // An answer that came before the whole request was out leaves the rest of that request on the wire.
    const isFaulty = transferEncoding !== null && version === '1.0'; // RFC 9112 section 6.1: close behind it
    if (clean && written && !isFaulty && persists(version, connection)) {
      this.idleUntil = this.#keeper.mono() + keepAliveMs(keepAlive);
      socket.resume();
      this.#keeper.free(this);
    } else this.destroy();
    reader.onEnd(written);
  }

  /** The upstream sends no more: the end of an answer without a length, else a break. */
  #over(): void {
    const reader = this.#reader;
    const isEnd = this.#head !== null && this.#body === 'close' && reader !== null;
    if (isEnd) this.#reader = null;
    this.#broke(closedEarly());
    if (!isEnd) return;
    try {
      reader.onEnd(false);
    } catch (error) {
      reader.onError(error as Error);
    }
  }

  #broke(error: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    const reader = this.#reader;
    this.#reader = null;
    this.#stopDialing?.();
    this.#socket?.destroy();
    this.#keeper.gone(this);
    reader?.onError(error);
  }
}

/** From `Keep-Alive: timeout=5` (seconds). */
function keepAliveMs(header: string | null): number {
  const seconds = /(?:^|[,; ])timeout=(\d{1,6})/i.exec(header ?? '')?.[1];
  if (seconds === undefined) return KEEP_ALIVE_MS;
  return Math.min(KEEP_ALIVE_MAX_MS, Number(seconds) * 1000 - SAFETY_MS);
}

/** What a reader is told when the connection ended under it. */
export function closedEarly(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
}
