// The header policy on the wire: what of a client's headers reaches the upstream on which endpoint, what never does,
// and which headers come back. The upstream's raw list is what counts.
import t from 'tap';
import { PageClient } from '../support/page-client.ts';
import { startUpstream } from '../support/call.ts';
import {
  chat,
  defaultConfig,
  headerOf,
  KEY,
  lastSeen,
  raw,
  rowOf,
  send,
  startRig,
  type Rig,
} from '../support/rig.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const rig = await startRig(t);

function upstream(of: Rig, name: string): string | undefined {
  return headerOf(lastSeen(of).rawHeaders, name);
}

function form(model: string): Buffer {
  return Buffer.from(
    `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n` +
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n--b--\r\n',
  );
}
const FORM = { 'content-type': 'multipart/form-data; boundary=b' };

/** Every way into an upstream. */
/** What some endpoint needs. */
const WHOLE = { messages: [], input: 'x', prompt: 'x', query: 'q', documents: [] };

const CALLS: readonly (readonly [
  path: string,
  send: (rig: Rig, headers: Record<string, string>) => Promise<unknown>,
])[] = [
  ...[
    'chat/completions',
    'completions',
    'embeddings',
    'responses',
    'messages',
    'messages/count_tokens',
    'images/generations',
    'audio/speech',
    'moderations',
    'rerank',
  ].flatMap((path) =>
    ['demo', 'compat'].map(
      (model) =>
        [
          path,
          (of: Rig, headers: Record<string, string>) =>
            send(of.url, 'POST', `/v1/${path}`, { model, ...WHOLE }, headers),
        ] as const,
    ),
  ),
  ...['images/edits', 'images/variations', 'audio/transcriptions', 'audio/translations'].flatMap((path) =>
    ['demo', 'compat'].map(
      (model) =>
        [
          path,
          (of: Rig, headers: Record<string, string>) =>
            send(of.url, 'POST', `/v1/${path}`, form(model), { ...FORM, ...headers }),
        ] as const,
    ),
  ),
];

const SECRETS = {
  'x-litellm-api-key': `Bearer ${KEY}`,
  'api-key': 'client-azure-key',
  'x-api-key': 'client-anthropic-key',
  'x-goog-api-key': 'client-google-key',
  'Ocp-Apim-Subscription-Key': 'client-apim-key',
  cookie: 'session=client-cookie',
  'proxy-authorization': 'Basic client-proxy',
  x_api_key: 'client-anthropic-key',
  'X-Api_Key': 'client-anthropic-key',
  'x-litellm_api-key': 'client-litellm-key',
  'x-copied-key': `see ${KEY}`,
  'x-copied-google': 'client-google-key',
};
const NEVER = {
  'x-stainless-lang': 'js',
  'X-Stainless-Retry-Count': '0',
  x_stainless_os: 'linux',
  'x-stainless': 'yes',
  'user-agent': 'client-agent/1',
  'accept-encoding': 'gzip, br',
  'keep-alive': 'timeout=5',
  te: 'trailers',
  'x-listed': 'listed in connection',
  referer: 'http://client-page/',
  origin: 'http://client-page',
  'openai-organization': 'client-org',
  'content-language': 'de',
};
const FORWARDED = {
  'x-custom': 'one',
  'X-Mixed-Case': 'Two',
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'a,b',
  'openai-beta': 'assistants=v2',
  'x-litellm-tags': 'a,b',
  'x-litellm-spend-logs-metadata': '{"a":1}',
  'x-request-id': 'client-request',
  'x-openhands-session-id': 'vendor-session',
};

t.test('with forwarding on, on every endpoint of both kinds', async (t) => {
  for (const [path, call] of CALLS) {
    const headers = {
      ...SECRETS,
      ...NEVER,
      ...FORWARDED,
      connection: 'x-listed, close',
      'x-litellm-session-id': 'sess-1',
    };
    t.match(await call(rig, headers), { status: 200 }, path);
    const seen = lastSeen(rig);
    const text = seen.rawHeaders.join('\n');
    t.ok(seen.path.endsWith(`/v1/${path}`), seen.path);
    for (const [name, value] of Object.entries(FORWARDED))
      t.equal(upstream(rig, name.toLowerCase()), value, `${path}: ${name}`);
    t.equal(upstream(rig, 'x-litellm-session-id'), 'sess-1');
    t.equal(upstream(rig, 'authorization'), 'Bearer sk-upstream-secret');
    t.match(upstream(rig, 'user-agent'), /^throughline\//);
    t.equal(upstream(rig, 'host'), `127.0.0.1:${rig.demo.port}`);
    t.equal(upstream(rig, 'content-length'), String(seen.body.length));
    t.notMatch(text, KEY, path);
    t.notMatch(
      text,
      /client-(azure|anthropic|google|apim|cookie|proxy|litellm|agent|page|org)|stainless|listed/i,
      path,
    );
    const names = seen.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    for (const name of ['accept-encoding', 'keep-alive', 'te', 'transfer-encoding', 'content-language']) {
      t.notOk(names.includes(name), `${path}: ${name}`);
    }
    t.same(names.toSorted(), [...new Set(names)].toSorted(), 'each name stands once');
  }
});

t.test('with forwarding off, none, and no session is stamped', async (t) => {
  const config = (demo: Rig['demo']): string => defaultConfig(demo).replace('_api: true', '_api: false');
  const off = await startRig(t, { config });
  for (const [path, call] of CALLS) {
    await call(off, { ...SECRETS, ...NEVER, ...FORWARDED, 'x-litellm-session-id': 'sess-1' });
    const seen = lastSeen(off);
    t.ok(seen.path.endsWith(`/v1/${path}`));
    const names = seen.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    t.same(
      names.toSorted(),
      ['authorization', 'connection', 'content-length', 'content-type', 'host', 'user-agent'],
      path,
    );
  }
  const answer = await chat(off, 'demo', {}, { 'x-litellm-session-id': 'sess-2' });
  t.equal(answer.headers['x-litellm-session-id'], 'sess-2', 'it is returned and recorded all the same');
  t.match(await rowOf(off, answer), { session_id: 'sess-2' });
});

t.test('forwarding by model group: listed names and patterns alone', async (t) => {
  const groups = await startRig(t, {
    config: (demo) =>
      defaultConfig(
        demo,
        'litellm_settings: { model_group_settings: { forward_client_headers_to_llm_api: [compat, "demo-*"] } }',
      ).replace('  forward_client_headers_to_llm_api: true\n', ''),
  });
  for (const [model, forwarded] of [
    ['compat', 'yes'],
    ['demo-x', 'yes'],
    ['demo', undefined],
    ['compat-x', undefined],
  ] as const) {
    await chat(groups, model, {}, { 'x-custom': 'yes' });
    t.equal(upstream(groups, 'x-custom'), forwarded, model);
    t.match(upstream(groups, 'x-litellm-session-id'), forwarded === undefined ? undefined : UUID, model);
  }
});

t.test(
  'forwarding by a name that a wildcard serves: on for that name alone, its session id stamped once',
  async (t) => {
    const wild = await startRig(t, {
      config: (demo) => `
model_list:
  - model_name: "*"
    litellm_params:
      model: "litellm_proxy/*"
      api_base: "${demo.url}"
      extra_headers: { x-litellm-session-id: fixed, x_litellm_session_id: fixed-twin }
general_settings: { master_key: ${KEY} }
litellm_settings: { model_group_settings: { forward_client_headers_to_llm_api: [anthropic/one] } }
`,
    });
    const headers = { 'x-custom': 'yes', 'x-litellm-session-id': 'mine' };
    await chat(wild, 'anthropic/one', {}, headers);
    t.equal(upstream(wild, 'x-custom'), 'yes');
    t.equal(upstream(wild, 'x-litellm-session-id'), 'mine');
    t.equal(upstream(wild, 'x_litellm_session_id'), undefined);
    await chat(wild, 'anthropic/two', {}, headers);
    t.equal(upstream(wild, 'x-custom'), undefined);
    t.equal(
      upstream(wild, 'x-litellm-session-id'),
      'fixed',
      'nothing is stamped, so the operator’s own goes',
    );
  },
);

t.test('static headers of the operator', async (t) => {
  const fixed = await startRig(t, {
    env: { TEAM: 'from-environment' },
    config: (demo) => `
model_list:
  - model_name: demo
    litellm_params:
      model: litellm_proxy/demo
      api_base: "${demo.url}"
      api_key: sk-upstream-secret
      extra_headers: { X-Team: entry, X-Custom: operator, accept: text/x, X-LiteLLM-Session-Id: fixed, x_litellm_session_id: fixed-twin, Authorization: Bearer other, User-Agent: operators/1 }
  - model_name: open
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", extra_headers: { authorization: Basic b3A= } }
  - model_name: anonymous
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" }
general_settings: { master_key: ${KEY}, forward_client_headers_to_llm_api: true }
router_settings: { default_litellm_params: { extra_headers: { x-team: everywhere, x-common: os.environ/TEAM } } }
`,
  });
  t.test(
    'win over the client’s; an entry’s win over those for all; the session id is reserved',
    async (t) => {
      const answer = await chat(
        fixed,
        'demo',
        {},
        { 'x-team': 'client', 'x-custom': 'client', 'x-other': 'client', accept: '*/*' },
      );
      t.equal(upstream(fixed, 'x-team'), 'entry');
      t.equal(upstream(fixed, 'x-custom'), 'operator');
      t.equal(upstream(fixed, 'x-other'), 'client');
      t.equal(upstream(fixed, 'x-common'), 'from-environment');
      t.equal(upstream(fixed, 'accept'), 'text/x');
      t.equal(upstream(fixed, 'user-agent'), 'operators/1');
      t.equal(upstream(fixed, 'authorization'), 'Bearer sk-upstream-secret');
      t.equal(upstream(fixed, 'x-litellm-session-id'), answer.headers['x-litellm-session-id']);
      t.match(answer.headers['x-litellm-session-id'], UUID);
      t.equal(upstream(fixed, 'x_litellm_session_id'), undefined, 'nor its underscore twin');
    },
  );
  t.test('are there on other calls too, and an authorization of theirs goes where no key is', async (t) => {
    await send(fixed.url, 'POST', '/v1/embeddings', { model: 'open', input: 'a' });
    t.equal(upstream(fixed, 'x-team'), 'everywhere');
    t.equal(upstream(fixed, 'authorization'), 'Basic b3A=');
    await chat(fixed, 'anonymous');
    t.equal(
      upstream(fixed, 'authorization'),
      undefined,
      'the caller’s key is not handed on where there is none',
    );
  });
});

t.test('the session header is reserved', async (t) => {
  const head = (lines: string): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\n` +
    `content-length: 30\r\n${lines}\r\n{"model":"demo","messages":[]}`;
  t.test('of several values the last wins, in any case', async (t) => {
    const lines =
      'connection: close\r\nx-litellm-session-id: one\r\nX-LITELLM-SESSION-ID: two\r\nX-LiteLLM-Session-Id: three\r\n';
    const text = await raw(rig.port, head(lines));
    t.match(text, /^HTTP\/1.1 200/);
    t.match(text, /x-litellm-session-id: three\r\n/i);
    t.equal(upstream(rig, 'x-litellm-session-id'), 'three');
  });
  t.test('its underscore twins are dropped', async (t) => {
    const lines =
      'connection: close\r\nx_litellm_session_id: evil\r\nx-litellm_session-id: evil\r\nX-Litellm_Session_Id: evil\r\n';
    await raw(rig.port, head(lines));
    t.notMatch(lastSeen(rig).rawHeaders.join('\n'), /evil|_/);
    t.match(upstream(rig, 'x-litellm-session-id'), UUID);
  });
  t.test('Connection cannot take it away', async (t) => {
    await raw(
      rig.port,
      head('connection: close, x-litellm-session-id, authorization\r\nx-litellm-session-id: kept\r\n'),
    );
    t.equal(upstream(rig, 'x-litellm-session-id'), 'kept');
    t.equal(upstream(rig, 'authorization'), 'Bearer sk-upstream-secret');
  });
  t.test('a value that fits no header is passed over, with a warning in the row', async (t) => {
    const answer = await chat(
      rig,
      'demo',
      {},
      { 'x-litellm-session-id': 'x'.repeat(300), 'x-litellm-trace-id': 'next' },
    );
    t.equal(answer.headers['x-litellm-session-id'], 'next');
    t.match((await rowOf(rig, answer))['metadata'], { warnings: [/x-litellm-session-id.*256/] });
  });
});

t.test('headers that come back', async (t) => {
  const ours = {
    'x-litellm-call-id': /^[0-9a-f]{8}-[0-9a-f]{4}-7/,
    'x-litellm-model-id': /^[0-9a-f]{64}$/,
    'x-litellm-model-api-base': rig.demo.url,
    'x-litellm-session-id': UUID,
    'x-litellm-overhead-duration-ms': /^\d+\.\d{3}$/,
    'x-litellm-attempted-retries': '0',
  };
  t.test('are the upstream’s, minus hop-by-hop, and ours; a name of ours is handed on renamed', async (t) => {
    for (const stream of [false, true]) {
      const answer = await chat(rig, 'demo-many-headers', { stream });
      t.match(answer.headers, ours);
      t.match(answer.headers, {
        'llm_provider-x-litellm-call-id': /^demo-call-/,
        'llm_provider-x-litellm-model-id': 'demo-deployment',
        'x-upstream-note': 'kept',
        'x-request-id': 'demo-request',
        'x-ratelimit-remaining-requests': '99',
      });
      for (const name of ['x-foo', 'proxy-connection', 'proxy-authenticate', 'te', 'set-cookie'])
        t.equal(answer.headers[name], undefined, name);
      t.not(answer.headers['keep-alive'], 'timeout=60');
      for (const name of Object.keys(ours))
        t.notMatch(headerOf(answer.rawHeaders, name), /\|/, `${name} stands once`);
      t.match(await rowOf(rig, answer), {
        upstream_call_id: /^demo-call-/,
        request_id: answer.headers['x-litellm-call-id'],
      });
    }
  });
  t.test('the cost is exact, and never the word None', async (t) => {
    const stated = await chat(rig, 'demo-cost');
    t.equal(stated.headers['x-litellm-response-cost'], '0.00125');
    t.match(await rowOf(rig, stated), { spend: 0.00125, cost_source: 'upstream_header' });
    for (const model of ['demo-cost-none', 'demo-no-cost', 'compat-cost-none']) {
      const unknown = await chat(rig, model);
      t.equal(unknown.headers['x-litellm-response-cost'], undefined, model);
      t.match(await rowOf(rig, unknown), { spend: null, cost_source: 'none', cost_reason: /no price/ });
    }
    const streamed = await chat(rig, 'demo-cost', { stream: true });
    t.equal(streamed.headers['x-litellm-response-cost'], undefined, 'not known while the head is written');
    t.equal(streamed.headers['llm_provider-x-litellm-response-cost'], '0.00125');
    t.match(await rowOf(rig, streamed), { spend: 0.00125 });
  });
  t.test('of an entry with prices it is computed', async (t) => {
    const priced = await startRig(t, {
      config: (demo) => `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo-cost, api_base: "${demo.url}", input_cost_per_token: 3e-7, output_cost_per_token: 1.1e-6 }
general_settings: { master_key: ${KEY} }
`,
    });
    const answer = await chat(priced, 'demo');
    const { prompt_tokens: input, completion_tokens: output } = (await rowOf(priced, answer)) as Record<
      string,
      number
    >;
    const pico = BigInt(input ?? 0) * 300_000n + BigInt(output ?? 0) * 1_100_000n;
    t.equal(
      answer.headers['x-litellm-response-cost'],
      `0.${String(pico).padStart(12, '0').replace(/0+$/, '')}`,
    );
    t.match(await rowOf(priced, answer), { spend: Number(pico) / 1e12, cost_source: 'entry' });
  });
  t.test('an event stream is neither cached nor buffered on its way', async (t) => {
    const url = await startUpstream(t, ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'max-age=60' });
      res.end('data: {"choices":[{"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
    });
    const cached = await startRig(t, { config: (demo) => defaultConfig({ ...demo, url }) });
    for (const answer of [
      await chat(rig, 'demo', { stream: true }),
      await chat(cached, 'demo', { stream: true }),
    ]) {
      t.equal(headerOf(answer.rawHeaders, 'cache-control'), 'no-cache');
      t.equal(headerOf(answer.rawHeaders, 'x-accel-buffering'), 'no');
    }
  });
  t.test('CORS is off', async (t) => {
    const answer = await chat(rig, 'demo', {}, { origin: 'http://page' });
    t.notMatch(answer.rawHeaders.join('\n'), /access-control/i);
    t.equal(
      (await send(rig.url, 'OPTIONS', '/v1/chat/completions', undefined, { origin: 'http://page' })).status,
      405,
    );
  });
});

t.test('the page of the console gets what describes an answer, and nothing else of a gateway', async (t) => {
  const page = new PageClient(rig.url);
  t.equal((await page.signIn(KEY)).status, 200);
  const cookies = page.cookie;
  const messages = [{ role: 'user', content: 'x' }];
  for (const stream of [false, true]) {
    const body = { model: 'demo-many-headers', stream, messages };
    const { status, headers } = await page.call('POST', '/ui/v1/chat/completions', body);
    t.equal(status, 200);
    t.match(headers, { 'x-request-id': 'demo-request', 'x-litellm-model-api-base': rig.demo.url });
    t.match(headers, { 'x-ratelimit-remaining-requests': '99' });
    t.same([headers['x-upstream-note'], headers['set-cookie']], [undefined, undefined]);
  }
  t.equal(page.cookie, cookies);
});
