// What an entry with `mock_response` answers: the operator's text in the shape of the endpoint, as one document or as events.
// Pure; mock-pool.ts sends it.
import { Buffer } from 'node:buffer';
import { objectIn, parseObject, type Json } from '../bodies/json.ts';

/** One answer. */
interface MockAnswer {
  readonly status: number;
  readonly type: 'application/json' | 'text/event-stream';
  /** A stream has one piece for each event. */
  readonly pieces: readonly Buffer[];
}

interface Asked {
  readonly model: string;
  readonly stream: boolean;
  readonly wantsUsage: boolean;
}

/** LiteLLM's (DEFAULT_MOCK_RESPONSE_PROMPT_TOKEN_COUNT and its fellow). */
const [PROMPT, ANSWER] = [10, 20];
const TOTAL = PROMPT + ANSWER;
const CREATED = 1677610602;
const VECTOR = 1536;

/** The classes of LiteLLM's errors: a text `<module>.<class>` is answered with that error. */
const FAILURES: ReadonlyMap<string, readonly [status: number, type: string, code: string]> = new Map([
  ['RateLimitError', [429, 'rate_limit_error', 'rate_limit_exceeded']],
  ['InternalServerError', [500, 'server_error', 'internal_error']],
  ['ContextWindowExceededError', [400, 'invalid_request_error', 'context_length_exceeded']],
  ['ContentPolicyViolationError', [400, 'invalid_request_error', 'content_policy_violation']],
]);

/** @param path as it would go upstream, with its query @param body of the request */
export function mockAnswer(text: string, method: string, path: string, body: Buffer | null): MockAnswer {
  const bare = path.split('?', 1)[0] ?? '';
  if (method === 'GET' && bare.endsWith('/models')) return json(200, { object: 'list', data: [] });
  const failure = FAILURES.get(/^\w+\.(\w+)$/.exec(text)?.[1] ?? '');
  if (failure !== undefined) return refused(failure, `mock_response: ${text}`);
  const asked = askedIn(bare, body);
  const shape = SHAPES.find(([suffix]) => suffix.test(bare));
  if (shape === undefined)
    return refused(
      [404, 'invalid_request_error', 'not_mocked'],
      'mock_response has no answer for this endpoint.',
    );
  return shape[1](text, asked);
}

function askedIn(path: string, body: Buffer | null): Asked {
  const request = parseObject(String(body ?? '{}')) ?? {}; // a form: nothing of it is needed
  const inPath = /\/models\/([^/:]+):/.exec(path)?.[1];
  const { model, stream } = request;
  return {
    model: typeof model === 'string' ? model : decodeURIComponent(inPath ?? ''),
    stream: stream === true || path.endsWith(':streamGenerateContent'),
    wantsUsage: objectIn(request, 'stream_options')?.['include_usage'] === true,
  };
}

const SHAPES: readonly (readonly [suffix: RegExp, answer: (text: string, asked: Asked) => MockAnswer])[] = [
  [/\/chat\/completions$/, chat],
  [/\/completions$/, completion],
  [/\/responses$/, response],
  [/\/messages$/, message],
  [/\/messages\/count_tokens$/, () => json(200, { input_tokens: PROMPT })],
  [/:(?:stream)?[gG]enerateContent$/, gemini],
  [/:countTokens$/, () => json(200, { totalTokens: PROMPT })],
  [/\/embeddings$/, embedding],
];

const USAGE = { prompt_tokens: PROMPT, completion_tokens: ANSWER, total_tokens: TOTAL };

function chat(text: string, { model, stream, wantsUsage }: Asked): MockAnswer {
  const head = { id: 'chatcmpl-mock', created: CREATED, model };
  if (!stream) {
    const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
    return json(200, { ...head, object: 'chat.completion', choices: [choice], usage: USAGE });
  }
  const chunk = (delta: Json, finish_reason: string | null): Json => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const said = words(text).map((content) => chunk({ content }, null));
  const usage = wantsUsage ? [{ ...chunk({}, null), choices: [], usage: USAGE }] : [];
  return events(
    [chunk({ role: 'assistant', content: '' }, null), ...said, chunk({}, 'stop'), ...usage],
    true,
  );
}

function completion(text: string, { model, stream, wantsUsage }: Asked): MockAnswer {
  const head = { id: 'cmpl-mock', object: 'text_completion', created: CREATED, model };
  const choice = (part: string, finish_reason: string | null): Json => ({
    index: 0,
    text: part,
    finish_reason,
  });
  if (!stream) return json(200, { ...head, choices: [choice(text, 'stop')], usage: USAGE });
  const said = words(text).map((part) => ({ ...head, choices: [choice(part, null)] }));
  const usage = wantsUsage ? [{ ...head, choices: [], usage: USAGE }] : [];
  return events([...said, { ...head, choices: [choice('', 'stop')] }, ...usage], true);
}

function response(text: string, { model, stream }: Asked): MockAnswer {
  const part = { type: 'output_text', text, annotations: [] };
  const item = { type: 'message', id: 'msg_mock', status: 'completed', role: 'assistant', content: [part] };
  const usage = { input_tokens: PROMPT, output_tokens: ANSWER, total_tokens: TOTAL };
  const head = { id: 'resp_mock', object: 'response', created_at: CREATED, model };
  const whole = { ...head, status: 'completed', output: [item], usage };
  if (!stream) return json(200, whole);
  const at = { item_id: 'msg_mock', output_index: 0, content_index: 0 };
  const begun = { ...head, status: 'in_progress', output: [] };
  const empty = { ...item, status: 'in_progress', content: [] };
  const list: Json[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: empty },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    ...words(text).map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ];
  return named(list.map((one, sequence_number) => ({ ...one, sequence_number })));
}

function message(text: string, { model, stream }: Asked): MockAnswer {
  const head = { id: 'msg_mock', type: 'message', role: 'assistant', model };
  const usage = { input_tokens: PROMPT, output_tokens: ANSWER };
  const end = { stop_reason: 'end_turn', stop_sequence: null };
  if (!stream) return json(200, { ...head, content: [{ type: 'text', text }], ...end, usage });
  const begun = { ...head, content: [], stop_reason: null, stop_sequence: null };
  return named([
    { type: 'message_start', message: { ...begun, usage: { ...usage, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...words(text).map((part) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: part },
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: end, usage: { output_tokens: ANSWER } },
    { type: 'message_stop' },
  ]);
}

function gemini(text: string, { model, stream }: Asked): MockAnswer {
  const usageMetadata = { promptTokenCount: PROMPT, candidatesTokenCount: ANSWER, totalTokenCount: TOTAL };
  const candidate = (part: string, finishReason?: string): Json => ({
    content: { role: 'model', parts: [{ text: part }] },
    index: 0,
    ...(finishReason === undefined ? {} : { finishReason }),
  });
  if (!stream)
    return json(200, { candidates: [candidate(text, 'STOP')], usageMetadata, modelVersion: model });
  const parts = words(text);
  return events(
    parts.map((part, n) => ({
      candidates: [candidate(part, n === parts.length - 1 ? 'STOP' : undefined)],
      usageMetadata,
      modelVersion: model,
    })),
    false,
  );
}

function embedding(_: string, { model }: Asked): MockAnswer {
  const vector = Array.from({ length: VECTOR }, () => 0);
  const usage = { prompt_tokens: PROMPT, total_tokens: PROMPT };
  return json(200, {
    object: 'list',
    model,
    data: [{ object: 'embedding', index: 0, embedding: vector }],
    usage,
  });
}

/** Each with the blanks behind it; at least one. */
const words = (text: string): readonly string[] => text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];

function json(status: number, body: Json): MockAnswer {
  return { status, type: 'application/json', pieces: [Buffer.from(JSON.stringify(body))] };
}

function refused([status, type, code]: readonly [number, string, string], text: string): MockAnswer {
  return json(status, { error: { message: text, type, param: null, code } });
}

function events(list: readonly Json[], isMarked: boolean): MockAnswer {
  const pieces = list.map((one) => `data: ${JSON.stringify(one)}\n\n`);
  return stream(isMarked ? [...pieces, 'data: [DONE]\n\n'] : pieces);
}

function named(list: readonly Json[]): MockAnswer {
  return stream(list.map((one) => `event: ${String(one['type'])}\ndata: ${JSON.stringify(one)}\n\n`));
}

function stream(pieces: readonly string[]): MockAnswer {
  return { status: 200, type: 'text/event-stream', pieces: pieces.map((one) => Buffer.from(one)) };
}
