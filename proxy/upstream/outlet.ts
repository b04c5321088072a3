// Writes the body of an answer to a client, each piece in one write. Node frames a chunk as three buffers in a writev;
// for the small events of a stream that costs more than the bytes, so chunks are framed here (RFC 9112 section 7.1).
import type { ServerResponse } from 'node:http';

/** Above this, copying into a string costs more than further buffers in a writev. */
const ONE_WRITE_BYTES = 16_384;
const LAST_CHUNK = '0\r\n\r\n';

export class Outlet {
  readonly #res: ServerResponse;
  readonly #chunked: boolean;

  /** Takes over once the head has been written with `writeHead`. */
  constructor(res: ServerResponse) {
    this.#res = res;
    this.#chunked = res.chunkedEncoding; // false for an announced length, and for HTTP/1.0
    res.chunkedEncoding = false; // the head already says `chunked`; from here on the framing is ours
  }

  /** False: the client is slow, wait for `drain`. `done` is called when the piece has left for the system. */
  write(piece: Buffer, done?: () => void): boolean {
    const res = this.#res;
    if (!this.#chunked || piece.length === 0) return res.write(piece, done); // a chunk of size 0 would be the end
    const size = piece.length.toString(16);
    if (piece.length <= ONE_WRITE_BYTES) {
      return res.write(`${size}\r\n${piece.toString('latin1')}\r\n`, 'latin1', done);
    }
    res.cork();
    res.write(`${size}\r\n`, 'latin1');
    res.write(piece);
    const free = res.write('\r\n', 'latin1', done);
    res.uncork();
    return free;
  }

  /** Ends the answer properly, with a last piece if there is one. */
  end(piece: Buffer | null): void {
    if (this.#chunked) {
      if (piece !== null) this.write(piece);
      this.#res.end(LAST_CHUNK, 'latin1');
    } else if (piece === null) this.#res.end();
    else if (piece.length <= ONE_WRITE_BYTES) this.#res.end(piece.toString('latin1'), 'latin1');
    else this.#res.end(piece);
  }
}
