// Chat completions and legacy completions on the wire, whole and streamed, as OpenAI documents them
// (platform.openai.com/docs/api-reference/chat). Pure: an answer in, objects out.
import type { Json } from './model-request.ts';
import type { Answer } from './compose.ts';
import type { StreamEvent } from './stream.ts';

/** The body of `chat/completions`, not streamed. */
export function chatWhole(answer: Answer): Json {
  const { call } = answer;
  const message =
    call === null
      ? { role: 'assistant', content: answer.text, refusal: null }
      : {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [
            {
              id: `call_${answer.identity}`,
              type: 'function',
              function: { name: call.name, arguments: call.arguments },
            },
          ],
        };
  return {
    ...head(answer, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer) }],
    ...usageMember(answer),
  };
}

/** The events of a `chat/completions` stream. */
export function chatEvents(answer: Answer): StreamEvent[] {
  const { call } = answer;
  const first = { role: 'assistant', content: call === null ? '' : null };
  const events = [chunk(answer, 'open', { delta: first })];
  if (call !== null) {
    const opened = {
      index: 0,
      id: `call_${answer.identity}`,
      type: 'function',
      function: { name: call.name, arguments: '' },
    };
    events.push(chunk(answer, 'open', { delta: { tool_calls: [opened] } }));
    for (const piece of call.pieces) {
      const delta = { tool_calls: [{ index: 0, function: { arguments: piece } }] };
      events.push(chunk(answer, 'delta', { delta }));
    }
  }
  for (const piece of answer.pieces) events.push(chunk(answer, 'delta', { delta: { content: piece } }));
  events.push(chunk(answer, 'finish', { delta: {} }));
  return [...events, ...tail(answer, 'chat.completion.chunk')];
}

/** The body of the legacy `completions`, not streamed. */
export function completionWhole(answer: Answer): Json {
  return {
    ...head(answer, 'text_completion'),
    choices: [{ text: answer.text, index: 0, logprobs: null, finish_reason: finishReason(answer) }],
    ...usageMember(answer),
  };
}

/** The events of a legacy `completions` stream. */
export function completionEvents(answer: Answer): StreamEvent[] {
  const events = answer.pieces.map((text) => chunk(answer, 'delta', { text }));
  events.push(chunk(answer, 'finish', { text: '' }));
  return [...events, ...tail(answer, 'text_completion')];
}

/** `usage` in the chat-completions convention; details only where there is something to say. */
function chatUsage({ counts }: Answer): Json {
  const { prompt, completion, cacheRead, cacheWrite, reasoning } = counts;
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
  if (cacheRead + cacheWrite + reasoning === 0) return usage;
  return {
    ...usage,
    prompt_tokens_details: { cached_tokens: cacheRead, cache_creation_tokens: cacheWrite, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
    // The proxy-type dialect repeats the cache counts beside the details.
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
  };
}

function head(answer: Answer, object: string): Json {
  const { endpoint, model } = answer.request;
  const prefix = endpoint === 'chat_completion' ? 'chatcmpl' : 'cmpl';
  return { id: `${prefix}-${answer.identity}`, object, created: answer.createdS, model };
}

function usageMember(answer: Answer): Json {
  return answer.hasUsage ? { usage: chatUsage(answer) } : {};
}

function finishReason(answer: Answer): string {
  return answer.call === null ? 'stop' : 'tool_calls';
}

function chunk(answer: Answer, stage: StreamEvent['stage'], content: Json): StreamEvent {
  const isFinish = stage === 'finish';
  const isChat = answer.request.endpoint === 'chat_completion';
  const choice = {
    index: 0,
    ...content,
    logprobs: null,
    finish_reason: isFinish ? finishReason(answer) : null,
  };
  const later = hasUsageChunk(answer) ? null : undefined;
  const usage = isFinish && usageInLast(answer) ? chatUsage(answer) : later;
  return {
    stage,
    name: null,
    data: {
      ...head(answer, isChat ? 'chat.completion.chunk' : 'text_completion'),
      choices: [choice],
      ...(usage === undefined ? {} : { usage }),
    },
  };
}

function usageInLast(answer: Answer): boolean {
  return answer.hasUsage && answer.request.behaviours.has('usage-in-last');
}

function hasUsageChunk(answer: Answer): boolean {
  return answer.hasUsage && answer.request.includeUsage && !answer.request.behaviours.has('usage-in-last');
}

function tail(answer: Answer, object: string): StreamEvent[] {
  const done: StreamEvent = { stage: 'done', name: null, data: '[DONE]' };
  if (!hasUsageChunk(answer)) return [done];
  const data = { ...head(answer, object), choices: [], usage: chatUsage(answer) };
  return [{ stage: 'usage', name: null, data }, done];
}
