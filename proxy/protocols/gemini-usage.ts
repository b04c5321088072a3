// Gemini's `usageMetadata` in the spelling of chat completions, for the one reader of counts (usage.ts). Pure.
// ai.google.dev/api/generate-content#UsageMetadata
import { asObject, isStated, type Json } from '../bodies/json.ts';

export function isOfGemini(usage: Json): boolean {
  return 'promptTokenCount' in usage || 'candidatesTokenCount' in usage || 'totalTokenCount' in usage;
}

/** What the vendor's own tools put into the prompt is part of it; thoughts are part of the output. */
export function inPlainSpelling(usage: Json): Json {
  const {
    promptTokenCount: prompt,
    toolUsePromptTokenCount: tools,
    candidatesTokenCount: candidates,
    thoughtsTokenCount: thoughts,
    totalTokenCount: total,
  } = usage;
  const wholePrompt = sum(prompt, tools);
  // Some answers count the thoughts among the candidates: the total shows it.
  const areInside = isStated(thoughts) && isStated(candidates) && sum(wholePrompt, candidates) === total;
  return {
    prompt_tokens: wholePrompt,
    completion_tokens: areInside ? candidates : sum(candidates, thoughts),
    total_tokens: total,
    prompt_tokens_details: {
      cached_tokens: usage['cachedContentTokenCount'],
      audio_tokens: ofKind(usage['promptTokensDetails'], 'AUDIO'),
      image_tokens: ofKind(usage['promptTokensDetails'], 'IMAGE'),
      cached_tokens_details: {
        audio_tokens: ofKind(usage['cacheTokensDetails'], 'AUDIO'),
        image_tokens: ofKind(usage['cacheTokensDetails'], 'IMAGE'),
      },
    },
    completion_tokens_details: {
      reasoning_tokens: thoughts,
      audio_tokens: ofKind(usage['candidatesTokensDetails'], 'AUDIO'),
      image_tokens: ofKind(usage['candidatesTokensDetails'], 'IMAGE'),
    },
  };
}

/** What is no number stays as it is, so that the reader has its doubt. */
function sum(first: unknown, second: unknown): unknown {
  if (!isStated(second)) return first;
  if (!isStated(first)) return second;
  return typeof first === 'number' && typeof second === 'number' ? first + second : String(first);
}

/** `[{modality: 'AUDIO', tokenCount: 5}]` */
function ofKind(details: unknown, kind: string): unknown {
  if (!Array.isArray(details)) return undefined;
  return details.map(asObject).find((one) => one?.['modality'] === kind)?.['tokenCount'];
}
