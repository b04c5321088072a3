// Each kind of upstream on the wire: path, query, the header of the key, what of the body changes. The upstream is a server of
// the test that writes down what it gets; the addresses that are known by heart are held in kinds/table.test.ts.
import t from 'tap';
import { startUpstream, type ReceivedCall } from '../support/call.ts';
import { chat, KEY, rowOf, send, startRig } from '../support/rig.ts';

const got: ReceivedCall[] = [];
const CHUNK = {
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }],
};
const USAGE = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };

const upstream = await startUpstream(t, (call) => {
  got.push(call);
  const { req, res, body } = call;
  if (req.method === 'GET') return void res.end(JSON.stringify({ data: [] }));
  if (String(body).includes('"stream":true')) {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    return void res.end(`data: ${JSON.stringify({ ...CHUNK, usage: USAGE })}\n\ndata: [DONE]\n\n`);
  }
  res.writeHead(200, { 'content-type': 'application/json' });
  const message = { role: 'assistant', content: 'a' };
  const said = req.url?.includes('messages')
    ? {
        type: 'message',
        content: [{ type: 'text', text: 'a' }],
        usage: { input_tokens: 3, output_tokens: 1 },
      }
    : { object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage: USAGE };
  return void res.end(JSON.stringify(said));
});

/** Prefix, api_base below the upstream, further parameters, the path that arrives. */
const CHATS: readonly (readonly [
  prefix: string,
  base: string,
  more: string,
  path: string,
  header: string,
])[] = [
  ['openrouter', '/api/v1', '', '/api/v1/chat/completions', 'authorization'],
  ['mistral', '', '', '/v1/chat/completions', 'authorization'],
  ['groq', '/openai/v1', '', '/openai/v1/chat/completions', 'authorization'],
  ['deepseek', '/beta', '', '/beta/chat/completions', 'authorization'],
  ['together_ai', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['fireworks_ai', '/inference/v1', '', '/inference/v1/chat/completions', 'authorization'],
  ['xai', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['cerebras', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['perplexity', '', '', '/chat/completions', 'authorization'],
  ['nvidia_nim', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['github', '', '', '/chat/completions', 'authorization'],
  ['moonshot', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['zai', '/api/paas/v4', '', '/api/paas/v4/chat/completions', 'authorization'],
  ['dashscope', '/compatible-mode/v1', '', '/compatible-mode/v1/chat/completions', 'authorization'],
  ['minimax', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['deepinfra', '/v1/openai', '', '/v1/openai/chat/completions', 'authorization'],
  ['sambanova', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['nebius', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['novita', '/v3/openai', '', '/v3/openai/chat/completions', 'authorization'],
  ['volcengine', '/api/v3', '', '/api/v3/chat/completions', 'authorization'],
  ['friendliai', '/serverless/v1', '', '/serverless/v1/chat/completions', 'authorization'],
  ['vercel_ai_gateway', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['hosted_vllm', '', '', '/v1/chat/completions', 'authorization'],
  ['lm_studio', '/v1', '', '/v1/chat/completions', 'authorization'],
  ['ollama', '', '', '/v1/chat/completions', 'authorization'],
  ['ollama_chat', '', '', '/v1/chat/completions', 'authorization'],
  [
    'azure',
    '',
    ', api_version: "2024-10-21"',
    '/openai/deployments/up/chat/completions?api-version=2024-10-21',
    'api-key',
  ],
];
const config = (forward: boolean): string => `
model_list:
${CHATS.map(([prefix, base, more]) => `  - model_name: ${prefix}\n    litellm_params: { model: ${prefix}/up, api_base: "${upstream}${base}", api_key: sk-${prefix}-secret${more} }`).join('\n')}
  - model_name: azure-v1
    litellm_params: { model: azure/up, api_base: "${upstream}", api_key: sk-azure-secret, api_version: v1 }
  - model_name: azure-token
    litellm_params: { model: azure/up, api_base: "${upstream}", azure_ad_token: os.environ/ENTRA, api_version: v1 }
  - model_name: "az-*"
    litellm_params: { model: "azure/*", api_base: "${upstream}", api_key: sk-azure-secret, api_version: "2024-10-21" }
  - model_name: claude
    litellm_params: { model: anthropic/up, api_base: "${upstream}", api_key: sk-anthropic-secret, discover_models: true }
  - model_name: gemini
    litellm_params: { model: gemini/up, api_base: "${upstream}", api_key: sk-gemini-secret, discover_models: true }
general_settings:
  master_key: ${KEY}
  forward_client_headers_to_llm_api: ${forward}
`;
const rig = await startRig(t, { config: () => config(false), env: { ENTRA: 'eyJ.entra.token' } });

/** Every header in which a client might send a key. */
const CLIENT = {
  'x-api-key': 'client-anthropic',
  'api-key': 'client-azure',
  'x-goog-api-key': 'client-google',
  x_goog_api_key: 'client-google',
  'anthropic-version': '1999-01-01',
  'anthropic-beta': 'feature-a',
};
const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x_goog_api_key'];

function last(): ReceivedCall {
  const call = got.at(-1);
  if (call === undefined) throw new Error('the upstream got nothing');
  return call;
}

for (const forward of [false, true])
  t.test(`paths and keys, forwarding ${forward ? 'on' : 'off'}`, async (t) => {
    if (forward) await rig.reconfigure(config(true));
    for (const [prefix, , , path, header] of CHATS) {
      const answer = await chat(rig, prefix, {}, { ...CLIENT, 'x-litellm-api-key': KEY });
      t.equal(answer.status, 200, prefix);
      const { req, body } = last();
      t.equal(req.url, path, prefix);
      const scheme = header === 'authorization' ? 'Bearer ' : '';
      const sent = CREDENTIALS.filter((name) => req.headers[name] !== undefined);
      t.strictSame(sent, [header], `${prefix}: one credential`);
      t.equal(req.headers[header], `${scheme}sk-${prefix}-secret`, prefix);
      const model = prefix === 'fireworks_ai' ? 'accounts/fireworks/models/up' : 'up';
      t.equal((JSON.parse(String(body)) as { model: string }).model, model, prefix);
      t.notMatch(req.rawHeaders.join('\n'), /client-/, prefix);
      if (!forward) t.equal((await rowOf(rig, answer))['custom_llm_provider'], prefix);
    }
  });

t.test('the messages of Anthropic get its version, and the features that the client names', async (t) => {
  const body = { model: 'claude', max_tokens: 9, messages: [{ role: 'user', content: 'a' }] };
  for (const forward of [false, true]) {
    await rig.reconfigure(config(forward));
    const answer = await send(rig.url, 'POST', '/v1/messages?beta=true', body, CLIENT);
    t.equal(answer.status, 200);
    const { req } = last();
    t.equal(req.url, '/v1/messages?beta=true');
    t.match(req.headers, {
      'x-api-key': 'sk-anthropic-secret',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'feature-a',
    });
    t.equal(req.headers.authorization, undefined);
    t.notMatch(req.rawHeaders.join('\n'), /client-|1999/);
  }
});

t.test('the deployment and the version of Azure are those of the entry', async (t) => {
  await chat(rig, 'azure-v1');
  t.equal(last().req.url, '/openai/v1/chat/completions');
  await chat(rig, 'az-my model');
  t.equal(last().req.url, '/openai/deployments/my%20model/chat/completions?api-version=2024-10-21');
  const body = { model: 'azure', messages: [] };
  await send(rig.url, 'POST', '/v1/chat/completions?api-version=1999-01-01', body);
  t.equal(last().req.url, '/openai/deployments/up/chat/completions?api-version=2024-10-21');
  await send(rig.url, 'POST', '/v1/embeddings', { model: 'azure', input: 'a' });
  t.equal(last().req.url, '/openai/deployments/up/embeddings?api-version=2024-10-21');
  await send(rig.url, 'POST', '/v1/responses', { model: 'azure', input: 'a' });
  t.equal(last().req.url, '/openai/responses?api-version=2024-10-21');
});

t.test('a token of Entra goes as a bearer, alone', async (t) => {
  for (const forward of [false, true]) {
    await rig.reconfigure(config(forward));
    const answer = await chat(rig, 'azure-token', {}, { ...CLIENT, 'x-litellm-api-key': KEY });
    t.equal(answer.status, 200);
    const { req } = last();
    t.equal(req.headers.authorization, 'Bearer eyJ.entra.token');
    t.strictSame(
      CREDENTIALS.filter((name) => req.headers[name] !== undefined),
      ['authorization'],
    );
  }
});

t.test('a member that a vendor refuses is not sent, and its usage counts all the same', async (t) => {
  for (const prefix of ['mistral', 'perplexity']) {
    const answer = await chat(rig, prefix, { stream: true, stream_options: { include_usage: true } });
    t.equal(answer.status, 200);
    t.equal('stream_options' in (JSON.parse(String(last().body)) as object), false, prefix);
    t.match(await rowOf(rig, answer), { prompt_tokens: 3, completion_tokens: 1 });
  }
  await chat(rig, 'groq', { stream: true });
  t.match(JSON.parse(String(last().body)), { stream_options: { include_usage: true } });
});

t.test('mistral gets names in messages of tools alone; every other byte stays', async (t) => {
  const body = (...messages: readonly string[]): string =>
    `{"messages" : [ ${messages.join(' , ')} ],"model":"mistral"}`;
  const kept = [
    '{"role":"tool","tool_call_id":"a","name":"weather","content":"{\\"name\\":1.0}"}',
    '{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}',
    '{"role":"user","content":[{"type":"text","text":"b","name":"inner"}]}',
  ];
  const named = [
    '{"role":"user", "name":"ann","content":"a"}',
    '{"name":"bob" ,"role":"system","content":"ü"}',
    '{"role":"assistant","content":1.50,"n\\u0061me":null}',
    '{"role":"tool","name":" ","content":"x"}',
    '{"name":{"a":["b"]}}',
  ];
  const cleaned = [
    '{"role":"user", "content":"a"}',
    '{"role":"system","content":"ü"}',
    '{"role":"assistant","content":1.50}',
    '{"role":"tool","content":"x"}',
    '{}',
  ];
  const ask = (text: string) => send(rig.url, 'POST', '/v1/chat/completions', Buffer.from(text));
  t.equal((await ask(body(...kept, ...named))).status, 200);
  t.equal(String(last().body), body(...kept, ...cleaned).replace('"mistral"', '"up"'));
  for (const odd of ['{"messages":[],"model":"mistral"}', '{"messages":["name",7],"model":"mistral"}']) {
    await ask(odd);
    t.equal(String(last().body), odd.replace('"mistral"', '"up"'));
  }
  const other = body(...named);
  await ask(other.replace('"mistral"', '"groq"'));
  t.equal(String(last().body), other.replace('"mistral"', '"up"'));
});

t.test('their lists are asked for with their keys', async (t) => {
  const lists = got.filter(({ req }) => req.method === 'GET');
  const of = (url: string): ReceivedCall | undefined => lists.find(({ req }) => req.url === url);
  t.equal(of('/v1/models?limit=1000')?.req.headers['x-api-key'], 'sk-anthropic-secret');
  t.equal(of('/v1beta/models?pageSize=1000')?.req.headers['x-goog-api-key'], 'sk-gemini-secret');
});
