// Counts the tokens of answers whose upstream did not. In a thread of its own, started when it is first needed and ended
// when it has been idle: nearly every answer states its usage. Always answers, and soon: what the thread cannot count in
// time is counted by its bytes. It keeps no text; what waits is bounded.
import { Worker } from 'node:worker_threads';
import type { Family } from '../../errors/body.ts';
import type { Delivered } from '../../wire/sample.ts';
import type { Answer, Question } from './worker.ts';

/** What is to be counted. */
export interface Uncounted {
  readonly family: Family;
  /** The body as it went upstream. */
  readonly request: Buffer;
  /** null: only the prompt is asked for. */
  readonly answer: Delivered | null;
}

export interface Estimate {
  readonly prompt: number;
  readonly completion: number;
  /** The tokenizer's name, or `bytes`. */
  readonly by: string;
}

export interface EstimatorOptions {
  /** Longest wait for the thread, ms; its first start takes some 200. */
  readonly waitMs?: number;
  /** The thread ends after this long without a question, ms. */
  readonly idleMs?: number;
}

interface Waiting {
  readonly bytes: number;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (answer: Answer | null) => void;
}

const WORKER = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
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
  readonly #idleMs: number;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #waitingBytes = 0;
  #next = 0;

  constructor({ waitMs = WAIT_MS, idleMs = IDLE_MS }: EstimatorOptions = {}) {
    this.#waitMs = waitMs;
    this.#idleMs = idleMs;
  }

  /** Never rejects. */
  async estimate(uncounted: Uncounted): Promise<Estimate> {
    const { family, answer } = uncounted;
    const request = uncounted.request.subarray(0, MOST_REQUEST_BYTES);
    const bytes = request.length + (answer?.head.length ?? 0);
    if (this.#waitingBytes + bytes > MOST_WAITING_BYTES) return byBytes(uncounted);
    const counted = await this.#ask(
      {
        id: this.#next++,
        family,
        // Copied at once: a slice would take its whole pool along, and the body's memory is soon another request's.
        request: new Uint8Array(request),
        requestBytes: uncounted.request.length,
        answer: answer === null ? null : { ...answer, head: new Uint8Array(answer.head) },
      },
      bytes,
    );
    if (counted === null) return byBytes(uncounted);
    return { prompt: counted.prompt, completion: counted.completion, by: counted.by };
  }

  /** Ends the thread; what waits is counted by its bytes. */
  async close(): Promise<void> {
    await this.#end();
  }

  #ask(question: Question, bytes: number): Promise<Answer | null> {
    return new Promise((resolve) => {
      if (this.#idle !== null) clearTimeout(this.#idle);
      this.#idle = null;
      // A thread that is late may be lost in a text: the next question gets a new one.
      const timer = setTimeout(() => void this.#end(), this.#waitMs);
      this.#waiting.set(question.id, { bytes, timer, resolve });
      this.#waitingBytes += bytes;
      this.#worker ??= this.#start();
      const { request, answer } = question;
      const moved = answer === null ? [request.buffer] : [request.buffer, answer.head.buffer];
      this.#worker.postMessage(question, moved as ArrayBuffer[]);
    });
  }

  #start(): Worker {
    const worker = new Worker(WORKER, { env: {}, execArgv: [], name: 'throughline-tokens' });
    worker.unref();
    worker.on('message', (answer: Answer) => this.#settle(answer.id, answer));
    const lost = (): void => {
      if (this.#worker === worker) void this.#end();
    };
    worker.on('error', lost);
    worker.on('exit', lost);
    return worker;
  }

  #settle(id: number, answer: Answer | null): void {
    const one = this.#waiting.get(id);
    if (one === undefined) return;
    this.#waiting.delete(id);
    this.#waitingBytes -= one.bytes;
    clearTimeout(one.timer);
    one.resolve(answer);
    if (this.#waiting.size === 0 && this.#worker !== null)
      this.#idle = setTimeout(() => void this.#end(), this.#idleMs).unref();
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    for (const id of this.#waiting.keys()) this.#settle(id, null);
    await worker?.terminate();
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
