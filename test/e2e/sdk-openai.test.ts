// The official OpenAI client against a real proxy: what it reads, what it raises. Retries are off: they would hide how
// often the upstream was asked.
import { setImmediate as turn } from 'node:timers/promises';
import OpenAI, {
  AzureOpenAI,
  APIConnectionError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  toFile,
} from 'openai';
import t from 'tap';
import { ManualClock } from '../support/clock.ts';
import { defaultConfig, KEY, lastSeen, send, startRig } from '../support/rig.ts';
import { raised, thrown } from '../support/thrown.ts';

const clock = new ManualClock();
const rig = await startRig(t, {
  clock,
  demo: { eventIntervalMs: 10 },
  config: (demo) =>
    defaultConfig(demo, 'router_settings: { default_litellm_params: { idle_timeout: 0.25 } }').replace(
      'general_settings:',
      `  - { model_name: anthropic/x, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" } }
  - { model_name: "translated-*", litellm_params: { model: "litellm_proxy/demo-*", api_base: "${demo.url}", supported_endpoints: [chat] } }
  - { model_name: nowhere, litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:1" } }
general_settings:`,
    ),
});
const client = new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: KEY, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'one two three' }];
const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const }, days: { type: 'integer' as const } },
};
const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }];

t.test('chat', async (t) => {
  for (const model of ['demo', 'compat']) {
    const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
    t.match(data.choices[0]?.message.content, /heard 3 words/);
    t.match(data.usage, { prompt_tokens: 6 });
    t.match(response.headers.get('x-litellm-call-id'), /-7/);
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    let text = '';
    for await (const chunk of stream) {
      t.equal(chunk.choices.length, 1, 'no chunk without a choice: many clients read choices[0] unasked');
      text += chunk.choices[0]?.delta.content ?? '';
    }
    t.equal(text, data.choices[0]?.message.content);
  }
});

t.test('chat with usage in the stream, as asked for', async (t) => {
  const stream = client.chat.completions.stream({
    model: 'demo',
    messages,
    stream_options: { include_usage: true },
  });
  t.match(await stream.finalChatCompletion(), {
    choices: [{ finish_reason: 'stop' }],
    usage: { prompt_tokens: 6, total_tokens: 15 },
  });
});

t.test('tools, streamed and not, to the end of the loop', async (t) => {
  const { choices } = await client.chat.completions.create({ model: 'demo-tools', messages, tools });
  const call = choices[0]?.message.tool_calls?.[0];
  t.match(call, { type: 'function', function: { name: 'weather', arguments: '{"city":"demo","days":1}' } });
  const streamed = await client.chat.completions
    .stream({ model: 'compat-tools', messages, tools })
    .finalChatCompletion();
  t.match(streamed.choices[0], {
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'weather', arguments: '{"city":"demo","days":1}' } }] },
  });
  const runner = client.chat.completions.runTools({
    model: 'demo-tools',
    messages,
    tools: [
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'tells it',
          parameters,
          function: (): string => 'sunny days',
        },
      },
    ],
  });
  t.match(await runner.finalContent(), /heard 5 words/);
});

t.test('completions, embeddings, moderations, images', async (t) => {
  t.match(
    (await client.completions.create({ model: 'demo', prompt: 'one two' })).choices[0]?.text,
    /heard 2 words/,
  );
  let text = '';
  for await (const part of await client.completions.create({
    model: 'demo',
    prompt: 'one two',
    stream: true,
  }))
    text += part.choices[0]?.text;
  t.match(text, /heard 2 words/);
  // The client asks for base64 and decodes it.
  const { data, usage } = await client.embeddings.create({
    model: 'compat',
    input: ['one', 'two three'],
    dimensions: 16,
  });
  t.same([data.length, data[0]?.embedding.length, typeof data[1]?.embedding[3]], [2, 16, 'number']);
  t.equal(usage.prompt_tokens, 6);
  t.equal((await client.moderations.create({ model: 'demo', input: 'one' })).results[0]?.flagged, false);
  t.ok((await client.images.generate({ model: 'demo', prompt: 'one' })).data?.[0]?.b64_json);
  const image = await toFile(Buffer.from([0x89, 0x50, 0, 0xff]), 'a.png', { type: 'image/png' });
  t.ok((await client.images.edit({ model: 'compat', image, prompt: 'one' })).data?.[0]?.b64_json);
  t.match(lastSeen(rig).body.toString('latin1'), /acme\/demo/);
});

t.test('audio, both ways', async (t) => {
  const speech = await client.audio.speech.create({ model: 'demo', voice: 'alloy', input: 'one two' });
  const bytes = Buffer.from(await speech.arrayBuffer());
  const direct = await send(rig.demo.url, 'POST', '/v1/audio/speech', { model: 'demo', input: 'one two' });
  t.ok(bytes.equals(direct.body));
  const file = await toFile(bytes, 'speech.wav', { type: 'audio/wav' });
  t.match(
    (await client.audio.transcriptions.create({ model: 'compat', file })).text,
    /Hello from acme\/demo/,
  );
  t.ok(lastSeen(rig).body.includes(bytes), 'the file arrived byte for byte');
});

t.test(
  'the responses API, streamed, and what was made is found, listed, cancelled and deleted',
  async (t) => {
    for (const model of ['demo', 'compat']) {
      const made = await client.responses.create({ model, input: 'one two' });
      t.match(made.output_text, /heard 2 words/);
      t.equal((await client.responses.retrieve(made.id)).id, made.id);
      t.match((await client.responses.inputItems.list(made.id)).data, [{ type: 'message' }]);
      t.equal((await client.responses.cancel(made.id)).status, 'cancelled');
      await client.responses.delete(made.id);
      t.ok((await thrown(client.responses.retrieve(made.id))) instanceof NotFoundError);
      const stream = client.responses.stream({ model, input: 'one two' });
      t.match(await stream.finalResponse(), { status: 'completed', usage: { input_tokens: 5 } });
    }
    const flat = [{ type: 'function' as const, name: 'weather', parameters, strict: false }];
    const called = await client.responses
      .stream({ model: 'demo-tools', input: 'one', tools: flat })
      .finalResponse();
    t.match(called.output, [
      { type: 'function_call', name: 'weather', arguments: '{"city":"demo","days":1}' },
    ]);
  },
);

t.test('models: listed in order, and retrieved by a name with a slash', async (t) => {
  const ids = (await client.models.list()).data.map(({ id }) => id);
  t.same(ids, ['demo', 'compat', 'demo-*', 'compat-*', 'anthropic/x', 'translated-*', 'nowhere']);
  t.match(await client.models.retrieve('anthropic/x'), { id: 'anthropic/x', object: 'model' });
  t.ok((await thrown(client.models.retrieve('anthropic/y'))) instanceof NotFoundError);
});

t.test('errors are raised as what they are', async (t) => {
  const kinds = [
    ['nobody', NotFoundError, 'model_not_found', 'client'],
    ['demo-404', NotFoundError, '404', 'upstream'],
    ['demo-refuse-400', BadRequestError, '400', 'upstream'],
    ['demo-context', BadRequestError, '400', 'upstream'],
    ['demo-refuse-401', AuthenticationError, '401', 'upstream'],
    ['demo-429', RateLimitError, '429', 'upstream'],
    ['demo-500', InternalServerError, '500', 'upstream'],
    ['demo-502-html', InternalServerError, undefined, 'upstream'],
    ['nowhere', InternalServerError, 'upstream_unreachable', 'upstream'],
    ['demo-drop', InternalServerError, 'upstream_broken', 'upstream'],
  ] as const;
  for (const [model, kind, code, source] of kinds) {
    for (const stream of [false, true]) {
      const error = await thrown(client.chat.completions.create({ model, messages, stream }));
      t.ok(error instanceof kind, `${model}: ${String(error)}`);
      const { code: got, headers } = error as APIError;
      t.equal(got ?? undefined, code, model);
      t.equal((headers as Headers).get('x-litellm-error-source'), source);
      t.equal(error instanceof RateLimitError, model === 'demo-429');
    }
  }
  const limited = (await thrown(client.chat.completions.create({ model: 'demo-429', messages }))) as APIError;
  t.equal((limited.headers as Headers).get('retry-after'), '7');
  const stranger = new OpenAI({ baseURL: rig.url, apiKey: 'sk-wrong', maxRetries: 0 });
  const refused = await thrown(stranger.chat.completions.create({ model: 'demo', messages }));
  t.ok(refused instanceof AuthenticationError);
  t.equal((refused as APIError).type, 'auth_error');
});

t.test('a broken stream raises, whatever broke it', async (t) => {
  for (const model of [
    'demo-cut',
    'demo-cut-clean',
    'demo-stall',
    'demo-header-then-close',
    'demo-error-event',
    'compat-cut',
    'compat-error-event',
  ]) {
    const read = async (): Promise<void> => {
      for await (const _ of await client.chat.completions.create({ model, messages, stream: true }));
    };
    const ended = raised(read);
    const error = await (model === 'demo-stall' ? clock.during(ended) : ended);
    t.ok(error instanceof APIError, `${model}: ${String(error)}`);
    t.notOk(error instanceof RateLimitError);
    const respond = async (): Promise<void> => {
      for await (const _ of await client.responses.create({ model, input: 'one two', stream: true }));
    };
    const refused = raised(respond);
    const second = await (model === 'demo-stall' ? clock.during(refused) : refused);
    t.ok(second instanceof APIError, `responses, ${model}`);
  }
});

t.test('a translated response that breaks says so in its last event, and raises nothing', async (t) => {
  for (const how of ['cut', 'cut-clean']) {
    const stream = client.responses.stream({ model: `translated-${how}`, input: 'one two three' });
    const { status, error } = await stream.finalResponse();
    t.equal(status, 'failed', how);
    t.match(error?.code, /^(stream_broken|stream_truncated)$/, how);
  }
});

t.test('a reader that lags behind is told of the break too', async (t) => {
  const read = async (): Promise<void> => {
    const stream = await client.chat.completions.create({ model: 'demo-cut', messages, stream: true });
    for await (const _ of stream) for (let turns = 0; turns < 20; turns += 1) await turn();
  };
  t.match(await raised(read), { code: 'stream_broken' });
});

t.test('a client that aborts stops the upstream', async (t) => {
  const stream = await client.chat.completions.create({ model: 'demo-interval', messages, stream: true });
  for await (const chunk of stream) {
    t.ok(chunk.id);
    break; // leaving the loop aborts
  }
  t.equal(await lastSeen(rig).finished, 'aborted');
  const abort = new AbortController();
  const before = rig.demo.seen.length;
  const call = thrown(
    client.chat.completions.create({ model: 'demo-silent', messages }, { signal: abort.signal }),
  );
  await rig.demo.waitFor(before + 1);
  abort.abort();
  t.ok((await call) instanceof APIUserAbortError);
  t.equal(await lastSeen(rig).finished, 'aborted');
});

t.test('the client’s own timeout ends the upstream call as well', async (t) => {
  const hasty = client.withOptions({ timeout: 100 });
  t.ok(
    (await thrown(hasty.chat.completions.create({ model: 'demo-silent', messages }))) instanceof
      APIConnectionError,
  );
  t.equal(await lastSeen(rig).finished, 'aborted');
});

t.test('the base URL works without /v1 too, and telemetry of the client goes no further', async (t) => {
  const bare = new OpenAI({
    baseURL: rig.url,
    apiKey: KEY,
    maxRetries: 0,
    defaultHeaders: { 'x-litellm-session-id': 's-sdk' },
  });
  t.ok((await bare.chat.completions.create({ model: 'demo', messages })).id);
  t.ok((await bare.models.list()).data.length);
  const seen = lastSeen(rig).rawHeaders.join('\n').toLowerCase();
  t.notMatch(seen, /stainless|openai\/js/);
  t.match(seen, 'x-litellm-session-id\ns-sdk');
});

t.test(
  'what the client writes into queries goes upstream: paging, fields, the version of Azure',
  async (t) => {
    const path = (): string => new URL(lastSeen(rig).path, 'http://x').href.slice('http://x'.length);
    const { id } = await client.responses.create({ model: 'demo', input: 'one two' });
    await client.responses.retrieve(id, {
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
    });
    t.equal(
      decodeURIComponent(path()),
      `/v1/responses/${id}?include[]=reasoning.encrypted_content&include[]=message.output_text.logprobs`,
    );
    await client.responses.inputItems.list(id, { limit: 2, order: 'asc', after: 'msg_1' });
    t.equal(path(), `/v1/responses/${id}/input_items?limit=2&order=asc&after=msg_1`);
    const azure = new AzureOpenAI({
      endpoint: rig.url,
      apiKey: KEY,
      apiVersion: '2024-10-21',
      maxRetries: 0,
    });
    const { choices } = await azure.chat.completions.create({ model: 'demo', messages });
    t.match(choices[0]?.message.content, /heard 3 words/);
    t.equal(path(), '/v1/chat/completions?api-version=2024-10-21');
    const steered = new OpenAI({
      baseURL: `${rig.url}/v1`,
      apiKey: KEY,
      defaultQuery: { model: 'compat' },
      maxRetries: 0,
    });
    await steered.chat.completions.create({ model: 'demo', messages });
    t.equal(path(), '/v1/chat/completions');
  },
);
