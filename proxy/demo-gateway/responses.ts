// OpenAI responses on the wire, whole and streamed (platform.openai.com/docs/api-reference/responses-streaming), and
// the calls on stored responses. A response stream has no [DONE]: response.completed is its end. Pure.
import type { Json } from './model-request.ts';
import { isJson } from './model-request.ts';
import type { Answer } from './compose.ts';
import type { StreamEvent } from './stream.ts';

/** A response that can be fetched by its id. */
export interface StoredResponse {
  readonly id: string;
  readonly response: Json;
  readonly inputItems: readonly Json[];
}

/** The body of `responses`, not streamed. */
export function responseWhole(answer: Answer): Json {
  return response(answer, 'completed', [item(answer, 'completed')]);
}

/** The answer to a call with `background`: the response is to be fetched by its id. */
export function responseQueued(answer: Answer): Json {
  return { ...response(answer, 'queued', []), background: true };
}

/** The events of a `responses` stream, numbered from 0. */
export function responseEvents(answer: Answer): StreamEvent[] {
  const { call, text } = answer;
  const inPart = { item_id: itemId(answer), output_index: 0, content_index: 0 };
  const inItem = { item_id: itemId(answer), output_index: 0 };
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  const begun = { response: response(answer, 'in_progress', []) };
  const steps: (readonly [StreamEvent['stage'], name: string, members: Json])[] = [
    ['open', 'response.created', begun],
    ['open', 'response.in_progress', begun],
    ['open', 'response.output_item.added', { output_index: 0, item: item(answer, 'in_progress') }],
  ];
  if (call === null) {
    steps.push(['open', 'response.content_part.added', { ...inPart, part }]);
    for (const delta of answer.pieces) {
      steps.push(['delta', 'response.output_text.delta', { ...inPart, delta, logprobs: [] }]);
    }
    steps.push(
      ['finish', 'response.output_text.done', { ...inPart, text, logprobs: [] }],
      ['finish', 'response.content_part.done', { ...inPart, part: { ...part, text } }],
    );
  } else {
    for (const delta of call.pieces) {
      steps.push(['delta', 'response.function_call_arguments.delta', { ...inItem, delta }]);
    }
    const members = { ...inItem, name: call.name, arguments: call.arguments };
    steps.push(['finish', 'response.function_call_arguments.done', members]);
  }
  steps.push(
    ['finish', 'response.output_item.done', { output_index: 0, item: item(answer, 'completed') }],
    ['done', 'response.completed', { response: responseWhole(answer) }],
  );
  return steps.map(([stage, name, members], at) => ({
    stage,
    name,
    data: { type: name, sequence_number: at, ...members },
  }));
}

/** What is kept of a response for later questions about it. */
export function storedResponse(answer: Answer): StoredResponse {
  const input = answer.request.body['input'];
  const items = Array.isArray(input) ? input.filter(isJson) : [{ role: 'user', content: input ?? '' }];
  return {
    id: responseId(answer),
    response: responseWhole(answer),
    inputItems: items.map((given, at) => ({
      id: `msg_in_${at}_${answer.identity}`,
      type: 'message',
      ...given,
      ...(typeof given['content'] === 'string'
        ? { content: [{ type: 'input_text', text: given['content'] }] }
        : {}),
    })),
  };
}

/** The answer to `GET /responses/{id}/input_items`: one page, newest first as the original lists them. */
export function inputItemList({ inputItems }: StoredResponse): Json {
  const data = inputItems.toReversed();
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: false,
  };
}

function responseId(answer: Answer): string {
  return `resp_${answer.identity}`;
}

function itemId(answer: Answer): string {
  return answer.call === null ? `msg_${answer.identity}` : `fc_${answer.identity}`;
}

function item(answer: Answer, status: 'in_progress' | 'completed'): Json {
  const { call, text } = answer;
  const isDone = status === 'completed';
  if (call !== null) {
    return {
      id: itemId(answer),
      type: 'function_call',
      status,
      call_id: `call_${answer.identity}`,
      name: call.name,
      arguments: isDone ? call.arguments : '',
    };
  }
  const content = isDone ? [{ type: 'output_text', text, annotations: [], logprobs: [] }] : [];
  return { id: itemId(answer), type: 'message', status, role: 'assistant', content };
}

function response(
  answer: Answer,
  status: 'queued' | 'in_progress' | 'completed',
  output: readonly Json[],
): Json {
  const { request, counts } = answer;
  const { prompt, completion } = counts;
  const usage = {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: counts.cacheRead, cache_write_tokens: counts.cacheWrite },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: counts.reasoning },
    total_tokens: prompt + completion,
  };
  const isDone = status === 'completed';
  return {
    id: responseId(answer),
    object: 'response',
    created_at: answer.createdS,
    status,
    error: null,
    incomplete_details: null,
    instructions: request.body['instructions'] ?? null,
    max_output_tokens: request.body['max_output_tokens'] ?? null,
    model: request.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: request.body['previous_response_id'] ?? null,
    store: request.body['store'] !== false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: request.body['tool_choice'] ?? 'auto',
    tools: request.body['tools'] ?? [],
    top_p: 1,
    truncation: 'disabled',
    metadata: request.body['metadata'] ?? {},
    ...(isDone && !answer.hasUsage ? {} : { usage: isDone ? usage : null }),
  };
}
