// Usage of Gemini's protocol (ai.google.dev/api/generate-content, UsageMetadata).
import type { Json } from '../../../bodies/json.ts';
import { NO_TOKENS, type Tokens } from '../../usage.ts';
import { isUnknown, totalOf } from '../tokens.ts';

/**
 * Counts of tools' results are part of the prompt, thoughts are part of the completion; where the stated total shows that
 * the candidates include the thoughts already, they are not added.
 */
export function readUsage(usage: Json | null): Tokens {
  if (usage === null) return NO_TOKENS;
  const count = (name: string): number | null => {
    const value = usage[name];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
  };
  const stated = count('promptTokenCount');
  const candidates = count('candidatesTokenCount');
  const thoughts = count('thoughtsTokenCount');
  const total = count('totalTokenCount');
  const prompt = stated === null ? null : stated + (count('toolUsePromptTokenCount') ?? 0);
  const isInside = prompt !== null && prompt + (candidates ?? 0) === total;
  const completion =
    candidates === null && thoughts === null ? null : (candidates ?? 0) + (isInside ? 0 : (thoughts ?? 0));
  return {
    ...NO_TOKENS,
    prompt,
    completion,
    total,
    cacheRead: count('cachedContentTokenCount'),
    reasoning: thoughts,
  };
}

export function writeUsage(tokens: Tokens): Json {
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
