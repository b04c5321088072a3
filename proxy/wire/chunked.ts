// The chunked transfer coding (RFC 9112 section 7.1), decoded from pieces cut anywhere. Strict: sizes are plain hex
// digits, lines end in CRLF only, trailers are checked and thrown away. Costs nothing per byte inside of a chunk and a
// table of states per byte outside. Pure; keeps no bytes but those of a trailer.
import { Buffer } from 'node:buffer';
import { GrowingBytes } from './growing-bytes.ts';
import { BadMessage, readFields } from './head.ts';

/** Takes decoded bytes, of several small chunks at once: a view of what was pushed, valid during the call only. */
export type ChunkSink = (data: Buffer) => void;

/** Chunks up to this size are moved together. One-byte chunks would else cost 50 times as much per byte as large ones. */
const SMALL_BYTES = 1_024;
/** Below this a loop moves bytes faster than the engine's call. */
const FEW_BYTES = 32;

const State = {
  size: 0,
  extension: 1,
  sizeEnd: 2,
  data: 3,
  dataCr: 4,
  dataLf: 5,
  trailer: 6,
  done: 7,
} as const;

const LF = 10;
const CR = 13;
const SEMICOLON = 59;
/** 13 digits: below Number.MAX_SAFE_INTEGER. */
const MOST_DIGITS = 13;
const MOST_EXTENSION_BYTES = 1_024;
const MOST_TRAILER_BYTES = 16_384;
const END_OF_TRAILER = Buffer.from('\r\n\r\n');

export class ChunkedDecoder {
  #state: number = State.size;
  #digits = 0;
  #left = 0;
  #extensionBytes = 0;
  #trailer: GrowingBytes | null = null;

  /** The last chunk and the trailer have come. */
  get done(): boolean {
    return this.#state === State.done;
  }

  /**
   * Decodes from `at`; bytes of small chunks are moved within `bytes`.
   * @returns the offset behind what belongs to this body. @throws BadMessage
   */
  push(bytes: Buffer, at: number, sink: ChunkSink): number {
    const flush = (): void => {
      const { from, to } = ready;
      ready.from = ready.to = -1;
      if (from < to) sink(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to));
    };
    const ready = { from: -1, to: -1 };
    try {
      return this.#decode(bytes, at, ready, flush);
    } finally {
      flush(); // also what came before something malformed
    }
  }

  #decode(bytes: Buffer, at: number, ready: { from: number; to: number }, flush: () => void): number {
    let i = at;
    while (i < bytes.length) {
      switch (this.#state) {
        case State.size:
          i = this.#readSize(bytes, i);
          break;
        case State.extension:
          i = this.#skipExtension(bytes, i);
          break;
        case State.sizeEnd:
          expect(bytes[i++], LF);
          this.#state = this.#left === 0 ? State.trailer : State.data;
          break;
        case State.data: {
          const end = Math.min(bytes.length, i + this.#left);
          this.#left -= end - i;
          if (ready.from < 0 || end - i > SMALL_BYTES) {
            flush();
            ready.from = i;
            ready.to = end;
          } else {
            move(bytes, ready.to, i, end);
            ready.to += end - i;
          }
          if (this.#left === 0) this.#state = State.dataCr;
          i = end;
          break;
        }
        case State.dataCr:
          expect(bytes[i++], CR);
          this.#state = State.dataLf;
          break;
        case State.dataLf:
          expect(bytes[i++], LF);
          this.#state = State.size;
          this.#digits = 0;
          break;
        case State.trailer:
          i = this.#readTrailer(bytes, i);
          break;
        default:
          return i;
      }
    }
    return i;
  }

  #readSize(bytes: Buffer, at: number): number {
    for (let i = at; i < bytes.length; i += 1) {
      const code = bytes[i] as number;
      const digit = hexOf(code);
      if (digit >= 0) {
        this.#left = this.#left * 16 + digit;
        this.#digits += 1;
        if (this.#digits > MOST_DIGITS) throw new BadMessage('A chunk is larger than any body.');
        continue;
      }
      if (this.#digits === 0) throw new BadMessage('A chunk has no size.');
      if (code === CR) this.#state = State.sizeEnd;
      else if (code === SEMICOLON) this.#state = State.extension;
      else throw new BadMessage('A chunk size is malformed.');
      return i + 1;
    }
    return bytes.length;
  }

  #skipExtension(bytes: Buffer, at: number): number {
    for (let i = at; i < bytes.length; i += 1) {
      const code = bytes[i] as number;
      if (code === CR) {
        this.#state = State.sizeEnd;
        return i + 1;
      }
      this.#extensionBytes += 1;
      if (code < 32 ? code !== 9 : code === 127) throw new BadMessage('A chunk extension is malformed.');
      if (this.#extensionBytes > MOST_EXTENSION_BYTES)
        throw new BadMessage('The chunk extensions are too long.');
    }
    return bytes.length;
  }

  #readTrailer(bytes: Buffer, at: number): number {
    if (this.#trailer === null && bytes[at] === CR && bytes[at + 1] === LF) {
      this.#state = State.done; // no trailer: what nearly every body has
      return at + 2;
    }
    // The CRLF of the last chunk's size line stands before, so that an empty trailer ends like any other.
    const trailer = (this.#trailer ??= new GrowingBytes());
    if (trailer.length === 0) trailer.append(END_OF_TRAILER, 0, 2);
    const before = trailer.length;
    trailer.append(bytes, at);
    const view = trailer.view();
    const end = view.indexOf(END_OF_TRAILER, Math.max(0, before - 3));
    if (Math.max(end, end < 0 ? trailer.length : 0) > MOST_TRAILER_BYTES)
      throw new BadMessage('The trailer is too long.');
    for (let i = before; i < trailer.length && end < 0; i += 1)
      if (view[i] === LF && view[i - 1] !== CR) throw new BadMessage('A trailer line ends in LF alone.');
    if (end < 0) return bytes.length;
    const { contentLength, transferEncoding } = readFields(view.toString('latin1', 2, end + 2), 0);
    if (contentLength >= 0 || transferEncoding !== null)
      throw new BadMessage('The trailer speaks of framing.');
    this.#state = State.done;
    return at + end + END_OF_TRAILER.length - before;
  }
}

function expect(code: number | undefined, wanted: number): void {
  if (code !== wanted) throw new BadMessage('A chunk does not end where its size says.');
}

/** Moves `[from, end)` back to `to`. */
function move(bytes: Buffer, to: number, from: number, end: number): void {
  if (end - from > FEW_BYTES) bytes.copyWithin(to, from, end);
  else for (let i = from; i < end; i += 1) bytes[to++] = bytes[i] as number;
}

function hexOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
