// What an entry states, in the body of one attempt: what changes and why, and that the rest of the client's bytes stays.
import t, { type Test } from 'tap';
import { RequestBody } from '../../../proxy/bodies/request-body.ts';
import { askedOf, tierAsked } from '../../../proxy/pipeline/asked-of.ts';
import type { BodyChange } from '../../../proxy/pipeline/body-changes.ts';
import { buildUpstreamRequest } from '../../../proxy/pipeline/build-upstream-request.ts';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import { parseRequest, type ParsedRequest } from '../../../proxy/pipeline/parse-request.ts';
import type { SelectedDeployment } from '../../../proxy/pipeline/select-deployment.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { exchangeOf, firstOf, liveOf, servicesOf } from '../../support/services.ts';

interface Built {
  readonly body: string;
  readonly changes: readonly string[];
  readonly request: ParsedRequest;
  readonly selected: SelectedDeployment;
}

interface Asked {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Builds the request of a body for an entry that states `params`. */
async function built(t: Test, params: string, text: string, asked: Partial<Asked> = {}): Promise<Built> {
  const { path = 'chat/completions', headers = {} } = asked;
  const config = `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "http://127.0.0.1:1", ${params} } }
  - { model_name: gemini/m, litellm_params: { model: gemini/m, api_key: k, ${params} } }
general_settings: { forward_client_headers_to_llm_api: true }
`;
  const active = liveOf(t, config, await servicesOf(t));
  const endpoint = ENDPOINTS.find((one) => one.path === path) as Endpoint;
  const { x } = await exchangeOf(t, active, { path: `/v1/${path}`, headers });
  const pathModel = path.includes('{model}') ? 'gemini/m' : null;
  const request = await parseRequest(x, endpoint, new RequestBody(Buffer.from(text)), pathModel);
  const selected = firstOf(active, request.model);
  const asItCame = { request, selected };
  const changes: string[] = [];
  const explainer = {
    query: () => undefined,
    header: () => undefined,
    translated: () => undefined,
    body: ({ member, change, why }: BodyChange) => void changes.push(`${member} ${change}: ${why}`),
  };
  const identity = identityOf(x, { keyHash: '' }, request.identityMembers);
  const { body } = buildUpstreamRequest(x, request, identity, selected, { explainer });
  return { body: String(body), changes, ...asItCame };
}

t.test('changes are explained, without what they say', async (t) => {
  const { changes } = await built(
    t,
    'temperature: 1, extra_body: { provider: { a: 1 }, top_k: 2 }',
    '{"model":"m","top_k":1,"messages":[]}',
  );
  t.strictSame(changes, [
    'temperature added: its entry states it',
    'provider added: its entry states it',
    'top_k replaced: its entry states it',
  ]);
});

t.test('a member that another rule would change is the operator’s', async (t) => {
  const { body } = await built(
    t,
    'extra_body: { metadata: { session_id: own } }',
    '{"model":"m","metadata":{"session_id":"other"},"messages":[]}',
    { headers: { 'x-litellm-session-id': 'stamped' } },
  );
  t.equal(body, '{"model":"m","metadata":{"session_id":"own"},"messages":[]}');
  const removed = await built(t, 'extra_body: { a: 1 }', '{"user":"u","model":"m"}');
  t.equal(removed.body, '{"model":"m","a":1}', 'and removals next to it are made');
});

t.test(
  'fields of a form: a text without quotes, anything else as JSON; settings are of no form',
  async (t) => {
    const form = ['--b', 'Content-Disposition: form-data; name="model"', '', 'm', '--b--', ''].join('\r\n');
    const { body } = await built(t, 'temperature: 1, extra_body: { a: x, b: { c: 1 } }', form, {
      path: 'audio/transcriptions',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    t.match(body, /name="a"\r\n\r\nx\r\n--b\r\n.*name="b"\r\n\r\n\{"c":1\}\r\n--b--/s);
    t.notMatch(body, /temperature/);
  },
);

t.test('objects of settings are filled in, in the client’s own bytes and spelling', async (t) => {
  const gemini = (params: string, text: string): Promise<Built> =>
    built(t, params, text, { path: 'models/{model}:generateContent' });
  const { body, changes } = await gemini(
    'temperature: 0.5, max_tokens: 9, extra_body: { generationConfig: { top_k: 3, seed: 1 } }',
    '{"contents":[],"generation_config":{ "max_output_tokens" : 1e1, "topK":7 }}',
  );
  t.equal(
    body,
    '{"contents":[],"generation_config":{ "max_output_tokens" : 1e1, "topK":3,"temperature":0.5,"seed":1 }}',
  );
  t.strictSame(changes, ['generation_config replaced: its entry states members of it']);
  const none = await gemini('temperature: 0.5', '{"contents":[],"generationConfig":{"temperature":1}}');
  t.strictSame([none.body, none.changes], ['{"contents":[],"generationConfig":{"temperature":1}}', []]);
  const odd = await gemini('temperature: 0.5', '{"contents":[],"generationConfig":"x"}');
  t.equal(
    odd.body,
    '{"contents":[],"generationConfig":"x"}',
    'what is no object is for the upstream to refuse',
  );
  const nothing = await gemini(
    'temperature: 0.5, extra_body: { generationConfig: { topK: 3 } }',
    '{"contents":[]}',
  );
  t.equal(nothing.body, '{"contents":[],"generationConfig":{"temperature":0.5,"topK":3}}');
  const underscored = await gemini(
    'temperature: 0.5, extra_body: { generation_config: { topK: 3 } }',
    '{"contents":[]}',
  );
  t.equal(underscored.body, '{"contents":[],"generationConfig":{"temperature":0.5,"topK":3}}', 'stands once');
  const twice = await gemini(
    'extra_body: { safetySettings: [], generationConfig: { topK: 3 } }',
    '{"safety_settings":[1],"safetySettings":[2],"generation_config":{"top_k":1,"topK":2}}',
  );
  t.equal(
    twice.body,
    '{"safety_settings":[],"safetySettings":[],"generation_config":{"top_k":3,"topK":3}}',
    'goes over each spelling of the client’s',
  );
});

t.test('what a call asks for, with what its entry states', async (t) => {
  const asked = async (params: string, more = ''): Promise<object> => {
    const { request, selected } = await built(t, params, `{"model":"m","messages":[]${more}}`);
    const { maxOutput, choices, isSingle } = askedOf(request, selected);
    const tier = tierAsked(request.endpoint, selected, request.billable.serviceTier);
    return { maxOutput, choices, isSingle, tier };
  };
  const plain = { maxOutput: null, choices: 1, isSingle: true, tier: null };
  t.strictSame(await asked('timeout: 1'), plain);
  t.strictSame(await asked('temperature: 1'), plain);
  const stated = 'max_tokens: 50, n: 2, service_tier: priority';
  t.strictSame(await asked(stated), { maxOutput: 50, choices: 2, isSingle: false, tier: 'priority' });
  const own = ',"max_completion_tokens":7,"n":1,"service_tier":"flex"';
  t.strictSame(await asked(stated, own), { maxOutput: 7, choices: 1, isSingle: true, tier: 'flex' });
  for (const unlimited of ['max_tokens', 'max_completion_tokens'])
    t.match(
      await asked(stated, `,"${unlimited}":null`),
      { maxOutput: null },
      'the entry’s limit is not sent',
    );
  const { request, selected } = await built(
    t,
    stated,
    '{"contents":[],"generation_config":{"maxOutputTokens":null}}',
    {
      path: 'models/{model}:generateContent',
    },
  );
  t.equal(askedOf(request, selected).maxOutput, null);
  t.match(await asked('extra_body: { max_tokens: 90, service_tier: priority }', own), {
    maxOutput: 90,
    tier: 'priority',
  });
});

t.test('a compaction takes no settings, and nothing is charged by them; extra_body goes', async (t) => {
  const stated = 'temperature: 1, service_tier: priority, max_tokens: 50, extra_body: { a: 1 }';
  const text = '{"model":"m","input":"hi"}';
  const { body, request, selected } = await built(t, stated, text, { path: 'responses/compact' });
  t.equal(body, '{"model":"m","input":"hi","a":1}');
  t.equal(tierAsked(request.endpoint, selected, null), null);
  t.equal(askedOf(request, selected).maxOutput, null);
});
