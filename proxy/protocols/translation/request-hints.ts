// Hints of a request that have no place in every protocol: where a prompt cache may end, and who the end user is.
import { asObject, type Json } from '../../bodies/json.ts';
import type { Conversation, Part } from './form.ts';
import type { Losses } from './losses.ts';
import { digest } from './tool-names.ts';

/** OpenAI's limit for `user` and `safety_identifier`. Claude Code states a JSON text of some 200 characters. */
const LONGEST_USER = 64;

/** The same label for the same user, short enough for every vendor. */
export function userLabel(user: string): string {
  return user.length <= LONGEST_USER ? user : `user_${digest(user, 32)}`;
}

/** The hint of Anthropic and LiteLLM where a prompt cache may end. */
export function cacheOf(holder: Json): { readonly cache?: Json } {
  const cache = asObject(holder['cache_control']);
  return cache === null ? {} : { cache };
}

const hasCache = (part: Part): boolean =>
  'cache' in part || (part.kind === 'result' && part.parts.some((inner) => 'cache' in inner));

/** Names `cache_control` as dropped if the request has it. */
export function dropCacheHints({ instructions, turns, tools }: Conversation, losses: Losses): void {
  const isHinted =
    instructions.some(hasCache) ||
    tools.some((tool) => 'cache' in tool) ||
    turns.some(({ parts }) => parts.some(hasCache));
  if (isHinted) losses.drop('cache_control');
}
