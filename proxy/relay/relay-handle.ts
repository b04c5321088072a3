// What a relay is given beside its request, and what it gives back. Types only; relay.ts is the code.
import type { Clock } from '../base/clock.ts';
import type { Fault } from '../errors/fault.ts';
import type { Deadlines } from './deadlines.ts';
import type { DetachedStreams } from './detached-streams.ts';
import type { Outcome } from './outcome.ts';

/** What all exchanges share. */
export interface RelayServices {
  readonly deadlines: Pick<Deadlines, 'add' | 'delete'>;
  readonly detachedStreams: DetachedStreams;
  readonly clock: Clock;
}

/** Makes the proxy's own response headers. */
export interface HeadWriter {
  /** Flat name, value list; asked for once, when the head is written. */
  ownHeaders(upstreamStatus: number, upstreamMs: number): string[];
  /** Called before anything is sent: the first token of a stream is there, or the head of another response below 400. */
  readonly onValid?: () => void;
}

/** Ends an attempt: what came is no response, whatever its framing says. */
export type AbortAttempt = (fault: Fault) => void;

/** An exchange under way. */
export interface RelayHandle {
  /** @throws Fault while nothing has been sent to the client, and for a bug of ours */
  readonly ended: Promise<Outcome>;
  /** Nobody wants the response any more: ends at once, also a response that was to be read on. */
  cancel(): void;
  readonly abort: AbortAttempt;
}
