// Gemini's generateContent on the wire, whole and streamed (ai.google.dev/api/generate-content). A stream has no event that ends
// it: its last frame states a finishReason. Pure.
import type { Answer } from './compose.ts';
import type { Json } from './model-request.ts';
import type { StreamEvent } from './stream.ts';

/** The body of `:generateContent`. */
export function geminiWhole(answer: Answer): Json {
  return frame(answer, partsOf(answer), true);
}

/** The events of `:streamGenerateContent?alt=sse`. A call comes in one piece. */
export function geminiEvents(answer: Answer): StreamEvent[] {
  const { call, pieces } = answer;
  const parts = call === null ? pieces.map((text) => ({ text })) : partsOf(answer);
  const deltas = parts.map((part): StreamEvent => ({
    stage: 'delta',
    name: null,
    data: frame(answer, [part], false),
  }));
  return [...deltas, { stage: 'finish', name: null, data: frame(answer, [{ text: '' }], true) }];
}

function partsOf({ call, text }: Answer): readonly Json[] {
  if (call === null) return [{ text }];
  return [{ functionCall: { name: call.name, args: JSON.parse(call.arguments) as unknown } }];
}

function frame(answer: Answer, parts: readonly Json[], isLast: boolean): Json {
  const { counts, hasUsage, identity, request } = answer;
  const { prompt, completion, cacheRead, reasoning } = counts;
  const usage = {
    promptTokenCount: prompt,
    candidatesTokenCount: completion - reasoning,
    totalTokenCount: prompt + completion,
    ...(cacheRead === 0 ? {} : { cachedContentTokenCount: cacheRead }),
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
  };
  return {
    candidates: [
      { content: { role: 'model', parts }, index: 0, ...(isLast ? { finishReason: 'STOP' } : {}) },
    ],
    ...(hasUsage && isLast ? { usageMetadata: usage } : {}),
    modelVersion: request.model,
    responseId: identity,
  };
}
