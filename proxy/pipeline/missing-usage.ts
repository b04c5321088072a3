// Estimates the usage of a response whose upstream did not state it; for most responses there is nothing to do.
import type { Buffer } from 'node:buffer';
import type { Outcome } from '../relay/outcome.ts';
import type { Exchange } from './exchange.ts';
import type { Endpoint, Protocol } from '../protocols/protocol.ts';
import type { Estimate } from '../spend/estimate/estimator.ts';

/** @param protocol of the upstream @param body what went there. @returns null, synchronously, when there is nothing to count */
export function countMissingUsage(
  { active }: Exchange,
  { counted, protocol: own }: Endpoint,
  { reading, end, status }: Outcome,
  body: Buffer | null,
  protocol: Protocol = own,
): Promise<Estimate> | null {
  if (reading.usage !== null && !reading.usageIsPartial) return null;
  const isWanted = counted !== 'nothing' && active.snapshot.estimateMissingUsage;
  if (!isWanted || body === null || end === 'upstream_error') return null;
  if (status === null || status >= 300) return null;
  const answer = counted === 'prompt' ? null : reading.delivered;
  if (counted === 'prompt' ? end !== 'complete' : answer === null) return null;
  return active.services.estimator.estimate({ protocol, request: body, answer });
}
