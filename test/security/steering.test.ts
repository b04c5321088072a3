// What a client says in headers steers no gateway: not its address, its keys, its clocks or whose session it records; and
// what a gateway says of itself does not come back under our name.
import t from 'tap';
import { startUpstream } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { chat, headerOf, KEY, lastSeen, raw, rowOf, startRig, type Rig } from '../support/rig.ts';

const KINDS = ['litellm', 'portkey', 'bifrost', 'plain', 'none'];
const CHAT = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] });

/** Everything is forwarded: by prefix, for each deployment. */
const rigWith = (kind: string, more = ''): Promise<Rig> =>
  startRig(t, {
    config: (demo) => `
model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-upstream-secret, gateway: ${kind} }
general_settings:
  master_key: ${KEY}
  forward_client_headers_to_llm_api: true
  forward_header_prefixes: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, r, s, t, u, v, w, x, x-portkey-, x-litellm-]
${more}`,
  });

/** One call over the wire, its names as they are. @returns the names that the upstream read, lower-case */
async function namesSent(rig: Rig, names: readonly string[], value = 'evil'): Promise<string[]> {
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${KEY}`,
    'Content-Type: application/json',
    `Content-Length: ${CHAT.length}`,
    'Connection: close',
    ...names.map((name) => `${name}: ${value}`),
  ];
  const answer = await raw(rig.port, `${head.join('\r\n')}\r\n\r\n${CHAT}`);
  if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`the proxy answered ${answer.slice(0, 300)}`);
  const { rawHeaders } = lastSeen(rig);
  return rawHeaders
    .filter((_, i) => i % 2 === 0 && rawHeaders[i + 1] === value)
    .map((name) => name.toLowerCase());
}

const STEERING = [
  ...['x-portkey-custom-host', 'x-portkey-config', 'x-portkey-api-key', 'x-portkey-forward-headers'],
  ...['x-bf-vk', 'x-bf-eh-authorization', 'x-bf-prom-x-bf-vk'],
  ...['x-litellm-disable-callbacks', 'x-litellm-num-retries', 'x-litellm-model', 'x-pass-authorization'],
  ...['x-original-url', 'x-rewrite-url', 'x-http-method-override', 'x-remote-user', 'remote-user'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-new', 'forwarded', 'via', 'x-real-ip'],
  ...['x-auth-request-user', 'x-goog-iap-jwt-assertion', 'x-ms-client-principal-id', 'x-amzn-oidc-identity'],
  ...['helicone-target-url', 'cf-aig-authorization', 'x-envoy-original-path', 'x-consumer-username'],
];

t.test('no header that steers a gateway reaches it, in any spelling, whatever gateway it is', async (t) => {
  const upper = STEERING.map((name) => name.toUpperCase());
  const mixed = STEERING.map((name) => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()));
  const under = STEERING.map((name) => name.replaceAll('-', '_'));
  const half = STEERING.map((name) => name.replace('-', '_'));
  for (const kind of KINDS) {
    const rig = await rigWith(kind);
    for (const names of [STEERING, upper, mixed, under, half, [...STEERING, ...STEERING]])
      t.same(await namesSent(rig, [...names, 'x-innocent']), ['x-innocent'], `${kind} ${names[0]}`);
    const told = rig.log.filter(({ setting }) => setting === 'general_settings.allow_headers');
    t.equal(told.filter(({ headers }) => headers === 'x-portkey-*').length, 1, 'told once, with the setting');
    t.notOk(
      told.some(({ headers }) => headers === 'x-forwarded-*'),
      'any proxy in front adds it',
    );
    await rig.stop();
  }
});

t.test('allow_headers names what shall pass, in full', async (t) => {
  const rig = await rigWith('portkey', '  allow_headers: [X-Portkey-Config, x-forwarded-for]\n');
  t.same((await namesSent(rig, STEERING)).toSorted(), ['x-forwarded-for', 'x-portkey-config']);
  t.same(await namesSent(rig, ['x_portkey_config', 'x-portkey-config-slug']), []);
  const warned = rig.log.filter(({ msg }) => msg === 'configuration').map(({ issue }) => String(issue));
  t.ok(warned.some((text) => /x-portkey-\*\) are not forwarded by a prefix.*allow_headers/.test(text)));
});

t.test('all names of a session that go upstream say the same', async (t) => {
  const rig = await rigWith('litellm');
  const names = ['session_id', 'trace_id'];
  const inner = (session: string): object => ({
    ...Object.fromEntries(names.map((name) => [name, session])),
    a: 1.5,
  });
  const body = {
    litellm_session_id: 'of-body',
    litellm_trace_id: 'of-body-trace',
    metadata: inner('of-metadata'),
    litellm_metadata: JSON.stringify(inner('of-text')),
  };
  const answer = await chat(rig, 'm', body, {
    'x-litellm-session-id': 'conv-1',
    'x-litellm-trace-id': 'other-trace',
    'x-acme-session-id': 'of-a-vendor',
  });
  t.match(await rowOf(rig, answer), { session_id: 'conv-1' });
  const { rawHeaders, body: sent } = lastSeen(rig);
  t.equal(headerOf(rawHeaders, 'x-litellm-session-id'), 'conv-1');
  t.equal(headerOf(rawHeaders, 'x-litellm-trace-id'), undefined, 'the gateway would read it first');
  t.equal(headerOf(rawHeaders, 'x-acme-session-id'), 'of-a-vendor', 'read only where there is no other');
  t.match(JSON.parse(sent.toString()), {
    litellm_session_id: 'conv-1',
    litellm_trace_id: 'conv-1',
    metadata: inner('conv-1'),
    litellm_metadata: JSON.stringify(inner('conv-1')),
  });
  t.notMatch(sent.toString(), /of-(?:body|metadata|text)/);

  await chat(rig, 'm', { metadata: { a: 1 } }, { 'x-litellm-trace-id': 'only' });
  for (const name of ['x-litellm-session-id', 'x-litellm-trace-id'])
    t.equal(headerOf(lastSeen(rig).rawHeaders, name), 'only', name);
  t.match(lastSeen(rig).body.toString(), '"metadata":{"a":1}', 'nothing to mend, nothing changed');

  const twice = '{"model":"m","messages":[],"metadata":{"session_id":"a","session_\\u0069d":"b"}}';
  t.match(await sendText(rig, twice), /^HTTP\/1\.1 400 [\s\S]*"duplicate_member"/);
});

const sendText = (rig: Rig, body: string): Promise<string> =>
  raw(
    rig.port,
    `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );

t.test("what is the gateway's own is not shown as ours, and ours stand once", async (t) => {
  const theirs = {
    'X-LiteLLM-Key-Spend': '12.5',
    'x-litellm-key-max-budget': '100',
    'x-litellm-model-api-base': 'https://inner.example',
    'x-litellm-model-group': 'inner',
    'x-litellm-response-cost': '0.5',
    'x-litellm-response-cost-original': '0.6',
    'x-litellm-call-id': 'their-call',
    'x-litellm-version': '1.106.2',
    'x-litellm-attempted-retries': '7',
    'x-litellm-new-one': 'n',
    'llm_provider-x-litellm-key-spend': '3',
    'x-ratelimit-remaining-requests': '9',
  };
  const url = await startUpstream(t, ({ res }) => {
    res.writeHead(200, { 'content-type': 'application/json', ...theirs });
    res.end(
      '{"id":"a","object":"chat.completion","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}',
    );
  });
  const rig = await startRig(t, {
    config: () => `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}", api_key: sk-up } }
general_settings: { master_key: ${KEY} }
`,
  });
  const { rawHeaders } = await chat(rig, 'm');
  const value = (name: string): string | undefined => headerOf(rawHeaders, name);
  for (const name of ['key-spend', 'key-max-budget', 'response-cost-original', 'new-one'])
    t.equal(value(`x-litellm-${name}`), undefined, name);
  t.equal(value('llm_provider-x-litellm-key-spend'), '12.5', 'one value: of the nearest gateway');
  t.equal(value('llm_provider-x-litellm-model-api-base'), 'https://inner.example');
  t.equal(value('x-litellm-model-api-base'), url);
  t.equal(value('x-litellm-response-cost'), '0.5', 'what this call cost');
  t.equal(value('x-litellm-attempted-retries'), '0');
  t.equal(value('x-ratelimit-remaining-requests'), '9');
  const ours = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase().startsWith('x-litellm-'));
  t.equal(new Set(ours.map((name) => name.toLowerCase())).size, ours.length, 'none stands twice');
});

t.test('a deadline of the client never counts against an entry', async (t) => {
  const clock = new ManualClock();
  const rig = await startRig(t, {
    clock,
    config: (demo) => `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/demo-slow, api_base: "${demo.url}", timeout: 3600, stream_timeout: 3600 } }
  - { model_name: m, litellm_params: { model: litellm_proxy/demo-slow, api_base: "${demo.url}/", timeout: 3600, stream_timeout: 3600 } }
general_settings: { master_key: ${KEY} }
router_settings: { num_retries: 0, allowed_fails: 0 }
`,
  });
  for (let n = 0; n < 16; n += 1) {
    const header = n % 2 === 0 ? 'x-litellm-timeout' : 'X-LiteLLM-Stream-Timeout';
    const answer = await clock.during(chat(rig, 'm', { stream: n % 2 === 1 }, { [header]: '0.001' }));
    t.equal(answer.status, 408);
    t.match(await rowOf(rig, answer), {
      end_reason: 'timeout',
      error_source: 'client',
      metadata: { error_information: { error_class: 'client_timeout' } },
    });
  }
  t.notOk(rig.log.some(({ msg }) => msg === 'deployment cooling down'));
  t.equal((await chat(rig, 'm')).status, 200, 'both serve on');
});
