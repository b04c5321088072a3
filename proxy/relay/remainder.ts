// What an upstream sends after the end of an answer is read for a moment, so that its connection can be used again. A
// response that does not end by then is aborted, and its connection closed.
import type { UpstreamExchange } from '../upstream/exchange.ts';
import type { Deadlines, Watched } from './deadlines.ts';
import type { RelayServices } from './relay-handle.ts';
import type { Stage } from './relay-state.ts';
import { END_WITHIN_MS } from './stream-end.ts';

/** The answer is over: nothing of worth follows a finished stream; any other response that runs still is aborted. */
export function leaveExchange(
  exchange: UpstreamExchange,
  stage: Stage,
  { deadlines, clock }: Pick<RelayServices, 'deadlines' | 'clock'>,
): Remainder | null {
  const isFinished = 'response' in stage && stage.response.tap.finished;
  if (isFinished) return new Remainder(exchange, deadlines, clock.mono());
  exchange.destroy();
  return null;
}

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
    if (now > this.#until) this.#abort();
  }

  crash(): void {
    this.#abort();
  }

  #abort(): void {
    this.over();
    this.#exchange.destroy();
  }

  /** The upstream has ended the response. */
  over(): void {
    this.#deadlines.delete(this);
  }
}
