// Lets a tap read a compressed answer: the bytes are relayed as they are, a copy is inflated on the side. It bounds what
// it inflates, swallows every error into a flag, and never delays the relay. Stands between tap choice and the taps.
import type { Buffer } from 'node:buffer';
import type { Transform } from 'node:stream';
import { decoderFor } from './content-coding.ts';

/** What reads the inflated bytes. */
interface InnerTap {
  push(chunk: Buffer): unknown;
}

interface DecodedTapOptions {
  /** Most bytes that are inflated; reading stops there. */
  readonly maxInflatedBytes?: number;
}

/** As of a request. A response of several pictures has 20 MB; what reads them keeps little, so this bounds time alone. */
const MAX_INFLATED_BYTES = 67_108_864;
/** Compressed bytes that wait for the decoder; more means it cannot keep up, and reading stops. It takes 100 MB/s and more. */
const MAX_WAITING_BYTES = 16_777_216;

/** Feeds `inner` with what the bytes inflate to. */
export class DecodedTap {
  readonly #inner: InnerTap;
  readonly #coding: string;
  readonly #maxInflatedBytes: number;
  readonly #settled = Promise.withResolvers<void>();
  #decoder: Transform | null = null;
  #inflatedBytes = 0;
  #isEnded = false;
  #failed = false;
  #isLimited = false;
  #damaged = false;

  /** @param coding see `codingOf` */
  constructor(inner: InnerTap, coding: string, options: DecodedTapOptions = {}) {
    this.#inner = inner;
    this.#coding = coding;
    this.#maxInflatedBytes = options.maxInflatedBytes ?? MAX_INFLATED_BYTES;
  }

  /** What was read is not whole: an unknown coding, damaged bytes, or a bound was reached. (Bytes cut short
   * are no failure: what they hold is read, and the inner tap knows whether an end was seen.) */
  get failed(): boolean {
    return this.#failed;
  }

  /** A bound was reached: what follows is not read. */
  get isLimited(): boolean {
    return this.#isLimited;
  }

  /** The bytes are not what their coding says: no client can read them. */
  get damaged(): boolean {
    return this.#damaged;
  }

  push(chunk: Buffer): void {
    if (this.#isEnded || this.#failed || chunk.length === 0) return;
    this.#decoder ??= this.#open(chunk);
    if (this.#decoder === null) return;
    if (this.#decoder.writableLength + chunk.length > MAX_WAITING_BYTES) this.#stop();
    else this.#decoder.write(chunk);
  }

  /**
   * No more bytes will come, whole or not. Resolves, always, when all of them have been read or reading has failed;
   * may be called more than once.
   */
  end(): Promise<void> {
    if (!this.#isEnded) {
      this.#isEnded = true;
      if (this.#decoder === null) this.#settled.resolve();
      else this.#decoder.end();
    }
    return this.#settled.promise;
  }

  #open(first: Buffer): Transform | null {
    const decoder = decoderFor(this.#coding, first);
    if (decoder === null) {
      this.#failed = true;
      return null;
    }
    decoder.on('data', (inflated: Buffer) => {
      if (this.#failed) return;
      this.#inflatedBytes += inflated.length;
      if (this.#inflatedBytes > this.#maxInflatedBytes) this.#stop();
      else this.#inner.push(inflated);
    });
    decoder.on('error', () => {
      this.#damaged = !this.#failed; // an error after a bound was reached is our own doing
      this.#failed = true;
    });
    decoder.on('close', () => this.#settled.resolve());
    return decoder;
  }

  #stop(): void {
    this.#failed = true;
    this.#isLimited = true;
    this.#decoder?.destroy();
  }
}
