// Whose call it is: session, end user, tags and spend metadata, from wherever a client states them; what of it is
// recorded, returned, stamped, and kept from an upstream that does not know the dialect.
import t from 'tap';
import {
  chat,
  defaultConfig,
  headerOf,
  KEY,
  lastSeen,
  rowOf,
  send,
  startRig,
  type Answer,
  type Row,
} from '../support/rig.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const rig = await startRig(t, {
  config: (demo) =>
    defaultConfig(demo, 'litellm_settings: { extra_spend_tag_headers: [x-team] }').replace(
      'general_settings:',
      'general_settings:\n  user_header_name: X-End-User',
    ),
});

type Headers = Readonly<Record<string, string>>;

async function row(more: object, headers: Headers = {}, model = 'demo'): Promise<Row> {
  const answer = await chat(rig, model, more, headers);
  t.equal(answer.status, 200, answer.text);
  return rowOf(rig, answer);
}

const warnings = (of: Row): readonly string[] => (of['metadata'] as { warnings: string[] }).warnings;

t.test('the session id: of all places that state one, the first in order counts', async (t) => {
  const sources: readonly (readonly [source: string, body: object, headers: Headers])[] = [
    ['x-litellm-session-id', {}, { 'x-litellm-session-id': 's1' }],
    ['body.litellm_session_id', { litellm_session_id: 's2' }, {}],
    ['body.metadata.session_id', { metadata: { session_id: 's3' } }, {}],
    ['x-litellm-trace-id', {}, { 'x-litellm-trace-id': 's4' }],
    ['x-acme-session-id', {}, { 'x-acme-session-id': 's5' }],
    ['generated', {}, {}],
  ];
  for (const [at, [source]] of sources.entries()) {
    // This source and all behind it are stated at once.
    const body: object = Object.assign({}, ...sources.slice(at).map((one) => one[1]));
    const headers: Headers = Object.assign({}, ...sources.slice(at).map((one) => one[2])) as Headers;
    for (const model of ['demo', 'compat']) {
      const answer = await chat(rig, model, body, headers);
      const id = answer.headers['x-litellm-session-id'];
      t.match(id, source === 'generated' ? UUID : `s${at + 1}`, `${source}, ${model}`);
      t.match(await rowOf(rig, answer), { session_id: id, session_source: source });
      t.equal(
        headerOf(lastSeen(rig).rawHeaders, 'x-litellm-session-id'),
        id,
        'stamped on the upstream request',
      );
    }
  }
});

t.test('a session id that is a number is taken as text; what fits no header is passed over', async (t) => {
  t.match(await row({ metadata: { session_id: 12 } }), { session_id: '12' });
  const odd = await row(
    { litellm_session_id: 'two words', metadata: { session_id: { a: 1 } } },
    { 'x-acme-session-id': 'v' },
  );
  t.match(odd, { session_id: 'v', session_source: 'x-acme-session-id' });
  t.match(warnings(odd), [/body.litellm_session_id/, /body.metadata.session_id/]);
});

t.test('the key of the caller is in no row, wherever a client pasted it', async (t) => {
  const without = async (answer: Answer): Promise<void> => {
    t.notMatch(JSON.stringify(await rowOf(rig, answer)), KEY);
  };
  const chat = (more: object, headers: Record<string, string> = {}): Promise<Answer> =>
    send(rig.url, 'POST', '/v1/chat/completions', { model: 'demo', messages: [], ...more }, headers);
  await without(await chat({}, { 'user-agent': `agent/1 ${KEY}` }));
  await without(await chat({}, { 'user-agent': KEY }));
  await without(await chat({}, { 'x-litellm-call-id': KEY }));
  await without(await chat({}, { 'x-litellm-spend-logs-metadata': JSON.stringify({ a: { b: [KEY] } }) }));
  await without(await chat({ metadata: { spend_logs_metadata: { [KEY]: 1 } } }));
  await without(await chat({ model: KEY }));
  await without(await send(rig.url, 'GET', `/v1/responses/${KEY}`));
});

t.test('two calls without a session have two', async (t) => {
  const [one, two] = [await row({}), await row({})];
  t.not(one['session_id'], two['session_id']);
});

t.test('the end user, wherever it is stated', async (t) => {
  t.match(await row({ user: 'u1', metadata: { trace_user_id: 'u2' } }), { end_user: 'u1', user: '' });
  t.match(await row({ metadata: { trace_user_id: 'u2' } }), { end_user: 'u2' });
  t.match(await row({ metadata: { user_id: 'u3' } }), { end_user: 'u3' });
  t.match(await row({ safety_identifier: 'u4' }), { end_user: 'u4' });
  t.match(
    await row({ user: 'u1' }, { 'x-end-user': 'u5' }),
    { end_user: 'u5' },
    'the header of user_header_name wins',
  );
  t.match(await row({}, { 'x-litellm-end-user-id': 'u6' }), { end_user: 'u6' });
  t.match(await row({}), { end_user: null });
});

t.test('`user` goes to neither kind of upstream, on any endpoint', async (t) => {
  for (const model of ['demo', 'compat']) {
    for (const path of [
      'chat/completions',
      'embeddings',
      'responses',
      'messages',
      'images/generations',
      'rerank',
    ]) {
      const body = Buffer.from(
        `{"model":"${model}","user":"somebody","input":"a","messages":[],"prompt":"a","query":"q","documents":[]}`,
      );
      const answer = await send(rig.url, 'POST', `/v1/${path}`, body);
      t.notMatch(lastSeen(rig).body.toString(), /user|somebody/, path);
      t.match(await rowOf(rig, answer), { end_user: 'somebody' });
    }
  }
});

t.test('tags of all places are merged, each once', async (t) => {
  const more = { metadata: { tags: ['a', 'b', 7] }, tags: ['b', 'c'] };
  const tags = await row(more, { 'x-litellm-tags': 'c, d ,,a', 'x-team': 'blue' });
  t.same(tags['request_tags'], ['a', 'b', '7', 'c', 'd', 'x-team: blue']);
  t.same((await row({}))['request_tags'], []);
  const many = await row({ tags: Array.from({ length: 130 }, (_, i) => `t${i}`) });
  t.equal((many['request_tags'] as string[]).length, 100);
  t.match(warnings(many), [/30 tags/]);
});

t.test('spend metadata', async (t) => {
  t.test('a JSON object in the header is stored as it is, and wins over the body’s', async (t) => {
    const value = { team: 'é', nested: { a: [1, null] } };
    const header = { 'x-litellm-spend-logs-metadata': JSON.stringify(value).replace('é', '\\u00e9') };
    const stored = await row({ metadata: { spend_logs_metadata: { from: 'body' } } }, header);
    t.match(stored['metadata'], { spend_logs_metadata: value, warnings: [] });
    const own = await row({ metadata: { spend_logs_metadata: { from: 'body' } } });
    t.match(own['metadata'], { spend_logs_metadata: { from: 'body' } });
  });
  t.test('anything else is a warning in the row, and the call goes on', async (t) => {
    for (const value of ['{"a":', '[1]', '"text"', 'null', '7', '']) {
      const stored = await row({}, { 'x-litellm-spend-logs-metadata': value });
      t.equal((stored['metadata'] as Row)['spend_logs_metadata'], null, value);
      t.match(warnings(stored), [/x-litellm-spend-logs-metadata is not a JSON object/], value);
    }
  });
});

t.test('metadata that is no object is a warning, not an error', async (t) => {
  for (const metadata of ['text', 7, ['a']])
    t.match(warnings(await row({ metadata })), [/metadata is not an object/]);
});

t.test(
  'what is the dialect’s own stays with a proxy-type upstream and is kept from a compat-type one',
  async (t) => {
    const identity = {
      metadata: { session_id: 's', tags: ['a'], own: { deep: [1.5] } },
      litellm_session_id: 's',
      tags: ['a'],
    };
    const control = {
      ...identity,
      litellm_anything: true,
      cache: { 'no-cache': true },
      num_retries: 2,
      fallbacks: [],
      mock_response: 'no',
      guardrails: ['g'],
      'no-log': true,
    };
    const plain = {
      temperature: 0.5,
      safety_identifier: 'si',
      store: false,
      reasoning_effort: 'low',
      unknown_member: 1,
      messages: [],
      input: 'x',
    };
    for (const path of ['chat/completions', 'embeddings', 'responses']) {
      const seenFor = async (model: string, own: object): Promise<object> => {
        await send(rig.url, 'POST', `/v1/${path}`, { model, ...own, ...plain });
        return JSON.parse(lastSeen(rig).body.toString()) as object;
      };
      t.same(await seenFor('demo', identity), { model: 'demo', ...identity, ...plain });
      t.same(await seenFor('compat', control), { model: 'acme/demo', ...plain });
    }
  },
);

t.test('the client’s and the upstream’s ids are ordinary columns, the key of the row is ours', async (t) => {
  const ids = { 'x-litellm-call-id': 'client-call' };
  const [one, two] = [await row({}, ids, 'demo-duplicate-id'), await row({}, ids, 'demo-duplicate-id')];
  t.match(
    [one, two],
    [{ client_call_id: 'client-call', upstream_id: 'chatcmpl-duplicate' }, { client_call_id: 'client-call' }],
  );
  t.not(one['request_id'], two['request_id']);
});

t.test('the row in full', async (t) => {
  const body = { user: 'u', messages: [{ role: 'user', content: 'a secret thought' }] };
  const full = await row(body, { 'user-agent': 'agent/1', 'x-litellm-session-id': 's' }, 'compat-cached');
  t.match(full, {
    call_type: 'acompletion',
    api_key: /^[0-9a-f]{64}$/,
    model: 'acme/demo-cached',
    model_group: 'compat-cached',
    model_id: /^[0-9a-f]{64}$/,
    custom_llm_provider: 'openai',
    api_base: `${rig.demo.url}/compat/v1`,
    prompt_tokens: 6,
    completion_tokens: 9,
    total_tokens: 15,
    cache_read_tokens: 3,
    cache_creation_tokens: 1,
    reasoning_tokens: 4,
    usage: { prompt_tokens_details: { cached_tokens: 3 } },
    status: 'success',
    end_reason: 'complete',
    http_status: 200,
    attempts: 1,
    stream: false,
    session_id: 's',
    end_user: 'u',
    requester_ip_address: '127.0.0.1',
    user_agent: 'agent/1',
    upstream_id: /^chatcmpl-/,
    spend: null,
    metadata: { error_information: null, user_api_key: full['api_key'] },
  });
  const at = (name: string): number => Date.parse(full[name] as string);
  t.ok(at('startTime') <= at('completionStartTime') && at('completionStartTime') <= at('endTime'));
  t.ok((full['request_bytes'] as number) > 50 && (full['response_bytes'] as number) > 200);
  t.notMatch(JSON.stringify(full), /secret|thought|Hello/, 'never a word of prompt or answer, never a key');
});

t.test('rows carry the call type of their endpoint', async (t) => {
  const types = {
    'chat/completions': 'acompletion',
    completions: 'atext_completion',
    embeddings: 'aembedding',
    responses: 'aresponses',
    messages: 'anthropic_messages',
    'images/generations': 'aimage_generation',
    'audio/speech': 'aspeech',
    moderations: 'amoderation',
    rerank: 'arerank',
  };
  for (const [path, type] of Object.entries(types)) {
    const answer = await send(rig.url, 'POST', `/v1/${path}`, {
      model: 'demo',
      input: 'one two',
      messages: [],
      prompt: 'x',
      query: 'q',
      documents: [],
    });
    t.match(await rowOf(rig, answer), { call_type: type, end_reason: 'complete' }, path);
  }
});
