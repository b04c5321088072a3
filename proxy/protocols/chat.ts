// Chat completions, `POST /v1/chat/completions` (platform.openai.com/docs/api-reference/chat).
import type { Buffer } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { peekInSlices, UNBOUNDED } from '../bodies/peek.ts';
import type { Wanted } from '../bodies/members.ts';
import type { Cut } from '../bodies/splice.ts';
import { CHAT_CONVERSATION } from './conversation.ts';
import { ChatTranscript } from './chat-transcript.ts';
import { CHOICE_EVENTS } from './choices.ts';
import { OPENAI_ERRORS } from './errors.ts';
import { RESPONSE, TEXT, textEndpoint } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { CHAT_TOOLS } from './tool-uses.ts';
import { readTokens } from './usage.ts';

const MESSAGES: Wanted = { names: new Set(['messages']), prefixes: [] };

export const chat: Protocol = {
  name: 'chat',
  outputLimits: ['max_tokens', 'max_completion_tokens'],
  alternatives: [
    ['max_tokens', 'max_completion_tokens'],
    ['reasoning_effort', 'thinking', 'reasoning'], // the last one is OpenRouter's
  ],
  endpoints: [textEndpoint('chat/completions', 'acompletion', { usageOnRequest: true })],
  ownHeaders: ['openai-'],
  stored: [],
  response: { ...RESPONSE, tools: CHAT_TOOLS },
  events: CHOICE_EVENTS,
  errors: OPENAI_ERRORS,
  text: { ...TEXT, inEvent: (event) => event['choices'] },
  continuation: { transcript: () => new ChatTranscript(), prefill },
  conversation: CHAT_CONVERSATION,
  readTokens,
};

/** A last message that is the assistant's and not finished. */
async function prefill(body: Buffer, text: string, maxDepth: number): Promise<readonly Cut[] | null> {
  const found = await peekInSlices(body, MESSAGES, maxDepth, UNBOUNDED, setImmediate);
  const end = found.members[0]?.valueEnd;
  if (end === undefined) return null;
  const message = JSON.stringify({ role: 'assistant', content: text, prefix: true });
  return [{ start: end - 1, end: end - 1, insert: [`,${message}`] }];
}
