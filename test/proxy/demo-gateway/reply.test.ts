// What both faces say beside a normal answer: refusals, costs, headers, echo, and the endpoints without a stream.
import type { Test } from 'tap';
import t from 'tap';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

type Call = (path: string, body: object) => Promise<Answered>;

async function start(t: Test): Promise<Call> {
  const gateway = await startDemoGateway();
  t.teardown(() => gateway.close());
  return async (path, body) => {
    const res = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      body: body instanceof FormData ? body : JSON.stringify(body),
      redirect: 'manual',
    });
    const text = await res.text();
    const isJson = res.headers.get('content-type') === 'application/json';
    const json = isJson ? (JSON.parse(text) as Record<string, unknown>) : {};
    return { status: res.status, headers: res.headers, text, json };
  };
}

const chat = (model: string, more: object = {}): object => ({
  model,
  messages: [
    { role: 'system', content: 'two words' },
    { role: 'user', content: [{ type: 'text', text: ' and  three\nmore ' }] },
  ],
  ...more,
});

t.test('each refusal has its status and the error shape of its face', async (t) => {
  const call = await start(t);
  const expected = {
    'refuse-401': [401, 'token_not_found_in_db', /Invalid proxy server token/],
    'refuse-400': [400, 'invalid_request_error', /temperature/],
    context: [400, 'invalid_request_error', /maximum context length is 8192 tokens.*reduce the length/],
    '404': [404, 'invalid_request_error', /does not exist/],
    '429': [429, 'throttling_error', /Rate limit reached/],
    '500': [500, 'internal_server_error', /./],
    '503': [503, 'service_unavailable', /./],
  } as const;
  for (const [name, [status, type, message]] of Object.entries(expected)) {
    for (const stream of [false, true]) {
      const proxy = await call('/v1/chat/completions', chat(`demo-${name}`, { stream }));
      t.equal(proxy.status, status, name);
      t.match(proxy.json, { error: { message, type, code: String(status) } }, name);
      t.ok('param' in (proxy.json['error'] as object), name);
      t.equal(proxy.headers.get('retry-after'), name === '429' ? '7' : null, name);
      const compat = await call('/compat/v1/chat/completions', chat(`anthropic/demo-${name}`, { stream }));
      t.equal(compat.status, status, name);
      t.match(compat.json, {
        is_bifrost_error: false,
        status_code: status,
        error: { message, type },
        extra_fields: { provider: 'anthropic', model_requested: `anthropic/demo-${name}` },
      });
    }
  }
});

t.test('502-html is a page, redirect points to an address of this gateway', async (t) => {
  const call = await start(t);
  const page = await call('/v1/chat/completions', chat('demo-502-html'));
  t.equal(page.status, 502);
  t.equal(page.headers.get('content-type'), 'text/html');
  t.match(page.text, '<h1>502 Bad Gateway</h1>');
  const redirect = await call('/v1/chat/completions', chat('demo-redirect'));
  t.equal(redirect.status, 307);
  t.match(redirect.headers.get('location'), /^http:\/\/127\.0\.0\.1:\d+\/elsewhere$/);
});

t.test('usage is countable beforehand: words of the messages + 3, words of the answer', async (t) => {
  const call = await start(t);
  const { json } = await call('/v1/chat/completions', chat('demo-model'));
  t.match(json, {
    object: 'chat.completion',
    model: 'demo-model',
    choices: [{ message: { content: 'Hello from demo-model: the demo gateway heard 5 words.' } }],
  });
  t.same(json['usage'], { prompt_tokens: 8, completion_tokens: 9, total_tokens: 17 });
  const cached = await call('/v1/chat/completions', chat('demo-cached'));
  t.match(cached.json['usage'], {
    prompt_tokens: 8,
    completion_tokens: 9,
    prompt_tokens_details: { cached_tokens: 4, cache_creation_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 4 },
  });
  const none = await call('/v1/chat/completions', chat('demo-no-usage'));
  t.notOk('usage' in none.json);
});

t.test('the cost header follows face, stream and behaviour', async (t) => {
  const call = await start(t);
  const cost = async (face: string, model: string, stream = false): Promise<string | null> =>
    (await call(`${face}/v1/chat/completions`, chat(model, { stream }))).headers.get(
      'x-litellm-response-cost',
    );
  t.equal(await cost('', 'demo/model'), '0.000026', '8 in, 9 out');
  t.equal(await cost('', 'demo/model', true), null, 'streams begin before their cost is known');
  t.equal(await cost('/compat', 'demo/model'), null);
  for (const face of ['', '/compat']) {
    for (const stream of [false, true]) {
      t.equal(await cost(face, 'demo/demo-cost', stream), '0.00125');
      t.equal(await cost(face, 'demo/demo-cost-none', stream), 'None');
      t.equal(await cost(face, 'demo/demo-no-cost', stream), null);
    }
  }
});

t.test('the proxy face names call and model in headers, the compat face in extra_fields', async (t) => {
  const call = await start(t);
  const proxy = await call('/v1/chat/completions', chat('demo-model'));
  t.match(proxy.headers.get('x-litellm-call-id'), /^demo-call-/);
  t.equal(proxy.headers.get('x-litellm-model-id'), 'demo-deployment');
  t.notOk('extra_fields' in proxy.json);
  const compat = await call('/compat/v1/chat/completions', chat('anthropic/claude'));
  t.equal(compat.headers.get('x-litellm-call-id'), null);
  t.match(compat.json['extra_fields'], { request_type: 'chat_completion', provider: 'anthropic' });
});

t.test('ids differ between calls and gateways, save with duplicate-id', async (t) => {
  const ids: unknown[] = [];
  for (const call of [await start(t), await start(t)]) {
    ids.push((await call('/v1/chat/completions', chat('m'))).json['id']);
    ids.push((await call('/v1/chat/completions', chat('m'))).json['id']);
    t.equal((await call('/v1/chat/completions', chat('demo-duplicate-id'))).json['id'], 'chatcmpl-duplicate');
  }
  t.equal(new Set(ids).size, 4);
});

t.test('echo answers with the request as it came, on every endpoint', async (t) => {
  const call = await start(t);
  const body = { ...chat('demo-echo'), input: 'i', documents: [] };
  const textOf = async (path: string): Promise<string> => {
    const { json } = await call(path, body);
    if (path.endsWith('messages')) return (json['content'] as { text: string }[])[0]?.text ?? '';
    if (path.endsWith('responses')) {
      return (json['output'] as { content: { text: string }[] }[])[0]?.content[0]?.text ?? '';
    }
    if (path.endsWith('speech')) return JSON.stringify(json);
    const choice = (json['choices'] as { message?: { content: string }; text?: string }[] | undefined)?.[0];
    return choice?.message?.content ?? choice?.text ?? String(json['demo_echo']);
  };
  const paths = [
    'chat/completions',
    'completions',
    'embeddings',
    'responses',
    'messages',
    'messages/count_tokens',
  ];
  for (const path of [...paths, 'images/generations', 'audio/speech', 'moderations', 'rerank']) {
    const echo = JSON.parse(await textOf(`/v1/${path}`)) as Record<string, unknown>;
    t.match(echo, { method: 'POST', path: `/v1/${path}`, body: JSON.stringify(body) }, path);
    t.ok((echo['headers'] as string[]).includes('host'), path);
  }
});

t.test('many-headers has hop-by-hop headers, one of them named in Connection only', async (t) => {
  const call = await start(t);
  for (const path of ['/v1/chat/completions', '/compat/v1/chat/completions']) {
    const { headers } = await call(path, chat('demo/demo-many-headers'));
    t.equal(headers.get('connection'), 'keep-alive, x-foo');
    t.equal(headers.get('x-foo'), '1');
    t.equal(headers.get('keep-alive'), 'timeout=60');
    t.equal(headers.get('x-litellm-model-id'), 'demo-deployment');
    t.same(headers.getSetCookie(), ['first=1; Path=/', 'second=2; Path=/']);
    t.equal(headers.get('x-upstream-note'), 'kept');
  }
});

t.test('rerank, moderations and count_tokens answer in their shapes', async (t) => {
  const call = await start(t);
  const documents = ['a', 'b', 'c'];
  const rerank = await call('/v1/rerank', {
    model: 'm',
    query: 'q',
    documents,
    top_n: 2,
    return_documents: true,
  });
  t.match(rerank.json['results'], [
    { index: 0, relevance_score: 1, document: { text: 'a' } },
    { index: 1, relevance_score: 0.5, document: { text: 'b' } },
  ]);
  const moderation = await call('/v1/moderations', { model: 'm', input: ['x', 'y'] });
  t.match(moderation.json['results'], [{ flagged: false }, { flagged: false }]);
  const count = await call('/v1/messages/count_tokens', chat('m', { system: 'be kind' }));
  t.same(count.json, { input_tokens: 10 });
});

t.test('a multipart form names its model in a field, whatever its files hold', async (t) => {
  const call = await start(t);
  const form = new FormData();
  form.set('file', new Blob(['\r\n\r\nname="model"\r\n\r\nwrong']), 'a.wav');
  form.set('model', 'demo-429');
  t.equal((await call('/v1/audio/transcriptions', form)).status, 429);
  form.set('model', 'demo-modèle');
  t.match((await call('/v1/audio/transcriptions', form)).json['text'], /demo-modèle/);
  form.set('response_format', 'text');
  t.match((await call('/v1/audio/transcriptions', form)).text, /^Hello from demo-modèle/);
  form.delete('model');
  t.equal((await call('/v1/audio/transcriptions', form)).status, 400);
});
