// The four APIs that agents speak, as a test calls them and reads what comes back: one request, one answer, one stream.
type Json = Readonly<Record<string, unknown>>;

/** What a test asks. */
interface Question {
  readonly model: string;
  readonly text?: string;
  readonly stream?: boolean;
  /** Declares a tool `look` that takes `{place}`. */
  readonly tools?: boolean;
  readonly more?: Json;
}

/** What an answer says, whatever the API. */
export interface Said {
  readonly text: string;
  readonly call: { readonly name: string; readonly input: unknown } | null;
  /** As the API states it. */
  readonly end: string | null;
  /** All tokens of the prompt, and of the answer. */
  readonly prompt: number | null;
  readonly completion: number | null;
}

export interface Api {
  readonly path: (question: Question) => string;
  readonly body: (question: Question) => Json;
  readonly whole: (answer: Json) => Said;
  readonly events: (text: string) => Said & { readonly error: string | null };
  readonly error: (answer: Json) => string;
}

const SCHEMA = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const LOOK = { name: 'look', description: 'Looks somewhere' };
const at = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>(
    (holder, key) => (holder as Record<string | number, unknown> | undefined)?.[key],
    value,
  );
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const count = (value: unknown): number | null => (typeof value === 'number' ? value : null);
const last = <T>(values: readonly T[]): T | null => values.at(-1) ?? null;

/** The events of a stream; each has data. */
export function eventsIn(stream: string): { readonly name: string; readonly data: string }[] {
  return stream.split('\n\n').flatMap((frame) => {
    const lines = frame.split('\n');
    const of = (field: string): string[] =>
      lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
    const data = of('data');
    return data.length === 0 ? [] : [{ name: of('event')[0] ?? '', data: data.join('\n') }];
  });
}

const objectsIn = (stream: string): Json[] =>
  eventsIn(stream).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data) as Json]));
const calledWith = (name: unknown, input: string): Said['call'] =>
  typeof name === 'string' ? { name, input: JSON.parse(input) as unknown } : null;
const isStated = (value: unknown): boolean => value !== undefined && value !== null;
const errorOf = (events: readonly Json[]): string | null =>
  events.map((event) => at(event, 'error', 'message')).find((one) => typeof one === 'string') ?? null;

const CHAT: Api = {
  path: () => '/v1/chat/completions',
  body: ({ model, text = 'one two three', stream = false, tools = false, more = {} }) => ({
    model,
    messages: [{ role: 'user', content: text }],
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
    ...(tools ? { tools: [{ type: 'function', function: { ...LOOK, parameters: SCHEMA } }] } : {}),
    ...more,
  }),
  whole: (answer) => ({
    text: text(at(answer, 'choices', 0, 'message', 'content')),
    call: calledWith(
      at(answer, 'choices', 0, 'message', 'tool_calls', 0, 'function', 'name'),
      text(at(answer, 'choices', 0, 'message', 'tool_calls', 0, 'function', 'arguments')),
    ),
    end: text(at(answer, 'choices', 0, 'finish_reason')),
    prompt: count(at(answer, 'usage', 'prompt_tokens')),
    completion: count(at(answer, 'usage', 'completion_tokens')),
  }),
  events: (stream) => {
    const events = objectsIn(stream);
    const deltas = events.map((event) => at(event, 'choices', 0, 'delta'));
    const calls = deltas.flatMap((delta) => list(at(delta, 'tool_calls')));
    const name = calls.map((call) => at(call, 'function', 'name')).find((one) => one !== undefined);
    const ends = events.map((event) => at(event, 'choices', 0, 'finish_reason')).filter(isStated);
    const usage = events.map((event) => event['usage']).filter(isStated);
    return {
      text: deltas.map((delta) => text(at(delta, 'content'))).join(''),
      call: calledWith(name, calls.map((call) => text(at(call, 'function', 'arguments'))).join('')),
      end: text(last(ends)) || null,
      prompt: count(at(last(usage), 'prompt_tokens')),
      completion: count(at(last(usage), 'completion_tokens')),
      error: errorOf(events),
    };
  },
  error: (answer) => text(at(answer, 'error', 'message')),
};

export const MESSAGES: Api = {
  path: () => '/v1/messages',
  body: ({ model, text = 'one two three', stream = false, tools = false, more = {} }) => ({
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: text }],
    ...(stream ? { stream } : {}),
    ...(tools ? { tools: [{ ...LOOK, input_schema: SCHEMA }] } : {}),
    ...more,
  }),
  whole: (answer) => {
    const blocks = list(answer['content']);
    const call = blocks.find(({ type }) => type === 'tool_use');
    return {
      text: blocks.map((block) => text(block['text'])).join(''),
      call: call === undefined ? null : { name: text(call['name']), input: call['input'] },
      end: text(answer['stop_reason']),
      prompt: promptOfMessages(answer['usage']),
      completion: count(at(answer, 'usage', 'output_tokens')),
    };
  },
  events: (stream) => {
    const events = objectsIn(stream);
    const deltas = events.map((event) => event['delta']);
    const open = events
      .map((event) => at(event, 'content_block'))
      .find((one) => at(one, 'type') === 'tool_use');
    const end = events.find(({ type }) => type === 'message_delta');
    const start = events.find(({ type }) => type === 'message_start');
    const usage = {
      ...(at(start, 'message', 'usage') as object | undefined),
      ...(end?.['usage'] as object | undefined),
    };
    const isWhole = events.some(({ type }) => type === 'message_stop');
    return {
      text: deltas.map((delta) => text(at(delta, 'text'))).join(''),
      call: calledWith(at(open, 'name'), deltas.map((delta) => text(at(delta, 'partial_json'))).join('')),
      end: isWhole ? text(at(end, 'delta', 'stop_reason')) : null,
      prompt: promptOfMessages(usage),
      completion: count(at(usage, 'output_tokens')),
      error: errorOf(events),
    };
  },
  error: (answer) => (answer['type'] === 'error' ? text(at(answer, 'error', 'message')) : ''),
};

function promptOfMessages(usage: unknown): number | null {
  const input = count(at(usage, 'input_tokens'));
  if (input === null) return null;
  return (
    input +
    (count(at(usage, 'cache_read_input_tokens')) ?? 0) +
    (count(at(usage, 'cache_creation_input_tokens')) ?? 0)
  );
}

const RESPONSES: Api = {
  path: () => '/v1/responses',
  body: ({ model, text = 'one two three', stream = false, tools = false, more = {} }) => ({
    model,
    input: [{ role: 'user', content: text }],
    ...(stream ? { stream } : {}),
    ...(tools ? { tools: [{ type: 'function', ...LOOK, parameters: SCHEMA }] } : {}),
    ...more,
  }),
  whole: (answer) => {
    const items = list(answer['output']);
    const call = items.find(({ type }) => type === 'function_call');
    return {
      text: items.flatMap((item) => list(item['content']).map((part) => text(part['text']))).join(''),
      call: calledWith(call?.['name'], text(call?.['arguments'])),
      end: text(answer['status']),
      prompt: count(at(answer, 'usage', 'input_tokens')),
      completion: count(at(answer, 'usage', 'output_tokens')),
    };
  },
  events: (stream) => {
    const events = objectsIn(stream);
    const end = events.find(({ type }) => /^response\.(completed|incomplete|failed)$/.test(text(type)));
    const whole = end === undefined ? null : RESPONSES.whole(end['response'] as Json);
    const failed = text(at(end, 'response', 'error', 'message'));
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    return {
      text: deltas.map(({ delta }) => text(delta)).join(''),
      call: whole?.call ?? null,
      end: whole?.end ?? null,
      prompt: whole?.prompt ?? null,
      completion: whole?.completion ?? null,
      error:
        failed || errorOf(events) || text(events.find(({ type }) => type === 'error')?.['message']) || null,
    };
  },
  error: (answer) => text(at(answer, 'error', 'message')),
};

const GEMINI: Api = {
  path: ({ model, stream = false }) =>
    `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: ({ text = 'one two three', tools = false, more = {} }) => ({
    contents: [{ role: 'user', parts: [{ text }] }],
    ...(tools ? { tools: [{ functionDeclarations: [{ ...LOOK, parameters: SCHEMA }] }] } : {}),
    ...more,
  }),
  whole: (answer) => geminiOf([answer]),
  events: (stream) => {
    const events = objectsIn(stream);
    return { ...geminiOf(events), error: errorOf(events) };
  },
  error: (answer) =>
    typeof at(answer, 'error', 'status') === 'string' ? text(at(answer, 'error', 'message')) : '',
};

function geminiOf(frames: readonly Json[]): Said {
  const parts = frames.flatMap((frame) => list(at(frame, 'candidates', 0, 'content', 'parts')));
  const call = parts.map((part) => part['functionCall']).find((one) => one !== undefined);
  const usage = last(frames.map((frame) => frame['usageMetadata']).filter((one) => one !== undefined));
  const ends = frames
    .map((frame) => at(frame, 'candidates', 0, 'finishReason'))
    .filter((one) => one !== undefined);
  const thoughts = count(at(usage, 'thoughtsTokenCount')) ?? 0;
  const completion = count(at(usage, 'candidatesTokenCount'));
  return {
    text: parts
      .filter((part) => part['thought'] !== true)
      .map((part) => text(part['text']))
      .join(''),
    call: call === undefined ? null : { name: text(at(call, 'name')), input: at(call, 'args') },
    end: text(last(ends)) || null,
    prompt: count(at(usage, 'promptTokenCount')),
    completion: completion === null ? null : completion + thoughts,
  };
}

export const APIS = { chat: CHAT, messages: MESSAGES, responses: RESPONSES, gemini: GEMINI };
export type ApiName = keyof typeof APIS;
export const API_NAMES = Object.keys(APIS) as readonly ApiName[];
