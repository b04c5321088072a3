// Completions, `POST /v1/completions` (platform.openai.com/docs/api-reference/completions).
import { CHOICE_EVENTS } from './choices.ts';
import { OPENAI_ERRORS } from './errors.ts';
import { RESPONSE, TEXT, textEndpoint } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { readTokens } from './usage.ts';

export const completions: Protocol = {
  name: 'completions',
  outputLimits: ['max_tokens'],
  promptList: 'prompt',
  endpoints: [textEndpoint('completions', 'atext_completion', { usageOnRequest: true })],
  stored: [],
  response: RESPONSE,
  events: CHOICE_EVENTS,
  errors: OPENAI_ERRORS,
  text: { ...TEXT, inEvent: (event) => event['choices'] },
  continuation: null,
  readTokens,
};
