// The official Anthropic client against a real proxy: what it reads, what it raises. Retries are off: they would hide
// how often the upstream was asked.
import Anthropic, {
  APIConnectionError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import t from 'tap';
import { ManualClock } from '../support/clock.ts';
import { defaultConfig, headerOf, KEY, lastSeen, send, startRig, type Row } from '../support/rig.ts';
import { raised, thrown } from '../support/thrown.ts';

const clock = new ManualClock();
const rig = await startRig(t, {
  clock,
  demo: { eventIntervalMs: 10 },
  config: (demo) =>
    defaultConfig(demo, 'router_settings: { default_litellm_params: { idle_timeout: 0.25 } }'),
});
const client = new Anthropic({ baseURL: rig.url, apiKey: KEY, authToken: null, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'one two three' }];
const input_schema = { type: 'object' as const, properties: { city: { type: 'string' } } };
const tools = [{ name: 'weather', input_schema }];
const ask = { max_tokens: 99, messages };

const textOf = (message: Anthropic.Message): string =>
  message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');

t.test('messages, streamed and not, with x-api-key; the key goes no further', async (t) => {
  for (const [model, face] of [
    ['demo', '/v1/messages'],
    ['compat', '/compat/v1/messages'],
  ] as const) {
    const whole = await client.messages.create({ model, ...ask });
    t.match(textOf(whole), /heard 3 words/);
    t.match(whole.usage, { input_tokens: 6, output_tokens: 9 });
    t.equal(lastSeen(rig).path, face);
    t.equal(headerOf(lastSeen(rig).rawHeaders, 'x-api-key'), undefined);
    t.equal(headerOf(lastSeen(rig).rawHeaders, 'authorization'), 'Bearer sk-upstream-secret');
    t.match(headerOf(lastSeen(rig).rawHeaders, 'anthropic-version'), /^20\d\d-\d\d-\d\d$/);
    const streamed = await client.messages.stream({ model, ...ask }).finalMessage();
    t.equal(textOf(streamed), textOf(whole));
    t.match(streamed.usage, { output_tokens: 9 });
  }
});

t.test('betas travel', async (t) => {
  const body = { model: 'demo', ...ask, betas: ['one-2025-01-01', 'two-2025-01-01'] };
  await client.beta.messages.create(body, { query: { beta: true } }); // versions before 1.0 write it themselves
  t.match(headerOf(lastSeen(rig).rawHeaders, 'anthropic-beta'), /one-2025-01-01,two-2025-01-01/);
  t.equal(lastSeen(rig).path, '/v1/messages?beta=true');
});

t.test('tools, streamed and not, to the end of the loop', async (t) => {
  const called = await client.messages.create({ model: 'demo-tools', ...ask, tools });
  t.match(called, {
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', name: 'weather', input: { city: 'demo' } }],
  });
  const streamed = await client.messages.stream({ model: 'compat-tools', ...ask, tools }).finalMessage();
  t.match(streamed, { stop_reason: 'tool_use', content: [{ type: 'tool_use', input: { city: 'demo' } }] });
  const id = (called.content[0] as Anthropic.ToolUseBlock).id;
  const result = {
    role: 'user' as const,
    content: [{ type: 'tool_result' as const, tool_use_id: id, content: 'sunny' }],
  };
  const turns = [...messages, { role: 'assistant' as const, content: called.content }, result];
  const done = await client.messages.create({ model: 'demo-tools', max_tokens: 9, messages: turns, tools });
  t.equal(done.stop_reason, 'end_turn');
});

t.test('tokens are counted, models are listed', async (t) => {
  t.equal((await client.messages.countTokens({ model: 'demo', messages })).input_tokens, 6);
  t.same(
    (await client.models.list()).data.map(({ id }) => id),
    ['demo', 'compat', 'demo-*', 'compat-*'],
  );
  const [first] = (await client.models.list()).data;
  t.same(await client.models.retrieve('demo'), first, 'one model has the form of the list');
  t.match(first, { type: 'model', display_name: 'demo', created_at: /Z$/ });
});

t.test('cached tokens of a stream are in the row', async (t) => {
  const headers = { 'x-litellm-session-id': 's-cached' };
  await client.messages.stream({ model: 'demo-cached', ...ask }, { headers }).finalMessage();
  const [row] = JSON.parse((await send(rig.url, 'GET', '/spend/logs?session_id=s-cached')).text) as Row[];
  t.match(row, {
    call_type: 'anthropic_messages',
    prompt_tokens: 6,
    completion_tokens: 9,
    cache_read_tokens: 3,
    cache_creation_tokens: 1,
    usage: { input_tokens: 2, output_tokens: 9 },
    end_reason: 'complete',
  });
});

t.test('errors are raised as what they are', async (t) => {
  for (const [model, kind, status] of [
    ['nobody', NotFoundError, 404],
    ['demo-404', NotFoundError, 404],
    ['demo-refuse-400', BadRequestError, 400],
    ['demo-refuse-401', AuthenticationError, 401],
    ['demo-429', RateLimitError, 429],
    ['demo-500', InternalServerError, 500],
    ['demo-drop', InternalServerError, 503],
  ] as const) {
    for (const stream of [false, true]) {
      const error = await thrown(client.messages.create({ model, ...ask, stream }));
      t.ok(error instanceof kind, `${model}: ${String(error)}`);
      t.equal((error as APIError).status, status);
    }
  }
  const stranger = new Anthropic({ baseURL: rig.url, apiKey: 'sk-wrong', authToken: null, maxRetries: 0 });
  t.ok((await thrown(stranger.messages.create({ model: 'demo', ...ask }))) instanceof AuthenticationError);
  const bearer = new Anthropic({ baseURL: rig.url, apiKey: null, authToken: KEY, maxRetries: 0 });
  t.ok((await bearer.messages.create({ model: 'demo', ...ask })).id);
});

t.test('a broken stream raises, whatever broke it', async (t) => {
  for (const behaviour of ['cut', 'cut-clean', 'no-done', 'stall', 'header-then-close', 'error-event']) {
    for (const face of ['demo', 'compat']) {
      const ended = raised(() =>
        client.messages.stream({ model: `${face}-${behaviour}`, ...ask }).finalMessage(),
      );
      const error = await (behaviour === 'stall' ? clock.during(ended) : ended);
      t.ok(error instanceof APIError, `${face}-${behaviour}: ${String(error)}`);
      t.notOk(error instanceof RateLimitError);
    }
  }
});

t.test('a client that aborts stops the upstream', async (t) => {
  const stream = client.messages.stream({ model: 'demo-interval', ...ask });
  stream.once('text', () => stream.abort());
  t.ok((await thrown(stream.finalMessage())) instanceof APIUserAbortError);
  t.equal(await lastSeen(rig).finished, 'aborted');
  const hasty = client.withOptions({ timeout: 100 });
  t.ok((await thrown(hasty.messages.create({ model: 'demo-silent', ...ask }))) instanceof APIConnectionError);
  t.equal(await lastSeen(rig).finished, 'aborted');
});
