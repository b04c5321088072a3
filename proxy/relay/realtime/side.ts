// One of the two sockets of a session: what comes from it, what goes to it, and how it is closed. Bytes pass as they came; the
// only frames of our own are the last ones.
import type { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { FrameReader, FrameViolation } from '../../protocols/realtime/frames.ts';

/** To close after our last byte, and to take what waits before it. */
const LINGER_MS = 2_000;
const FLUSH_MS = 30_000;

/** What a side tells of itself. */
interface SideEvents {
  /** Bytes have come and were passed on. */
  passed(): void;
  /** They are not the WebSocket protocol; they were not passed on. */
  violated(violation: FrameViolation): void;
  /** Asked after a piece was read and before it is passed on. @returns false: it must not pass */
  mayPass(): boolean;
  /** It sends nothing any more. */
  ended(): void;
}

export class Side {
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  #isDraining = false;
  #isOver = false;

  /** @param reader of what this side sends */
  constructor(socket: Socket, reader: FrameReader) {
    this.#socket = socket;
    this.#reader = reader;
  }

  /** Of what this side sends: where it stands. */
  get reader(): Pick<FrameReader, 'isBetweenFrames' | 'isBetweenMessages'> {
    return this.#reader;
  }

  /** From now on what it sends goes to `other`. */
  pipe(other: Side, events: SideEvents): void {
    const socket = this.#socket;
    socket.on('data', (chunk: Buffer) => {
      if (this.#isOver) return;
      const violation = this.#reader.push(chunk);
      if (violation !== null) events.violated(violation);
      else if (events.mayPass()) {
        if (!other.#socket.write(chunk)) this.#pauseFor(other);
        events.passed();
      }
    });
    const ended = (): void => events.ended();
    socket.on('error', () => undefined); // 'close' follows
    socket.on('end', ended);
    socket.on('close', ended);
    socket.resume();
  }

  /** Reads on when `other` takes bytes again. */
  #pauseFor(other: Side): void {
    this.#socket.pause();
    if (this.#isDraining) return;
    this.#isDraining = true;
    other.#socket.once('drain', () => {
      this.#isDraining = false;
      this.#socket.resume();
    });
  }

  /** Sends the last bytes and closes; what still comes is dropped. */
  end(last: Buffer | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const socket = this.#socket;
    if (socket.destroyed) return;
    socket.resume();
    if (last === null) socket.end();
    else socket.end(last);
    const timer = setTimeout(
      () => socket.destroy(),
      socket.writableLength > 0 ? FLUSH_MS : LINGER_MS,
    ).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  /** Closes without a last word: it can only take this for a failure. */
  cut(): void {
    this.#isOver = true;
    if ('encrypted' in this.#socket) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }
}
