// Reads token counts out of the usage objects of every wire family into one set of buckets. Pure; it never guesses:
// a count that is missing or is no count is null, and the object itself is recorded as it was sent.

/** Token counts as buckets; null = not stated. `prompt` includes cached tokens (the chat-completions convention). */
export interface Tokens {
  readonly prompt: number | null;
  readonly completion: number | null;
  readonly total: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly reasoning: number | null;
}

export const NO_TOKENS: Tokens = Object.freeze({
  prompt: null,
  completion: null,
  total: null,
  cacheRead: null,
  cacheWrite: null,
  reasoning: null,
});

type Json = Readonly<Record<string, unknown>>;

/**
 * The counts of a usage object as the upstream sent it.
 *
 * Families by their spelling: `prompt_tokens` is chat completions; `input_tokens` with `input_tokens_details` is
 * responses; `input_tokens` beside `cache_read_input_tokens` or `cache_creation_input_tokens` is messages, whose
 * `input_tokens` leaves the cached ones out (docs.anthropic.com/en/docs/build-with-claude/prompt-caching); with
 * neither the two mean the same. Numbers that are negative, fractional, above 2^53 or no numbers count as missing.
 */
export function readTokens(usage: Json | null): Tokens {
  if (usage === null) return NO_TOKENS;
  const promptDetails = objectAt(usage, 'prompt_tokens_details') ?? objectAt(usage, 'input_tokens_details');
  const completionDetails =
    objectAt(usage, 'completion_tokens_details') ?? objectAt(usage, 'output_tokens_details');
  const cacheRead =
    countAt(promptDetails, 'cached_tokens') ??
    countAt(usage, 'cache_read_input_tokens') ??
    countAt(usage, 'prompt_cache_hit_tokens') ??
    countAt(usage, 'cached_tokens');
  const cacheWrite =
    countAt(promptDetails, 'cache_creation_tokens') ??
    countAt(promptDetails, 'cache_write_tokens') ??
    countAt(usage, 'cache_creation_input_tokens');
  const prompt = countAt(usage, 'prompt_tokens') ?? promptOf(usage);
  const completion = countAt(usage, 'completion_tokens') ?? countAt(usage, 'output_tokens');
  return {
    prompt,
    completion,
    total: countAt(usage, 'total_tokens') ?? sum(prompt, completion),
    cacheRead,
    cacheWrite,
    reasoning: countAt(completionDetails, 'reasoning_tokens'),
  };
}

/** All prompt tokens of the responses and messages spellings. */
function promptOf(usage: Json): number | null {
  const input = countAt(usage, 'input_tokens');
  if (objectAt(usage, 'input_tokens_details') !== null) return input;
  return sum(
    sum(input, addend(usage, 'cache_read_input_tokens')),
    addend(usage, 'cache_creation_input_tokens'),
  );
}

/** 0 for what is not stated; null for what is stated wrongly, because the sum would be too small. */
function addend(usage: Json, key: string): number | null {
  return usage[key] === undefined || usage[key] === null ? 0 : countAt(usage, key);
}

function sum(a: number | null, b: number | null): number | null {
  return a === null || b === null || !Number.isSafeInteger(a + b) ? null : a + b;
}

function countAt(object: Json | null, key: string): number | null {
  const value = object?.[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function objectAt(object: Json, key: string): Json | null {
  const value = object[key];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
}
