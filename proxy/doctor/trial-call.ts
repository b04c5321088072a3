// The one call that costs something: a short streamed chat that offers a tool; and what is read of its response.
import { messageOf, objectOf, recordOf, type Asked, type Reply } from './ask.ts';

/** Most tokens of the answer; enough for a tool call of models that write some text before. */
export const ANSWER_TOKENS = 120;
/** What the request below has, by the count of common tokenizers, with room. */
export const PROMPT_TOKENS = 150;

const TOOL = {
  type: 'function',
  function: {
    name: 'report_status',
    description: 'Reports the status of the connection.',
    parameters: {
      type: 'object',
      properties: { status: { type: 'string', description: 'One word.' } },
      required: ['status'],
    },
  },
} as const;

type LimitMember = 'max_tokens' | 'max_completion_tokens';

export function trialBody(model: string, withTools: boolean, limit: LimitMember = 'max_tokens'): object {
  const ask = withTools
    ? 'Call the tool report_status with the status "ok". Write nothing else.'
    : 'Write the numbers from one to forty as words.';
  return {
    model,
    messages: [{ role: 'user', content: ask }],
    stream: true,
    stream_options: { include_usage: true },
    [limit]: ANSWER_TOKENS,
    ...(withTools ? { tools: [TOOL], tool_choice: 'auto' } : {}),
  };
}

/** Most tokens of the answer below. */
export const SHORT_TOKENS = 16;

/** As cheap as a call can be, for the time it takes. */
export const shortBody = (model: string, limit: LimitMember): object => ({
  model,
  messages: [{ role: 'user', content: 'Write the word ok.' }],
  stream: true,
  [limit]: SHORT_TOKENS,
});

/** Where a call is sent: with the proxy or without. */
export interface Route {
  readonly where: 'at the gateway' | 'through the proxy';
  /** The name that is asked for there. */
  readonly model: string;
  readonly send: (body: object) => Promise<Asked>;
}

/** Asks with the member that limits the answer as the model takes it: some refuse `max_tokens`. */
export async function askWithLimit(
  { send }: Route,
  bodyOf: (limit: LimitMember) => object,
): Promise<{ readonly asked: Asked; readonly limit: LimitMember }> {
  const asked = await send(bodyOf('max_tokens'));
  if (!asked.ok || !refusesLimit(asked.reply.status, messageOf(asked.reply)))
    return { asked, limit: 'max_tokens' };
  return { asked: await send(bodyOf('max_completion_tokens')), limit: 'max_completion_tokens' };
}

/** What a stream held. */
export interface Trial {
  readonly events: number;
  readonly toolCalls: number;
  readonly textChars: number;
  readonly hasUsage: boolean;
  readonly hasEnd: boolean;
  /** What an error event said; null = there was none. */
  readonly error: string | null;
  readonly firstMs: number;
  /** Milliseconds between the first piece and the last one. */
  readonly spreadMs: number;
}

export function readTrial(reply: Reply): Trial {
  let [events, toolCalls, textChars] = [0, 0, 0];
  let [hasUsage, hasEnd] = [false, false];
  let error: string | null = null;
  for (const line of reply.text.split(/\r\n|\r|\n/)) {
    if (!line.startsWith('data:')) continue;
    const data = line.slice('data:'.length).trim();
    if (data === '[DONE]') {
      hasEnd = true;
      continue;
    }
    events += 1;
    const event = objectOf(data);
    if (event['error'] !== undefined && event['error'] !== null)
      error = messageOf({ text: data }) || 'an error event';
    if (Object.keys(recordOf(event['usage'])).length > 0) hasUsage = true;
    const choices = Array.isArray(event['choices']) ? event['choices'].map(recordOf) : [];
    for (const choice of choices) {
      const delta = recordOf(choice['delta']);
      if (Array.isArray(delta['tool_calls']))
        toolCalls += delta['tool_calls'].filter(
          (one) => typeof recordOf(recordOf(one)['function'])['name'] === 'string',
        ).length;
      if (typeof delta['content'] === 'string') textChars += delta['content'].length;
    }
  }
  const { pieceMs, endMs } = reply;
  const firstMs = pieceMs[0] ?? endMs;
  return {
    events,
    toolCalls,
    textChars,
    hasUsage,
    hasEnd,
    error,
    firstMs,
    spreadMs: (pieceMs.at(-1) ?? firstMs) - firstMs,
  };
}

const SOME_EVENTS = 5;
const NOTABLE_MS = 700;

/**
 * Many events that took their time, and came all at once: somebody collected them. A model that is quick, or says little,
 * proves nothing.
 */
export function isCollected({ events, firstMs, spreadMs }: Trial): boolean {
  return events >= SOME_EVENTS && firstMs >= NOTABLE_MS && spreadMs < firstMs / 10;
}

/** A refusal that is about tools, not about the chain. */
export function refusesTools(status: number, message: string): boolean {
  return (
    [400, 404, 422, 500, 501].includes(status) && /\btools?\b|tool_choice|function[ _-]?call/i.test(message)
  );
}

/** A refusal of the member that limits the answer. */
const refusesLimit = (status: number, message: string): boolean =>
  status === 400 && /max_tokens/i.test(message);
