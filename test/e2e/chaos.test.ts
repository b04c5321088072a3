// Faults by name against a real proxy, through the official OpenAI client where a client's error path is the point: who may ask, what
// the client meets, what the row says, and that nothing of it counts against the deployment.
import OpenAI, {
  type APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import t from 'tap';
import { runWithin } from '../support/cli.ts';
import { ManualClock } from '../support/clock.ts';
import { managed, newKey } from '../support/manage.ts';
import { defaultConfig, KEY, send, startRig, type Row } from '../support/rig.ts';
import { thrown } from '../support/thrown.ts';

const clock = new ManualClock();
const rig = await startRig(t, {
  clock,
  config: (demo) =>
    defaultConfig(
      demo,
      `router_settings:
  model_group_alias: { fast: demo }
  fallbacks: [{ demo: [compat] }]
  num_retries: 3
  allowed_fails: 0
  default_litellm_params: { idle_timeout: 2, timeout: 2, stream_timeout: 2 }
keys:
  - { key_alias: file-test, key: os.environ/FILE_KEY, allow_chaos: true }
`,
    ),
  env: { FILE_KEY: 'sk-a-test-key-of-the-file' },
});
const testKey = await newKey(rig, { key_alias: 'tester', metadata: { allow_chaos: true } });
const client = new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: testKey, maxRetries: 0, logLevel: 'off' });
const messages = [{ role: 'user' as const, content: 'one two three' }];

/** A call with a key of its own. */
const call = (key: string, model: string, more: object = {}, path = '/v1/chat/completions') =>
  send(rig.url, 'POST', path, { model, messages, ...more }, { authorization: `Bearer ${key}` });

const lastRow = async (): Promise<Row> => {
  const row = (await rig.rows()).at(-1);
  if (row === undefined) throw new Error('there is no row');
  return row;
};
const warningsOf = (row: Row): string => JSON.stringify((row['metadata'] as Row)['warnings']);
const codeOf = (text: string): unknown => (JSON.parse(text) as { error: { code: unknown } }).error.code;

/** The texts of a stream up to its end, and what ended it. The client throws at an error's event, before the end: its row is awaited. */
async function streamed(model: string): Promise<{ texts: string[]; error: unknown }> {
  const texts: string[] = [];
  const create = client.chat.completions.create({ model, messages, stream: true });
  const { data: stream, response } = await create.withResponse();
  let error: unknown = null;
  try {
    for await (const chunk of stream) texts.push(chunk.choices[0]?.delta.content ?? '');
  } catch (thrown) {
    error = thrown;
  }
  const id = response.headers.get('x-litellm-call-id');
  await rig.logged(({ msg, call_id }) => msg === 'request' && call_id === id);
  return { texts, error };
}

t.test('only a key that says so may ask, for its own models alone', async (t) => {
  const ordinary = await newKey(rig, {});
  const team = await managed(rig, 'POST /team/new', { metadata: { allow_chaos: true } });
  const denied: readonly (readonly [string, string])[] = [
    ['the master key', KEY],
    ['an ordinary key', ordinary],
    ['a key of a team that says so', await newKey(rig, { team_id: team['team_id'] })],
    ['a text is no yes', await newKey(rig, { metadata: { allow_chaos: 'true' } })],
    ['a list of models is no permission', await newKey(rig, { models: ['*', 'chaos/*'] })],
  ];
  for (const [name, key] of denied) {
    const { status, text } = await call(key, 'chaos/500/demo');
    t.strictSame([status, codeOf(text)], [403, 'chaos_denied'], name);
  }
  t.match(await lastRow(), { end_reason: 'refused', model_group: 'demo' }, 'refusals leave their rows');
  t.equal((await call('sk-a-test-key-of-the-file', 'chaos/500/demo')).status, 500, 'a key of the file');
  const permitted = await newKey(rig, { permissions: { allow_chaos: true }, models: ['demo'] });
  t.equal((await call(permitted, 'chaos/500/demo')).status, 500, 'by its permissions');
  const other = await call(permitted, 'chaos/500/compat');
  t.strictSame([other.status, codeOf(other.text)], [403, 'key_model_access_denied'], 'of its models alone');
  const sneaky = await newKey(rig, { metadata: { allow_chaos: true }, models: ['chaos/*'] });
  t.equal(codeOf((await call(sneaky, 'chaos/500/demo')).text), 'key_model_access_denied');
  const renamed = await newKey(rig, { metadata: { allow_chaos: true }, aliases: { mine: 'chaos/503/fast' } });
  t.equal((await call(renamed, 'mine')).status, 503, 'an alias of the key, and one of the router');
});

t.test('what is no such name', async (t) => {
  const wrong: readonly (readonly [string, number, string])[] = [
    ['chaos/stal/demo', 400, 'unknown_chaos'],
    ['chaos/429', 400, 'unknown_chaos'],
    ['chaos/', 400, 'unknown_chaos'],
    ['chaos//demo', 400, 'unknown_chaos'],
    ['chaos/constructor/demo', 400, 'unknown_chaos'],
    ['chaos/401-5/demo', 400, 'unknown_chaos'],
    ['chaos/stall-1.5/demo', 400, 'unknown_chaos'],
    ['chaos/stall-999999999/demo', 400, 'unknown_chaos'],
    ['chaos/500/chaos/500/demo', 404, 'model_not_found'],
    ['CHAOS/500/demo', 404, 'model_not_found'],
    ['chaos/500/nothing', 404, 'model_not_found'],
  ];
  for (const [model, status, code] of wrong) {
    const answer = await call(testKey, model);
    t.strictSame([answer.status, codeOf(answer.text)], [status, code], model);
  }
  t.match((await call(testKey, 'chaos/stal/demo')).text, /Did you mean `stall`/);
});

t.test('the answers of a gateway that refuses, as the SDK raises them', async (t) => {
  const before = rig.demo.seen.length;
  const classes = [
    ['400', BadRequestError],
    ['401', AuthenticationError],
    ['403', PermissionDeniedError],
    ['404', NotFoundError],
    ['429-7', RateLimitError],
    ['500', InternalServerError],
    ['503', InternalServerError],
    ['529', InternalServerError],
  ] as const;
  for (const [fault, raised] of classes) {
    for (const stream of [false, true]) {
      const model = `chaos/${fault}/demo`;
      const error = await thrown(client.chat.completions.create({ model, messages, stream }));
      t.ok(error instanceof raised, `${fault} is ${raised.name}`);
      t.equal((error as APIError).headers?.get('x-litellm-error-source'), 'upstream');
    }
  }
  const limited = await thrown(client.chat.completions.create({ model: 'chaos/429-7/demo', messages }));
  t.equal((limited as APIError).headers?.get('retry-after'), '7');
  const context = await thrown(client.chat.completions.create({ model: 'chaos/400/demo', messages }));
  t.match(context, { code: 'context_length_exceeded', param: 'messages', message: /maximum context length/ });
  t.equal(rig.demo.seen.length, before, 'no gateway was asked, nothing was retried, no fallback was tried');
  const row = await lastRow();
  t.match(row, {
    end_reason: 'upstream_error',
    http_status: 400,
    spend: 0,
    model_group: 'demo',
    attempts: 1,
  });
  t.match(warningsOf(row), /chaos: the call asked for 400/);
  const claude = await call(testKey, 'chaos/529/demo', { max_tokens: 10 }, '/v1/messages');
  t.match(JSON.parse(claude.text), { type: 'error', error: { type: 'overloaded_error' } });
});

t.test('no answer at all', async (t) => {
  t.equal(codeOf((await call(testKey, 'chaos/unreachable/demo')).text), 'upstream_unreachable');
  const silent = await clock.during(call(testKey, 'chaos/no-answer/demo', {}, '/v1/chat/completions'));
  t.strictSame([silent.status, codeOf(silent.text)], [504, 'first_byte_timeout']);
  t.equal((await lastRow())['end_reason'], 'timeout');
  const page = await call(testKey, 'chaos/html-page/demo');
  t.match(page, { status: 200, text: /Sign in/, headers: { 'content-type': /html/ } });
  t.equal((await call(testKey, 'chaos/empty-answer/demo')).body.length, 0);
  t.match(await lastRow(), { end_reason: 'upstream_error', http_status: 200 });
});

t.test('streams that break', async (t) => {
  const cut = await streamed('chaos/cut-after-3/demo');
  t.equal(cut.texts.length, 3);
  t.match(cut.error, { code: 'stream_broken' });
  t.match(await lastRow(), { end_reason: 'truncated', status: 'failure', error_source: 'upstream' });
  const ended = await streamed('chaos/end-after-2/demo');
  t.equal(ended.texts.length, 2);
  t.match(ended.error, { code: 'stream_truncated' });
  const failed = await streamed('chaos/error-after-2/demo');
  t.equal(failed.texts.length, 2);
  t.match(failed.error, { type: 'overloaded_error' });
  t.equal((await lastRow())['end_reason'], 'upstream_error');
  const garbled = await streamed('chaos/garbled-event-2/demo');
  t.equal(garbled.texts.length, 1);
  t.ok(garbled.error instanceof SyntaxError, 'the SDK cannot parse the event');
  const stalled = await clock.during(streamed('chaos/stall-2/demo'));
  t.equal(stalled.texts.length, 2);
  t.match(stalled.error, { code: 'idle_timeout' });
  t.match(warningsOf(await lastRow()), /stall-2/);
  const none = await thrown(streamed('chaos/cut-after-0/demo'));
  t.match(none, { status: 503, code: 'upstream_broken' }, 'nothing was sent yet');
  const whole = await streamed('chaos/cut-after-5000/demo');
  t.equal(whole.error, null, 'a stream with fewer events is whole');
  t.match(
    (await call(testKey, 'chaos/error-after-1/demo', { stream: true }, '/v1/messages')).text,
    /event: error/,
  );
});

t.test('in the shape of each API', async (t) => {
  const stream = { input: 'x', stream: true };
  const responses = await call(testKey, 'chaos/error-after-1/demo', stream, '/v1/responses');
  t.match(responses.text, /event: error\ndata: \{"type":"error","code":"overloaded"/);
  for (const what of ['error-after-3', 'cut-after-3']) {
    const { text } = await call(testKey, `chaos/${what}/demo`, stream, '/v1/responses');
    const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
    t.same(numbers, [0, 1, 2, 3], `${what}: the error event has the number that follows`);
  }
  const path = '/openai/deployments/chaos%2F503%2Fdemo/chat/completions';
  const named = await send(rig.url, 'POST', path, { messages }, { authorization: `Bearer ${testKey}` });
  t.equal(named.status, 503, 'a model that the path names');
});

t.test('documents that break', async (t) => {
  t.equal(codeOf((await call(testKey, 'chaos/cut-after-5/demo')).text), 'upstream_broken');
  for (const fault of ['end-after', 'garbled-event']) {
    const { status, text } = await call(testKey, `chaos/${fault}/demo`);
    t.equal(status, 200);
    t.throws(() => void JSON.parse(text), fault);
  }
});

t.test('late, and whole', async (t) => {
  const plain = await streamed('demo');
  for (const fault of ['slow-head-0.02', 'slow-first-token-0.02', 'slow-stream-2']) {
    const late = await streamed(`chaos/${fault}/demo`);
    t.strictSame(late, plain, fault);
    t.match(await lastRow(), { end_reason: 'complete', status: 'success' });
  }
  const late = await call(testKey, 'chaos/slow-stream-1/demo');
  t.match(JSON.parse(late.text), { choices: [{ message: { content: /heard 3 words/ } }] });
  const huge = await call(testKey, 'chaos/slow-first-token-0.01/demo-huge', { stream: true });
  t.ok(huge.body.length > 3_000_000 && !huge.broken, 'with backpressure');
  const zipped = await call(testKey, 'chaos/cut-after-1/demo-gzip', { stream: true });
  t.ok(zipped.broken, 'compressed, whatever was asked for');
});

t.test('a wrong usage is the client s alone', async (t) => {
  const wrong = await client.chat.completions.create({ model: 'chaos/wrong-usage/demo', messages });
  const row = await lastRow();
  t.equal(row['prompt_tokens'], 6);
  t.equal(wrong.usage?.prompt_tokens, 9);
  t.match(row, { end_reason: 'complete' });
  const options = { stream: true as const, stream_options: { include_usage: true } };
  const stream = await client.chat.completions.create({
    model: 'chaos/wrong-usage/demo',
    messages,
    ...options,
  });
  let tokens = 0;
  for await (const { usage } of stream) tokens = usage?.prompt_tokens ?? tokens;
  t.equal(tokens, 9);
});

t.test('a client that leaves ends what was to last', async (t) => {
  const abort = new AbortController();
  const stream = await client.chat.completions.create(
    { model: 'chaos/stall-1/demo', messages, stream: true },
    { signal: abort.signal },
  );
  for await (const _ of stream) abort.abort();
  await rig.logged((line) => line['chaos'] === 'stall-1' && line['end'] === 'client_gone');
  t.equal((await lastRow())['end_reason'], 'client_gone');
});

t.test('nothing counts against the deployment', async (t) => {
  for (let i = 0; i < 5; i += 1) await call(testKey, 'chaos/500/demo');
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, /throughline_chaos_calls_total\{fault="500"\} \d+/);
  t.notMatch(text, /throughline_requests_total\{[^}]*status="500"[^}]*\}/);
  t.notMatch(text, /throughline_cooldowns_total\{[^}]*\} [1-9]/);
  t.equal(
    (await call(testKey, 'demo')).headers['x-litellm-model-api-base'],
    rig.demo.url,
    'it is not avoided',
  );
});

t.test('listed where it is asked for', async (t) => {
  const names = async (key: string, query: string): Promise<string[]> => {
    const { text } = await send(rig.url, 'GET', `/v1/models${query}`, undefined, {
      authorization: `Bearer ${key}`,
    });
    return (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  const all = await names(testKey, '?include_chaos=true');
  t.ok(all.includes('chaos/cut-after/demo') && all.includes('demo'));
  t.notOk((await names(testKey, '')).some((name) => name.startsWith('chaos/')));
  t.notOk((await names(KEY, '?include_chaos=true')).some((name) => name.startsWith('chaos/')));
  const one = await send(rig.url, 'GET', '/v1/models/chaos%2Fcut-after-7%2Fdemo', undefined, {
    authorization: `Bearer ${testKey}`,
  });
  t.equal(one.status, 200);
});

t.test('explained', async (t) => {
  const explain = (...args: string[]) =>
    runWithin(['explain', '--config', rig.configPath, ...args], {
      cwd: rig.folder,
      env: { FILE_KEY: 'sk-a-test-key-of-the-file' },
    });
  const told = await explain('--model', 'chaos/cut-after-7/demo', '--key', 'file-test');
  t.match(told, { code: 0, out: /^chaos {2}cut-after-7: the connection breaks/m });
  t.match(told.out, /model +demo -> demo\n/);
  t.match(await explain('--model', 'chaos/429/demo'), { code: 0, out: /for keys that say allow_chaos/ });
  t.match(await explain('--model', 'chaos/nothing/demo'), { code: 1, out: /unknown_chaos/ });
});

t.test('the file can open it to the master key, and close it for all', async (t) => {
  const config = defaultConfig(rig.demo);
  await rig.reconfigure(`${config}  allow_chaos: true\n`);
  t.equal((await call(KEY, 'chaos/500/demo')).status, 500);
  t.equal((await call(await newKey(rig, {}), 'chaos/500/demo')).status, 403, 'ordinary keys stay out');
  await rig.reconfigure(`${config}  allow_chaos: false\n`);
  t.equal((await call(testKey, 'chaos/500/demo')).status, 403);
  const own = config.replace(
    'model_list:',
    `model_list:
  - { model_name: "chaos/mine", litellm_params: { model: litellm_proxy/demo, api_base: "${rig.demo.url}" } }`,
  );
  await rig.reconfigure(own);
  t.equal((await call(KEY, 'chaos/mine')).status, 200, 'a name of the configuration is what it was');
});
