// How bytes come off sockets: all sockets of a process read into one memory, whose bytes are looked at and copied or
// passed on before the next read. Node's own way makes a new buffer for each read, up to 64 KiB: for a body of 440 KB
// that alone was more work than finding the model in it, and V8 collected garbage to keep up.
import { Buffer } from 'node:buffer';
import { Socket } from 'node:net';

/** Larger reads mean fewer of them: a body of 440 KB comes in 2 instead of 7. */
const READ_BYTES = 262_144;

/** Takes the bytes of one read. They are valid during the call only: copy what is to stay. */
export type Taker = (bytes: Buffer) => void;

/** The option of `net.connect` that Node calls `onread`. */
export interface OnRead {
  readonly buffer: Buffer;
  readonly callback: (bytes: number, buffer: Uint8Array) => boolean;
}

/** The memory that sockets read into. One per process is enough: a read is over before the next begins. */
export class ReadMemory {
  readonly #memory = Buffer.allocUnsafeSlow(READ_BYTES);

  /** What to give to `net.connect`. */
  option(take: Taker): OnRead {
    const memory = this.#memory;
    return {
      buffer: memory,
      callback: (bytes) => {
        take(memory.subarray(0, bytes));
        return true; // reading is stopped by `pause`
      },
    };
  }

  /**
   * Reads an accepted socket into the common memory. Node offers this for sockets that connect alone, so the socket
   * is made anew around its handle; where a version of Node should not have that, it reads in the ordinary way.
   * @param accepted by a server with `pauseOnConnect`. @returns the socket to use from now on.
   */
  adopt(accepted: Socket, take: Taker): Socket {
    const { _handle: handle } = accepted as Socket & { _handle?: { useUserBuffer?: unknown } | null };
    if (typeof handle?.useUserBuffer !== 'function') {
      return accepted.on('data', take).resume();
    }
    (accepted as { _handle?: unknown })._handle = null;
    accepted.destroy(); // an empty shell; the server's count of connections goes down with it
    return new Socket({ handle, onread: this.option(take), readable: true, writable: true } as object);
  }
}
