// Writes the cost into the usage object of one event, for clients of the dialect's `include_cost_in_streaming_usage`. Every
// other byte stays. Anything that is not the one plain shape (a single data line with a usage object) is left alone.
import { Buffer } from 'node:buffer';
import type { Family } from './errors.ts';
import { ANSWER_DEPTH } from '../bodies/edges.ts';
import { peek, type PeekedBody, type Wanted } from '../bodies/peek.ts';

const DATA_LINE = /^data: ?(\{.*\})\r?$/gm;
const OF_TOP: readonly string[] = ['usage'];
const PATHS: Readonly<Record<Family, readonly string[]>> = {
  chat: OF_TOP,
  completions: OF_TOP,
  responses: ['response', 'usage'],
  messages: OF_TOP,
  other: OF_TOP,
};
const WANTED: Wanted = { names: new Set(['usage', 'response', 'cost']), prefixes: [] };

/**
 * The event with `"cost":<usd>` as the last member of its usage; null when it has none, or states a cost already.
 * @param usd a JSON number, US dollars
 */
export function withCost(event: Buffer, family: Family, usd: string): Buffer | null {
  const text = event.toString('latin1');
  const lines = [...text.matchAll(DATA_LINE)];
  const [line] = lines;
  if (line?.[1] === undefined || lines.length > 1) return null;
  let start = line.index + line[0].indexOf('{');
  let end = start + line[1].length;
  for (const name of PATHS[family]) {
    const member = objectOf(event.subarray(start, end))?.members.find((one) => one.name === name);
    if (member === undefined) return null;
    end = start + member.valueEnd;
    start += member.valueStart;
  }
  const usage = objectOf(event.subarray(start, end));
  if (usage === null || usage.members.some((one) => one.name === 'cost')) return null;
  const at = start + usage.lastValueEnd;
  const member = `${usage.memberCount === 0 ? '' : ','}"cost":${usd}`;
  return Buffer.concat([event.subarray(0, at), Buffer.from(member), event.subarray(at)]);
}

function objectOf(bytes: Buffer): PeekedBody | null {
  const peeked = peek(bytes, WANTED, ANSWER_DEPTH);
  return peeked.ok ? peeked : null;
}
