// Writes the cost into the usage object of one event, for clients of the dialect's `include_cost_in_streaming_usage`.
// Every other byte stays. Anything but the one plain shape (a single data line with a usage object) is left alone.
import { Buffer } from 'node:buffer';
import { RESPONSE_DEPTH } from '../bodies/json.ts';
import { peek } from '../bodies/peek.ts';
import type { PeekedBody } from '../bodies/members.ts';
import type { EventRules } from './protocol.ts';

const DATA_LINE = /^data: ?(\{.*\})\r?$/gm;

/**
 * The event with `"cost":<usd>` as the last member of its usage; null when it has none, or states a cost already.
 * @param usd a JSON number, US dollars
 */
export function withCost(event: Buffer, { usagePath }: EventRules, usd: string): Buffer | null {
  const text = event.toString('latin1');
  const lines = [...text.matchAll(DATA_LINE)];
  const [line] = lines;
  if (line?.[1] === undefined || lines.length > 1) return null;
  let start = line.index + line[0].indexOf('{');
  let end = start + line[1].length;
  for (const name of usagePath) {
    const member = objectOf(event.subarray(start, end), name)?.members[0];
    if (member === undefined) return null;
    end = start + member.valueEnd;
    start += member.valueStart;
  }
  const usage = objectOf(event.subarray(start, end), 'cost');
  if (usage === null || usage.members.length > 0) return null;
  const at = start + usage.lastValueEnd;
  const member = `${usage.memberCount === 0 ? '' : ','}"cost":${usd}`;
  return Buffer.concat([event.subarray(0, at), Buffer.from(member), event.subarray(at)]);
}

function objectOf(bytes: Buffer, member: string): PeekedBody | null {
  const peeked = peek(bytes, { names: new Set([member]), prefixes: [] }, RESPONSE_DEPTH);
  return peeked.ok ? peeked : null;
}
