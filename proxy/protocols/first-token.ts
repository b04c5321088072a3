// Tells the first token of a stream from what comes before it: comments, pings, the events that only say that an answer
// will come. Pure. Looks at whole events while nothing has been sent to the client, and at nothing after.
import type { Family } from './errors.ts';

type Json = Readonly<Record<string, unknown>>;

/** Events before the first token, by their `type`. */
const OPENINGS: Readonly<Partial<Record<Family, ReadonlySet<string>>>> = {
  responses: new Set(['response.created', 'response.in_progress', 'response.queued', 'keepalive', 'ping']),
  messages: new Set(['message_start', 'content_block_start', 'ping']),
};

/**
 * Whether these events hold a token, or anything else that an answer consists of. What is not understood counts as an
 * answer: it is handed on rather than held back.
 * @param events whole events of an event stream
 */
export function holdsToken(events: Buffer, family: Family): boolean {
  for (const line of events.toString('utf8').split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:') && isAnswer(line.slice(5).trim(), family)) return true;
  }
  return false;
}

function isAnswer(data: string, family: Family): boolean {
  if (data === '') return false;
  let event: Json;
  try {
    event = JSON.parse(data) as Json;
  } catch {
    return true; // `[DONE]`, or an event over several lines
  }
  if (typeof event !== 'object' || event === null) return true;
  const openings = OPENINGS[family];
  if (openings !== undefined) return !openings.has(String(event['type']));
  const choices = event['choices'];
  if (!Array.isArray(choices)) return true;
  return choices.some((choice: Json | null) => speaks(choice));
}

/** A choice with a text, a tool call, an end: anything beside its role. */
function speaks(choice: Json | null): boolean {
  if (choice === null || typeof choice !== 'object') return true;
  if (isSet(choice['finish_reason']) || isSet(choice['text'])) return true;
  const { role: _, ...delta } = (choice['delta'] ?? {}) as Json;
  return Object.values(delta).some(isSet);
}

function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== null && value !== undefined && value !== '';
}
