// A realtime session: two sockets after both handshakes. Frames pass unchanged both ways, as fast as the slower side takes them;
// a reader on the side counts usage and sees what must not pass. Ends with a close code that says what happened: a session
// that broke never looks as if it had been closed in order.
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Json } from '../../bodies/json.ts';
import type { UpgradeOwner } from '../../downstream/downstream-response.ts';
import { Fault, toFault } from '../../errors/fault.ts';
import { ClientEvents, errorEvent, ServerEvents } from '../../protocols/realtime/events.ts';
import { closePayload, frame, FrameReader, OPCODE, readClose } from '../../protocols/realtime/frames.ts';
import type { Deadlines, Watched } from '../deadlines.ts';
import type { RelayEnd } from '../outcome.ts';
import { Side } from './side.ts';

/** What a session is held to. */
export interface SessionRules {
  /** Shown in texts; holds no credential. */
  readonly apiBase: string;
  /** ms; 0 = off. */
  readonly idleMs: number;
  readonly longestMs: number;
  readonly mostMessageBytes: number;
  /** A model that an event of the client may name. */
  readonly allowsModel: (model: string) => boolean;
  /** Why the session may not go on; asked twice a second. */
  readonly refusal: () => Fault | null;
  /** Likewise, after each response. */
  readonly refusalAfter: (usage: Json) => Fault | null;
}

/** How a session ended. */
export interface SessionEnd {
  readonly end: RelayEnd;
  readonly fault: Fault | null;
  readonly usage: Json;
  /** From the upstream. */
  readonly bytes: number;
  readonly sessionId: string | null;
  readonly model: string | null;
}

interface Closing {
  readonly by: 'client' | 'server';
  readonly code: number;
  readonly reason: string;
  readonly at: number;
}

const REFUSAL_MS = 500;
/** For the answer to a close frame (RFC 6455 section 7.1.1 leaves it open). */
const CLOSE_MS = 5_000;
/** Of an upstream, that say nothing of a failure; 1005: none. */
const IN_ORDER: ReadonlySet<number> = new Set([1000, 1001, 1005]);

/** Owns both sockets from `start` on; `ended` resolves once and never rejects. */
export class RealtimeSession implements UpgradeOwner, Watched {
  index = -1;
  readonly ended: Promise<SessionEnd>;
  readonly #rules: SessionRules;
  readonly #deadlines: Deadlines;
  readonly #client: Side;
  readonly #upstream: Side;
  readonly #asked: ClientEvents;
  readonly #answers: ServerEvents;
  readonly #upstreamSocket: Socket;
  readonly #mono: () => number;
  readonly #startedAt: number;
  readonly #resolve: (end: SessionEnd) => void;
  #lastByteAt: number;
  #refusalAt: number;
  /** The first close frame that passed. */
  #closing: Closing | null = null;
  #isLeaving = false;
  /** What the client sent was read and not passed on: the upstream may have half a frame. */
  #isWithheld = false;
  #isOver = false;

  constructor(
    client: Socket,
    upstream: Socket,
    rules: SessionRules,
    deadlines: Deadlines,
    mono: () => number,
  ) {
    this.#rules = rules;
    this.#deadlines = deadlines;
    this.#mono = mono;
    this.#startedAt = this.#lastByteAt = this.#refusalAt = mono();
    this.#upstreamSocket = upstream;
    this.#asked = new ClientEvents(rules.allowsModel, (payload) => this.#closes('client', payload));
    this.#answers = new ServerEvents(
      () => this.#responded(),
      (payload) => this.#closes('server', payload),
    );
    this.#client = new Side(client, new FrameReader('client', this.#asked, rules.mostMessageBytes));
    this.#upstream = new Side(upstream, new FrameReader('server', this.#answers));
    const { promise, resolve } = Promise.withResolvers<SessionEnd>();
    this.ended = promise;
    this.#resolve = resolve;
  }

  /** @param early what the upstream sent right after its handshake */
  start(early: Buffer): void {
    if (early.length > 0) this.#upstreamSocket.unshift(early);
    this.#deadlines.add(this);
    const passed = (): void => {
      this.#lastByteAt = this.#mono();
    };
    this.#client.pipe(this.#upstream, {
      passed,
      mayPass: () => this.#mayPass(),
      violated: ({ code, why }) => {
        this.#isWithheld = true;
        this.#stop(code, violation(why), 'refused');
      },
      ended: () => this.#clientEnded(),
    });
    this.#upstream.pipe(this.#client, {
      passed,
      mayPass: () => !this.#isOver,
      violated: ({ why }) =>
        this.#stop(1011, this.#broken(`sent what is no WebSocket frame: ${why}`), 'truncated'),
      ended: () => this.#upstreamEnded(),
    });
  }

  /** The proxy is to stop: a session is closed as soon as no response is under way. */
  drain(): void {
    this.#isLeaving = true;
    if (!this.#answers.isResponding) this.#leave();
  }

  /** The proxy stops now. */
  interrupt(fault: Fault): void {
    this.#stop(1001, fault, 'stopped');
  }

  gone(): void {
    this.#clientEnded();
  }

  crash(error: unknown): void {
    this.#stop(1011, toFault(error), 'stopped');
  }

  check(nowMs: number): void {
    const { idleMs, longestMs, refusal } = this.#rules;
    if (this.#closing !== null && nowMs - this.#closing.at > CLOSE_MS) return this.#closed(this.#closing);
    if (longestMs > 0 && nowMs - this.#startedAt > longestMs)
      return this.#stop(
        1001,
        expired(`was open for ${seconds(longestMs)} s (realtime_max_minutes)`),
        'timeout',
      );
    if (idleMs > 0 && nowMs - this.#lastByteAt > idleMs)
      return this.#stop(
        1001,
        expired(`was silent for ${seconds(idleMs)} s (realtime_idle_seconds)`),
        'timeout',
      );
    if (nowMs - this.#refusalAt < REFUSAL_MS) return;
    this.#refusalAt = nowMs;
    const fault = refusal();
    if (fault !== null) this.#stop(1008, fault, 'refused');
  }

  /** Whether what the client sent may go: the event is not whole at the upstream before its last byte is there. */
  #mayPass(): boolean {
    if (this.#isOver) return false;
    const { refused } = this.#asked;
    if (refused === null) return true;
    const text = `\`${refused}\` names another model than the session was opened for. Open a session for that model.`;
    this.#isWithheld = true;
    this.#stop(1008, new Fault('parameter_not_allowed', text, { param: refused }), 'refused');
    return false;
  }

  #responded(): void {
    const fault = this.#rules.refusalAfter(this.#answers.usage);
    // The bytes of this event are still to be passed on.
    if (fault !== null) queueMicrotask(() => this.#stop(1008, fault, 'refused'));
    else if (this.#isLeaving) queueMicrotask(() => this.#leave());
  }

  #leave(): void {
    const text = 'The proxy is stopping. Open another session.';
    this.#stop(1001, new Fault('shutting_down', text), 'complete');
  }

  #closes(by: Closing['by'], payload: Buffer): void {
    this.#closing ??= { by, ...readClose(payload), at: this.#mono() };
  }

  #clientEnded(): void {
    if (this.#isOver) return;
    if (this.#closing !== null) return this.#closed(this.#closing);
    this.#endUpstream(1001);
    this.#client.end(null);
    this.#over('client_gone', null);
  }

  #upstreamEnded(): void {
    if (this.#isOver) return;
    if (this.#closing !== null) return this.#closed(this.#closing);
    this.#stop(1011, this.#broken('closed the connection in the middle of the session'), 'truncated');
  }

  /** A close frame has passed, and the rest is a matter of the connections. */
  #closed({ by, code, reason }: Closing): void {
    this.#upstream.end(null);
    this.#client.end(null);
    if (by === 'client' || IN_ORDER.has(code)) return this.#over('complete', null);
    const said = reason === '' ? '' : `: ${reason.slice(0, 123)}`;
    this.#over('upstream_error', this.#broken(`closed the session with code ${code}${said}`));
  }

  /** Ends the session with an event that says why, where one fits between those of the upstream. */
  #stop(code: number, fault: Fault, end: RelayEnd): void {
    if (this.#isOver) return;
    const { isBetweenFrames, isBetweenMessages } = this.#upstream.reader;
    this.#endUpstream(1001);
    if (isBetweenFrames) {
      const event = isBetweenMessages ? [frame(OPCODE.text, errorEvent(fault), null)] : [];
      this.#client.end(
        Buffer.concat([...event, frame(OPCODE.close, closePayload(code, fault.message), null)]),
      );
    } else this.#client.cut(); // half a frame is out
    this.#over(end, end === 'complete' ? null : fault);
  }

  #endUpstream(code: number): void {
    const isOpen = this.#client.reader.isBetweenFrames && !this.#isWithheld && this.#closing?.by !== 'client';
    if (isOpen) this.#upstream.end(frame(OPCODE.close, closePayload(code, ''), randomBytes(4)));
    else this.#upstream.cut();
  }

  #over(end: RelayEnd, fault: Fault | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadlines.delete(this);
    const { usage, sessionId, model } = this.#answers;
    const bytes = this.#upstreamSocket.bytesRead;
    this.#resolve({ end, fault, usage, bytes, sessionId, model });
  }

  #broken(what: string): Fault {
    return new Fault('stream_broken', `The upstream ${this.#rules.apiBase} ${what}.`);
  }
}

const seconds = (ms: number): number => Math.round(ms / 1000);
const expired = (what: string): Fault =>
  new Fault('realtime_expired', `The session ${what}. Open another one.`);
const violation = (why: string): Fault =>
  new Fault('websocket_violation', `What the client sent is not allowed: ${why}.`);
