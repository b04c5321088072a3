// A stream of bytes as it is recorded: its size, its digest, when each piece came, and the bytes themselves where they are kept.
// Both the times and the bytes have a bound; what is beyond it is counted.
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Piece, RecordedBytes } from './format.ts';

/** Memory that all recordings of a process share. */
export class RecordingMemory {
  readonly #limit: number;
  #held = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  take(bytes: number): boolean {
    if (this.#held + bytes > this.#limit) return false;
    this.#held += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#held -= bytes;
  }
}

/** The part of it that one call takes. */
export class CallMemory {
  readonly #all: RecordingMemory;
  #contentLeft: number;
  #taken = 0;
  /** Something had no room. */
  isCut = false;

  /** @param contentBytes for bodies; 0 = none are kept */
  constructor(all: RecordingMemory, contentBytes: number) {
    this.#all = all;
    this.#contentLeft = contentBytes;
  }

  takeContent(bytes: number): boolean {
    if (this.#contentLeft < bytes || !this.take(bytes)) {
      this.isCut = true;
      return false;
    }
    this.#contentLeft -= bytes;
    return true;
  }

  take(bytes: number): boolean {
    if (!this.#all.take(bytes)) return false;
    this.#taken += bytes;
    return true;
  }

  giveBack(): void {
    this.#all.giveBack(this.#taken);
    this.#taken = 0;
  }
}

/** Of one stream; an answer of 100,000 tokens has as many pieces. */
const MOST_PIECES = 20_000;
/** What a piece takes in memory, roughly. */
const PIECE_BYTES = 64;

export class BytesRecording {
  readonly #memory: CallMemory;
  readonly #keeps: boolean;
  readonly #hash = createHash('sha256');
  readonly #pieces: Piece[] = [];
  readonly #kept: Buffer[] = [];
  #bytes = 0;
  #keptBytes = 0;
  #leftOut = 0;
  /** The kept bytes are the first ones, without a gap. */
  #isFull = false;
  #digest: string | null = null;

  constructor(memory: CallMemory, keeps: boolean) {
    this.#memory = memory;
    this.#keeps = keeps;
  }

  add(atMs: number, bytes: Buffer): void {
    if (this.#digest !== null || bytes.length === 0) return;
    this.#bytes += bytes.length;
    this.#hash.update(bytes);
    if (this.#pieces.length < MOST_PIECES && this.#memory.take(PIECE_BYTES))
      this.#pieces.push([Math.round(atMs * 100) / 100, bytes.length]);
    else this.#leftOut += 1;
    if (!this.#keeps || this.#isFull) return;
    this.#isFull = !this.#memory.takeContent(bytes.length);
    if (this.#isFull) return;
    this.#kept.push(Buffer.from(bytes)); // the memory of a socket's chunk is not ours
    this.#keptBytes += bytes.length;
  }

  /** After this, nothing is added any more. */
  end(): RecordedBytes {
    this.#digest ??= this.#hash.digest('hex');
    return {
      bytes: this.#bytes,
      sha256: this.#digest,
      kept_bytes: this.#keptBytes,
      pieces: this.#pieces,
      pieces_left_out: this.#leftOut,
    };
  }

  get kept(): readonly Buffer[] {
    return this.#kept;
  }
}
