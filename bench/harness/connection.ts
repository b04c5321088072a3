// One keep-alive connection of the load client: sends prepared bytes, reads one whole answer, times it. It checks what
// a figure would otherwise hide: status, framing, the number of events and the terminal event of a stream.
import { connect, type Socket } from 'node:net';
import { MessageReader } from './message-reader.ts';

/** What an answer must be, else the run fails. */
export interface Expected {
  readonly status: number;
  /** Events of a stream, `[DONE]` included; null for anything else. */
  readonly events: number | null;
  /** Whether events carry the time at which the upstream wrote them. */
  readonly stamped: boolean;
  /** The last bytes of a stream; absent: `[DONE]`. */
  readonly end?: string;
}

/** Milliseconds since the request was handed to the socket. */
export interface Timing {
  readonly firstByteMs: number;
  readonly wholeMs: number;
}

/** Of stamped events: what happened between the upstream's write and the client's read. */
export interface EventTimes {
  readonly delaysMs: number[];
  readonly gapsMs: number[];
}

const BLANK_LINE = '\n\n';
const STAMP = /"t":(\d+)/g;
const TAIL_BYTES = 16;
const now = (): number => performance.now();
/** One clock for all processes of a machine: CLOCK_MONOTONIC. */
const monotonicUs = (): number => Number(process.hrtime.bigint() / 1000n);

/** Not for concurrent use: one request at a time. */
export class Connection {
  readonly #port: number;
  readonly #times: EventTimes;
  #socket: Socket | null = null;
  #settle: ((error: Error | null) => void) | null = null;
  #expected: Expected = { status: 200, events: null, stamped: false };
  #status = 0;
  #startedAt = 0;
  #firstByteAt = 0;
  #endedAt = 0;
  #events = 0;
  #lastEventUs = 0;
  #tail = '';

  constructor(port: number, times: EventTimes) {
    this.#port = port;
    this.#times = times;
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true });
      const reader = new MessageReader({
        onHead: (head) => (this.#status = Number(head.slice(9, 12))),
        onBody: (bytes) => this.#body(bytes),
        onEnd: () => this.#end(),
      });
      socket.once('connect', resolve);
      socket.on('data', (chunk) => {
        try {
          reader.push(chunk);
        } catch (error) {
          socket.destroy(error as Error);
        }
      });
      socket.on('error', (error) => {
        reject(error);
        this.#fail(error);
      });
      socket.on('close', () =>
        this.#fail(new Error('the connection was closed before the answer was complete')),
      );
      this.#socket = socket;
    });
  }

  close(): void {
    this.#settle = null;
    this.#socket?.destroy();
  }

  /** @throws Error when the answer is not what was expected */
  ask(request: Buffer, expected: Expected): Promise<Timing> {
    return new Promise((resolve, reject) => {
      this.#expected = expected;
      this.#firstByteAt = 0;
      this.#events = 0;
      this.#lastEventUs = 0;
      this.#tail = '';
      this.#settle = (error) => {
        this.#settle = null;
        if (error !== null) reject(error);
        else
          resolve({
            firstByteMs: this.#firstByteAt - this.#startedAt,
            wholeMs: this.#endedAt - this.#startedAt,
          });
      };
      this.#startedAt = now();
      this.#socket?.write(request);
    });
  }

  #body(bytes: Buffer): void {
    if (this.#firstByteAt === 0) this.#firstByteAt = now();
    if (this.#expected.events !== null) {
      // A blank line may fall between two reads.
      if (this.#tail.endsWith('\n') && bytes[0] === 0x0a) this.#events += 1;
      for (let at = bytes.indexOf(BLANK_LINE); at >= 0; at = bytes.indexOf(BLANK_LINE, at + 2))
        this.#events += 1;
      if (this.#expected.stamped) this.#stamps(bytes);
    }
    this.#tail = (this.#tail + bytes.toString('latin1', Math.max(0, bytes.length - TAIL_BYTES))).slice(
      -TAIL_BYTES,
    );
  }

  #stamps(bytes: Buffer): void {
    const at = monotonicUs();
    for (const [, sentUs] of bytes.toString('latin1').matchAll(STAMP)) {
      this.#times.delaysMs.push((at - Number(sentUs)) / 1000);
      if (this.#lastEventUs > 0) this.#times.gapsMs.push((at - this.#lastEventUs) / 1000);
      this.#lastEventUs = at;
    }
  }

  #end(): void {
    this.#endedAt = now();
    const { status, events, end = 'data: [DONE]\n\n' } = this.#expected;
    if (this.#status !== status)
      this.#fail(new Error(`status ${this.#status} in place of ${status}: ${this.#tail}`));
    else if (events !== null && this.#events !== events)
      this.#fail(new Error(`${this.#events} events in place of ${events}`));
    else if (events !== null && !this.#tail.endsWith(end))
      this.#fail(new Error(`a stream that ended without ${end.trim()}`));
    else this.#settle?.(null);
  }

  #fail(error: Error): void {
    this.#settle?.(error);
  }
}
