// Errors of an upstream pass verbatim; ours have one shape, say what was wrong and how to fix it, and never look like
// something they are not: clients match on the words of a throttling error whatever the status is.
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { startUpstream } from '../support/call.ts';
import { chat, defaultConfig, lastSeen, rowOf, send, startRig, type Answer } from '../support/rig.ts';

const rig = await startRig(t, {
  config: (demo) =>
    `${defaultConfig(demo).replace('general_settings:', 'general_settings:\n  max_request_size_mb: 1\n  max_json_depth: 20')}`.replace(
      'general_settings:',
      `  - model_name: claude-sonnet-4-5
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" }
  - model_name: nowhere
    litellm_params: { model: litellm_proxy/x, api_base: "http://127.0.0.1:1", api_key: sk-upstream-secret }
  - model_name: unnamed
    litellm_params: { model: openai/x, api_base: "http://host.invalid/v1" }
general_settings:`,
    ),
});

t.test('an error of the upstream passes with its status, its headers and its bytes', async (t) => {
  const faces = ['demo', 'compat'];
  for (const [behaviour, status] of [
    ['refuse-400', 400],
    ['context', 400],
    ['refuse-401', 401],
    ['404', 404],
    ['429', 429],
    ['500', 500],
    ['502-html', 502],
    ['503', 503],
    ['redirect', 307],
  ] as const) {
    for (const face of faces) {
      for (const stream of [false, true]) {
        const before = rig.demo.seen.length;
        const answer = await chat(rig, `${face}-${behaviour}`, { stream });
        t.equal(rig.demo.seen.length, before + 1, 'asked once, no redirect followed, no retry');
        const seen = lastSeen(rig);
        const direct = await send(rig.demo.url, 'POST', seen.path, seen.body, {
          authorization: 'Bearer sk-upstream-secret',
        });
        const title = `${face}-${behaviour}${stream ? ', streamed' : ''}`;
        t.equal(answer.status, status, title);
        t.ok(answer.body.equals(direct.body), `${title}: the same bytes`);
        t.notOk('location' in answer.headers, `${title}: nobody is sent past the proxy`);
        for (const name of ['content-type', 'retry-after', 'content-length']) {
          t.equal(answer.headers[name], direct.headers[name], `${title}: ${name}`);
        }
        const isError = status >= 400;
        t.equal(answer.headers['x-litellm-error-source'], isError ? 'upstream' : undefined);
        t.notOk('x-litellm-response-cost' in answer.headers && isError, 'a failed answer states no cost');
        t.match(await rowOf(rig, answer), {
          end_reason: 'upstream_error', // a redirect is no answer of a model either
          status: 'failure',
          http_status: status,
          error_source: 'upstream',
        });
      }
    }
  }
  t.equal((await chat(rig, 'demo-429')).headers['retry-after'], '7');
});

/** The common part of every error of ours. */
function ours(t: Test, answer: Answer, status: number, code: string, source = 'client'): void {
  t.equal(answer.status, status, `${code}: ${answer.text}`);
  t.equal(answer.headers['x-litellm-error-source'], source);
  t.equal(answer.headers['content-type'], 'application/json');
  t.match(answer.headers['x-litellm-call-id'], /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  const { error } = JSON.parse(answer.text) as { error: Record<string, unknown> };
  t.equal(error['code'], code);
  t.same(Object.keys(error), ['message', 'type', 'param', 'code']);
  t.notMatch(answer.text.replaceAll(/127\.0\.0\.1:\d+/g, ''), /\b429\b|rate.?limit|sk-|\bat .*\.ts|None/i);
}

t.test('ours say whose fault it is, and leave a row', async (t) => {
  const body = (value: unknown): string => JSON.stringify(value);
  const cases: readonly [
    what: string,
    body: string,
    status: number,
    code: string,
    headers?: Record<string, string>,
  ][] = [
    ['unknown model', body({ model: 'claude-sonet-4-5' }), 404, 'model_not_found'],
    ['no model', body({ messages: [] }), 400, 'missing_model'],
    ['model null', body({ model: null }), 400, 'missing_model'],
    ['model empty', body({ model: '' }), 400, 'missing_model'],
    ['model a number', body({ model: 7 }), 400, 'invalid_member'],
    ['model too long', body({ model: 'x'.repeat(2000) }), 400, 'invalid_member'],
    ['stream a text', body({ model: 'demo', stream: 'yes' }), 400, 'invalid_member'],
    ['not JSON', '{"model":"demo",}', 400, 'body_not_json'],
    ['empty body', '', 400, 'body_not_json'],
    ['two documents', '{"model":"demo"}{}', 400, 'body_not_json'],
    ['an array', '[{"model":"demo"}]', 400, 'body_not_object'],
    ['null', 'null', 400, 'body_not_object'],
    ['the model twice', '{"model":"demo","mod\\u0065l":"compat"}', 400, 'duplicate_member'],
    ['too deep', `{"model":"demo","x":${'['.repeat(30)}${']'.repeat(30)}}`, 400, 'body_too_deep'],
    ['too large', body({ model: 'demo', x: 'y'.repeat(1_100_000) }), 413, 'body_too_large'],
    ['plain text', 'model=demo', 415, 'unsupported_media_type', { 'content-type': 'text/plain' }],
    [
      'a form where JSON is taken',
      'x',
      415,
      'unsupported_media_type',
      { 'content-type': 'multipart/form-data; boundary=x' },
    ],
    ['compressed', '{"model":"demo"}', 415, 'compressed_body', { 'content-encoding': 'gzip' }],
    [
      'an address in the body',
      body({ model: 'demo', api_base: 'http://evil' }),
      400,
      'parameter_not_allowed',
    ],
    ['a key in the body', body({ model: 'demo', api_key: 'x' }), 400, 'parameter_not_allowed'],
    ['an address by its other name', body({ model: 'demo', base_url: null }), 400, 'parameter_not_allowed'],
  ];
  const before = rig.demo.seen.length;
  for (const [what, text, status, code, headers = {}] of cases) {
    t.test(what, async (t) => {
      const session = { 'x-litellm-session-id': 'session-of-errors' };
      const answer = await send(rig.url, 'POST', '/v1/chat/completions', Buffer.from(text), {
        ...session,
        ...headers,
      });
      ours(t, answer, status, code);
      t.equal(answer.headers['x-litellm-session-id'], 'session-of-errors');
      t.match(await rowOf(rig, answer), {
        end_reason: 'refused',
        http_status: status,
        error_source: 'client',
        session_id: 'session-of-errors',
        spend: 0,
        attempts: 0,
        metadata: { error_information: { error_class: code, error_code: String(status) } },
      });
    });
  }
  t.test('invalid UTF-8', async (t) => {
    const bytes = Buffer.concat([
      Buffer.from('{"model":"demo","x":"'),
      Buffer.of(0xc3, 0x28),
      Buffer.from('"}'),
    ]);
    ours(t, await send(rig.url, 'POST', '/v1/chat/completions', bytes), 400, 'body_not_utf8');
  });
  t.test('too large without a stated length', async (t) => {
    const chunked = { 'transfer-encoding': 'chunked', 'content-length': [] as string[] };
    const text = Buffer.from(JSON.stringify({ model: 'demo', x: 'y'.repeat(1_100_000) }));
    ours(t, await send(rig.url, 'POST', '/v1/chat/completions', text, chunked), 413, 'body_too_large');
  });
  t.test('nothing of these went upstream', async (t) => {
    t.equal(rig.demo.seen.length, before);
  });
});

t.test('an unknown model gets the nearest names and how to list them', async (t) => {
  const { error } = JSON.parse((await chat(rig, 'claude-sonet-4-5')).text) as {
    error: Record<string, string>;
  };
  t.match(error['message'], /claude-sonet-4-5.*Did you mean `claude-sonnet-4-5`.*GET \/v1\/models/);
  t.equal(error['param'], 'model');
});

t.test('the messages endpoint speaks its own dialect of errors', async (t) => {
  const answer = await send(rig.url, 'POST', '/v1/messages', {
    model: 'nobody',
    max_tokens: 1,
    messages: [],
  });
  t.match(JSON.parse(answer.text), { type: 'error', error: { code: 'model_not_found', message: /nobody/ } });
});

t.test('without a key, and with a wrong one', async (t) => {
  const body = { model: 'demo', messages: [] };
  const none = await send(rig.url, 'POST', '/v1/chat/completions', body, { authorization: [] });
  ours(t, none, 401, 'missing_api_key');
  t.equal(none.headers['x-should-retry'], 'false');
  for (const wrong of [
    'Bearer wrong',
    'Bearer sk-test-master-key-',
    'sk-test-master-key',
    'Bearer',
    'Token sk-test-master-key',
  ]) {
    const answer = await send(rig.url, 'POST', '/v1/chat/completions', body, { authorization: wrong });
    t.equal(answer.status, 401, wrong);
    t.match(JSON.parse(answer.text), { error: { type: 'auth_error' } });
    t.notMatch(answer.text, /wrong|sk-test/);
  }
});

t.test('a key is taken from every place of the dialect', async (t) => {
  const body = { model: 'demo', messages: [] };
  for (const headers of [
    { authorization: 'bearer sk-test-master-key' },
    { authorization: [], 'x-litellm-api-key': 'sk-test-master-key' },
    { authorization: [], 'x-litellm-api-key': 'Bearer sk-test-master-key' },
    { authorization: [], 'api-key': 'sk-test-master-key' },
    { authorization: [], 'x-api-key': 'sk-test-master-key' },
    { authorization: [], 'x-goog-api-key': 'sk-test-master-key' },
    { authorization: 'Bearer of-another', 'x-litellm-api-key': 'sk-test-master-key' },
  ]) {
    const answer = await send(rig.url, 'POST', '/v1/chat/completions', body, headers);
    t.equal(answer.status, 200, JSON.stringify(headers));
    t.notMatch(lastSeen(rig).rawHeaders.join('\n'), /master-key|of-another/);
  }
});

t.test('an unauthenticated body is not read', async (t) => {
  const bad = await send(rig.url, 'POST', '/v1/chat/completions', Buffer.from('not json'), {
    authorization: 'Bearer no',
  });
  ours(t, bad, 401, 'invalid_api_key');
  t.equal(bad.headers['x-should-retry'], 'false', 'Claude Code asks for three minutes without it');
});

t.test('paths and methods', async (t) => {
  ours(t, await send(rig.url, 'GET', '/v1/nothing'), 404, 'route_not_found');
  const answer = await send(rig.url, 'GET', '/v1/chat/completions');
  ours(t, answer, 405, 'method_not_allowed');
  t.equal(answer.headers['allow'], 'POST');
});

t.test('an upstream that cannot be reached', async (t) => {
  for (const [model, why] of [
    ['nowhere', /refused/],
    ['unnamed', /DNS/],
  ] as const) {
    for (const stream of [false, true]) {
      const answer = await chat(rig, model, { stream });
      ours(t, answer, 503, 'upstream_unreachable', 'upstream');
      t.match(answer.text, why);
      t.match(await rowOf(rig, answer), {
        end_reason: 'upstream_broken',
        http_status: 503,
        attempts: 1,
        spend: 0,
      });
    }
  }
});

t.test('an upstream that does not speak HTTP, or too much of it', async (t) => {
  const url = await startUpstream(t, ({ res, body }) => {
    const { model } = JSON.parse(body.toString()) as { model: string };
    if (model === 'demo-garbage') res.socket?.end('SSH-2.0-OpenSSH_9.2\r\n');
    else if (model === 'demo-headers')
      res.socket?.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`);
    else
      res.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n');
  });
  const odd = await startRig(t, { config: (demo) => defaultConfig({ ...demo, url }) });
  for (const model of ['demo-garbage', 'demo-headers', 'demo-framing']) {
    const answer = await chat(odd, model);
    ours(t, answer, 503, 'upstream_broken', 'upstream');
    t.match(await rowOf(odd, answer), { end_reason: 'upstream_broken' });
  }
  t.equal((await chat(odd, 'demo-garbage', { stream: true })).status, 503);
});

t.test('a compressed body is inflated where that is enabled, within its bound', async (t) => {
  const config = (demo: { url: string }): string =>
    defaultConfig(demo as Parameters<typeof defaultConfig>[0]).replace(
      'general_settings:',
      'general_settings:\n  accept_compressed_requests: { max_inflated_mb: 1 }',
    );
  const open = await startRig(t, { config });
  const text = '{"model":"demo", "messages":[], "seed":12345678901234567890}';
  const gzip = { 'content-encoding': 'gzip' };
  const answer = await send(open.url, 'POST', '/v1/chat/completions', gzipSync(text), gzip);
  t.equal(answer.status, 200);
  t.equal(lastSeen(open).body.toString(), text);
  t.notMatch(lastSeen(open).rawHeaders.join('\n').toLowerCase(), 'content-encoding');
  const bomb = gzipSync(JSON.stringify({ model: 'demo', x: 'y'.repeat(2_000_000) }));
  ours(t, await send(open.url, 'POST', '/v1/chat/completions', bomb, gzip), 413, 'body_too_large');
  ours(
    t,
    await send(open.url, 'POST', '/v1/chat/completions', Buffer.from(text), gzip),
    400,
    'bad_compressed_body',
  );
});
