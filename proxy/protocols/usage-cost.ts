// Writes the cost into the usage object of one event, for clients of the dialect's `include_cost_in_streaming_usage`.
// Every other byte stays. Anything but the one plain shape (a single data line with a usage object) is left alone.
import { Buffer } from 'node:buffer';
import { jsonSpan, peekMember, valueSpan } from './event-span.ts';
import type { EventRules } from './protocol.ts';

/**
 * The event with `"cost":<usd>` as the last member of its usage; null when it has none, or states a cost already.
 * @param usd a JSON number, US dollars
 */
export function withCost(event: Buffer, { usagePath }: EventRules, usd: string): Buffer | null {
  const json = jsonSpan(event.toString('latin1'));
  const span = json === null ? null : valueSpan(event, json, usagePath);
  if (span === null) return null;
  const usage = peekMember(event.subarray(span.start, span.end), 'cost');
  if (usage === null || usage.members.length > 0) return null;
  const at = span.start + usage.lastValueEnd;
  const member = `${usage.memberCount === 0 ? '' : ','}"cost":${usd}`;
  return Buffer.concat([event.subarray(0, at), Buffer.from(member), event.subarray(at)]);
}
