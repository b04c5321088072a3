// What the proxy reads of the events of a session: the model that a client asks for, the responses of the server and their
// usage. Also the one event that it writes itself.
import { Buffer } from 'node:buffer';
import { Utf8Pieces } from '../../bodies/utf8.ts';
import { parseObject, type Json } from '../../bodies/json.ts';
import type { Fault } from '../../errors/fault.ts';
import type { FrameListener, FrameViolation } from './frames.ts';
import { MemberScanner } from './member-scanner.ts';
import { NO_USAGE, sumOfUsage } from './usage.ts';

/** Where an event of a client could name another model than the query did. */
const MODEL_MEMBERS: ReadonlySet<string> = new Set(['model', 'session.model', 'response.model']);
const SERVER_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'session.id',
  'session.model',
  'response.usage',
]);
const BINARY: FrameViolation = {
  code: 1003,
  why: 'events are text messages; a binary one could be read in several ways',
};

const NO_TEXT: FrameViolation = { code: 1007, why: 'a text message is not UTF-8' };

/** Told of a close frame that passes. */
type OnClose = (payload: Buffer) => void;

/** Reads the events of a client. */
export class ClientEvents implements FrameListener {
  readonly #scanner: MemberScanner;
  readonly #onClose: OnClose;
  readonly #utf8 = new Utf8Pieces();
  #refused: string | null = null;

  constructor(isAllowed: (model: string) => boolean, onClose: OnClose) {
    this.#onClose = onClose;
    this.#scanner = new MemberScanner(MODEL_MEMBERS, ({ path, kind, text }) => {
      const isFine = kind === 'string' ? isAllowed(text) : text === 'null';
      if (!isFine) this.#refused ??= path;
    });
  }

  /** The member that names another model; null = none has. */
  get refused(): string | null {
    return this.#refused;
  }

  begin(kind: 'text' | 'binary'): FrameViolation | null {
    this.#scanner.reset();
    this.#utf8.reset();
    return kind === 'binary' ? BINARY : null;
  }

  payload(bytes: Buffer): FrameViolation | null {
    this.#scanner.push(bytes);
    // Servers that drop bytes which are none would read other names than we do.
    return this.#utf8.push(bytes) ? null : NO_TEXT;
  }

  end(): FrameViolation | null {
    return this.#utf8.isWhole ? null : NO_TEXT;
  }

  control(opcode: number, payload: Buffer): void {
    if (opcode === 8) this.#onClose(payload);
  }
}

/** Reads the events of a server. */
export class ServerEvents implements FrameListener {
  readonly #scanner: MemberScanner;
  readonly #onClose: OnClose;
  readonly #onResponse: () => void;
  #type = '';
  #usage: Json | null = null;
  #sum: Json = NO_USAGE;
  #running = 0;
  #sessionId: string | null = null;
  #model: string | null = null;

  /** @param onResponse a response has ended */
  constructor(onResponse: () => void, onClose: OnClose) {
    this.#onResponse = onResponse;
    this.#onClose = onClose;
    this.#scanner = new MemberScanner(SERVER_MEMBERS, ({ path, kind, text }) => {
      if (path === 'response.usage') this.#usage = kind === 'raw' ? parseObject(text) : null;
      else if (kind !== 'string') return;
      else if (path === 'type') this.#type = text;
      else if (path === 'session.id') this.#sessionId ??= text;
      else this.#model = text;
    });
  }

  /** Of all responses so far. */
  get usage(): Json {
    return this.#sum;
  }

  /** A response has begun and not ended. */
  get isResponding(): boolean {
    return this.#running > 0;
  }

  get sessionId(): string | null {
    return this.#sessionId;
  }

  get model(): string | null {
    return this.#model;
  }

  begin(): null {
    this.#scanner.reset();
    this.#type = '';
    this.#usage = null;
    return null;
  }

  payload(bytes: Buffer): null {
    this.#scanner.push(bytes);
    return null;
  }

  end(): null {
    if (this.#type === 'response.created') this.#running += 1;
    if (this.#type !== 'response.done') return null;
    this.#running = Math.max(0, this.#running - 1);
    if (this.#usage !== null) this.#sum = sumOfUsage(this.#sum, this.#usage);
    this.#onResponse();
    return null;
  }

  control(opcode: number, payload: Buffer): void {
    if (opcode === 8) this.#onClose(payload);
  }
}

/** A fault as an event (platform.openai.com/docs/api-reference/realtime-server-events/error). */
export function errorEvent({ type, code, message, param }: Fault): Buffer {
  return Buffer.from(
    JSON.stringify({
      type: 'error',
      event_id: `event_${code}`,
      error: { type, code, message, param, event_id: null },
    }),
  );
}
