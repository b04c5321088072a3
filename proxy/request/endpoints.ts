// The LLM endpoints: one row each. The dialect's call types are the ones that its spend rows carry.
import type { Family } from '../errors/body.ts';

export interface Endpoint {
  /** Path below the upstream's prefix, e.g. `chat/completions`. */
  readonly path: string;
  readonly callType: string;
  readonly family: Family;
  /** `form`: uploads, multipart or JSON. */
  readonly body: 'json' | 'form';
  /** Streams carry usage only when `stream_options.include_usage` asks for it. */
  readonly usageOnRequest: boolean;
}

const row = (
  path: string,
  callType: string,
  family: Family = 'other',
  more: Partial<Pick<Endpoint, 'body' | 'usageOnRequest'>> = {},
): Endpoint => ({ path, callType, family, body: 'json', usageOnRequest: false, ...more });

/** POST endpoints that name a model. */
export const ENDPOINTS: readonly Endpoint[] = [
  row('chat/completions', 'acompletion', 'chat', { usageOnRequest: true }),
  row('completions', 'atext_completion', 'completions', { usageOnRequest: true }),
  row('embeddings', 'aembedding'),
  row('responses', 'aresponses', 'responses'),
  row('messages', 'anthropic_messages', 'messages'),
  row('messages/count_tokens', 'acount_tokens', 'messages'),
  row('images/generations', 'aimage_generation'),
  row('images/edits', 'aimage_edit', 'other', { body: 'form' }),
  row('images/variations', 'aimage_variation', 'other', { body: 'form' }),
  row('audio/speech', 'aspeech'),
  row('audio/transcriptions', 'atranscription', 'other', { body: 'form' }),
  row('audio/translations', 'atranslation', 'other', { body: 'form' }),
  row('moderations', 'amoderation'),
  row('rerank', 'arerank'),
];

/** What can be done with a response that exists, by method and suffix; they go to the upstream that made it. */
export const BY_ID: readonly {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly suffix: string;
  readonly endpoint: Endpoint;
}[] = [
  { method: 'GET', suffix: '', endpoint: row('responses', 'aget_responses', 'responses') },
  { method: 'DELETE', suffix: '', endpoint: row('responses', 'adelete_responses', 'responses') },
  { method: 'POST', suffix: '/cancel', endpoint: row('responses', 'acancel_responses', 'responses') },
  { method: 'GET', suffix: '/input_items', endpoint: row('responses', 'alist_input_items', 'responses') },
];
