// Reads HTTP/1.1 messages off a raw socket, for the load client and the stand-in upstream: heads, lengths and chunked
// framing, nothing else. It exists because node:http costs the driver as much CPU as the thing that is measured.

/** What one message consists of, as it comes in. */
export interface Sink {
  /** Start line and header lines, without the blank line. */
  onHead(head: string): void;
  /** Payload bytes, framing removed; valid during the call only. */
  onBody(bytes: Buffer): void;
  /** The message is complete by its own framing. */
  onEnd(): void;
}

type State = 'head' | 'length' | 'size' | 'chunk' | 'chunk-end' | 'trailer';

const LF = 0x0a;
const CR = 0x0d;
const SEMICOLON = 0x3b;

/** One direction of one connection. @throws Error on framing that it cannot follow */
export class MessageReader {
  readonly #sink: Sink;
  #state: State = 'head';
  /** The part of a head that came without its end. */
  #held: Buffer | null = null;
  #left = 0;
  #inExtension = false;
  #trailerBytes = 0;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** Takes what the socket gave. */
  push(chunk: Buffer): void {
    let i = 0;
    while (i < chunk.length) {
      if (this.#state === 'head') i = this.#head(chunk, i);
      else if (this.#state === 'length' || this.#state === 'chunk') i = this.#payload(chunk, i);
      else i = this.#framing(chunk, i);
    }
  }

  #head(chunk: Buffer, from: number): number {
    const bytes =
      this.#held === null ? chunk.subarray(from) : Buffer.concat([this.#held, chunk.subarray(from)]);
    const before = this.#held?.length ?? 0;
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#held = Buffer.from(bytes);
      return chunk.length;
    }
    this.#held = null;
    const head = bytes.toString('latin1', 0, end);
    this.#sink.onHead(head);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length !== null) {
      this.#left = Number(length[1]);
      this.#state = 'length';
      if (this.#left === 0) this.#end();
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.#left = 0;
      this.#state = 'size';
    } else if (head.startsWith('HTTP/')) throw new Error('an answer without a length');
    else this.#end();
    return from + end + 4 - before;
  }

  #payload(chunk: Buffer, from: number): number {
    const to = Math.min(chunk.length, from + this.#left);
    this.#sink.onBody(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to));
    this.#left -= to - from;
    if (this.#left === 0) {
      if (this.#state === 'length') this.#end();
      else this.#state = 'chunk-end';
    }
    return to;
  }

  /** One byte of a size line, of the line end after a chunk, or of the trailer. */
  #framing(chunk: Buffer, i: number): number {
    const c = chunk[i] as number;
    if (this.#state === 'chunk-end') {
      if (c === LF) this.#state = 'size';
    } else if (this.#state === 'trailer') {
      if (c === LF && this.#trailerBytes === 0) this.#end();
      else if (c === LF) this.#trailerBytes = 0;
      else if (c !== CR) this.#trailerBytes += 1;
    } else if (c === LF) {
      this.#inExtension = false;
      this.#state = this.#left === 0 ? 'trailer' : 'chunk';
    } else if (c === SEMICOLON) this.#inExtension = true;
    else if (c !== CR && !this.#inExtension) {
      const digit = Number.parseInt(String.fromCharCode(c), 16);
      if (Number.isNaN(digit)) throw new Error('a chunk size that is no number');
      this.#left = this.#left * 16 + digit;
    }
    return i + 1;
  }

  #end(): void {
    this.#state = 'head';
    this.#trailerBytes = 0;
    this.#sink.onEnd();
  }
}
