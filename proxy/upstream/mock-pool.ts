// An upstream that is none: answers requests of an entry with `mock_response` from memory, with the calls and in the order of a
// connection, so that everything before and after it - limits, rows, headers - is that of any other call.
import { asError } from '../base/as-error.ts';
import type { HttpRequest, ResponseReader, UpstreamExchange } from './exchange.ts';
import { mockAnswer } from './mock-answer.ts';
import type { Pool } from './pool.ts';
import { receivedHead } from './response-head.ts';

export class MockPool implements Pool {
  readonly #text: string;

  /** @param text what the entry answers */
  constructor(text: string) {
    this.#text = text;
  }

  readonly size = 0;
  readonly sweep = (): void => undefined;
  readonly close = (): void => undefined;
  readonly destroy = (): void => undefined;

  send(request: HttpRequest, reader: ResponseReader): UpstreamExchange {
    return new MockExchange(this.#text, request, reader);
  }
}

class MockExchange implements UpstreamExchange {
  readonly #pieces: Buffer[];
  readonly #head: ReturnType<typeof receivedHead>;
  #reader: ResponseReader | null;
  #isPaused = false;
  #step: 'sent' | 'head' | 'body' = 'sent';

  constructor(text: string, { method, path, body }: HttpRequest, reader: ResponseReader) {
    const { status, type, pieces } = mockAnswer(text, method, path, body);
    this.#pieces = [...pieces];
    this.#head = receivedHead(status, '', { 'content-type': type });
    this.#reader = reader;
    setImmediate(() => this.#next());
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    setImmediate(() => this.#next());
  }

  destroy(): void {
    this.#reader = null;
  }

  /** One call of the reader per turn of the event loop, as from a socket. */
  #next(): void {
    const reader = this.#reader;
    if (reader === null || this.#isPaused) return;
    try {
      if (this.#advance(reader)) setImmediate(() => this.#next());
    } catch (error) {
      this.#reader = null;
      reader.onError(asError(error));
    }
  }

  /** @returns whether there is more */
  #advance(reader: ResponseReader): boolean {
    if (this.#step === 'sent') {
      this.#step = 'head';
      reader.onSent();
      return true;
    }
    if (this.#step === 'head') {
      this.#step = 'body';
      reader.onHead(this.#head);
      return true;
    }
    const piece = this.#pieces.shift();
    if (piece !== undefined) {
      reader.onData(piece);
      return true;
    }
    this.#reader = null;
    reader.onEnd(true);
    return false;
  }
}
