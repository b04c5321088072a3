// A bounded copy of the beginning of an answer, held while it runs: what its tokens are counted from if it ends without
// usage. The bytes are never recorded. A copy, since a chunk of the socket could pin 64 KiB for a few bytes; and of each
// chunk only what differs from the one before it, since events of a stream differ in a word or two: 16 KB of them
// take some 2, in each of thousands of streams.
import { Buffer } from 'node:buffer';
import type { Delivered } from '../protocols/text.ts';

/** Enough for some 75 events; longer streams are extrapolated, and their style does not change on the way. */
const MOST_BYTES = 16_384;
const FIRST_BYTES = 384;
/** Before the bytes of each chunk: how many it shares with the one before, at its start and at its end, and how many follow. */
const LENGTHS_BYTES = 6;
/** The next event may be a little longer. */
const SPARE_BYTES = 64;
const EMPTY = Buffer.alloc(0);

export class Sample {
  /**
   * The latest chunk, and behind the room for it, of each chunk its three lengths, 16 bits each, and the bytes of its own. One memory
   * for both: a Buffer takes 240 bytes beside its own.
   */
  #memory: Buffer = EMPTY;
  /** For the latest chunk, at the beginning of the memory. */
  #room = 0;
  #lastBytes = 0;
  #heldBytes = 0;
  /** So many bytes can be given back. */
  #sampledBytes = 0;
  #bytes = 0;

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const size = this.#isFull ? 0 : Math.min(chunk.length, MOST_BYTES - this.#sampledBytes);
    if (size === 0) return;
    if (size > this.#room) this.#resize(size + SPARE_BYTES, Math.max(FIRST_BYTES, this.#heldBytes));
    this.#add(chunk, size);
    this.#sampledBytes += size;
    if (this.#isFull) this.#resize(0, this.#heldBytes);
    else this.#lastBytes = chunk.copy(this.#memory, 0, 0, size);
  }

  /** null when nothing came. */
  delivered(): Delivered | null {
    if (this.#bytes === 0) return null;
    return { form: 'events', head: this.#sampled(), bytes: this.#bytes };
  }

  /** Chunks of a few bytes, which no upstream sends by itself, would take more than they give back. */
  get #isFull(): boolean {
    return this.#sampledBytes === MOST_BYTES || this.#heldBytes >= MOST_BYTES;
  }

  #add(chunk: Buffer, size: number): void {
    const last = this.#memory;
    const most = Math.min(size, this.#lastBytes);
    let start = 0;
    while (start < most && chunk[start] === last[start]) start += 1;
    let end = 0;
    while (end < most - start && chunk[size - 1 - end] === last[this.#lastBytes - 1 - end]) end += 1;
    const own = size - start - end;
    const wanted = this.#heldBytes + LENGTHS_BYTES + own;
    if (this.#room + wanted > this.#memory.length) this.#resize(this.#room, 2 * wanted);
    const memory = this.#memory;
    let at = memory.writeUInt16LE(start, this.#room + this.#heldBytes);
    at = memory.writeUInt16LE(end, at);
    at = memory.writeUInt16LE(own, at);
    chunk.copy(memory, at, start, start + own);
    this.#heldBytes = wanted;
  }

  /** @param room for the latest chunk, which is let go of where there is none @param heldRoom what is held fits */
  #resize(room: number, heldRoom: number): void {
    const memory = Buffer.allocUnsafeSlow(room + heldRoom);
    if (room > 0) this.#memory.copy(memory, 0, 0, this.#lastBytes);
    this.#memory.copy(memory, room, this.#room, this.#room + this.#heldBytes);
    this.#memory = memory;
    this.#room = room;
  }

  #sampled(): Buffer {
    const held = this.#memory.subarray(this.#room);
    const sampled = Buffer.allocUnsafe(this.#sampledBytes);
    let chunkAt = 0;
    let lastAt = 0;
    for (let at = 0; at < this.#heldBytes;) {
      const [start, end, own] = [held.readUInt16LE(at), held.readUInt16LE(at + 2), held.readUInt16LE(at + 4)];
      const ownAt = at + LENGTHS_BYTES;
      at = ownAt + own;
      sampled.copy(sampled, chunkAt, lastAt, lastAt + start);
      held.copy(sampled, chunkAt + start, ownAt, at);
      sampled.copy(sampled, chunkAt + start + own, chunkAt - end, chunkAt);
      lastAt = chunkAt;
      chunkAt += start + own + end;
    }
    return sampled;
  }
}
