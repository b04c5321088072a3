// The one clever file: hands one request to an upstream and its answer to the client, byte for byte, with
// backpressure both ways. It observes the bytes on the side and never waits for what it reads there.
//
//   dispatch -> connecting -> waiting -> gathering (small answers: one write, cost header) -> outcome, finish()
//                                     -> flowing   (streams and large answers)             -> outcome, finish()
//
// The promise resolves when the last byte is at hand but not yet handed over: the caller settles the spend record
// first and then calls `finish`. It rejects with a Fault while nothing has been sent, so that the caller can answer.
import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clocks } from '../../config/snapshot.ts';
import type { Clock } from '../base/clock.ts';
import { errorEvent, type Family } from '../errors/body.ts';
import { Fault } from '../errors/fault.ts';
import { readResponseHead, type AnswerNames, type ResponseHead } from '../wire/response-headers.ts';
import type { Deadlines, Watched } from './deadlines.ts';
import { failureOf } from './failures.ts';
import { Outlet } from './outlet.ts';
import { NOTHING_READ, tapFor, type Observation, type Reading, type Tap } from './tap.ts';

/** One upstream request, ready to send. */
export interface Call {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  /** Shown in texts; holds no credential. */
  readonly apiBase: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** Flat name, value list. */
  readonly headers: string[];
  readonly body: Buffer | null;
  readonly clocks: Clocks;
  /** The first-byte clock of this call, ms (streamed calls have their own). */
  readonly firstByteMs: number;
  readonly family: Family;
  /** What is wanted of the answer beside its bytes. */
  readonly observation: Observation;
  /** Where the gateway states its cost and call id. */
  readonly answerNames: AnswerNames;
  /** Lower-case names of the response headers that the proxy sets itself. */
  readonly ownNames: ReadonlySet<string>;
}

/** What the relay needs of its surroundings. */
export interface Surroundings {
  readonly deadlines: Deadlines;
  readonly clock: Clock;
}

/** Makes the proxy's own response headers, flat; asked once, when the head is written. */
export interface HeadWriter {
  ownHeaders(upstreamStatus: number, upstreamMs: number): string[];
}

export type RelayEnd = 'complete' | 'upstream_error' | 'truncated' | 'timeout' | 'client_gone';

/** How an exchange ended. Times are monotonic milliseconds. */
export interface Outcome {
  readonly end: RelayEnd;
  /** The upstream's status; null when the client left before there was one. */
  readonly status: number | null;
  /** Set when the answer broke after its head was sent. */
  readonly fault: Fault | null;
  readonly firstByteAt: number | null;
  /** From the start of the relay to the upstream's head (streams and large answers) or last byte, ms. */
  readonly upstreamMs: number;
  /** Bytes of the answer's body as the upstream sent them. */
  readonly responseBytes: number;
  readonly reading: Reading;
  readonly upstreamCallId: string | null;
  /** The gateway's cost header as sent. */
  readonly upstreamCost: string | null;
  /** Hands over the last byte, or breaks the connection when the answer is broken. `extra`: more headers, if the
   * head is still to be written. Call it once. */
  readonly finish: (extra: readonly string[]) => void;
}

/** Answers up to this size are gathered: head and body leave in one write, and the cost header can be exact. */
const GATHER_BYTES = 262_144;
/** A client that does not read its error event is cut all the same. */
const LAST_WORDS_MS = 5_000;

/** Sends `call` and relays the answer to `res`. @throws Fault while nothing has been sent to the client. */
export function relay(
  call: Call,
  res: ServerResponse,
  around: Surroundings,
  own: HeadWriter,
): Promise<Outcome> {
  return new Promise((resolve, reject) => new Relay(call, res, around, own, resolve, reject).start());
}

class Relay implements Dispatcher.DispatchHandler, Watched {
  readonly #call: Call;
  readonly #res: ServerResponse;
  readonly #deadlines: Deadlines;
  readonly #mono: () => number;
  readonly #own: HeadWriter;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (fault: Fault) => void;
  readonly #startedAt: number;
  readonly #onClose = (): void => this.#clientGone();
  readonly #onDrain = (): void => this.#resume();

  seat = -1; // on the roster of deadlines
  #phase: 'connecting' | 'waiting' | 'gathering' | 'flowing' | 'ended' = 'connecting';
  #controller: Dispatcher.DispatchController | null = null;
  #head: ResponseHead | null = null;
  #status = 0;
  #statusText = '';
  #tap: Tap | null = null;
  #outlet: Outlet | null = null;
  #gathered: Buffer[] = [];
  #held: Buffer | null = null; // the last chunk so far of an answer whose length is announced
  #bytes = 0;
  #sentAt = 0;
  #headAt = 0;
  #firstByteAt: number | null = null;
  #lastByteAt = 0;
  #paused = false;

  constructor(
    call: Call,
    res: ServerResponse,
    around: Surroundings,
    own: HeadWriter,
    resolve: (outcome: Outcome) => void,
    reject: (fault: Fault) => void,
  ) {
    this.#call = call;
    this.#res = res;
    this.#deadlines = around.deadlines;
    this.#mono = around.clock.mono;
    this.#own = own;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#startedAt = this.#mono();
  }

  start(): void {
    const { dispatcher, origin, method, path, headers, body } = this.#call;
    this.#res.on('close', this.#onClose);
    this.#deadlines.add(this);
    if (this.#res.closed) {
      this.#clientGone();
      return;
    }
    try {
      dispatcher.dispatch({ origin, method, path, headers, body }, this);
    } catch (error) {
      this.#fail(failureOf(error, this.#call.apiBase), 'upstream_error');
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#phase === 'ended') {
      controller.abort(new Error('ended before it was sent'));
      return;
    }
    this.#controller = controller;
    this.#phase = 'waiting';
    this.#sentAt = this.#mono();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _: unknown,
    text?: string,
  ): void {
    if (status < 200 || this.#phase === 'ended') return; // 1xx are between the hops
    const { family, observation, answerNames, ownNames } = this.#call;
    const head = readResponseHead(controller.rawHeaders as Buffer[], answerNames, ownNames);
    this.#head = head;
    this.#status = status;
    this.#statusText = text ?? '';
    this.#headAt = this.#lastByteAt = this.#mono();
    this.#tap = tapFor(head, family, observation);
    if (this.#tap.streams || head.contentType.startsWith('audio/') || tooLong(head.contentLength)) {
      this.#flow();
      // The first event mostly arrives in the same read as the head; only a lone head is flushed by itself.
      setImmediate(() => {
        if (this.#firstByteAt === null && this.#phase === 'flowing') this.#res.flushHeaders();
      });
    } else this.#phase = 'gathering';
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'ended') return;
    const now = this.#mono();
    this.#lastByteAt = now;
    this.#firstByteAt ??= now;
    this.#bytes += chunk.length;
    const pass = (this.#tap as Tap).push(chunk);
    if (this.#phase === 'gathering') {
      this.#gathered.push(chunk);
      if (this.#bytes > GATHER_BYTES) {
        const sofar = this.#gathered;
        this.#gathered = [];
        this.#flow();
        for (const piece of sofar) this.#write(piece, controller);
      }
      return;
    }
    if (pass !== null) this.#write(pass, controller);
  }

  onResponseEnd(): void {
    if (this.#phase === 'ended') return;
    const tap = this.#tap as Tap;
    const rest = tap.end();
    // A held half event of an incomplete stream stays here: the error event must not follow half a line.
    if (rest !== null && this.#phase === 'flowing' && tap.terminal) this.#write(rest, null);
    const decoded = tap.decoded();
    if (decoded === null) this.#judge(tap);
    else void decoded.then(() => this.#judge(tap));
  }

  /** The upstream ended cleanly: was the answer whole? */
  #judge(tap: Tap): void {
    if (this.#phase === 'ended') return;
    if (this.#status >= 400 || tap.terminal) {
      this.#end(this.#status >= 400 || tap.failed ? 'upstream_error' : 'complete', null);
    } else if (tap.streams) {
      const text = 'The stream of the upstream ended without its terminal event; the answer is not complete.';
      this.#end('truncated', new Fault('stream_truncated', text));
    } else this.#end('truncated', null); // handed on as it came: the client's parser will refuse it
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#phase === 'ended') return;
    if (this.#tap?.finished === true) {
      this.#end(this.#tap.failed ? 'upstream_error' : 'complete', null); // cut after the last event: nothing is missing
      return;
    }
    if (this.#phase === 'flowing') {
      const text = `The upstream ${this.#call.apiBase} broke off its answer; it is not complete.`;
      this.#fail(new Fault('stream_broken', text, { cause: error }), 'truncated');
    } else this.#fail(failureOf(error, this.#call.apiBase), 'upstream_error');
  }

  /** The four clocks. */
  check(now: number): void {
    const { clocks, firstByteMs, apiBase } = this.#call;
    const over = (limitMs: number, since: number): boolean => limitMs > 0 && now - since > limitMs;
    if (over(clocks.totalMs, this.#startedAt)) {
      this.#time('total_timeout', `The answer of ${apiBase} was not complete within ${clocks.totalMs} ms.`);
    } else if (this.#phase === 'connecting' && over(clocks.connectMs, this.#startedAt)) {
      this.#time(
        'connect_timeout',
        `No connection to the upstream ${apiBase} within ${clocks.connectMs} ms.`,
      );
    } else if (this.#phase === 'waiting' && over(firstByteMs, this.#sentAt)) {
      this.#time('first_byte_timeout', `The upstream ${apiBase} sent no answer within ${firstByteMs} ms.`);
    } else if (this.#head !== null && !this.#paused && over(clocks.idleMs, this.#lastByteAt)) {
      this.#time(
        'idle_timeout',
        `The upstream ${apiBase} fell silent for ${clocks.idleMs} ms within its answer.`,
      );
    }
  }

  #time(
    code: 'connect_timeout' | 'first_byte_timeout' | 'idle_timeout' | 'total_timeout',
    text: string,
  ): void {
    this.#fail(new Fault(code, text), 'timeout');
  }

  #flow(): void {
    this.#phase = 'flowing';
    this.#res.on('drain', this.#onDrain);
    this.#outlet = this.#writeHead([]);
  }

  #writeHead(extra: readonly string[]): Outlet {
    const head = this.#head as ResponseHead;
    const list = head.pass;
    const streams = (this.#tap as Tap).streams;
    if (streams) setHeader(list, 'cache-control', 'no-cache');
    if (streams) setHeader(list, 'x-accel-buffering', 'no');
    else if (head.contentLength !== null && this.#phase === 'flowing')
      list.push('content-length', head.contentLength);
    list.push(...this.#own.ownHeaders(this.#status, this.#upstreamMs(this.#phase === 'flowing')), ...extra);
    if (this.#statusText === '') this.#res.writeHead(this.#status, list);
    else this.#res.writeHead(this.#status, this.#statusText, list);
    return new Outlet(this.#res);
  }

  #upstreamMs(flowing: boolean): number {
    return Math.max(0, (flowing ? this.#headAt : this.#lastByteAt) - this.#startedAt);
  }

  #write(chunk: Buffer, controller: Dispatcher.DispatchController | null): void {
    let out: Buffer | null = chunk;
    if ((this.#head as ResponseHead).contentLength !== null && !(this.#tap as Tap).streams) {
      out = this.#held;
      this.#held = chunk;
    }
    if (out !== null && !(this.#outlet as Outlet).write(out) && controller !== null && !this.#paused) {
      this.#paused = true;
      controller.pause();
    }
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#lastByteAt = this.#mono(); // the silence was the client's
    this.#controller?.resume();
  }

  #clientGone(): void {
    if (this.#phase === 'ended') return;
    this.#end('client_gone', null);
    this.#controller?.abort(new Error('the client left'));
  }

  /** Ends with a fault: thrown while nothing has been sent, else part of the outcome. */
  #fail(fault: Fault, end: 'truncated' | 'timeout' | 'upstream_error'): void {
    if (this.#phase === 'flowing') this.#end(end === 'upstream_error' ? 'truncated' : end, fault);
    else {
      this.#leave();
      this.#reject(fault);
    }
    this.#controller?.abort(fault);
  }

  #leave(): void {
    this.#phase = 'ended';
    this.#deadlines.delete(this);
    this.#res.off('close', this.#onClose);
    this.#res.off('drain', this.#onDrain);
  }

  #end(end: RelayEnd, fault: Fault | null): void {
    const flowing = this.#phase === 'flowing';
    this.#leave();
    const tap = this.#tap;
    const outcome = (reading: Reading): Outcome => ({
      end,
      status: this.#head === null ? null : this.#status,
      fault,
      firstByteAt: this.#firstByteAt,
      upstreamMs: this.#upstreamMs(flowing),
      responseBytes: this.#bytes,
      reading,
      upstreamCallId: this.#head?.callId ?? null,
      upstreamCost: this.#head?.cost ?? null,
      finish: (extra) => this.#finish(end, flowing, fault, extra),
    });
    const decoded = tap === null ? null : tap.decoded();
    if (decoded === null) this.#resolve(outcome(tap === null ? NOTHING_READ : tap.reading()));
    else void decoded.then(() => this.#resolve(outcome((tap as Tap).reading())));
  }

  #finish(end: RelayEnd, flowing: boolean, fault: Fault | null, extra: readonly string[]): void {
    const res = this.#res;
    if (end === 'client_gone' || res.destroyed) return;
    if (!flowing) {
      const body =
        this.#gathered.length === 1 ? (this.#gathered[0] as Buffer) : Buffer.concat(this.#gathered);
      const bodiless = this.#status === 204 || this.#status === 304;
      this.#writeHead(bodiless ? extra : ['content-length', String(body.length), ...extra]).end(body);
    } else if (fault === null) (this.#outlet as Outlet).end(this.#held);
    else if ((this.#tap as Tap).streams && !(this.#tap as Tap).opaque) {
      const cut = setTimeout(() => res.destroy(), LAST_WORDS_MS).unref();
      (this.#outlet as Outlet).write(errorEvent(fault, this.#call.family), () => {
        clearTimeout(cut);
        res.destroy();
      });
    } else res.destroy();
  }
}

function tooLong(contentLength: string | null): boolean {
  return contentLength !== null && Number(contentLength) > GATHER_BYTES;
}

function setHeader(list: string[], name: string, value: string): void {
  for (let i = 0; i < list.length; i += 2) {
    if (list[i] === name) {
      list[i + 1] = value;
      return;
    }
  }
  list.push(name, value);
}
