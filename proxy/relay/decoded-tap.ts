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

/** Where the reading of one answer is. */
type State =
  /** No byte has come: the first ones tell forms of one coding apart. */
  | { readonly is: 'waiting' }
  /** ending: no more bytes will come, and some may still be inflated. */
  | { readonly is: 'reading' | 'ending'; readonly decoder: Transform }
  /** Without a byte. */
  | { readonly is: 'empty' }
  /** It stopped before the end; `damaged`: the bytes are not what their coding says. */
  | { readonly is: 'limited' | 'damaged' | 'unknown_coding' };

/** Feeds `inner` with what the bytes inflate to. */
export class DecodedTap {
  readonly #inner: InnerTap;
  readonly #coding: string;
  readonly #maxInflatedBytes: number;
  readonly #settled = Promise.withResolvers<void>();
  #state: State = { is: 'waiting' };
  #inflatedBytes = 0;

  /** @param coding see `codingOf` */
  constructor(inner: InnerTap, coding: string, options: DecodedTapOptions = {}) {
    this.#inner = inner;
    this.#coding = coding;
    this.#maxInflatedBytes = options.maxInflatedBytes ?? MAX_INFLATED_BYTES;
  }

  /** What was read is not whole: an unknown coding, damaged bytes, or a bound was reached. (Bytes cut short
   * are no failure: what they hold is read, and the inner tap knows whether an end was seen.) */
  get failed(): boolean {
    const { is } = this.#state;
    return is === 'limited' || is === 'damaged' || is === 'unknown_coding';
  }

  /** A bound was reached: what follows is not read. */
  get isLimited(): boolean {
    return this.#state.is === 'limited';
  }

  /** The bytes are not what their coding says: no client can read them. */
  get damaged(): boolean {
    return this.#state.is === 'damaged';
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.#state.is === 'waiting') this.#state = this.#open(chunk);
    const state = this.#state;
    if (state.is !== 'reading') return;
    if (state.decoder.writableLength + chunk.length > MAX_WAITING_BYTES) this.#stop(state.decoder);
    else state.decoder.write(chunk);
  }

  /**
   * No more bytes will come, whole or not. Resolves, always, when all of them have been read or reading has failed;
   * may be called more than once.
   */
  end(): Promise<void> {
    const state = this.#state;
    if (state.is === 'waiting') {
      this.#state = { is: 'empty' };
      this.#settled.resolve();
    } else if (state.is === 'reading') {
      this.#state = { is: 'ending', decoder: state.decoder };
      state.decoder.end();
    }
    return this.#settled.promise;
  }

  #open(first: Buffer): State {
    const decoder = decoderFor(this.#coding, first);
    if (decoder === null) {
      this.#settled.resolve();
      return { is: 'unknown_coding' };
    }
    decoder.on('data', (inflated: Buffer) => {
      if (this.failed) return;
      this.#inflatedBytes += inflated.length;
      if (this.#inflatedBytes > this.#maxInflatedBytes) this.#stop(decoder);
      else this.#inner.push(inflated);
    });
    decoder.on('error', () => {
      if (!this.failed) this.#state = { is: 'damaged' }; // an error after a bound was reached is our own doing
    });
    decoder.on('close', () => this.#settled.resolve());
    return { is: 'reading', decoder };
  }

  #stop(decoder: Transform): void {
    this.#state = { is: 'limited' };
    decoder.destroy();
  }
}
