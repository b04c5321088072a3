// Where an exchange stands, with the data that exists there and nowhere else. relay.ts moves from one to the next.
//
//   connecting -> waiting -+-> gathering   a small response: one write, and the cost header can be exact
//                          |  |  ^ | too large
//                          |  |  | a document that is called a stream
//                          |  events under another name
//                          |  v  |
//                          +-> holding     a stream until its first bytes, or where that is asked for its first token
//                          |      | first token, or too large
//                          +-> flowing     a stream or a large response: each piece as it comes
//
//   each of them -> detached    the client left: the same stages, and nothing is written
//   flowing -> detached         likewise, where the client left with everything and we still want the usage
//   waiting -> connecting       a connection that was used before had closed: sent again on a fresh one
//   each of them -> ended       the last byte, an error, a clock, the client, the end of the proxy
import type { Buffer } from 'node:buffer';
import type { ResponseProgress } from './response-progress.ts';
import type { StreamEnding } from './stream-end.ts';

/** There is no connection yet, or no more since the upstream closed one that was used before. Times are monotonic milliseconds. */
interface Connecting {
  readonly is: 'connecting';
  readonly since: number;
}

/** The request is on its way; there is no head yet. */
interface Waiting {
  readonly is: 'waiting';
  readonly sentAt: number;
}

/** A small response: its pieces are kept, and leave in one write. */
export interface Gathering {
  readonly is: 'gathering';
  readonly sentAt: number;
  readonly response: ResponseProgress;
  readonly pieces: Buffer[];
}

/** So much of a stream is held back for its first token at most. */
export const HELD_BYTES = 262_144;

/** A stream of which nothing has come, or no token so far: another upstream can still take over. */
export interface Holding {
  readonly is: 'holding';
  readonly sentAt: number;
  readonly response: ResponseProgress;
  readonly pieces: Buffer[];
}

/** The client gets each piece as it comes. */
export interface Flowing {
  readonly is: 'flowing';
  readonly response: ResponseProgress;
  readonly ending: StreamEnding;
  /** The latest piece of a response with a length: it leaves when the spend record is settled, or at the next piece. */
  lastPiece: Buffer | null;
  /** The client is slow, and the upstream waits for it. */
  isPaused: boolean;
}

/** The head has come, and nothing of it was sent to the client. */
export type Unsent = Gathering | Holding;

/** The head has come. */
export type Receiving = Unsent | Flowing;

/** How far the upstream has come. */
export type Stage = Connecting | Waiting | Receiving;

/** The client left, and the response is read on: for its usage, or because it is kept for a repeated call. */
interface Detached {
  readonly is: 'detached';
  readonly stage: Stage;
  /** The client left with everything: a finish reason, say, and we still want the usage. */
  readonly isDelivered: boolean;
  readonly giveUpAt: number;
}

export type State = Stage | Detached | { readonly is: 'ended' };

export const connectingAt = (since: number): Connecting => ({ is: 'connecting', since });
export const ENDED: State = { is: 'ended' };

/** null: the exchange has ended. */
export function stageOf(state: State): Stage | null {
  if (state.is === 'ended') return null;
  return state.is === 'detached' ? state.stage : state;
}

/** null: there is no head, or the exchange has ended. */
export function receivingOf(state: State): Receiving | null {
  const stage = stageOf(state);
  return stage === null || stage.is === 'connecting' || stage.is === 'waiting' ? null : stage;
}
