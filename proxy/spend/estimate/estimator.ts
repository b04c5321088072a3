// Counts the tokens of responses whose upstream did not. In a thread of its own, started when it is first needed and ended
// when it has been idle: nearly every answer states its usage. Always returns, and soon: what the thread cannot count in
// time is estimated from its bytes. It keeps no text; the queue is bounded.
import type { Protocol } from '../../protocols/protocol.ts';
import type { Delivered } from '../../protocols/text.ts';
import { workerFile, WorkerRpc } from '../../base/worker-rpc.ts';
import type { CountCalls, CountRequest, Estimate } from './worker.ts';

export type { Estimate } from './worker.ts';

/** What is to be counted. */
interface Uncounted {
  readonly protocol: Protocol;
  /** The body as it went upstream. */
  readonly request: Buffer;
  /** null: count the prompt only. */
  readonly answer: Delivered | null;
}

export interface EstimatorOptions {
  /** Longest wait for the thread, ms; its first start takes some 200. */
  readonly waitMs?: number;
  /** The thread ends after this long without a call, ms. */
  readonly idleMs?: number;
}

const WAIT_MS = 2_000;
const IDLE_MS = 60_000;
/** Of one request; a longer one is extrapolated. */
const MOST_REQUEST_BYTES = 1_048_576;
/** Of all that wait; more is counted by its bytes. */
const MOST_WAITING_BYTES = 16_777_216;
const BYTES_PER_TOKEN = 4;
/** An event of a stream wraps a token or two into some 200 bytes of JSON. */
const BYTES_PER_STREAMED_TOKEN = 200;

/** One per process. */
export class Estimator {
  readonly #waitMs: number;
  readonly #worker: WorkerRpc<CountCalls>;
  #waitingBytes = 0;

  constructor({ waitMs = WAIT_MS, idleMs = IDLE_MS }: EstimatorOptions = {}) {
    this.#waitMs = waitMs;
    this.#worker = new WorkerRpc({
      file: workerFile('./worker', import.meta.url),
      name: 'throughline-tokens',
      idleMs,
      toError: ({ message }) => new Error(message),
    });
  }

  /** Never rejects. */
  async estimate(uncounted: Uncounted): Promise<Estimate> {
    const { protocol, answer } = uncounted;
    const request = uncounted.request.subarray(0, MOST_REQUEST_BYTES);
    const bytes = request.length + (answer?.head.length ?? 0);
    if (this.#waitingBytes + bytes > MOST_WAITING_BYTES) return byBytes(uncounted);
    this.#waitingBytes += bytes;
    // A thread that is late may be stuck in a long text: the next call gets a new one.
    const late = setTimeout(() => void this.#worker.terminate(), this.#waitMs);
    try {
      return await this.#count({
        protocol: protocol.name,
        // Copied at once: a slice would take its whole pool along, and the body's memory is soon another request's.
        request: new Uint8Array(request),
        requestBytes: uncounted.request.length,
        answer: answer === null ? null : { ...answer, head: new Uint8Array(answer.head) },
      });
    } catch {
      return byBytes(uncounted);
    } finally {
      clearTimeout(late);
      this.#waitingBytes -= bytes;
    }
  }

  /** Ends the thread; what waits is counted by its bytes. */
  close(): Promise<void> {
    return this.#worker.terminate();
  }

  #count(request: CountRequest): Promise<Estimate> {
    const buffers = [request.request.buffer, request.answer?.head.buffer];
    const moved = buffers.filter((buffer) => buffer instanceof ArrayBuffer);
    return this.#worker.transfer('count', [request], moved);
  }
}

/** The rule of thumb: a token is four bytes of text. */
function byBytes({ request, answer }: Uncounted): Estimate {
  const per = answer?.form === 'events' ? BYTES_PER_STREAMED_TOKEN : BYTES_PER_TOKEN;
  return {
    prompt: Math.ceil(request.length / BYTES_PER_TOKEN),
    completion: Math.ceil((answer?.bytes ?? 0) / per),
    by: 'bytes',
  };
}
