import t from 'tap';
import type { Test } from 'tap';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { RequestBody } from '../../../proxy/bodies/request-body.ts';
import { parseRequest } from '../../../proxy/pipeline/parse-request.ts';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import type { BodyChange } from '../../../proxy/pipeline/body-changes.ts';
import { buildByIdRequest, buildUpstreamRequest } from '../../../proxy/pipeline/build-upstream-request.ts';
import type { UpstreamRequest } from '../../../proxy/relay/upstream-request.ts';
import { exchangeOf, firstOf, servicesOf, liveOf } from '../../support/services.ts';

const NOBODY = { keyHash: '' };
const BASE = 'http://127.0.0.1:1';
const MODELS = `
model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/up, api_base: "${BASE}/sub", api_key: k, timeout: 7, stream_timeout: 3 }
  - model_name: same
    litellm_params: { model: litellm_proxy/same, api_base: "${BASE}", api_key: k }
  - model_name: compat
    litellm_params: { model: openai/acme/up, api_base: "${BASE}/v1/", api_key: k }
`;

interface Built {
  readonly call: UpstreamRequest;
  readonly body: string;
  readonly changes: readonly BodyChange[];
}

async function shaper(
  t: Test,
  settings = '',
): Promise<(body: string, more?: Partial<Asked>) => Promise<Built>> {
  const active = liveOf(t, `${MODELS}${settings}`, await servicesOf(t));
  return async (text, { path = 'chat/completions', query = '', headers = {}, pathModel = null } = {}) => {
    const endpoint = ENDPOINTS.find((one) => one.path === path) as Endpoint;
    const { x } = await exchangeOf(t, active, { path: `/v1/${path}${query}`, headers });
    const ask = await parseRequest(x, endpoint, new RequestBody(Buffer.from(text)), pathModel);
    const changes: BodyChange[] = [];
    const explainer = {
      query: () => undefined,
      header: () => undefined,
      translated: () => undefined,
      body: (change: BodyChange) => void changes.push(change),
    };
    const identity = identityOf(x, NOBODY, ask.identityMembers);
    const call = buildUpstreamRequest(x, ask, identity, firstOf(active, ask.model), { explainer });
    return { call, body: String(call.body), changes };
  };
}

interface Asked {
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly pathModel: string | null;
}

t.test('a body that needs no change is the very buffer that came', async (t) => {
  const active = liveOf(t, MODELS, await servicesOf(t));
  const { x } = await exchangeOf(t, active);
  const bytes = Buffer.from('{ "model" : "same", "messages": [], "temperature" : 1.0e0, "x" : "\\u00e9" }');
  const ask = await parseRequest(x, ENDPOINTS[0] as Endpoint, new RequestBody(bytes), null);
  t.equal(buildUpstreamRequest(x, ask, identityOf(x, NOBODY), firstOf(active, 'same')).body, bytes);
});

t.test('path, clocks and flags follow the entry and the ask', async (t) => {
  const of = await shaper(t);
  t.match((await of('{"model":"m","messages":[]}')).call, {
    origin: BASE,
    path: '/sub/v1/chat/completions',
    method: 'POST',
    firstByteMs: 7_000,
    observation: { stripUsage: false },
  });
  t.match((await of('{"model":"m","messages":[],"stream":true}')).call, {
    firstByteMs: 3_000,
    observation: { stripUsage: true },
  });
  t.equal((await of('{"model":"compat","messages":[]}', { path: 'embeddings' })).call.path, '/v1/embeddings');
  t.equal(
    (await of('{"model":"m","messages":[]}', { query: '?api-version=1&x=%20' })).call.path,
    '/sub/v1/chat/completions?api-version=1',
  );
});

t.test('exactly the members that must change do', async (t) => {
  const of = await shaper(t);
  const rest = '"messages":[ {"role":"user","content":"\\u00fc \\/"} ], "n" : 1.0, "user_id":"stays"';
  const proxied = await of(`{"user":"ann", ${rest}, "metadata":{"a":1},"model":"m","tags":["x"]}`);
  t.equal(
    proxied.body,
    `{ ${rest}, "metadata":{"a":1},"model":"up","tags":["x"]}`,
    'the blank was not the member',
  );
  const stripped = await of(
    `{"metadata":{"a":1}, ${rest}, "litellm_session_id":"s","model":"compat","tags":["x"],"user":"ann"}`,
  );
  t.equal(stripped.body, `{ ${rest}, "model":"acme/up"}`);
  t.same(stripped.changes.map(({ member, change }) => `${member} ${change}`).toSorted(), [
    'litellm_session_id removed',
    'metadata removed',
    'model replaced',
    'tags removed',
    'user removed',
  ]);
  t.equal((await of('{"messages":[]}', { pathModel: 'm' })).body, '{"messages":[],"model":"up"}');
});

t.test('streams that would come without usage ask for it; those that ask are left alone', async (t) => {
  const of = await shaper(t);
  const asked = await of('{"model":"same","messages":[],"stream":true}');
  t.strictSame(JSON.parse(asked.body), {
    model: 'same',
    messages: [],
    stream: true,
    stream_options: { include_usage: true },
  });
  const kept = await of(
    '{"model":"same","messages":[],"stream":true,"stream_options":{"include_obfuscation":false}}',
  );
  t.strictSame(JSON.parse(kept.body).stream_options, { include_obfuscation: false, include_usage: true });
  t.ok(kept.call.observation.stripUsage);
  const own = '{"model":"same","messages":[],"stream":true,"stream_options":{"include_usage":true}}';
  t.match(await of(own), { body: own, changes: [], call: { observation: { stripUsage: false } } });
  const off = '{"model":"same","messages":[],"stream":true,"stream_options":{"include_usage":false}}';
  t.match(await of(off), { call: { observation: { stripUsage: true } }, body: /"include_usage":true/ });
  for (const path of ['responses', 'messages']) {
    t.same(
      (await of('{"model":"same","messages":[],"input":"x","stream":true}', { path })).changes,
      [],
      `${path} streams carry it anyway`,
    );
  }
});

t.test('always_include_stream_usage hands usage on, or never asks for it', async (t) => {
  const on = await shaper(t, 'general_settings: { always_include_stream_usage: true }');
  t.match(await on('{"model":"same","messages":[],"stream":true}'), {
    call: { observation: { stripUsage: false } },
    body: /include_usage/,
  });
  const off = await shaper(t, 'general_settings: { always_include_stream_usage: false }');
  t.match(await off('{"model":"same","messages":[],"stream":true}'), {
    call: { observation: { stripUsage: false } },
    changes: [],
  });
});

t.test(
  "a client's own timeout replaces the first-byte clock; one that is no number is refused",
  async (t) => {
    const of = await shaper(t);
    const timed = (value: string): Promise<Built> =>
      of('{"model":"m","messages":[]}', { headers: { 'x-litellm-timeout': value } });
    t.equal((await timed('1.5')).call.firstByteMs, 1_500);
    for (const bad of ['0', '-1', 'soon', '', '1e9', 'NaN']) {
      await t.rejects(timed(bad), { code: 'invalid_header', param: 'x-litellm-timeout' }, bad);
    }
  },
);

t.test('a body without a type goes upstream with one; a call by id has its id in the path', async (t) => {
  const active = liveOf(t, MODELS, await servicesOf(t));
  const { x } = await exchangeOf(t, active, { path: '/v1/responses/a?api-version=1&include=x' });
  const endpoint = ENDPOINTS.find((one) => one.path === 'responses') as Endpoint;
  const nobody = identityOf(x, NOBODY);
  const post = buildByIdRequest(x, endpoint, nobody, firstOf(active, 'compat'), 'POST', 'responses/a/cancel');
  t.match(post, { method: 'POST', path: '/v1/responses/a/cancel?api-version=1' });
  t.equal(String(post.body), '{}');
  t.equal(post.headers[post.headers.indexOf('content-type') + 1], 'application/json');
  const get = buildByIdRequest(x, endpoint, nobody, firstOf(active, 'compat'), 'GET', 'responses/a');
  t.match(get, { method: 'GET', body: null });
  t.notOk(get.headers.includes('content-type'));
});
