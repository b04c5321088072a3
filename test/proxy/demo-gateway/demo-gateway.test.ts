// The gateway's life and memory: what it saw, whom it held, who left; its addresses, faces and keys.
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import type { Test } from 'tap';
import t from 'tap';
import type { DemoGateway, DemoOptions, SeenRequest } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';

async function start(t: Test, options?: DemoOptions): Promise<DemoGateway> {
  const gateway = await startDemoGateway(options);
  t.teardown(() => gateway.close());
  return gateway;
}

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const all = { 'content-type': 'application/json', ...headers };
  return fetch(url, { method: 'POST', body: text, headers: all, redirect: 'manual' });
}

const ask = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'three plain words' }],
  ...more,
});

t.test('a request is seen as it came: target, raw headers, body bytes, face', async (t) => {
  const told: SeenRequest[] = [];
  const gateway = await start(t, { onRequest: (seen) => told.push(seen) });
  const body = '{"model":"demo-model", "n":1.0,"messages":[]}';
  const res = await post(`${gateway.url}/v1/chat/completions?a=b`, body, { 'X-Twice': 'x' });
  t.equal(res.status, 200);
  await res.text();
  const [seen] = gateway.seen;
  if (seen === undefined) throw new Error('nothing was seen');
  t.match(seen, {
    id: 1,
    method: 'POST',
    path: '/v1/chat/completions?a=b',
    httpVersion: '1.1',
    face: 'proxy',
  });
  t.equal(seen.body.toString(), body);
  t.equal(seen.rawHeaders[seen.rawHeaders.findIndex((name) => name.toLowerCase() === 'x-twice') + 1], 'x');
  t.equal(await seen.finished, 'complete');
  t.equal(seen.aborted, false);
  t.same(told, [seen]);
});

t.test('held requests wait for release, and later ones are held again', async (t) => {
  const gateway = await start(t);
  const held = [1, 2].map(() => post(`${gateway.url}/v1/chat/completions`, ask('demo-hold')));
  await gateway.waitFor(2);
  gateway.release();
  for (const res of await Promise.all(held)) t.equal(res.status, 200);
  const next = post(`${gateway.url}/v1/chat/completions`, ask('demo-hold-429'));
  await gateway.waitFor(3);
  gateway.release();
  t.equal((await next).status, 429, 'a behaviour beside hold is what comes after it');
});

t.test('a peer that leaves before the answer is told as aborted', async (t) => {
  const gateway = await start(t);
  for (const model of ['demo-hold', 'demo-stall', 'demo-silent', 'demo-slow']) {
    const req = request(`${gateway.url}/v1/chat/completions`, { method: 'POST' });
    req.on('error', () => undefined);
    req.end(JSON.stringify(ask(model, { stream: true })));
    const before = gateway.seen.length;
    await gateway.waitFor(before + 1);
    req.destroy();
    const seen = gateway.seen.at(-1);
    t.equal(await seen?.finished, 'aborted', model);
    t.equal(seen?.aborted, true, model);
  }
});

t.test('a peer that leaves in the middle of its body is seen with the part that came', async (t) => {
  const gateway = await start(t);
  const socket = connect(gateway.port, '127.0.0.1');
  await once(socket, 'connect');
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: demo\r\ncontent-length: 100\r\n\r\n';
  socket.end(`${head}{"model":`);
  await gateway.waitFor(1);
  const seen = gateway.seen[0];
  t.equal(seen?.body.toString(), '{"model":');
  t.equal(await seen?.finished, 'aborted');
});

t.test('a connection that the gateway itself cuts is not counted as the peer leaving', async (t) => {
  const gateway = await start(t);
  for (const model of ['demo-cut', 'demo-drop', 'demo-header-then-close']) {
    await t.rejects(
      post(`${gateway.url}/v1/chat/completions`, ask(model)).then((res) => res.text()),
      model,
    );
    t.equal(await gateway.seen.at(-1)?.finished, 'complete', model);
  }
});

t.test('close ends held and stalled connections and may be called twice', async (t) => {
  const gateway = await startDemoGateway();
  const calls = ['demo-hold', 'demo-silent'].map((model) =>
    post(`${gateway.url}/v1/chat/completions`, ask(model)),
  );
  const refused = calls.map((call) => t.rejects(call));
  await gateway.waitFor(2);
  await Promise.all([gateway.close(), gateway.close(), ...refused]);
  await t.rejects(fetch(`${gateway.url}/v1/models`), 'nothing listens any more');
});

t.test('an address in use is an error that names it and the mend', async (t) => {
  const gateway = await start(t);
  await t.rejects(startDemoGateway({ port: gateway.port }), {
    message: new RegExp(
      `cannot listen on 127\\.0\\.0\\.1:${gateway.port}: .*EADDRINUSE.* - choose a free port`,
    ),
  });
});

t.test('wildcard hosts give a url that can be connected to', async (t) => {
  const gateway = await start(t, { host: '0.0.0.0' });
  t.equal(gateway.url, `http://127.0.0.1:${gateway.port}`);
  t.equal((await fetch(`${gateway.url}/v1/models`)).status, 200);
});

t.test('the proxy face is at /, /v1 and /proxy, the compat face at /compat/v1 alone', async (t) => {
  const gateway = await start(t);
  const expected = {
    '/chat/completions': 200,
    '/v1/chat/completions': 200,
    '/proxy/chat/completions': 200,
    '/proxy/v1/chat/completions': 200,
    '/compat/v1/chat/completions': 200,
    '/compat/chat/completions': 404,
    '/v1/v1/chat/completions': 404,
    '//v1/chat/completions': 404,
    '/v1/chat/completions/': 404,
    '/v1/responses/a/b/c': 404,
    '/elsewhere': 404,
  };
  for (const [path, status] of Object.entries(expected)) {
    const res = await post(`${gateway.url}${path}`, ask('demo/model'));
    t.equal(res.status, status, path);
    const body = await res.text();
    t.equal(body.includes('extra_fields'), path.startsWith('/compat/'), `${path} speaks in its manner`);
  }
  t.equal((await fetch(`${gateway.url}/v1/chat/completions`)).status, 405);
  t.equal((await post(`${gateway.url}/v1/models`, {})).status, 405);
  t.equal((await post(`${gateway.url}/v1/responses/resp_1`, {})).status, 405);
});

t.test(
  'the compat face refuses a bare model name in its own words, before it looks at the key',
  async (t) => {
    const gateway = await start(t, { acceptKeys: ['right'] });
    const res = await post(`${gateway.url}/compat/v1/chat/completions`, ask('demo-model'));
    t.equal(res.status, 400);
    t.equal(
      await res.text(),
      '{"is_bifrost_error":false,"status_code":400,"error":{"message":"model should be in provider/model format"},"extra_fields":{}}\n',
    );
  },
);

t.test('with acceptKeys only a listed bearer key is served, on both faces and in lists', async (t) => {
  const gateway = await start(t, { acceptKeys: ['sk-right', 'sk-other'] });
  const statusOf = async (path: string, headers: Record<string, string>): Promise<number> => {
    const res = await post(`${gateway.url}${path}`, ask('demo/model'), headers);
    const text = await res.text();
    t.notMatch(text, 'sk-wrong', 'a key is never repeated');
    return res.status;
  };
  for (const path of ['/v1/chat/completions', '/compat/v1/chat/completions']) {
    t.equal(await statusOf(path, { authorization: 'Bearer sk-right' }), 200);
    t.equal(await statusOf(path, { authorization: 'Bearer sk-other' }), 200);
    t.equal(await statusOf(path, { authorization: 'Bearer sk-wrong' }), 401);
    t.equal(await statusOf(path, { authorization: 'sk-right' }), 401);
    t.equal(await statusOf(path, { 'x-api-key': 'sk-right' }), 401);
    t.equal(await statusOf(path, {}), 401);
  }
  t.equal((await fetch(`${gateway.url}/v1/models`)).status, 401);
});

t.test('a body that cannot be read is a 400 that says why, and the gateway lives on', async (t) => {
  const gateway = await start(t);
  const cases = {
    '{"model":': /not JSON/,
    '[]': /not an object/,
    '{}': /model is required/,
    '{"model":7}': /model/,
  };
  for (const [body, message] of Object.entries(cases)) {
    const res = await post(`${gateway.url}/v1/chat/completions`, body);
    t.equal(res.status, 400, body);
    t.match(await res.json(), { error: { message, type: 'invalid_request_error', code: '400' } }, body);
  }
  const deep = `{"model":"m","messages":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`;
  t.ok((await post(`${gateway.url}/v1/chat/completions`, deep)).status >= 400, 'a nesting bomb is an error');
  t.equal((await post(`${gateway.url}/v1/chat/completions`, ask('m'))).status, 200);
});

t.test('the memory of requests keeps the last 10,000 while the count goes on', async (t) => {
  const gateway = await start(t);
  const socket = connect(gateway.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.resume();
  for (let batch = 0; batch < 101; batch++) {
    socket.write('GET /v1/models/m HTTP/1.1\r\nhost: demo\r\n\r\n'.repeat(100));
    await gateway.waitFor((batch + 1) * 100);
  }
  t.equal(gateway.seen.length, 10_000);
  t.equal(gateway.seen[0]?.id, 101);
  t.equal(gateway.seen.at(-1)?.id, 10_100);
  await gateway.waitFor(1);
  socket.destroy();
});

t.test('a script answers in place of the behaviours: a text, a tool call, or neither', async (t) => {
  const gateway = await start(t, {
    script: (body, model) => {
      if (model === 'writes') return { text: 'as the script says' };
      if (model === 'calls') return { tool: 'terminal', arguments: { command: `echo ${String(body['n'])}` } };
      return null;
    },
  });
  const answer = async (model: string, path = 'chat/completions', more: object = {}): Promise<string> =>
    (await post(`${gateway.url}/v1/${path}`, ask(model, { n: 7, ...more }))).text();
  t.match(JSON.parse(await answer('writes')), { choices: [{ message: { content: 'as the script says' } }] });
  t.match(JSON.parse(await answer('calls')), {
    choices: [
      {
        message: { tool_calls: [{ function: { name: 'terminal', arguments: '{"command":"echo 7"}' } }] },
        finish_reason: 'tool_calls',
      },
    ],
  });
  t.match(JSON.parse(await answer('calls', 'messages')), {
    content: [{ type: 'tool_use', name: 'terminal', input: { command: 'echo 7' } }],
  });
  t.match(await answer('calls', 'chat/completions', { stream: true }), /"tool_calls"/);
  t.match(await answer('demo-model'), /the demo gateway heard/, 'null: as without a script');
});
