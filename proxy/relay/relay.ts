// Hands one request to an upstream and its response to the client, byte for byte, with backpressure both ways. It reads
// the usage beside the bytes and never makes them wait for it. Its stages are drawn in relay-state.ts.
// `ended` resolves when the last byte is at hand but has not left: the caller settles the spend record, then calls `finish`.
// It rejects with a Fault while nothing has been sent (the caller can try another upstream), and for a bug at any time.
import { Buffer } from 'node:buffer';
import type { ResponseWatcher } from '../downstream/downstream-response.ts';
import { toFault, type Fault } from '../errors/fault.ts';
import { withOwnHeaders } from '../headers/response-headers.ts';
import { holdsToken } from '../protocols/first-token.ts';
import type { UpstreamExchange, ResponseReader } from '../upstream/exchange.ts';
import { brokenOff, failureOf } from '../upstream/failures.ts';
import type { ReceivedHead } from '../upstream/response-head.ts';
import { afterClientLeft } from './client-left.ts';
import { concealInBytes } from './conceal-key.ts';
import type { Watched } from './deadlines.ts';
import type { DetachedStream } from './detached-streams.ts';
import { editUnsent, finishResponse, tellStopped } from './finish-response.ts';
import { endingOf, outcomeOf, verdictOn, type Ending, type Outcome, type RelayEnd } from './outcome.ts';
import { connectingAt, ENDED, HELD_BYTES, receivingOf, stageOf } from './relay-state.ts';
import type { Flowing, Gathering, Holding, Receiving, Stage, State, Unsent } from './relay-state.ts';
import type { HeadWriter, RelayHandle, RelayServices } from './relay-handle.ts';
import { leaveExchange, type Remainder } from './remainder.ts';
import { ResponseProgress } from './response-progress.ts';
import type { ResponseSink } from './response-sink.ts';
import { StreamEnding } from './stream-end.ts';
import { beginsDocument } from './tap.ts';
import { overdue } from './timeouts.ts';
import type { UpstreamRequest } from './upstream-request.ts';

/** Sends `request` and relays the response to `sink`. */
export function relay(
  request: UpstreamRequest,
  sink: ResponseSink,
  services: RelayServices,
  headWriter: HeadWriter,
): RelayHandle {
  const handle = new Relay(request, sink, services, headWriter);
  handle.start();
  return handle;
}

class Relay implements ResponseReader, ResponseWatcher, Watched, DetachedStream, RelayHandle {
  index = -1; // among the deadlines
  readonly #request: UpstreamRequest;
  readonly #sink: ResponseSink;
  readonly #services: RelayServices;
  readonly #headWriter: HeadWriter;
  readonly #outcome = Promise.withResolvers<Outcome>();
  readonly ended = this.#outcome.promise;
  readonly #startedAt: number;
  #exchange: UpstreamExchange | null = null;
  /** What follows the end of the answer. */
  #remainder: Remainder | null = null;
  #state: State;

  constructor(request: UpstreamRequest, sink: ResponseSink, services: RelayServices, headWriter: HeadWriter) {
    this.#request = request;
    this.#sink = sink;
    this.#services = services;
    this.#headWriter = headWriter;
    this.#startedAt = services.clock.mono();
    this.#state = connectingAt(this.#startedAt);
  }

  start(): void {
    this.#sink.watcher = this;
    this.#services.deadlines.add(this);
    if (this.#sink.destroyed) this.onClose();
    if (this.#sink.interrupted !== null) this.onInterrupt(this.#sink.interrupted);
    if (this.#state.is !== 'ended') this.#send();
  }

  #send(): void {
    try {
      this.#exchange = this.#request.pool.send(this.#request, this);
      if (this.#state.is === 'ended') this.#exchange.destroy(); // it ended within `send`
    } catch (error) {
      this.#reject(error); // a header that cannot be sent: a bug, since all of them were checked where they came in
    }
  }

  // The upstream

  onSent(): void {
    this.#move({ is: 'waiting', sentAt: this.#services.clock.mono() });
  }

  onResend(): void {
    if (stageOf(this.#state)?.is === 'waiting') this.#move(connectingAt(this.#services.clock.mono()));
  }

  onHead(received: ReceivedHead): void {
    const stage = stageOf(this.#state);
    if (stage?.is !== 'waiting') return;
    const now = this.#services.clock.mono();
    const response = new ResponseProgress(received, this.#request, this.#startedAt, now);
    if (response.tap.streams && response.status < 400) this.#hold(response, stage.sentAt);
    else if (response.isLarge(this.#request.gatherBytes)) this.#openWhenIdle(this.#flow(response));
    else this.#gather(response, stage.sentAt);
  }

  #gather(response: ResponseProgress, sentAt: number): Gathering {
    const gathering: Gathering = { is: 'gathering', sentAt, response, pieces: [] };
    this.#move(gathering);
    if (response.status < 400) this.#headWriter.onValid?.();
    return gathering;
  }

  /** A stream waits for its first bytes, which say whether it is one, and where that is asked for for its first token. */
  #hold(response: ResponseProgress, sentAt: number): Holding {
    const { wantsStream, holdsHead } = this.#request;
    const holding: Holding = { is: 'holding', sentAt, response, pieces: [] };
    this.#move(holding);
    if (wantsStream && !holdsHead) this.#openWhenIdle(holding); // nobody else waits for the head
    return holding;
  }

  /** The first event mostly arrives in the same read as the head; only a lone head is sent by itself. */
  #openWhenIdle(stage: Holding | Flowing): void {
    setImmediate(() => {
      if (stage.response.firstByteAt !== null || stageOf(this.#state) !== stage) return;
      if (stage.is === 'holding') this.#release(stage);
      if (this.#state.is === 'flowing') this.#sink.flushHeaders();
    });
  }

  onData(bytes: Buffer): void {
    const stage = receivingOf(this.#state);
    if (stage === null) return;
    stage.response.count(bytes.length, this.#services.clock.mono());
    this.#take(stage, bytes);
  }

  #take(stage: Receiving, bytes: Buffer): void {
    const { tap, status, bytes: received } = stage.response;
    switch (stage.is) {
      case 'flowing': {
        const piece = tap.push(tap.keeps ? Buffer.from(bytes) : bytes);
        if (piece !== null) this.#write(stage, piece);
        if (this.#state.is === 'detached' && this.#state.isDelivered && tap.finished) this.#judge();
        else if (tap.finished && !tap.terminal) this.#judge(); // `[DONE]` behind half an answer
        break;
      }
      case 'gathering': {
        const copy = Buffer.from(bytes);
        tap.push(copy);
        stage.pieces.push(copy);
        if (tap.areEvents && this.#request.wantsStream && status < 400) this.#takeAsStream(stage);
        else if (received > this.#request.gatherBytes) this.#release(stage);
        break;
      }
      case 'holding': {
        if (received === bytes.length && !tap.opaque && beginsDocument(bytes))
          return this.#takeAsDocument(stage, bytes);
        if (!this.#request.holdsHead) return this.#take(this.#release(stage), bytes);
        const piece = tap.push(Buffer.from(bytes));
        if (piece !== null) stage.pieces.push(piece);
        // What is compressed cannot be told from a token.
        const hasToken = piece !== null && (tap.opaque || holdsToken(piece, this.#request.protocol.events));
        if (tap.failed)
          this.#end('upstream_error'); // nothing of worth follows an error event
        else if (hasToken || received > HELD_BYTES) this.#release(stage);
        else if (tap.finished) this.#judge();
      }
    }
  }

  /** Some gateways call a stream JSON or text, which shows with its first bytes. */
  #takeAsStream({ response, pieces, sentAt }: Gathering): void {
    response.takeAsStream(this.#request);
    this.#take(this.#hold(response, sentAt), Buffer.concat(pieces));
  }

  /** And some call a document a stream. */
  #takeAsDocument({ response, sentAt }: Holding, bytes: Buffer): void {
    response.takeAsDocument(this.#request);
    this.#take(this.#gather(response, sentAt), bytes);
  }

  onEnd(written: boolean): void {
    if (written) this.#request.bodySent();
    this.#upstreamEnded();
    const stage = receivingOf(this.#state);
    if (stage === null) return;
    const { tap } = stage.response;
    const rest = tap.end();
    // Half an event of an incomplete stream stays here: the error event must not follow half a line.
    if (rest !== null && stage.is === 'flowing' && tap.terminal) this.#write(stage, rest);
    if (rest !== null && stage.is === 'holding') stage.pieces.push(rest);
    const decoded = tap.decoded();
    if (decoded === null) this.#judge();
    else void decoded.then(() => this.#judge()).catch((error: unknown) => this.crash(error));
  }

  /** The upstream ended cleanly, or the last event has come. */
  #judge(): void {
    const stage = receivingOf(this.#state);
    if (stage === null) return;
    try {
      const { end, fault } = verdictOn(stage, this.#request.protocol.events);
      if (fault === null) this.#end(end);
      else this.#fail(fault, 'truncated');
    } catch (error) {
      this.crash(error); // whoever tells that the client has left, or that the proxy stops, must go on
    }
  }

  onError(error: Error): void {
    this.#upstreamEnded();
    const stage = stageOf(this.#state);
    if (stage === null) return;
    // Cut after the last event: nothing is missing.
    if ('response' in stage && stage.response.tap.finished) return this.#judge();
    const { apiBase } = this.#request;
    if (stage.is === 'flowing') this.#fail(brokenOff(error, apiBase), 'truncated');
    else this.#fail(failureOf(error, apiBase, stage.is !== 'connecting'), 'upstream_error');
  }

  #upstreamEnded(): void {
    this.#exchange = null;
    this.#remainder?.over();
  }

  // The client

  onDrain(): void {
    const stage = stageOf(this.#state);
    if (stage?.is !== 'flowing' || !stage.isPaused) return;
    stage.isPaused = false;
    stage.response.lastByteAt = this.#services.clock.mono(); // the silence was the client's
    this.#exchange?.resume();
  }

  onClose(): void {
    const stage = stageOf(this.#state);
    if (stage === null) return;
    const next = afterClientLeft(stage, this.#request, this.#sink.keeps);
    if (next.is === 'finished') return this.#judge();
    const { detachedStreams, clock } = this.#services;
    if (next.is === 'aborted' || !detachedStreams.add(this, next.most)) return this.cancel();
    this.#state = { is: 'detached', stage, isDelivered: next.isDelivered, giveUpAt: clock.mono() + next.ms };
    this.onDrain(); // no client is waited for
  }

  onInterrupt(fault: Fault): void {
    if (receivingOf(this.#state)?.response.tap.finished === true) this.#judge();
    else this.#fail(fault, 'stopped');
  }

  // Clocks, and those who started it

  check(now: number): void {
    const state = this.#state;
    const stage = stageOf(state);
    if (stage === null) return;
    if (state.is === 'detached' && now > state.giveUpAt) return this.giveUp();
    const isSilent = stage.is === 'flowing' && !stage.isPaused;
    if (isSilent && stage.ending.isOverdue(now, stage.response.lastByteAt)) return this.#judge();
    const fault = overdue(this.#request, stage, now, this.#startedAt);
    if (fault !== null) this.#fail(fault, 'timeout');
  }

  giveUp(): void {
    this.#end('client_gone', null, 'given_up');
  }

  cancel(): void {
    this.#end('client_gone');
  }

  abort(fault: Fault): void {
    this.#fail(fault, 'truncated');
  }

  // Towards the client

  /** The stages are the same with a client and without. */
  #move(stage: Stage): void {
    const state = this.#state;
    if (state.is === 'ended') return;
    this.#state = state.is === 'detached' ? { ...state, stage } : stage;
  }

  #flow(response: ResponseProgress): Flowing {
    const ending = new StreamEnding(response.tap, this.#request.observation.lastEvent);
    const flowing: Flowing = { is: 'flowing', response, ending, lastPiece: null, isPaused: false };
    this.#move(flowing);
    try {
      this.#headWriter.onValid?.();
      if (this.#state === flowing) this.#writeHead(flowing, []);
    } catch (error) {
      this.crash(error);
    }
    return flowing;
  }

  /** What was kept so far goes out, and all that follows as it comes. */
  #release({ response, pieces }: Unsent): Flowing {
    const flowing = this.#flow(response);
    const isError = response.status >= 400; // the key of the entry may stand across two pieces
    for (const piece of isError ? [Buffer.concat(pieces)] : pieces) this.#write(flowing, piece);
    return flowing;
  }

  #writeHead({ is, response }: Receiving, extra: readonly string[]): void {
    const { status, statusText } = response;
    const isFlowing = is === 'flowing';
    const own = this.#headWriter.ownHeaders(status, response.upstreamMs(isFlowing));
    const list = withOwnHeaders(response.takeClientHeaders(isFlowing), own, extra);
    this.#sink.writeHead(status, list, statusText);
  }

  #write(flowing: Flowing, piece: Buffer): void {
    if (this.#state !== flowing) return; // there is no client
    if (flowing.response.saysError) concealInBytes(piece, this.#request.apiKey);
    let next: Buffer | null = piece;
    if (flowing.response.announcedLength !== null) {
      next = flowing.lastPiece;
      flowing.lastPiece = Buffer.from(piece);
    }
    if (next !== null && !this.#sink.write(next, flowing.ending.follow()) && !flowing.isPaused) {
      flowing.isPaused = true;
      this.#exchange?.pause();
    }
  }

  // The end

  /** Ends with a fault: thrown while nothing has been sent, else part of the outcome. */
  #fail(fault: Fault, end: 'truncated' | 'timeout' | 'upstream_error' | 'stopped'): void {
    const { is } = this.#state;
    if (is === 'ended') return;
    if (is === 'flowing' || is === 'detached') this.#end(end, fault);
    else this.#reject(fault);
  }

  /** A bug, also one after the end: the caller must not wait for ever. */
  crash(error: unknown): void {
    this.#reject(toFault(error));
  }

  #reject(reason: unknown): void {
    this.#leave();
    this.#outcome.reject(reason);
    this.#exchange?.destroy();
  }

  #end(end: RelayEnd, fault: Fault | null = null, readOn: 'given_up' | null = null): void {
    const state = this.#state;
    const stage = stageOf(state);
    if (stage === null) return;
    this.#leave();
    const settle = (): Outcome => {
      const ending = endingOf(state, stage, end, fault, readOn);
      return outcomeOf(stage, ending, this.#request.apiKey, (extra) => this.#finish(stage, ending, extra));
    };
    try {
      if (end === 'stopped') tellStopped(this.#sink, state, fault, this.#request);
      if ('pieces' in stage) editUnsent(stage, end, this.#request);
      const decoded = receivingOf(state)?.response.tap.decoded() ?? null;
      this.#outcome.resolve(decoded === null ? settle() : decoded.then(settle));
    } catch (error) {
      this.crash(error);
    }
    if (this.#exchange !== null) this.#remainder = leaveExchange(this.#exchange, stage, this.#services);
  }

  #leave(): void {
    const { is } = this.#state;
    if (is === 'ended') return; // the sink may be another attempt's
    this.#state = ENDED;
    this.#services.deadlines.delete(this);
    if (is === 'detached') this.#services.detachedStreams.delete(this);
    this.#sink.watcher = null;
  }

  #finish(stage: Stage, ending: Ending, extra: readonly string[]): void {
    const writeHead = (unsent: Unsent, more: readonly string[]): void =>
      this.#writeHead(unsent, [...more, ...extra]);
    finishResponse(this.#sink, stage, ending, { writeHead, request: this.#request });
  }
}
