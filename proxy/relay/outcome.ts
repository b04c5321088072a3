// How an exchange with an upstream ended: what the relay hands to those who settle it.
import { Buffer } from 'node:buffer';
import type { Secret } from '../../config/secret.ts';
import { Fault } from '../errors/fault.ts';
import { holdsToken } from '../protocols/first-token.ts';
import type { Protocol } from '../protocols/protocol.ts';
import { concealIn, concealInReading } from './conceal-key.ts';
import { receivingOf, type Receiving, type Stage, type State } from './relay-state.ts';
import { NOTHING_READ, type Reading } from './tap.ts';

/** `refused`: a rule of the proxy ended a session that had begun. */
export type RelayEnd =
  'complete' | 'upstream_error' | 'truncated' | 'timeout' | 'client_gone' | 'stopped' | 'refused';

/** An answer that was read after its client had left: to its end, until it broke, until nobody waited any longer. */
export type ReadOnEnd = 'whole' | 'broken' | 'given_up';

/** Why an exchange ended, as the client saw it. */
export interface Ending {
  readonly end: RelayEnd;
  /** Set when the answer broke after its head was sent. */
  readonly fault: Fault | null;
  /** Set when the client left and the answer was read on; `end` is `client_gone` then. */
  readonly readOn: ReadOnEnd | null;
}

/** How an exchange ended. Times are monotonic milliseconds. */
export interface Outcome extends Ending {
  /** The upstream's status; null when the client left before there was one. */
  readonly status: number | null;
  readonly firstByteAt: number | null;
  /** From the start of the relay to the upstream's head (streams and large answers) or last byte, ms. */
  readonly upstreamMs: number;
  /** Bytes of the answer's body as the upstream sent them. */
  readonly responseBytes: number;
  readonly reading: Reading;
  readonly upstreamCallId: string | null;
  /** The gateway's cost header as sent. */
  readonly upstreamCost: string | null;
  /** The upstream's `Retry-After` as sent. */
  readonly retryAfter: string | null;
  /** It is an event stream. */
  readonly isStream: boolean;
  /** Of the upstream's bytes, as sent. */
  readonly contentEncoding: string | null;
  /** The body, when nothing has been sent to the client: this answer may still be replaced. Null once something was. */
  readonly unsent: readonly Buffer[] | null;
  /** Hands over the last byte, or breaks the connection when the answer is broken. `extra`: more headers, if the
   * head is still to be written. Call it once. */
  readonly finish: (extra: readonly string[]) => void;
}

/** Of a response that ended cleanly, or whose last event has come: is it whole? */
export function verdictOn(stage: Receiving, events: Protocol['events']): Pick<Ending, 'end' | 'fault'> {
  const { isAnswer, tap } = stage.response;
  // Of a held stream only the rest, which lacks its blank line, can have a token: else it says `[DONE]` and no more.
  const isHeld = stage.is === 'holding' && !tap.failed;
  const isEmpty = isHeld && !holdsToken(Buffer.concat(stage.pieces), events);
  if (!isAnswer || (tap.terminal && !isEmpty))
    return { end: !isAnswer || tap.failed ? 'upstream_error' : 'complete', fault: null };
  if (!tap.streams) return { end: 'truncated', fault: null }; // handed on as it came: the client's parser will refuse it
  const text = 'The stream of the upstream ended without its terminal event; the answer is not complete.';
  return { end: 'truncated', fault: new Fault('stream_truncated', text) };
}

/** What the client saw, and what became of a response that was read on without it. @param state the last one */
export function endingOf(
  state: State,
  stage: Stage,
  end: RelayEnd,
  fault: Fault | null,
  readOn: 'given_up' | null,
): Ending {
  const isDetached = state.is === 'detached';
  // A compressed stream is read behind its bytes: only now is it known whether its end was among them.
  const isDelivered = isDetached ? state.isDelivered : isGone(end) && isWhole(stage);
  if (isDelivered) {
    const hasFailed = 'response' in stage && stage.response.tap.failed;
    return { end: hasFailed ? 'upstream_error' : 'complete', fault: null, readOn: null };
  }
  if (!isDetached) return { end, fault, readOn: null };
  return { end: 'client_gone', fault: null, readOn: readOn ?? (end === 'complete' ? 'whole' : 'broken') };
}

const isGone = (end: RelayEnd): boolean => end === 'client_gone';
const isWhole = (stage: Stage): boolean => stage.is === 'flowing' && stage.ending.isDelivered;

/** @param stage the last one. @param apiKey of the entry, which a gateway may repeat in what is recorded of its answer */
export function outcomeOf(
  stage: Stage,
  { end, fault, readOn }: Ending,
  apiKey: Secret | null,
  finish: Outcome['finish'],
): Outcome {
  const isFlowing = stage.is === 'flowing';
  const response = receivingOf(stage)?.response ?? null;
  const pieces = 'pieces' in stage ? stage.pieces : [];
  return {
    end,
    status: response?.status ?? null,
    fault,
    firstByteAt: response?.firstByteAt ?? null,
    upstreamMs: response?.upstreamMs(isFlowing) ?? 0,
    responseBytes: response?.bytes ?? 0,
    readOn,
    reading: concealInReading(response?.tap.reading() ?? NOTHING_READ, apiKey),
    upstreamCallId: concealIn(response?.head.callId ?? null, apiKey),
    upstreamCost: response?.head.cost ?? null,
    retryAfter: response?.head.retryAfter ?? null,
    isStream: response?.tap.streams ?? false,
    contentEncoding: response?.head.contentEncoding ?? null,
    unsent: isFlowing ? null : pieces,
    finish,
  };
}
