// Whole calls between the protocols: transcripts that people can read, what the official SDKs make of the streams, what is
// not translated.
import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { exactObject, type Json } from '../../../../proxy/bodies/json.ts';
import { Fault } from '../../../../proxy/errors/fault.ts';
import { embeddings } from '../../../../proxy/protocols/embeddings.ts';
import { messages } from '../../../../proxy/protocols/messages.ts';
import { translate } from '../../../../proxy/protocols/translation/translation.ts';
import { goldenFile, PAIRS, transcript } from './fixture/golden.ts';
import { NAMES, REQUESTS, type Name } from './fixture/requests.ts';
import { ofChat, ofMessages, ofResponses } from './fixture/sdks.ts';
import { between, endpointOf, eventsOf, PROTOCOLS, refused, sent, streamed } from './fixture/talk.ts';
import { UPSTREAMS } from './fixture/upstreams.ts';

t.test('each pair of protocols: the transcript is the one that was read and kept', (t) => {
  for (const pair of PAIRS) {
    const file = goldenFile(pair);
    t.equal(transcript(pair), existsSync(file) ? readFileSync(file, 'utf8') : '', pair.join(' to '));
  }
  t.end();
});

const others = (name: Name): readonly Name[] => NAMES.filter((one) => one !== name);
const fromUpstream = (from: Name, to: Name): string =>
  streamed(between(from, to, REQUESTS[from], { dropParams: true }), UPSTREAMS[to]);

t.test("OpenAI's SDK accumulates a chat stream made of any other protocol's", async (t) => {
  for (const to of others('chat')) {
    const { choices, usage } = await ofChat(fromUpstream('chat', to));
    t.match(
      choices[0],
      {
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'Once more.',
          tool_calls: [
            { type: 'function', function: { name: 'read_file', arguments: '{"path":"a.txt"}' } },
            { type: 'function', function: { name: 'draw', arguments: '{"input":"a circle"}' } },
          ],
        },
      },
      to,
    );
    t.match(usage, { prompt_tokens: 100, completion_tokens: 30, total_tokens: 130 }, to);
    t.equal(usage?.prompt_tokens_details?.cached_tokens, 40, to);
    t.equal(usage?.completion_tokens_details?.reasoning_tokens, 10, to);
  }
});

t.test("Anthropic's SDK accumulates a messages stream made of any other protocol's", async (t) => {
  for (const to of others('messages')) {
    const message = await ofMessages(fromUpstream('messages', to));
    // Gemini proves the call, not the thought.
    const [signature, before] =
      to === 'gemini' ? ['', [{ data: /^throughline\.gemini\./ }]] : [/^throughline\./, []];
    t.match(
      message.content,
      [
        { type: 'thinking', thinking: 'Both again.', signature },
        { type: 'text', text: 'Once more.' },
        ...before,
        { type: 'tool_use', name: 'read_file', input: { path: 'a.txt' } },
        { type: 'tool_use', name: 'draw', input: { input: 'a circle' } },
      ],
      to,
    );
    t.equal(message.stop_reason, 'tool_use', to);
    t.match(message.usage, { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 30 }, to);
  }
});

t.test("OpenAI's SDK accumulates a responses stream made of any other protocol's", async (t) => {
  for (const to of others('responses')) {
    const { output, status, usage, id } = await ofResponses(fromUpstream('responses', to));
    const signature = { type: 'reasoning', encrypted_content: /^throughline\./ };
    const thought = { type: 'reasoning', summary: [{ text: 'Both again.' }] };
    t.match(
      output,
      [
        to === 'gemini' ? thought : { ...thought, ...signature },
        { type: 'message', content: [{ type: 'output_text', text: 'Once more.' }] },
        ...(to === 'gemini' ? [signature] : []),
        { type: 'function_call', name: 'read_file', arguments: '{"path":"a.txt"}' },
        { type: 'custom_tool_call', name: 'draw', input: 'a circle' },
      ],
      to,
    );
    t.equal(status, 'completed', to);
    t.match(id, /^resp_/);
    t.match(usage, { input_tokens: 100, output_tokens: 30, total_tokens: 130 }, to);
  }
});

t.test('the SDKs raise on a stream that broke, with its text', async (t) => {
  const fault = new Fault('idle_timeout', 'The upstream fell silent.');
  const broken = (from: Name, to: Name): string => {
    const events = between(from, to, REQUESTS[from], { dropParams: true }).events();
    const sent = eventsOf(UPSTREAMS[to].slice(0, 6).join('')).map(({ name, data }) =>
      events.event(name, data),
    );
    return sent.join('') + events.failed(fault);
  };
  await t.rejects(ofChat(broken('chat', 'messages')), { message: /fell silent/ });
  await t.rejects(ofMessages(broken('messages', 'chat')), { message: /fell silent/ });
  const response = await ofResponses(broken('responses', 'chat')).catch((error: unknown) => error);
  t.match(JSON.stringify(response instanceof Error ? response.message : response), 'fell silent');
});

t.test("an error of Google's reads as one of the caller's vendor", (t) => {
  const google = (code: number, status: string): object => ({ error: { code, message: 'No.', status } });
  const said = (name: 'chat' | 'responses', code: number, status: string): Json =>
    refused(between(name, 'gemini', REQUESTS[name]), code, google(code, status)).body;
  for (const name of ['chat', 'responses'] as const) {
    const limit = { type: 'rate_limit_error', code: 'rate_limit_exceeded' };
    t.match(said(name, 429, 'RESOURCE_EXHAUSTED'), { error: limit }, name);
    t.match(
      said(name, 401, 'UNAUTHENTICATED'),
      { error: { type: 'authentication_error', code: null } },
      name,
    );
    t.match(said(name, 503, 'UNAVAILABLE'), { error: { type: 'server_error' } }, name);
  }
  const broken = (name: Name, code: number, status: string): string =>
    streamed(between(name, 'gemini', REQUESTS[name]), [`data: ${JSON.stringify(google(code, status))}\n\n`]);
  t.match(broken('chat', 429, 'RESOURCE_EXHAUSTED'), '"type":"rate_limit_error"');
  t.match(broken('responses', 429, 'RESOURCE_EXHAUSTED'), '"error":{"code":"rate_limit_exceeded"');
  t.match(broken('responses', 503, 'UNAVAILABLE'), '"error":{"code":"server_is_overloaded"');
  t.match(broken('messages', 401, 'UNAUTHENTICATED'), '"type":"authentication_error"');
  t.end();
});

t.test(
  'an error in a stream that states its status as a code alone reads as one of that status',
  async (t) => {
    const message = 'litellm.RateLimitError: slow down';
    const broken = (name: Name, error: object): string =>
      streamed(between(name, name === 'chat' ? 'responses' : 'chat', REQUESTS[name]), [
        `data: ${JSON.stringify({ error: { message, ...error } })}\n\n`,
      ]);
    const liteLlm = (status: number): object => ({ type: 'None', param: 'None', code: String(status) });
    const openRouter = (code: number): object => ({ code });
    for (const stated of [liteLlm, openRouter]) {
      const why = stated.name;
      t.match(broken('messages', stated(429)), '"error":{"type":"rate_limit_error"', why);
      t.match(broken('messages', stated(503)), '"error":{"type":"overloaded_error"', why);
      t.match(broken('messages', stated(529)), '"error":{"type":"overloaded_error"', why);
      t.match(broken('messages', stated(500)), '"error":{"type":"api_error"', why);
      t.match(broken('gemini', stated(429)), '"status":"RESOURCE_EXHAUSTED"', why);
      t.match(broken('gemini', stated(503)), '"code":503', why);
      t.match(broken('gemini', stated(503)), '"status":"UNAVAILABLE"', why);
      t.match(broken('responses', stated(429)), '"error":{"code":"rate_limit_exceeded"', why);
      t.match(broken('responses', stated(503)), '"error":{"code":"server_is_overloaded"', why);
      t.match(broken('responses', stated(500)), '"error":{"code":"server_error"', why);
      t.match(
        broken('chat', stated(429)),
        '"type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"',
        why,
      );
    }
    const event = { type: 'error', code: 429, message, param: null, sequence_number: 3 };
    const told = streamed(between('messages', 'responses', REQUESTS.messages), [
      `event: error\ndata: ${JSON.stringify(event)}\n\n`,
    ]);
    t.match(told, '"type":"rate_limit_error"', "of an event of responses'");
    t.match(
      broken('messages', { type: 'rate_limit_error', code: '500' }),
      '"type":"rate_limit_error"',
      'LiteLLM writes 500 where it knows no status',
    );
  },
);

t.test('what is no call of a model in two protocols is not translated', (t) => {
  const options = {
    model: 'm',
    baseModel: null,
    asked: 'm',
    stream: false,
    dropParams: true,
    defaultMaxTokens: 9,
    sessionId: null,
  };
  const chat = endpointOf(PROTOCOLS.chat);
  t.equal(translate(endpointOf(embeddings), PROTOCOLS.chat, {}, options), null, 'embeddings');
  t.equal(translate(chat, embeddings, REQUESTS.chat, options), null, 'to embeddings');
  t.equal(translate(chat, PROTOCOLS.chat, REQUESTS.chat, options), null, 'the same protocol passes as it is');
  const count = messages.endpoints.find(({ path }) => path.endsWith('count_tokens'));
  if (count !== undefined)
    t.equal(
      translate({ ...count, protocol: messages }, PROTOCOLS.chat, REQUESTS.messages, options),
      null,
      'counts',
    );
  t.end();
});

t.test('the endpoint is that of the upstream; Gemini has one of its own for streams', (t) => {
  t.equal(between('chat', 'messages', REQUESTS.chat).endpoint.path, 'messages');
  const path = (stream: boolean): string =>
    between('chat', 'gemini', REQUESTS.chat, { stream }).endpoint.path;
  t.equal(path(true), 'models/{model}:streamGenerateContent');
  t.equal(path(false), 'models/{model}:generateContent');
  t.end();
});

t.test('an error keeps its text and its status, and gets the form of the caller', (t) => {
  const text = 'prompt is too long: 210000 tokens > 200000 maximum';
  const error = {
    type: 'error',
    error: { type: 'invalid_request_error', message: text },
    request_id: 'req_1',
  };
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  t.match(refused(between('chat', 'messages', REQUESTS.chat), 400, error), {
    status: 400,
    body: { error: { message: text, type: 'invalid_request_error' } },
  });
  t.match(refused(between('gemini', 'messages', REQUESTS.gemini), 529, overloaded), {
    status: 503,
    body: { error: { code: 503, status: 'UNAVAILABLE', message: 'Overloaded' } },
  });
  const toMessages = between('messages', 'chat', REQUESTS.messages);
  t.match(
    refused(toMessages, 429, {
      error: { message: 'Slow down.', type: 'tokens', code: 'rate_limit_exceeded' },
    }),
    {
      status: 429,
      body: { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down.' } },
    },
  );
  for (const [body, message] of [
    [[{ error: { code: 404, message: 'No such model.', status: 'NOT_FOUND' } }], 'No such model.'],
    [{ detail: 'Not here.' }, 'Not here.'],
    [{ error: 'plain' }, 'plain'],
    ['<html>gone</html>', '<html>gone</html>'],
    ['', 'The upstream answered with status 404.'],
    ['null', 'The upstream answered with status 404.'],
    ['{"error":{"message":[]}}', '{"message":[]}'],
  ] as const)
    t.match(refused(toMessages, 404, body), {
      status: 404,
      body: { error: { type: 'not_found_error', message } },
    });
  t.end();
});

t.test('a full context has the code of OpenAI, by which Codex knows it, and keeps its text', (t) => {
  const anthropic = 'prompt is too long: 215000 tokens > 200000 maximum';
  const gemini = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
  const says = (message: string) => ({
    status: 400,
    body: { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } },
  });
  for (const name of ['responses', 'chat'] as const) {
    const error = { type: 'error', error: { type: 'invalid_request_error', message: anthropic } };
    t.match(refused(between(name, 'messages', REQUESTS[name]), 400, error), says(anthropic), name);
    const other = { error: { code: 400, message: gemini, status: 'INVALID_ARGUMENT' } };
    t.match(refused(between(name, 'gemini', REQUESTS[name]), 400, other), says(gemini), name);
  }
  t.end();
});

const ID = '1234567890123456789';
const INPUT = `{"id":${ID},"ratio":0.12345678901234567890}`;
const exactOf = (text: string): Json => {
  const json = exactObject(text);
  if (json === null) throw new Error(`no JSON: ${text}`);
  return json;
};

/** An answer with one call, whole and streamed, as each vendor writes it. */
const CALLS: Readonly<Record<Name, { readonly whole: string; readonly events: readonly string[] }>> = {
  chat: {
    whole: `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":${JSON.stringify(INPUT)}}}]}}]}`,
    events: [
      `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":${INPUT}}}]}}]}\n\n`,
      'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n',
    ],
  },
  messages: {
    whole: `{"content":[{"type":"tool_use","id":"a","name":"f","input":${INPUT}}],"stop_reason":"tool_use"}`,
    events: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"m"}}\n\n',
      `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":${INPUT}}}\n\n`,
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
  },
  responses: {
    whole: `{"output":[{"type":"function_call","call_id":"a","name":"f","arguments":${JSON.stringify(INPUT)}}]}`,
    events: [
      `event: response.output_item.done\ndata: {"output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":${JSON.stringify(INPUT)}}}\n\n`,
      'event: response.completed\ndata: {"response":{"status":"completed","output":[]}}\n\n',
    ],
  },
  gemini: {
    whole: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${INPUT}}}]},"finishReason":"STOP"}]}`,
    events: [
      `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${INPUT}}}]},"finishReason":"STOP"}]}\n\n`,
    ],
  },
};

t.test('numbers in the arguments of a call reach the client as the upstream wrote them', (t) => {
  for (const [from, to] of PAIRS) {
    const call = between(from, to, REQUESTS[from], { dropParams: true, stream: false });
    const whole = call.answer(exactOf(CALLS[to].whole)).toString();
    const events = streamed(between(from, to, REQUESTS[from], { dropParams: true }), CALLS[to].events);
    for (const text of [whole, events])
      t.ok(text.replaceAll('\\', '').includes(INPUT), `${from} from ${to}: ${text}`);
  }
  t.end();
});

const HISTORY: Readonly<Record<Name, string>> = {
  chat: `{"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":${JSON.stringify(INPUT)}}}]},{"role":"tool","tool_call_id":"a","content":"y"}]}`,
  messages: `{"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${INPUT}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"y"}]}]}`,
  responses: `{"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a","name":"f","arguments":${JSON.stringify(INPUT)}},{"type":"function_call_output","call_id":"a","output":"y"}]}`,
  gemini: `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":${INPUT}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"y"}}}]}]}`,
};

t.test('numbers in calls of the history and in schemas go upstream as the client wrote them', (t) => {
  const schema = `{"type":"object","properties":{"id":{"type":"integer","maximum":${ID}}}}`;
  const tools: Readonly<Record<Name, string>> = {
    chat: `[{"type":"function","function":{"name":"f","parameters":${schema}}}]`,
    messages: `[{"name":"f","input_schema":${schema}}]`,
    responses: `[{"type":"function","name":"f","parameters":${schema}}]`,
    gemini: `[{"functionDeclarations":[{"name":"f","parametersJsonSchema":${schema}}]}]`,
  };
  for (const [from, to] of PAIRS) {
    const request = exactOf(`${HISTORY[from].slice(0, -1)},"tools":${tools[from]}}`);
    const text = between(from, to, request, { dropParams: true }).body.toString();
    t.ok(text.replaceAll('\\', '').includes(INPUT), `${from} to ${to}: ${text}`);
    t.match(text, `"maximum":${ID}`, `${from} to ${to}`);
  }
  t.end();
});

t.test('a setting with more digits than a number keeps is a number; an object must be one', (t) => {
  const request = exactOf(`${HISTORY.chat.slice(0, -1)},"temperature":0.123456789012345678901}`);
  t.match(sent('chat', 'messages', request), { temperature: 0.12345678901234568 });
  const wrong = exactOf(`{"messages":[${ID}]}`);
  t.throws(() => sent('chat', 'messages', wrong), { code: 'invalid_member' });
  t.end();
});

t.test('a whole answer of more parts than any has is refused before its parts are read', (t) => {
  const parts = (one: object): readonly object[] => [...Array.from({ length: 5_000 }, () => one), {}];
  const nameless = { type: 'function_call', call_id: 'a' };
  const answers: Readonly<Partial<Record<Name, Json>>> = {
    chat: { choices: [{ message: { tool_calls: parts({ id: 'a', function: {} }) } }] },
    messages: { content: parts({ type: 'tool_use', id: 'a' }) },
    responses: { status: 'completed', output: parts(nameless) },
  };
  for (const [from, to] of PAIRS) {
    const answer = answers[to];
    if (answer === undefined) continue;
    const call = between(from, to, REQUESTS[from], { dropParams: true, stream: false });
    t.throws(() => call.answer(answer), /more than 5000 parts/, `${from} from ${to}`);
  }
  t.end();
});
