// Finds the first token of a stream behind comments, pings and events that only announce an answer. Looks at whole events while nothing has been sent to the client, and at nothing after.
import type { Buffer } from 'node:buffer';
import { parseObject } from '../bodies/json.ts';
import { isDone } from './openai.ts';
import type { EventRules } from './protocol.ts';

/**
 * Whether these events hold a token, or anything else that an answer consists of. What is not understood counts as an
 * answer: it is passed on rather than held back.
 * @param events whole events of an event stream
 */
export function holdsToken(events: Buffer, rules: EventRules): boolean {
  for (const line of events
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:') && isAnswer(line.slice(5).trim(), rules)) return true;
  }
  return false;
}

function isAnswer(data: string, rules: EventRules): boolean {
  if (data === '' || isDone(data)) return false;
  const event = parseObject(data);
  return event === null || rules.isAnswer(event); // null: an event over several lines
}
