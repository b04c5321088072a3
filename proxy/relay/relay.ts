// The one clever file: hands one request to an upstream and its answer to the client, byte for byte, with
// backpressure both ways. It observes the bytes on the side and never waits for what it reads there.
//
//   dispatch -> connecting -> waiting -> gathering (small answers: one write, cost header) -> outcome, finish()
//                                     -> holding   (streams until their first token, if asked for)
//                                     -> flowing   (streams and large answers)             -> outcome, finish()
//
// The promise resolves when the last byte is at hand but not yet handed over: the caller settles the spend record
// first and then calls `finish`. It rejects with a Fault while nothing has been sent, so that the caller can answer.
import { Buffer } from 'node:buffer';
import type { ResponseSink } from './response-sink.ts';
import type { UpstreamExchange } from '../upstream/exchange.ts';
import type { ReadOn } from '../../config/snapshot.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../errors/fault.ts';
import type { ResponseWatcher } from '../downstream/downstream-response.ts';
import type { Deadlines, Watched } from './deadlines.ts';
import type { DetachedStreams, DetachedStream } from './detached-streams.ts';
import type { Outcome } from './outcome.ts';
import type { UpstreamRequest } from './upstream-request.ts';
import type { ResponseReader } from '../upstream/exchange.ts';
import type { Phase } from './timeouts.ts';
import type { ResponseHead } from '../headers/response-headers.ts';
import type { Tap } from './tap.ts';
import type { ReadOnEnd } from './outcome.ts';
import type { ReceivedHead } from '../upstream/response-head.ts';
import { readResponseHead, setHeader } from '../headers/response-headers.ts';
import { tapFor, type Reading, NOTHING_READ } from './tap.ts';
import { holdsToken } from '../protocols/first-token.ts';
import { failureOf } from '../upstream/failures.ts';
import { overdue } from './timeouts.ts';
import type { RelayEnd } from './outcome.ts';
import { finishResponse, endWithEvent } from './finish-response.ts';

/** What the relay needs of its surroundings. */
export interface RelayServices {
  readonly deadlines: Deadlines;
  readonly detachedStreams: DetachedStreams;
  readonly clock: Clock;
}

/** Makes the proxy's own response headers, flat; asked once, when the head is written. */
export interface HeadWriter {
  ownHeaders(upstreamStatus: number, upstreamMs: number): string[];
  /** Told before anything is sent: the first token of a stream is there, or the head of another answer below 400. */
  readonly begins?: () => void;
}

/** An exchange under way. */
export interface Running {
  /** @throws Fault while nothing has been sent to the client. */
  readonly ended: Promise<Outcome>;
  /** Nobody wants the answer any more: ends at once, also an answer that was to be read on. */
  cancel(): void;
  /** What came is no answer, whatever its framing says. */
  breakOff(fault: Fault): void;
}

/** Answers up to this size are gathered: head and body leave in one write, and the cost header can be exact. */
const GATHER_BYTES = 262_144;

/** Sends `call` and relays the answer to `reply`. */
export function relay(
  call: UpstreamRequest,
  reply: ResponseSink,
  around: RelayServices,
  own: HeadWriter,
): Running {
  const running = new Relay(call, reply, around, own);
  running.start();
  return running;
}

class Relay implements ResponseReader, ResponseWatcher, Watched, DetachedStream, Running {
  readonly ended: Promise<Outcome>;
  readonly #call: UpstreamRequest;
  readonly #reply: ResponseSink;
  readonly #deadlines: Deadlines;
  readonly #departures: DetachedStreams;
  readonly #mono: () => number;
  readonly #own: HeadWriter;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #startedAt: number;

  index = -1; // on the roster of deadlines
  #phase: Phase = 'connecting';
  /** While the exchange with the upstream runs; afterwards its connection may be another one's. */
  #sending: UpstreamExchange | null = null;
  #head: ResponseHead | null = null;
  #status = 0;
  #statusText = '';
  #tap: Tap | null = null;
  #gathered: Buffer[] = [];
  #held: Buffer | null = null; // the last chunk so far of an answer whose length is announced
  #bytes = 0;
  #sentAt = 0;
  #headAt = 0;
  #firstByteAt: number | null = null;
  #lastByteAt = 0;
  #paused = false;
  /** When the client left, if the answer is read on. */
  #leftAt: number | null = null;
  #readOn: ReadOnEnd | null = null;

  constructor(call: UpstreamRequest, reply: ResponseSink, around: RelayServices, own: HeadWriter) {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.ended = promise;
    this.#call = call;
    this.#reply = reply;
    this.#deadlines = around.deadlines;
    this.#departures = around.detachedStreams;
    this.#mono = around.clock.mono;
    this.#own = own;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#startedAt = this.#mono();
  }

  start(): void {
    const { pool } = this.#call;
    this.#reply.watcher = this;
    this.#deadlines.add(this);
    if (this.#reply.destroyed && !this.#readsOn()) {
      this.#break('client_gone', null);
      return;
    }
    if (this.#reply.interrupted !== null) {
      this.onInterrupt(this.#reply.interrupted);
      return;
    }
    try {
      const sending = pool.send(this.#call, this);
      if (this.#phase !== 'ended') this.#sending = sending;
    } catch (error) {
      this.#leave();
      this.#reject(error); // a header that cannot be sent: a bug, since all of them were checked where they came in
    }
  }

  onSent(): void {
    this.#phase = 'waiting';
    this.#sentAt = this.#mono();
  }

  onHead({ status, text, list }: ReceivedHead): void {
    const { protocol, observation, answerNames, ownNames } = this.#call;
    const head = readResponseHead(list, answerNames, ownNames);
    this.#head = head;
    this.#status = status;
    this.#statusText = text;
    this.#headAt = this.#lastByteAt = this.#mono();
    const { streams } = (this.#tap = tapFor(head, protocol, observation));
    const isLarge = head.contentType.startsWith('audio/') || Number(head.contentLength) > GATHER_BYTES;
    if (this.#call.holdsHead && streams) this.#phase = status < 400 ? 'holding' : 'gathering';
    else if (streams || isLarge) {
      this.#flow();
      // The first event mostly arrives in the same read as the head; only a lone head is flushed by itself.
      setImmediate(() => {
        if (this.#firstByteAt === null && this.#phase === 'flowing') this.#reply.flushHeaders();
      });
    } else {
      this.#phase = 'gathering';
      if (status < 400) this.#own.begins?.();
    }
  }

  onData(bytes: Buffer): void {
    const tap = this.#tap as Tap;
    const now = this.#mono();
    this.#lastByteAt = now;
    this.#firstByteAt ??= now;
    this.#bytes += bytes.length;
    const isFlowing = this.#phase === 'flowing';
    const chunk = !isFlowing || tap.keeps ? Buffer.from(bytes) : bytes; // else valid during this call only
    const pass = tap.push(chunk);
    const piece = this.#phase === 'gathering' ? chunk : pass;
    if (isFlowing) {
      if (piece !== null) this.#write(piece);
      return;
    }
    if (piece !== null) this.#gathered.push(piece);
    if (this.#phase === 'holding') {
      if (tap.failed) {
        this.#break('upstream_error', null); // nothing of worth follows an error event
        return;
      }
      // What is compressed cannot be told from a token.
      if (piece !== null && (tap.opaque || holdsToken(piece, this.#call.protocol.events))) this.#release();
    }
    if (this.#bytes > GATHER_BYTES) this.#release();
  }

  /** What was kept so far goes out, and all that follows as it comes. */
  #release(): void {
    const sofar = this.#gathered;
    this.#gathered = [];
    if (this.#phase !== 'flowing') this.#flow();
    for (const piece of sofar) this.#write(piece);
  }

  onEnd(written: boolean): void {
    this.#sending = null;
    if (written) this.#call.bodySent();
    const tap = this.#tap as Tap;
    const rest = tap.end();
    // A held half event of an incomplete stream stays here: the error event must not follow half a line.
    if (rest !== null && this.#phase === 'flowing' && tap.terminal) this.#write(rest);
    if (rest !== null && this.#phase === 'holding') this.#gathered.push(rest);
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
      const fault = new Fault('stream_truncated', text);
      if (this.#phase === 'holding' && this.#leftAt === null) this.#refuse(fault);
      else this.#end('truncated', fault);
    } else this.#end('truncated', null); // handed on as it came: the client's parser will refuse it
  }

  onError(error: Error): void {
    this.#sending = null;
    if (this.#phase === 'ended') return;
    if (this.#tap?.finished === true) {
      this.#end(this.#tap.failed ? 'upstream_error' : 'complete', null); // cut after the last event: nothing is missing
      return;
    }
    if (this.#phase === 'flowing') {
      const text = `The upstream ${this.#call.apiBase} broke off its answer; it is not complete.`;
      this.#fail(new Fault('stream_broken', text, { cause: error }), 'truncated');
    } else this.#fail(failureOf(error, this.#call.apiBase, this.#phase !== 'connecting'), 'upstream_error');
  }

  check(now: number): void {
    const silentSince = this.#head === null || this.#paused ? Infinity : this.#lastByteAt;
    if (this.#leftAt !== null && now - this.#leftAt > (this.#call.readOn as ReadOn).ms) {
      this.giveUp();
      return;
    }
    const fault = overdue(this.#call, this.#phase, now, this.#startedAt, this.#sentAt, silentSince);
    if (fault !== null) this.#fail(fault, 'timeout');
  }

  #flow(): void {
    this.#phase = 'flowing';
    this.#own.begins?.();
    if (this.#leftAt === null) this.#writeHead([]);
  }

  #writeHead(extra: readonly string[]): void {
    const head = this.#head as ResponseHead;
    const list = head.pass;
    const streams = (this.#tap as Tap).streams;
    if (streams) setHeader(list, 'cache-control', 'no-cache');
    if (streams) setHeader(list, 'x-accel-buffering', 'no');
    else if (head.contentLength !== null && this.#phase === 'flowing')
      list.push('content-length', head.contentLength);
    list.push(...this.#own.ownHeaders(this.#status, this.#upstreamMs(this.#phase === 'flowing')), ...extra);
    this.#reply.writeHead(this.#status, list, this.#statusText);
  }

  #upstreamMs(flowing: boolean): number {
    return Math.max(0, (flowing ? this.#headAt : this.#lastByteAt) - this.#startedAt);
  }

  #write(chunk: Buffer): void {
    if (this.#leftAt !== null) return;
    let out: Buffer | null = chunk;
    if ((this.#head as ResponseHead).contentLength !== null && !(this.#tap as Tap).streams) {
      out = this.#held;
      this.#held = Buffer.from(chunk);
    }
    if (out !== null && !this.#reply.write(out) && this.#sending !== null && !this.#paused) {
      this.#paused = true;
      this.#sending.pause();
    }
  }

  onDrain(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#lastByteAt = this.#mono(); // the silence was the client's
    this.#sending?.resume();
  }

  onClose(): void {
    if (this.#phase === 'ended' || this.#readsOn()) return;
    this.#break('client_gone', null);
  }

  /** What was asked for is paid for, read or not: go on for the usage, if the entry says so. */
  #readsOn(): boolean {
    const { readOn } = this.#call;
    // Before the request is out nothing is owed; but an answer that is kept will be asked for again.
    if (readOn === null || (this.#phase === 'connecting' && !this.#reply.keeps)) return false;
    if (!this.#departures.enter(this, readOn.most)) return false;
    this.#leftAt = this.#mono();
    this.onDrain(); // no client is waited for
    return true;
  }

  giveUp(): void {
    this.#readOn = 'given_up';
    this.#break('client_gone', null);
  }

  cancel(): void {
    if (this.#phase !== 'ended') this.#break('client_gone', null);
  }

  breakOff(fault: Fault): void {
    if (this.#phase !== 'ended') this.#fail(fault, 'truncated');
  }

  onInterrupt(fault: Fault): void {
    if (this.#phase === 'ended') return;
    if (this.#tap?.finished === true) this.#break(this.#tap.failed ? 'upstream_error' : 'complete', null);
    else this.#fail(fault, 'stopped');
  }

  /** Ends an exchange of which the upstream may have more to say. */
  #break(end: RelayEnd, fault: Fault | null): void {
    const sending = this.#sending;
    this.#end(end, fault);
    sending?.destroy();
  }

  /** Ends with a fault: thrown while nothing has been sent, else part of the outcome. */
  #fail(fault: Fault, end: 'truncated' | 'timeout' | 'upstream_error' | 'stopped'): void {
    const sending = this.#sending;
    if (this.#phase === 'flowing' || this.#leftAt !== null)
      this.#end(end === 'upstream_error' ? 'truncated' : end, fault);
    else this.#refuse(fault);
    sending?.destroy();
  }

  #refuse(fault: Fault): void {
    this.#leave();
    this.#reject(fault);
  }

  #leave(): void {
    this.#phase = 'ended';
    this.#deadlines.delete(this);
    if (this.#leftAt !== null) this.#departures.leave(this);
    this.#sending = null;
    this.#reply.watcher = null;
  }

  #end(end: RelayEnd, fault: Fault | null): void {
    const flowing = this.#phase === 'flowing';
    this.#leave();
    const tap = this.#tap;
    if (this.#leftAt !== null) {
      this.#readOn ??= end === 'complete' ? 'whole' : 'broken';
      [end, fault] = ['client_gone', null]; // that is what the client saw
    }
    const outcome = (reading: Reading): Outcome => ({
      end,
      status: this.#head === null ? null : this.#status,
      fault,
      firstByteAt: this.#firstByteAt,
      upstreamMs: this.#upstreamMs(flowing),
      responseBytes: this.#bytes,
      readOn: this.#readOn,
      reading,
      upstreamCallId: this.#head?.callId ?? null,
      upstreamCost: this.#head?.cost ?? null,
      retryAfter: this.#head?.retryAfter ?? null,
      unsent: flowing ? null : this.#gathered,
      finish: (extra) => this.#finish(end, flowing, fault, extra),
    });
    const decoded = tap === null ? null : tap.decoded();
    if (decoded === null) this.#resolve(outcome(tap === null ? NOTHING_READ : tap.reading()));
    else void decoded.then(() => this.#resolve(outcome((tap as Tap).reading())));
  }

  #finish(end: RelayEnd, flowing: boolean, fault: Fault | null, extra: readonly string[]): void {
    const reply = this.#reply;
    const streams = this.#tap?.streams === true;
    const isKept = reply.keeps && !flowing && (end !== 'client_gone' || this.#readOn === 'whole');
    if ((end === 'client_gone' || reply.destroyed) && !isKept) return;
    if (!flowing) {
      const pieces = this.#gathered;
      finishResponse(reply, this.#status, streams, pieces, (more) => this.#writeHead([...more, ...extra]));
    } else if (fault === null) reply.end(this.#held);
    else if (streams && this.#tap?.opaque === false)
      endWithEvent(reply, this.#call.protocol.errors.event(fault));
    else reply.destroy();
  }
}
