// Usage of answers, between the spellings of the protocols. Reading is that of ../usage.ts; here is what it needs beside, and
// writing.
import type { Json } from '../../bodies/json.ts';
import type { Tokens } from '../usage.ts';

function totalOf({ prompt, completion, total }: Tokens): number {
  return Math.max(total ?? 0, (prompt ?? 0) + (completion ?? 0));
}

/** Nothing was stated. */
export function isUnknown({ prompt, completion }: Tokens): boolean {
  return prompt === null && completion === null;
}

/** Chat completions: the prompt includes what was read from caches, the completion the reasoning. */
export function writeChatUsage(tokens: Tokens): Json {
  const { prompt, completion, cacheRead, cacheWrite, reasoning } = tokens;
  return {
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion ?? 0,
    total_tokens: totalOf(tokens),
    ...(cacheRead === null && cacheWrite === null
      ? {}
      : {
          prompt_tokens_details: {
            cached_tokens: cacheRead ?? 0,
            ...(cacheWrite === null ? {} : { cache_write_tokens: cacheWrite }),
          },
        }),
    ...(reasoning === null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** Responses: likewise; its objects of details are required. */
export function writeResponsesUsage(tokens: Tokens): Json {
  const { prompt, completion, cacheRead, cacheWrite, reasoning } = tokens;
  return {
    input_tokens: prompt ?? 0,
    input_tokens_details: {
      cached_tokens: cacheRead ?? 0,
      cache_write_tokens: cacheWrite ?? 0,
    },
    output_tokens: completion ?? 0,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: totalOf(tokens),
  };
}

/** Messages: `input_tokens` leaves out what was read from caches and written to them. */
export function writeMessagesUsage(tokens: Tokens): Json {
  const { prompt, completion, cacheRead, cacheWrite, cacheWrite1h, reasoning } = tokens;
  const rest = (prompt ?? 0) - (cacheRead ?? 0) - (cacheWrite ?? 0);
  return {
    input_tokens: Math.max(0, rest),
    ...(cacheRead === null ? {} : { cache_read_input_tokens: cacheRead }),
    ...(cacheWrite === null ? {} : { cache_creation_input_tokens: cacheWrite }),
    ...(cacheWrite === null || cacheWrite1h === null
      ? {}
      : {
          cache_creation: {
            ephemeral_5m_input_tokens: Math.max(0, cacheWrite - cacheWrite1h),
            ephemeral_1h_input_tokens: cacheWrite1h,
          },
        }),
    output_tokens: completion ?? 0,
    ...(reasoning === null ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}

/** Gemini: thoughts are counted beside the candidates. */
export function writeGeminiUsage(tokens: Tokens): Json {
  if (isUnknown(tokens)) return {};
  const { prompt, completion, cacheRead, reasoning } = tokens;
  return {
    promptTokenCount: prompt ?? 0,
    ...(cacheRead === null ? {} : { cachedContentTokenCount: cacheRead }),
    candidatesTokenCount: Math.max(0, (completion ?? 0) - (reasoning ?? 0)),
    ...(reasoning === null ? {} : { thoughtsTokenCount: reasoning }),
    totalTokenCount: totalOf(tokens),
  };
}
