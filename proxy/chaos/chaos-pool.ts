// The connections of a call with a fault: they look like those to its gateway, and behave as was asked for. What needs no gateway
// asks none; all else calls it, and spoils the response on its way to the proxy, so that relay, timeouts, error events and
// rows are those of a real fault.
import { Buffer } from 'node:buffer';
import { asError } from '../base/as-error.ts';
import type { ErrorShape } from '../protocols/protocol.ts';
import type { HttpRequest, ResponseReader, UpstreamExchange } from '../upstream/exchange.ts';
import type { Pool } from '../upstream/pool.ts';
import { errorBody } from './error-answers.ts';
import type { Injection } from './faults.ts';
import { LONGEST_SILENCE_MS, refusedError, resetError } from './reset.ts';
import { SpoiledExchange } from './spoiled-exchange.ts';

type Sender = Pick<Pool, 'send'>;

export class ChaosPool implements Sender {
  readonly #pool: Sender;
  readonly #injection: Injection;
  readonly #shape: ErrorShape;

  /** @param shape of the errors of the gateway's protocol */
  constructor(pool: Sender, injection: Injection, shape: ErrorShape) {
    this.#pool = pool;
    this.#injection = injection;
    this.#shape = shape;
  }

  send(request: HttpRequest, reader: ResponseReader): UpstreamExchange {
    const injection = this.#injection;
    switch (injection.is) {
      case 'answer': {
        const body = errorBody(injection.status, this.#shape);
        const { retryAfterS } = injection;
        const more = retryAfterS === null ? [] : ['retry-after', String(Math.ceil(retryAfterS))];
        return new StandIn(reader, { status: injection.status, type: 'application/json', more, body });
      }
      case 'page':
        return new StandIn(reader, {
          status: 200,
          type: 'text/html; charset=utf-8',
          more: [],
          body: Buffer.from(injection.body),
        });
      case 'unreachable':
        return new StandIn(reader, 'refuses');
      case 'no answer':
        return new StandIn(reader, 'is silent');
      case 'wrong usage':
        return this.#pool.send(uncompressed(request), reader);
      case 'delay':
      case 'after': {
        const spoiled = new SpoiledExchange(reader, injection, this.#shape);
        spoiled.start((to) => this.#pool.send(uncompressed(request), to));
        return spoiled;
      }
    }
  }
}

/** Events of a compressed stream cannot be told apart. */
function uncompressed(request: HttpRequest): HttpRequest {
  const headers = request.headers.filter(
    (_, i, all) => all[i - (i % 2)]?.toLowerCase() !== 'accept-encoding',
  );
  return { ...request, headers };
}

interface Answer {
  readonly status: number;
  readonly type: string;
  /** Flat. */
  readonly more: readonly string[];
  readonly body: Buffer;
}

/** An exchange with nobody. */
class StandIn implements UpstreamExchange {
  readonly #reader: ResponseReader;
  readonly #behaves: Answer | 'refuses' | 'is silent';
  #isOver = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(reader: ResponseReader, behaves: Answer | 'refuses' | 'is silent') {
    this.#reader = reader;
    this.#behaves = behaves;
    setImmediate(() => this.#begin());
  }

  pause(): void {
    // all that there is has been given
  }

  resume(): void {
    // likewise
  }

  destroy(): void {
    this.#isOver = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #begin(): void {
    const [reader, behaves] = [this.#reader, this.#behaves];
    if (this.#isOver) return;
    if (behaves === 'refuses') {
      this.#isOver = true;
      reader.onError(refusedError());
      return;
    }
    reader.onSent();
    if (behaves === 'is silent') {
      this.#timer = setTimeout(() => reader.onError(resetError()), LONGEST_SILENCE_MS).unref();
      return;
    }
    const { status, type, more, body } = behaves;
    const list = ['content-type', type, 'content-length', String(body.length), ...more];
    try {
      if (!this.#isOver) reader.onHead({ status, text: '', list, idleMs: 0 });
      if (!this.#isOver && body.length > 0) reader.onData(body);
      if (!this.#isOver) reader.onEnd(true);
    } catch (error) {
      reader.onError(asError(error)); // a bug in its reader: that ends one exchange, not the process
    }
  }
}
