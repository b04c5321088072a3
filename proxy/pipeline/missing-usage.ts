// Estimates the usage of a response whose upstream did not state it, or not in numbers; for most responses there is nothing to do.
import type { Buffer } from 'node:buffer';
import type { Outcome } from '../relay/outcome.ts';
import type { Exchange } from './exchange.ts';
import type { Endpoint, Protocol } from '../protocols/protocol.ts';
import { answerObject, holdsText, type Delivered } from '../protocols/text.ts';
import { countsIn } from '../protocols/usage.ts';
import type { Estimate } from '../spend/estimate/estimator.ts';

/** What went upstream, and how. */
interface Sent {
  readonly body: Buffer | null;
  /** Of the upstream. */
  readonly protocol: Protocol;
  /** The upstream goes on with the answer when its stream ends early. */
  readonly isBackground: boolean;
}

/**
 * @returns null, synchronously, when there is nothing to count;
 * later, when there were no tokens
 */
export function countMissingUsage(
  { active }: Exchange,
  { counted }: Endpoint,
  { reading, end, status, isStream, unsent }: Outcome,
  { body, protocol, isBackground }: Sent,
): Promise<Estimate | null> | null {
  if (counted === 'nothing' || !active.snapshot.estimateMissingUsage || body === null) return null;
  const { usage, usageIsPartial } = reading;
  const counts = usage === null || usageIsPartial ? 'missing' : countsIn(usage, counted);
  if (counts === 'stated') return null;
  if (status === null || status >= 300) return null;
  const hasFailed = end === 'upstream_error';
  // What came of the stream is not what is made: the usage is stated where the response is fetched.
  if (isBackground && isStream && !hasFailed && end !== 'complete') return null;
  // Vendors charge what a stream has brought before its error event.
  if (hasFailed && (!isStream || unsent !== null || counted === 'prompt')) return null;
  const answer = counted === 'prompt' ? null : reading.delivered;
  if (answer !== null && isPending(answer, protocol)) return null;
  if (counted === 'prompt' ? end !== 'complete' : answer === null) return null;
  if (counts === 'zero' && answer !== null && !holdsText(answer, protocol.text)) return null;
  const estimate = active.services.estimator.estimate({ protocol, request: body, answer });
  // Nothing came before the error, or nothing was sent whose tokens could be counted.
  const isNone = ({ prompt, completion }: Estimate): boolean =>
    hasFailed ? completion === 0 : counts === 'zero' && prompt + completion === 0;
  return hasFailed || counts === 'zero' ? estimate.then((found) => (isNone(found) ? null : found)) : estimate;
}

/** A response in the background: its usage is stated where it is fetched. */
function isPending(delivered: Delivered, { isPending: isPendingIn }: Protocol): boolean {
  if (isPendingIn === undefined) return false;
  const answer = answerObject(delivered);
  return answer !== null && isPendingIn(answer);
}
