// Lets a tap read a compressed answer: the bytes are relayed as they are, a copy is inflated on the side. It bounds what
// it inflates, swallows every error into a flag, and never delays the relay. Stands between tap choice and the taps.
import type { Buffer } from 'node:buffer';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import type { Transform } from 'node:stream';

/** What reads the inflated bytes. */
interface InnerTap {
  push(chunk: Buffer): unknown;
}

interface DecodedTapOptions {
  /** Most bytes that are inflated; reading stops there. */
  readonly maxInflatedBytes?: number;
}

const MAX_INFLATED_BYTES = 16_777_216;
/** Compressed bytes that wait for the decoder; more means it cannot keep up, and reading stops. */
const MAX_WAITING_BYTES = 4_194_304;

/** Feeds `inner` with what `encoding` (a content-encoding value) inflates to. */
export class DecodedTap {
  readonly #inner: InnerTap;
  readonly #encoding: string;
  readonly #maxInflatedBytes: number;
  readonly #settled = Promise.withResolvers<void>();
  #decoder: Transform | null = null;
  #inflatedBytes = 0;
  #isEnded = false;
  #failed = false;
  #damaged = false;

  constructor(inner: InnerTap, encoding: string, options: DecodedTapOptions = {}) {
    this.#inner = inner;
    this.#encoding = encoding.trim().toLowerCase();
    this.#maxInflatedBytes = options.maxInflatedBytes ?? MAX_INFLATED_BYTES;
  }

  /** What was read is not whole: unknown encoding, damaged bytes, or a bound was reached. (Bytes cut short
   * are no failure: what they hold is read, and the inner tap knows whether an end was seen.) */
  get failed(): boolean {
    return this.#failed;
  }

  /** The bytes are not what their encoding says: no client can read them. */
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
    const decoder = decoderFor(this.#encoding, first);
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
    this.#decoder?.destroy();
  }
}

/** null for an encoding that is not known, or for several in a row, which no gateway was seen to send. */
function decoderFor(encoding: string, first: Buffer): Transform | null {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
    case 'deflate': {
      // RFC 9110 section 8.4.1.2: the zlib format, but some servers send raw deflate; zlib's first byte tells.
      const isZlib = ((first[0] ?? 0) & 0x0f) === 8;
      const options = { finishFlush: constants.Z_SYNC_FLUSH };
      return isZlib ? createInflate(options) : createInflateRaw(options);
    }
    case 'br':
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress({ finishFlush: constants.ZSTD_e_flush });
    default:
      return null;
  }
}
