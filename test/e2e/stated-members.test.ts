// What entries state of their requests is what goes upstream, and every other byte of the client's body stays as it was: settings
// where the client leaves them open, extra_body whatever it says, in each protocol, attempt by attempt.
import t, { type Test } from 'tap';
import { newKey } from '../support/manage.ts';
import { KEY, rowOf, send, startRig, type Answer } from '../support/rig.ts';
import { startStrictUpstream } from '../support/strict-upstream.ts';

const strict = await startStrictUpstream();
t.teardown(() => strict.close());

const SECRET = 'sk-in-a-variable';
const PRICES =
  'input_cost_per_token: 1e-6, output_cost_per_token: 2e-6, output_cost_per_token_priority: 8e-6';
const SERVED = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  gemini: '/v1beta/models/{model}:generateContent',
} as const;
type Api = keyof typeof SERVED;

const rig = await startRig(t, {
  env: { ROUTE: SECRET, WARM: '0.75' },
  config: (demo) => {
    const entry = (name: string, more: string, serves: Api | null = null, model = 'demo'): string =>
      `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/${model}, api_base: "${demo.url}"${
        serves === null ? '' : `, supported_endpoints: ["${SERVED[serves]}"]`
      }, ${more} } }\n`;
    return `
model_list:
  - { model_name: exact, litellm_params: { model: litellm_proxy/exact, api_base: "${strict.url}", temperature: 0.2, reasoning_effort: high, max_tokens: 100, stop: [A, B] } }
  - { model_name: private, litellm_params: { model: openai/private, api_base: "${strict.url}/v1", extra_body: { provider: { ignore: [acme], data_collection: deny }, metadata: { a: 1 }, route: os.environ/ROUTE, nothing: null } } }
${entry('chat', 'temperature: os.environ/WARM, max_tokens: "50", seed: 7, n: 2', 'chat')}
${entry('openai', 'max_tokens: 50, temperature: 0.1', 'chat', 'gpt-5')}
${entry('responses', 'reasoning_effort: high, max_tokens: 50, verbosity: low, seed: 7, service_tier: priority', 'responses')}
${entry('messages', 'reasoning_effort: high, max_tokens: 5000, stop: END, seed: 7', 'messages', 'claude-sonnet-4-5')}
${entry('thinking', 'thinking: { type: enabled, budget_tokens: 2000 }', 'messages', 'claude-sonnet-4-5')}
${entry('cool', 'temperature: 0.2', 'messages', 'claude-sonnet-4-5')}
${entry('unknown', 'reasoning_effort: high', 'messages', 'claude-x')}
${entry('gemini', 'temperature: 0.5, max_tokens: 50, extra_body: { generationConfig: { topK: 3 }, safetySettings: [] }', 'gemini')}
${entry('embeds', 'dimensions: 8, temperature: 1')}
${entry('first', 'temperature: 0.1, extra_body: { a: 1 }, num_retries: 1', 'chat', 'demo-503')}
${entry('second', 'top_p: 0.3', 'messages', 'claude-sonnet-4-5')}
${entry('short', `max_tokens: 10, ${PRICES}`)}
${entry('plain', PRICES)}
${entry('fast', `service_tier: priority, ${PRICES}`)}
router_settings:
  fallbacks: [{ first: [second] }]
  num_retries: 0
general_settings: { master_key: ${KEY} }
`;
  },
});

const post = (path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  send(rig.url, 'POST', path, Buffer.from(body), { 'content-type': 'application/json', ...headers });

/** What the demo gateway got last. */
async function sent(t: Test, path: string, body: string): Promise<Record<string, unknown>> {
  const before = rig.demo.seen.length;
  const answer = await post(path, body);
  t.ok(rig.demo.seen.length > before, `${answer.status} ${answer.text.slice(0, 300)}`);
  return JSON.parse(String(rig.demo.seen.at(-1)?.body)) as Record<string, unknown>;
}

/** The bytes that the strict upstream got. */
async function sentExactly(t: Test, body: string): Promise<string> {
  const answer = await post('/v1/chat/completions', body);
  t.equal(answer.status, 200, answer.text.slice(0, 300));
  t.strictSame(strict.deviations, []);
  return String(strict.seen.at(-1)?.body);
}

const HELLO = '"messages":[{"role":"user","content":"hi"}]';

t.test('settings follow on the client’s bytes; one that it states, null included, is its own', async (t) => {
  t.equal(
    await sentExactly(t, `{ "model" : "exact", ${HELLO}, "top_p":1.0e0 }`),
    `{ "model" : "exact", ${HELLO}, "top_p":1.0e0,"max_tokens":100,"reasoning_effort":"high","stop":["A","B"],"temperature":0.2 }`,
  );
  const own = `{"model":"exact",${HELLO},"temperature":null,"max_completion_tokens":5,"reasoning":{},"stop":"C"}`;
  t.equal(await sentExactly(t, own), own, 'also in other words');
});

t.test(
  'extra_body goes over what the client says, and nobody but the upstream sees its secrets',
  async (t) => {
    const ends = '"provider":{"ignore":["acme"],"data_collection":"deny"},"metadata":{"a":1}';
    t.equal(
      await sentExactly(t, `{"model":"private",${HELLO},"metadata":{"mine":1},"user":"u"}`),
      `{"model":"private",${HELLO},"metadata":{"a":1},"provider":{"ignore":["acme"],"data_collection":"deny"},"route":"${SECRET}","nothing":null}`,
    );
    const alone = await sentExactly(t, `{"model":"private",${HELLO}}`);
    t.equal(alone, `{"model":"private",${HELLO},${ends},"route":"${SECRET}","nothing":null}`);
    const refused = await post('/v1/chat/completions', `{"model":"private",${HELLO},"provider":{}}`);
    t.equal(refused.status, 400, 'what steers is not the client’s to say');
    const info = await send(rig.url, 'GET', '/model/info', undefined, { authorization: `Bearer ${KEY}` });
    t.match(info.text, /"data_collection":"deny"/);
    for (const text of [info.text, JSON.stringify(rig.log)]) t.notOk(text.includes(SECRET));
  },
);

t.test('each protocol gets them in its own words, and not what it has no word for', async (t) => {
  t.match(await sent(t, '/v1/chat/completions', `{"model":"chat",${HELLO}}`), {
    temperature: 0.75,
    max_tokens: 50,
    seed: 7,
    n: 2,
  });
  const renamed = await sent(t, '/v1/chat/completions', `{"model":"openai",${HELLO}}`);
  t.match(renamed, { max_completion_tokens: 50, max_tokens: undefined, temperature: 0.1 });
  const said = await sent(
    t,
    '/v1/responses',
    '{"model":"responses","input":"hi","text":{"format":{"type":"text"}}}',
  );
  t.match(said, {
    reasoning: { effort: 'high' },
    max_output_tokens: 50,
    text: { format: { type: 'text' }, verbosity: 'low' },
    service_tier: 'priority',
  });
  t.notOk('seed' in said || 'include' in said || 'store' in said);
  const config = await sent(
    t,
    '/v1beta/models/gemini:generateContent',
    '{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generation_config":{"max_output_tokens":9}}',
  );
  t.strictSame(config['generation_config'], { max_output_tokens: 9, temperature: 0.5, topK: 3 });
  t.strictSame([config['generationConfig'], config['safetySettings']], [undefined, []]);
  const embedded = await sent(t, '/v1/embeddings', '{"model":"embeds","input":"hi"}');
  t.strictSame(embedded, { model: 'demo', input: 'hi', dimensions: 8 });
});

t.test('Anthropic’s messages: thinking below the limit of the client', async (t) => {
  const message = (more: string): string => `{"model":"messages",${HELLO}${more}}`;
  const open = await sent(t, '/v1/messages', message(''));
  t.match(open, {
    max_tokens: 5000,
    stop_sequences: ['END'],
    thinking: { type: 'enabled', budget_tokens: 4096 },
  });
  t.notOk('seed' in open || 'reasoning_effort' in open);
  const short = await sent(t, '/v1/messages', message(',"max_tokens":2000'));
  t.match(short, { max_tokens: 2000, thinking: { budget_tokens: 1999 } });
  t.notOk('thinking' in (await sent(t, '/v1/messages', message(',"max_tokens":500'))), 'no room to think');
  const own = await sent(t, '/v1/messages', message(',"max_tokens":2000,"thinking":{"type":"disabled"}'));
  t.strictSame([own['thinking'], own['output_config']], [{ type: 'disabled' }, undefined]);
  const verbatim = await sent(t, '/v1/messages', `{"model":"thinking","max_tokens":9000,${HELLO}}`);
  t.strictSame(verbatim['thinking'], { type: 'enabled', budget_tokens: 2000 });
  const few = await sent(t, '/v1/messages', `{"model":"thinking","max_tokens":1500,${HELLO}}`);
  t.strictSame(few['thinking'], { type: 'enabled', budget_tokens: 1499 });
  const counted = await sent(t, '/v1/messages/count_tokens', `{"model":"messages",${HELLO}}`);
  t.notOk('max_tokens' in counted, 'a count of tokens takes no settings');
});

t.test('nothing is added that would have a call of messages refused', async (t) => {
  const message = async (model: string, more: string): Promise<Record<string, unknown>> =>
    await sent(t, '/v1/messages', `{"model":"${model}","max_tokens":9000,${HELLO},${more}}`);
  const thinks = await message('cool', '"thinking":{"type":"enabled","budget_tokens":2000}');
  t.notOk('temperature' in thinks, 'a model that thinks takes none');
  t.notOk('thinking' in (await message('messages', '"temperature":0.5')), 'nor does one that is to think');
  t.notOk('thinking' in (await message('messages', '"tool_choice":{"type":"any"}')));
  t.notOk('temperature' in (await message('cool', '"top_p":0.5')));
  t.match(await message('messages', '"temperature":1'), { thinking: {} });
  t.match(await message('cool', '"thinking":{"type":"disabled"}'), { temperature: 0.2 });
  const unstated = await sent(t, '/v1/responses', '{"model":"unknown","input":"hi"}');
  t.match(unstated, { max_tokens: 4096, thinking: { budget_tokens: 4095 } }, 'the limit of the translation');
});

t.test('a translated call: in the words of its upstream, whichever API the client speaks', async (t) => {
  const asMessages = await sent(t, '/v1/chat/completions', `{"model":"messages",${HELLO},"temperature":1}`);
  t.match(asMessages, { max_tokens: 5000, stop_sequences: ['END'], thinking: { budget_tokens: 4096 } });
  const limited = await sent(t, '/v1/chat/completions', `{"model":"messages",${HELLO},"max_tokens":1500}`);
  t.match(limited, { max_tokens: 1500, thinking: { budget_tokens: 1499 } });
  const effort = await sent(
    t,
    '/v1/chat/completions',
    `{"model":"messages",${HELLO},"reasoning_effort":"none"}`,
  );
  t.notOk('thinking' in effort, 'the client’s own');
  const asGemini = await sent(t, '/v1/chat/completions', `{"model":"gemini",${HELLO},"top_p":0.5}`);
  t.strictSame(asGemini['generationConfig'], { maxOutputTokens: 50, temperature: 0.5, topP: 0.5, topK: 3 });
  const asChat = await sent(t, '/v1/messages', `{"model":"chat","max_tokens":9,${HELLO}}`);
  t.match(asChat, { temperature: 0.75, max_tokens: 9, seed: 7 });
  t.notOk('n' in asChat, 'its client reads one answer');
  const asResponses = await sent(t, '/v1/chat/completions', `{"model":"responses",${HELLO}}`);
  t.match(asResponses, { reasoning: { effort: 'high' }, max_output_tokens: 50, service_tier: 'priority' });
  const tier = await sent(t, '/v1/chat/completions', `{"model":"responses",${HELLO},"service_tier":"auto"}`);
  t.not(tier['service_tier'], 'priority', 'the client’s own, although it is not carried');
  const fromGemini = await sent(
    t,
    '/v1beta/models/messages:generateContent',
    '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}',
  );
  t.match(fromGemini, { max_tokens: 5000, stop_sequences: ['END'], thinking: { type: 'enabled' } });
});

t.test('each attempt states what its own entry does', async (t) => {
  const before = rig.demo.seen.length;
  await post('/v1/chat/completions', `{"model":"first",${HELLO}}`);
  const bodies = rig.demo.seen
    .slice(before)
    .map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);
  t.equal(bodies.length, 3);
  for (const body of bodies.slice(0, 2)) t.match(body, { temperature: 0.1, a: 1, top_p: undefined });
  t.match(bodies[2], { top_p: 0.3, temperature: undefined, a: undefined });
});

t.test('a limit of the entry is what a budget holds, and its tier what is charged', async (t) => {
  const key = await newKey(rig, { max_budget: 0.0005 });
  const as = { authorization: `Bearer ${key}` };
  t.equal(
    (await post('/v1/chat/completions', `{"model":"plain",${HELLO}}`, as)).status,
    422,
    'it may be long',
  );
  t.equal((await post('/v1/chat/completions', `{"model":"short",${HELLO}}`, as)).status, 200);
  const [plain, fast] = await Promise.all(
    ['plain', 'fast'].map(async (model) =>
      rowOf(rig, await post('/v1/chat/completions', `{"model":"${model}",${HELLO}}`)),
    ),
  );
  t.ok(Number(fast?.['spend']) > Number(plain?.['spend']), `${String(fast?.['spend'])}`);
});
