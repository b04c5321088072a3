// Anthropic messages on the wire, whole and streamed (docs.anthropic.com/en/api/messages-streaming). The stream states
// its input tokens in message_start and its output tokens in message_delta only, as the original does. Pure.
import type { Json } from './model-request.ts';
import type { Answer } from './compose.ts';
import type { StreamEvent } from './stream.ts';

/** The body of `messages`, not streamed. */
export function messageWhole(answer: Answer): Json {
  const { call, counts } = answer;
  const block =
    call === null
      ? { type: 'text', text: answer.text }
      : {
          type: 'tool_use',
          id: toolUseId(answer),
          name: call.name,
          input: JSON.parse(call.arguments) as unknown,
        };
  return {
    ...head(answer),
    content: [block],
    stop_reason: stopReason(answer),
    stop_sequence: null,
    ...(answer.hasUsage ? { usage: { ...inputUsage(answer), output_tokens: counts.completion } } : {}),
  };
}

/** The events of a `messages` stream. */
export function messageEvents(answer: Answer): StreamEvent[] {
  const { call, counts, hasUsage } = answer;
  const message = {
    ...head(answer),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(hasUsage ? { usage: { ...inputUsage(answer), output_tokens: 1 } } : {}),
  };
  const block =
    call === null
      ? { type: 'text', text: '' }
      : { type: 'tool_use', id: toolUseId(answer), name: call.name, input: {} };
  const deltas =
    call === null
      ? answer.pieces.map((text) => ({ type: 'text_delta', text }))
      : call.pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }));
  return [
    event('open', 'message_start', { message }),
    event('open', 'content_block_start', { index: 0, content_block: block }),
    event('open', 'ping', {}),
    ...deltas.map((delta) => event('delta', 'content_block_delta', { index: 0, delta })),
    event('finish', 'content_block_stop', { index: 0 }),
    event('finish', 'message_delta', {
      delta: { stop_reason: stopReason(answer), stop_sequence: null },
      ...(hasUsage ? { usage: { output_tokens: counts.completion } } : {}),
    }),
    event('done', 'message_stop', {}),
  ];
}

/** `input_tokens` leaves out the cache counts here, other than in the chat-completions convention. */
function inputUsage({ counts }: Answer): Json {
  const { prompt, cacheRead, cacheWrite } = counts;
  if (cacheRead + cacheWrite === 0) return { input_tokens: prompt };
  return {
    input_tokens: prompt - cacheRead - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: 0 },
  };
}

function head(answer: Answer): Json {
  return { id: `msg_${answer.identity}`, type: 'message', role: 'assistant', model: answer.request.model };
}

function toolUseId(answer: Answer): string {
  return `toolu_${answer.identity}`;
}

function stopReason(answer: Answer): string {
  return answer.call === null ? 'end_turn' : 'tool_use';
}

function event(stage: StreamEvent['stage'], name: string, members: Json): StreamEvent {
  return { stage, name, data: { type: name, ...members } };
}
