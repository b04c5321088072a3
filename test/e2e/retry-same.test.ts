// Once more where it was: `retry_same_first`, and requests that a closing connection did not deliver, which are no retries.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import { MessageReader } from '../../bench/harness/message-reader.ts';
import { startManualUpstream } from '../support/manual-upstream.ts';
import { KEY, rowOf, send, startRig } from '../support/rig.ts';

t.test('a single 500, or a 429 that says when to come back, stays where it is', async (t) => {
  const upstream = await startManualUpstream(t);
  const entry = (model: string, order: number): string =>
    `  - { model_name: m, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", order: ${order} } }`;
  const rig = await startRig(t, {
    config: () => `
model_list:
${entry('a', 1)}
${entry('b', 2)}
general_settings: { master_key: ${KEY} }
router_settings: { retry_same_first: 1, retry_same_max_wait: 1 }
`,
  });
  const ask = () => send(rig.url, 'POST', '/v1/chat/completions', { model: 'm', messages: [] });
  const OK = { choices: [{ index: 0, message: { role: 'assistant', content: 'x' } }] };
  for (const [status, after, next] of [
    [500, null, 'a'],
    [429, '0.1', 'a'],
    [503, '30', 'b'],
    [429, null, 'b'],
  ] as const) {
    const answer = ask();
    const a = await upstream.next('a');
    if (after !== null) a.res.setHeader('retry-after', after);
    a.json(status, { error: { message: 'no' } });
    (await upstream.next(next)).json(200, OK);
    const got = await answer;
    t.equal(got.status, 200);
    const row = await rowOf(rig, got);
    t.match(row, { status: 'success', model: next, attempts: 2 }, `${status} ${after}`);
    t.match(row['attempt_log'], [{ model: 'a', status }, { model: next }]);
  }
});

t.test(
  "a 429 of LiteLLM states the provider's wish as llm_provider-retry-after, and that counts",
  async (t) => {
    const upstream = await startManualUpstream(t);
    const rig = await startRig(t, {
      config: () => `
model_list:
${['a', 'b'].map((model, i) => `  - { model_name: m, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", order: ${i + 1} } }`).join('\n')}
${['0', '1'].map((n) => `  - { model_name: "alone-${n}", litellm_params: { model: litellm_proxy/alone, api_base: "${upstream.url}" } }`).join('\n')}
general_settings: { master_key: ${KEY} }
router_settings: { retry_same_first: 1, retry_same_max_wait: 1 }
`,
    });
    const ask = (model: string) => send(rig.url, 'POST', '/v1/chat/completions', { model, messages: [] });
    const OK = { choices: [{ index: 0, message: { role: 'assistant', content: 'x' } }] };
    for (const [after, next] of [
      ['0.1', 'a'],
      ['30', 'b'],
    ] as const) {
      const answer = ask('m');
      const a = await upstream.next('a');
      a.res.setHeader('LLM_Provider-Retry-After', after);
      a.json(429, { error: { message: 'no' } });
      (await upstream.next(next)).json(200, OK);
      t.match(await rowOf(rig, await answer), { status: 'success', model: next, attempts: 2 }, after);
    }
    const text = '{"error":  {"message":"no"}}';
    for (const [n, own] of [null, '77'].entries()) {
      const answer = ask(`alone-${n}`);
      const { res } = await upstream.next('alone');
      if (own !== null) res.setHeader('retry-after', own);
      res.writeHead(429, { 'content-type': 'application/json', 'llm_provider-retry-after': '88' }).end(text);
      const got = await answer;
      t.equal(got.text, text, 'the same bytes');
      t.equal(got.headers['retry-after'], own ?? '88');
      t.equal(got.headers['llm_provider-retry-after'], '88');
      t.match(await rowOf(rig, got), { attempts: 1, http_status: 429 });
    }
  },
);

t.test('a request that its reused connection did not deliver is sent again without a retry', async (t) => {
  const sockets: Socket[] = [];
  let [read, breaksOff] = [0, false];
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket);
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined);
    const reader = new MessageReader({
      onHead: () => undefined,
      onBody: () => undefined,
      onEnd: () => {
        read += 1;
        const body = '{"choices":[{"index":0,"message":{"role":"assistant","content":"x"}}]}';
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      },
    });
    socket.on('data', (bytes) => {
      if (breaksOff && socket === sockets[0]) socket.resetAndDestroy();
      else reader.push(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const rig = await startRig(t, {
    config: () => `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:${(server.address() as AddressInfo).port}" } }
general_settings: { master_key: ${KEY} }
router_settings: { num_retries: 0 }
`,
  });
  const ask = (content: string) =>
    send(rig.url, 'POST', '/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content }] });
  t.equal((await ask('small')).status, 200);
  breaksOff = true;
  const got = await ask('x'.repeat(30_000_000)); // more than the buffers of two sockets take
  t.equal(got.status, 200);
  t.same([read, sockets.length], [2, 2]);
  const row = await rowOf(rig, got);
  t.match(row, { status: 'success', attempts: 1 });
  t.same(row['attempt_log'], []);
});
