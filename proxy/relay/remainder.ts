// What an upstream sends after the end of an answer is read for a moment, so that its connection can be used again. A
// response that does not end by then is aborted, and its connection closed.
import type { UpstreamExchange } from '../upstream/exchange.ts';
import type { Deadlines, Watched } from './deadlines.ts';
import { END_WITHIN_MS } from './stream-end.ts';

export class Remainder implements Watched {
  index = -1; // among the deadlines
  readonly #exchange: UpstreamExchange;
  readonly #deadlines: Pick<Deadlines, 'add' | 'delete'>;
  readonly #until: number;

  /** @param now monotonic ms */
  constructor(exchange: UpstreamExchange, deadlines: Pick<Deadlines, 'add' | 'delete'>, now: number) {
    this.#exchange = exchange;
    this.#deadlines = deadlines;
    this.#until = now + END_WITHIN_MS;
    deadlines.add(this);
    exchange.resume(); // it may wait for a slow client
  }

  check(now: number): void {
    if (now <= this.#until) return;
    this.over();
    this.#exchange.destroy();
  }

  /** The upstream has ended the response. */
  over(): void {
    this.#deadlines.delete(this);
  }
}
