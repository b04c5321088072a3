// The end of one stream: whether the client has it, and how long the upstream may take to end the response after it. SDKs
// close the connection as soon as they have read the terminal event, mostly before the upstream has ended its response;
// such a client has got everything.
//
// "Has it" means that the operating system took all bytes up to that event before the client closed. What waits in our own
// buffers for a slow client is not delivered. More cannot be known: TCP tells no application what the other side has read.
import type { WriteDone } from '../downstream/downstream-response.ts';
import type { LastEvent } from './sse-tap.ts';
import type { Tap } from './tap.ts';

/** After `[DONE]` and the like, gateways end the response within milliseconds. */
export const END_WITHIN_MS = 1_000;
/** Nothing came for so long after the last event that the client needs; `[DONE]`, or the usage that we asked for, is missing. */
const SILENT_MS = 5_000;

/** Notes what of a stream is written to the client. */
export class StreamEnding {
  readonly #tap: Tap;
  readonly #last: LastEvent;
  /** Some write was followed, and so many have not reached the system. */
  #isFollowed = false;
  #waiting = 0;
  #finishedAt: number | null = null;

  constructor(tap: Tap, last: LastEvent) {
    this.#tap = tap;
    this.#last = last;
  }

  /** Asked before each write, after the tap has read the piece: what the sink is to call once the system has it. */
  follow(): WriteDone | undefined {
    // What is compressed is read later than it is written, so that each write could be the last one.
    const isLast = this.#tap.opaque || (!this.#isFollowed && this.#isSaid);
    if (!isLast || !this.#tap.streams) return undefined;
    this.#isFollowed = true;
    this.#waiting += 1;
    return (error) => {
      if (error === null || error === undefined) this.#waiting -= 1;
    };
  }

  /** The client has everything, an error event included. */
  get isDelivered(): boolean {
    return this.#isFollowed && this.#waiting === 0 && this.#isSaid;
  }

  /** The upstream should have ended the response by now. @param now monotonic ms, as `lastByteAt` */
  isOverdue(now: number, lastByteAt: number): boolean {
    if (!this.#isSaid) return false;
    if (this.#tap.finished) this.#finishedAt ??= now;
    const isLate = this.#finishedAt !== null && now - this.#finishedAt > END_WITHIN_MS;
    return isLate || now - lastByteAt > SILENT_MS;
  }

  /** What the client needs has come. */
  get #isSaid(): boolean {
    const tap = this.#tap;
    if (!tap.streams) return false; // and a document must not be read before its end
    if (tap.finished) return true;
    if (tap.opaque || this.#last === 'done' || !tap.terminal) return false;
    return this.#last === 'finish' || tap.reading().usage !== null;
  }
}
