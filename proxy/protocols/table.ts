// The LLM endpoints: one row each. The dialect's call types are the ones that its spend rows carry.
import type { Family } from './errors.ts';

export interface Endpoint {
  /** Path below the upstream's prefix, e.g. `chat/completions`. */
  readonly path: string;
  readonly callType: string;
  readonly family: Family;
  /** `form`: uploads, multipart or JSON. */
  readonly body: 'json' | 'form';
  /** Streams carry usage only when `stream_options.include_usage` asks for it. */
  readonly usageOnRequest: boolean;
  /** What is charged beside tokens. */
  readonly pricedBy: 'tokens' | 'images' | 'characters';
  /** What can be counted here where the upstream states no usage. */
  readonly counted: 'prompt and answer' | 'prompt' | 'nothing';
  /** Tells of an answer that exists: its usage stands in the row of the call that made it and must not count twice. */
  readonly retells: boolean;
}

const row = (
  path: string,
  callType: string,
  family: Family = 'other',
  more: Partial<Omit<Endpoint, 'path' | 'callType' | 'family'>> = {},
): Endpoint => ({
  path,
  callType,
  family,
  body: 'json',
  usageOnRequest: false,
  pricedBy: 'tokens',
  counted: 'nothing',
  retells: false,
  ...more,
});

const WRITES = { counted: 'prompt and answer' } as const;
const IMAGES = { pricedBy: 'images' } as const;

/** POST endpoints that name a model. */
export const ENDPOINTS: readonly Endpoint[] = [
  row('chat/completions', 'acompletion', 'chat', { ...WRITES, usageOnRequest: true }),
  row('completions', 'atext_completion', 'completions', { ...WRITES, usageOnRequest: true }),
  row('embeddings', 'aembedding', 'other', { counted: 'prompt' }),
  row('responses', 'aresponses', 'responses', WRITES),
  row('messages', 'anthropic_messages', 'messages', WRITES),
  row('messages/count_tokens', 'acount_tokens', 'messages'),
  row('images/generations', 'aimage_generation', 'other', IMAGES),
  row('images/edits', 'aimage_edit', 'other', { ...IMAGES, body: 'form' }),
  row('images/variations', 'aimage_variation', 'other', { ...IMAGES, body: 'form' }),
  row('audio/speech', 'aspeech', 'other', { pricedBy: 'characters' }),
  row('audio/transcriptions', 'atranscription', 'other', { body: 'form' }),
  row('audio/translations', 'atranslation', 'other', { body: 'form' }),
  row('moderations', 'amoderation'),
  row('rerank', 'arerank'),
];

const about = (callType: string): Endpoint => row('responses', callType, 'responses', { retells: true });

/** What can be done with a response that exists, by method and suffix; they go to the upstream that made it. */
export const BY_ID: readonly {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly suffix: string;
  readonly endpoint: Endpoint;
}[] = [
  { method: 'GET', suffix: '', endpoint: about('aget_responses') },
  { method: 'DELETE', suffix: '', endpoint: about('adelete_responses') },
  { method: 'POST', suffix: '/cancel', endpoint: about('acancel_responses') },
  { method: 'GET', suffix: '/input_items', endpoint: about('alist_input_items') },
];
