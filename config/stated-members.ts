// Members of requests that an entry states for its deployment: settings in OpenAI's spelling, which hold where the client states
// none, and `extra_body`, which holds always. Which protocols have which setting is said here, once: what is sent follows from
// it, and what is warned about at the start.
import type { Secret } from './secret.ts';

/** What an entry states. Each deployment has its own: they are added to the client's body attempt by attempt. */
export interface StatedMembers {
  /** Settings as chat completions and embeddings spell them. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Of `extra_body`: names, and values as JSON text, which may hold secrets. */
  readonly extra: readonly (readonly [name: string, json: Secret])[];
}

/** Settings that the protocols have in common, each in its own words. */
const COMMON = [
  'max_completion_tokens',
  'max_tokens',
  'reasoning_effort',
  'response_format',
  'stop',
  'temperature',
  'thinking',
  'top_p',
] as const;

const CHAT = [
  ...COMMON,
  'audio',
  'frequency_penalty',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'modalities',
  'n',
  'parallel_tool_calls',
  'prediction',
  'presence_penalty',
  'safety_identifier',
  'seed',
  'service_tier',
  'tool_choice',
  'tools',
  'top_logprobs',
  'verbosity',
  'web_search_options',
] as const;

const COMPLETIONS = [
  'frequency_penalty',
  'logit_bias',
  'max_tokens',
  'n',
  'presence_penalty',
  'seed',
  'stop',
  'temperature',
  'top_p',
] as const;

const EMBEDDINGS = ['dimensions', 'encoding_format', 'input_type'] as const;

/** Settings by the protocols that have them, as `Protocol.name` has those. */
export const SETTINGS_OF: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['chat', CHAT],
  ['completions', COMPLETIONS],
  [
    'responses',
    [
      ...COMMON.filter((name) => name !== 'stop'),
      'parallel_tool_calls',
      'safety_identifier',
      'service_tier',
      'top_logprobs',
      'verbosity',
    ],
  ],
  ['messages', COMMON],
  ['gemini', [...COMMON, 'frequency_penalty', 'presence_penalty', 'seed']],
  ['embeddings', EMBEDDINGS],
]);

/** Every setting that an entry may state. */
export const SETTINGS = [...CHAT, ...EMBEDDINGS] as const;
