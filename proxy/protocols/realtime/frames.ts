// WebSocket frames (RFC 6455 section 5) of one direction, read while they pass: message payloads in the pieces in which they
// come, control frames whole. Keeps no payload but that of a control frame, so a message may have any length.
import { Buffer, isUtf8 } from 'node:buffer';

/** RFC 6455 section 11.8. */
export const OPCODE = Object.freeze({ text: 1, binary: 2, close: 8, ping: 9, pong: 10 });
const CONTINUATION = 0;
const FIRST_CONTROL = 8;
/** RFC 6455 section 5.5. */
const MOST_CONTROL_BYTES = 125;
/** Reserved, or only for what a program is told itself. */
const UNSENDABLE: ReadonlySet<number> = new Set([1004, 1005, 1006]);
/** Two bytes, eight of length, four of mask. */
const MOST_HEADER_BYTES = 14;

/** What is wrong, and the close code for it (RFC 6455 section 7.4.1). */
export interface FrameViolation {
  readonly code: 1002 | 1003 | 1007 | 1009;
  readonly why: string;
}

/** Gets what was read. */
export interface FrameListener {
  /** A message begins. @returns why it may not pass */
  begin(kind: 'text' | 'binary'): FrameViolation | null;
  /** A piece of it, unmasked; valid during the call. @returns why it may not pass */
  payload(bytes: Buffer): FrameViolation | null;
  /** It is whole. @returns why it may not pass */
  end(): FrameViolation | null;
  /** `OPCODE.close`, `ping` or `pong`. */
  control(opcode: number, payload: Buffer): void;
}

type State =
  | { readonly is: 'header' }
  | { readonly is: 'payload'; readonly header: Header; left: number; read: number }
  | { readonly is: 'broken'; readonly violation: FrameViolation };

interface Header {
  readonly isFinal: boolean;
  readonly opcode: number;
  readonly length: number;
  /** null: the payload is not masked. */
  readonly mask: Buffer | null;
}

const HEADER: State = { is: 'header' };
const EMPTY = Buffer.alloc(0);

/** Of one direction of one session. */
export class FrameReader {
  readonly #sender: 'client' | 'server';
  readonly #listener: FrameListener;
  readonly #mostMessageBytes: number;
  readonly #header = Buffer.alloc(MOST_HEADER_BYTES);
  #headerBytes = 0;
  #state: State = HEADER;
  #control: Buffer = EMPTY;
  /** Of the message that has begun; null = none has. */
  #messageBytes: number | null = null;

  /** @param sender clients mask their frames, servers do not */
  constructor(sender: 'client' | 'server', listener: FrameListener, mostMessageBytes = Infinity) {
    this.#sender = sender;
    this.#listener = listener;
    this.#mostMessageBytes = mostMessageBytes;
  }

  /** Whole frames were read: a frame of another sender may follow here. */
  get isBetweenFrames(): boolean {
    return this.#state.is === 'header' && this.#headerBytes === 0;
  }

  /** No message has begun either. */
  get isBetweenMessages(): boolean {
    return this.isBetweenFrames && this.#messageBytes === null;
  }

  /** Reads on. @returns what is wrong; nothing is read from then on */
  push(chunk: Buffer): FrameViolation | null {
    for (let at = 0; at < chunk.length || this.#isEmptyPayload;) {
      if (this.#state.is === 'broken') return this.#state.violation;
      at =
        this.#state.is === 'header' ? this.#readHeader(chunk, at) : this.#readPayload(this.#state, chunk, at);
    }
    return this.#state.is === 'broken' ? this.#state.violation : null;
  }

  get #isEmptyPayload(): boolean {
    return this.#state.is === 'payload' && this.#state.left === 0;
  }

  #readHeader(chunk: Buffer, at: number): number {
    while (at < chunk.length && this.#headerBytes < this.#headerLength) {
      this.#header[this.#headerBytes] = chunk[at] ?? 0;
      this.#headerBytes += 1;
      at += 1;
    }
    if (this.#headerBytes < this.#headerLength) return at;
    const header = this.#parsed();
    this.#headerBytes = 0;
    const violation = this.#violationOf(header) ?? this.#begin(header);
    if (violation !== null) {
      this.#state = { is: 'broken', violation };
      return at;
    }
    if (header.opcode >= FIRST_CONTROL) this.#control = Buffer.alloc(header.length);
    this.#state = { is: 'payload', header, left: header.length, read: 0 };
    return at;
  }

  /** As far as it is known. */
  get #headerLength(): number {
    if (this.#headerBytes < 2) return 2;
    const second = this.#header[1] ?? 0;
    const extra = { 126: 2, 127: 8 }[second & 0x7f] ?? 0;
    return 2 + extra + ((second & 0x80) === 0 ? 0 : 4);
  }

  #parsed(): Header {
    const header = this.#header;
    const [first = 0, second = 0] = header;
    const short = second & 0x7f;
    const isMasked = (second & 0x80) !== 0;
    let length = short;
    if (short === 126) length = header.readUInt16BE(2);
    if (short === 127) length = header.readUInt32BE(2) * 2 ** 32 + header.readUInt32BE(6);
    const end = this.#headerBytes;
    const mask = isMasked ? Buffer.from(header.subarray(end - 4, end)) : null;
    return { isFinal: (first & 0x80) !== 0, opcode: first & 0x7f, length, mask };
  }

  #violationOf({ isFinal, opcode, length, mask }: Header): FrameViolation | null {
    // The reserved bits stand in `opcode`: no extension is agreed on that could use them.
    if (opcode > 0x0f) return protocolError('a reserved bit is set, and no extension was agreed on');
    if ((mask !== null) !== (this.#sender === 'client'))
      return protocolError(
        mask === null ? 'a frame of a client is not masked' : 'a frame of a server is masked',
      );
    // RFC 6455 section 5.2: what two parsers could read differently must not pass.
    if (length < leastOf(this.#header)) return protocolError('a length is not in its shortest form');
    if (opcode >= FIRST_CONTROL) {
      if (opcode > OPCODE.pong) return protocolError('the opcode is reserved');
      if (!isFinal) return protocolError('a control frame is fragmented');
      return length > MOST_CONTROL_BYTES ? protocolError('a control frame is longer than 125 bytes') : null;
    }
    if (opcode > OPCODE.binary) return protocolError('the opcode is reserved');
    if (!Number.isSafeInteger(length)) return protocolError('the length of a frame is above 2^53');
    if ((opcode === CONTINUATION) !== (this.#messageBytes !== null))
      return protocolError('the fragments of a message are out of order');
    return (this.#messageBytes ?? 0) + length > this.#mostMessageBytes
      ? { code: 1009, why: `a message is longer than ${this.#mostMessageBytes} bytes` }
      : null;
  }

  #begin({ opcode, length }: Header): FrameViolation | null {
    if (opcode >= FIRST_CONTROL) return null;
    this.#messageBytes = (this.#messageBytes ?? 0) + length;
    return opcode === CONTINUATION ? null : this.#listener.begin(opcode === OPCODE.text ? 'text' : 'binary');
  }

  #readPayload(state: Extract<State, { is: 'payload' }>, chunk: Buffer, at: number): number {
    const { header } = state;
    const end = Math.min(chunk.length, at + state.left);
    if (end > at) {
      const piece = unmasked(chunk.subarray(at, end), header.mask, state.read);
      if (header.opcode >= FIRST_CONTROL) piece.copy(this.#control, state.read);
      else this.#breakIf(this.#listener.payload(piece));
      state.read += end - at;
      state.left -= end - at;
    }
    if (state.left === 0 && this.#state.is !== 'broken') this.#frameEnded(header);
    return end;
  }

  #frameEnded({ opcode, isFinal }: Header): void {
    this.#state = HEADER;
    if (opcode >= FIRST_CONTROL) {
      const violation = opcode === OPCODE.close ? wrongInClose(this.#control) : null;
      if (violation !== null) return this.#breakIf(violation);
      this.#listener.control(opcode, this.#control);
    } else if (isFinal) {
      this.#messageBytes = null;
      this.#breakIf(this.#listener.end());
    }
  }

  #breakIf(violation: FrameViolation | null): void {
    if (violation !== null) this.#state = { is: 'broken', violation };
  }
}

const protocolError = (why: string): FrameViolation => ({ code: 1002, why });

/** The shortest payload for which the length may be written as it is. */
function leastOf([, second = 0]: Buffer): number {
  return { 126: MOST_CONTROL_BYTES + 1, 127: 65_536 }[second & 0x7f] ?? 0;
}

/** RFC 6455 sections 5.5.1 and 7.4: which codes may be sent, and that the reason is UTF-8. */
function wrongInClose(payload: Buffer): FrameViolation | null {
  if (payload.length === 0) return null;
  if (payload.length === 1) return protocolError('a close frame holds half a code');
  const code = payload.readUInt16BE(0);
  const isSendable =
    (code >= 1000 && code <= 1014 && !UNSENDABLE.has(code)) || (code >= 3000 && code <= 4999);
  if (!isSendable) return protocolError(`the close code ${code} may not be sent`);
  return isUtf8(payload.subarray(2)) ? null : { code: 1007, why: 'a close reason is not UTF-8' };
}

/** @param offset of the piece in its frame */
function unmasked(piece: Buffer, mask: Buffer | null, offset: number): Buffer {
  if (mask === null) return piece;
  const plain = Buffer.allocUnsafe(piece.length);
  for (let i = 0; i < piece.length; i += 1) plain[i] = (piece[i] ?? 0) ^ (mask[(offset + i) & 3] ?? 0);
  return plain;
}

/** A whole frame of ours. @param mask four bytes that nobody can foretell (RFC 6455 section 5.3); null = as servers send */
export function frame(opcode: number, payload: Buffer, mask: Buffer | null): Buffer {
  const { length } = payload;
  const isLong = length > MOST_CONTROL_BYTES;
  const head = Buffer.alloc(isLong ? 4 : 2);
  head[0] = 0x80 | opcode;
  head[1] = (isLong ? 126 : length) | (mask === null ? 0 : 0x80);
  if (isLong) head.writeUInt16BE(length, 2); // what we say ourselves is shorter than 64 KiB
  return mask === null
    ? Buffer.concat([head, payload])
    : Buffer.concat([head, mask, unmasked(payload, mask, 0)]);
}

/** The payload of a close frame; its reason has room for 123 bytes. */
export function closePayload(code: number, reason: string): Buffer {
  const text = Buffer.from(reason.replace(/[^\x20-\x7e]/g, '?').slice(0, 123), 'latin1');
  const payload = Buffer.alloc(2 + text.length);
  payload.writeUInt16BE(code, 0);
  text.copy(payload, 2);
  return payload;
}

/** What a close frame says; 1005: it states no code (RFC 6455 section 7.1.5). */
export function readClose(payload: Buffer): { readonly code: number; readonly reason: string } {
  if (payload.length < 2) return { code: 1005, reason: '' };
  return { code: payload.readUInt16BE(0), reason: payload.toString('utf8', 2) };
}
