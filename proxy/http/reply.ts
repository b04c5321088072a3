// One answer on a client's connection. Head and first bytes leave in one write, each event of a stream in one write, and
// the framing (RFC 9112 section 6) is the answer's own: a body that ends early is never shown as whole. Header values
// are checked here, at the last place before the wire, whoever made them.
import { Buffer } from 'node:buffer';
import { FIELD_VALUE } from '../../config/resolve/headers.ts';
import type { Fault } from '../errors/fault.ts';
import { wholeAnswer, type WholeAnswer } from './idempotency-cache.ts';
import { phraseOf } from './phrases.ts';

/** Up to this many bytes a string costs the system less than a buffer; above, one copy is made. */
const STRING_BYTES = 16_384;
const LAST_CHUNK = '0\r\n\r\n';

/** What an answer needs of the connection it goes out on. */
export interface Wire {
  readonly closed: boolean;
  /** @returns false when the client is slow. */
  write(piece: string | Buffer, done?: () => void): boolean;
  /** No request after the present one. */
  closeAfterAnswer(): void;
  /** The header lines that say whether the connection goes on. */
  persistence(version: string): string;
  /** The Date header's line. */
  date(): string;
  /** The last byte was written. */
  answered(): void;
  destroy(): void;
  /** Like `destroy`, and the client gets to know that it was no proper end; bytes on their way may be lost. */
  reset(): void;
}

/** Is told what becomes of an answer while it is made. */
export interface ReplyWatcher {
  /** The client left, or the connection broke, before the answer was at its end. */
  onClose(): void;
  /** A client that was slow takes bytes again. */
  onDrain(): void;
  /** The proxy ends and cannot wait for the rest: say so, and end. */
  onInterrupt(fault: Fault): void;
}

type Framing = 'none' | 'length' | 'chunked' | 'close';

export class Reply {
  readonly #wire: Wire;
  readonly #version: string;
  readonly #isHead: boolean;
  #head = '';
  #headMade = false;
  #ended = false;
  #framing: Framing = 'none';
  /** Bytes of the announced length that have not come. */
  #left = 0;
  /** Who is told; null = nobody. */
  watcher: ReplyWatcher | null = null;
  /** Why this answer must end at once; for those who begin to watch when it has been said. */
  interrupted: Fault | null = null;
  /** An answer that ends in one piece is kept, also when nobody is there to read it any more. */
  keeps = false;
  #kept: WholeAnswer | null = null;
  #whole: { readonly status: number; readonly headers: readonly string[] } | null = null;

  constructor(wire: Wire, method: string, version: string) {
    this.#wire = wire;
    this.#version = version;
    this.#isHead = method === 'HEAD';
  }

  /** The head is made: another answer is no longer possible. */
  get headersSent(): boolean {
    return this.#headMade;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The connection is gone. */
  get destroyed(): boolean {
    return this.#wire.closed;
  }

  /** The answer, if it was to be kept and ended in one piece. */
  get kept(): WholeAnswer | null {
    return this.#kept;
  }

  /** The proxy ends: whoever makes this answer ends it now. */
  interrupt(fault: Fault): void {
    if (this.#ended) return;
    this.interrupted = fault;
    this.watcher?.onInterrupt(fault);
  }

  /** The connection ends with this answer. */
  closeAfter(): void {
    this.#wire.closeAfterAnswer();
  }

  /**
   * Makes the head; it leaves with the first bytes of the body, or by `flushHeaders`. A body whose length is not among
   * `headers` is chunked.
   * @param headers flat name, value list; names in lower case
   * @throws TypeError when a value cannot stand in a header
   */
  writeHead(status: number, headers: readonly string[], text = phraseOf(status)): void {
    let length = -1;
    let date = this.#wire.date();
    let lines = '';
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string;
      const value = headers[i + 1] as string;
      if (!FIELD_VALUE.test(value)) throw new TypeError(`the value of the header ${name} cannot be sent`);
      if (name === 'content-length') length = Number(value);
      if (name === 'date') date = ''; // of the upstream: when the answer was made (RFC 9110 section 6.6.1)
      lines += `${name}: ${value}\r\n`;
    }
    this.#headMade = true;
    if (this.keeps) this.#whole = { status, headers };
    const bodiless = this.#isHead || status === 204 || status === 304;
    this.#framing = bodiless
      ? 'none'
      : length >= 0
        ? 'length'
        : this.#version === '1.1'
          ? 'chunked'
          : 'close';
    this.#left = this.#framing === 'length' ? length : 0;
    if (this.#framing === 'chunked') lines += 'transfer-encoding: chunked\r\n';
    if (this.#framing === 'close') this.closeAfter();
    const persistence = this.#wire.persistence(this.#version);
    this.#head = `HTTP/1.1 ${status} ${text}\r\n${lines}${date}${persistence}\r\n`;
  }

  /** Sends a lone head, when nothing of the body is there yet. */
  flushHeaders(): void {
    if (this.#head !== '') this.#send('', undefined);
  }

  /**
   * Sends a piece of the body; its bytes are copied or out when this returns.
   * @param done called when the piece has left for the system
   * @returns false: the client is slow, wait for the watcher's `onDrain`
   */
  write(piece: Buffer, done?: () => void): boolean {
    if (piece.length === 0 || this.#framing === 'none') return this.#send('', done);
    if (this.#framing === 'length') this.#left -= piece.length;
    if (this.#framing === 'length' && this.#left < 0)
      throw new RangeError('the answer is longer than announced');
    const isChunk = this.#framing === 'chunked';
    const before = isChunk ? `${piece.length.toString(16)}\r\n` : '';
    const after = isChunk ? '\r\n' : '';
    if (piece.length <= STRING_BYTES) return this.#send(`${before}${piece.toString('latin1')}${after}`, done);
    const start = this.#head + before;
    this.#head = '';
    const whole = Buffer.allocUnsafeSlow(start.length + piece.length + after.length);
    whole.write(start, 0, 'latin1');
    piece.copy(whole, start.length);
    whole.write(after, start.length + piece.length, 'latin1');
    return this.#send(whole, done);
  }

  /** Ends the answer properly, with a last piece if there is one; one that is shorter than announced is broken off. */
  end(piece: Buffer | null = null): void {
    if (this.#ended) return;
    if (this.#whole !== null && this.#head !== '')
      this.#kept = wholeAnswer(this.#whole.status, this.#whole.headers, piece);
    const chunked = this.#framing === 'chunked';
    if (chunked && piece !== null && piece.length > 0 && piece.length <= STRING_BYTES) {
      this.#send(`${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n${LAST_CHUNK}`, undefined);
    } else {
      if (piece !== null) this.write(piece);
      if (chunked) this.#send(LAST_CHUNK, undefined);
      else if (this.#head !== '') this.#send('', undefined);
    }
    this.#ended = true;
    if (this.#left > 0) this.#wire.destroy();
    else this.#wire.answered();
  }

  /** Breaks the connection off: what was sent is not the whole answer. */
  destroy(): void {
    if (this.#ended) return; // the connection may be another exchange's
    if (this.#framing === 'close')
      this.#wire.reset(); // here, a plain close says that all has come
    else this.#wire.destroy();
  }

  #send(piece: string | Buffer, done: (() => void) | undefined): boolean {
    if (typeof piece === 'string' && this.#head !== '') {
      piece = this.#head + piece;
      this.#head = '';
    }
    if (piece.length > 0) return this.#wire.write(piece, done);
    done?.();
    return true;
  }
}
