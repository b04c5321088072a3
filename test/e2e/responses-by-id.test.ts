// A response that exists is asked for at the upstream that made it: with its key, under the same header policy, with a
// row of its own, and also when the proxy has been started again in between.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openCall } from '../support/call.ts';
import { headerOf, KEY, rowOf, send, startRig, type Rig } from '../support/rig.ts';

t.test('a response is asked for at the upstream that made it', async (t) => {
  const [one, two] = [await startDemoGateway(), await startDemoGateway()];
  t.teardown(() => Promise.all([one.close(), two.close()]));
  const folder = mkdtempSync(join(tmpdir(), 'throughline-by-id-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const config = (): string => `
model_list:
  - { model_name: one, litellm_params: { model: litellm_proxy/demo, api_base: "${one.url}", api_key: sk-one } }
  - { model_name: two, litellm_params: { model: openai/acme/demo, api_base: "${two.url}/compat/v1", api_key: sk-two } }
  - { model_name: "wild-*", litellm_params: { model: "litellm_proxy/demo-*", api_base: "${one.url}", api_key: sk-one } }
  - { model_name: both, litellm_params: { model: litellm_proxy/demo, api_base: "${one.url}", api_key: sk-one } }
  - { model_name: both, litellm_params: { model: litellm_proxy/demo, api_base: "${two.url}", api_key: sk-two } }
general_settings: { master_key: ${KEY}, forward_client_headers_to_llm_api: true }
`;
  const first = await startRig(t, { config, folder });
  const make = async (of: Rig, model: string, more: object = {}): Promise<string> => {
    const answer = await send(of.url, 'POST', '/v1/responses', { model, input: 'one two', ...more });
    t.equal(answer.status, 200, answer.text);
    t.match(await rowOf(of, answer), { prompt_tokens: 5, usage_source: 'upstream' });
    return (/"id":"(resp_[^"]+)"/.exec(answer.text) as RegExpExecArray)[1] as string;
  };
  const made = {
    one: await make(first, 'one'),
    two: await make(first, 'two'),
    streamed: await make(first, 'two', { stream: true }),
    wild: await make(first, 'wild-x'),
  };

  const ask = async (of: Rig): Promise<void> => {
    for (const [id, gateway, prefix, key, group, model] of [
      [made.one, one, '/v1', 'sk-one', 'one', 'demo'],
      [made.two, two, '/compat/v1', 'sk-two', 'two', 'acme/demo'],
      [made.streamed, two, '/compat/v1', 'sk-two', 'two', 'acme/demo'],
      [made.wild, one, '/v1', 'sk-one', 'wild-x', 'demo-x'],
    ] as const) {
      for (const [method, suffix, type] of [
        ['GET', '', 'aget_responses'],
        ['GET', '/input_items', 'alist_input_items'],
        ['POST', '/cancel', 'acancel_responses'],
      ] as const) {
        for (const base of ['/v1', '']) {
          const answer = await send(
            of.url,
            method,
            `${base}/responses/${id}${suffix}?api-version=1&x=1`,
            method === 'POST' ? {} : undefined,
            {
              'x-custom': 'yes',
              'x-goog-api-key': 'client-google-key',
              cookie: 'client-cookie',
              'x-stainless-os': 'linux',
              'x-litellm-session-id': 's-by-id',
            },
          );
          t.equal(answer.status, 200, `${method} ${suffix}: ${answer.text}`);
          const seen = gateway.seen.at(-1);
          t.equal(seen?.method, method);
          t.equal(seen?.path, `${prefix}/responses/${id}${suffix}?api-version=1`);
          const raw = seen?.rawHeaders ?? [];
          t.equal(headerOf(raw, 'authorization'), `Bearer ${key}`);
          t.equal(headerOf(raw, 'x-custom'), 'yes');
          t.equal(headerOf(raw, 'x-litellm-session-id'), 's-by-id');
          t.notMatch(raw.join(' '), /client-|stainless|master-key/);
          t.match(await rowOf(of, answer), {
            call_type: type,
            end_reason: 'complete',
            session_id: 's-by-id',
            http_status: 200,
            model_group: group,
            model,
          });
          t.match(
            await rowOf(of, answer),
            { spend: 0, total_tokens: 0, usage: null },
            'its usage has been counted when it was made',
          );
        }
      }
    }
  };
  await ask(first);

  await t.test('of a group too', async (t) => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => make(first, 'both')));
    for (const id of ids) t.equal((await send(first.url, 'GET', `/v1/responses/${id}`)).status, 200);
    t.ok(
      one.seen.some(({ path }) => path === '/v1/responses') &&
        two.seen.some(({ path }) => path === '/v1/responses'),
    );
  });
  await t.test('an unknown id is 404, of ours; it goes nowhere', async (t) => {
    const before = one.seen.length + two.seen.length;
    const answer = await send(first.url, 'GET', '/v1/responses/resp_unknown');
    t.equal(answer.status, 404);
    t.match(JSON.parse(answer.text), { error: { code: 'response_not_found', param: 'id' } });
    t.match(await rowOf(first, answer), { end_reason: 'refused', call_type: 'aget_responses' });
    t.equal(one.seen.length + two.seen.length, before);
    t.equal((await send(first.url, 'PUT', `/v1/responses/${made.one}`, {})).status, 405);
  });

  await first.stop();
  await t.test('also after a restart of the proxy', async () => {
    const second = await startRig(t, { config, folder });
    await ask(second);
    for (const [id, gateway] of [
      [made.one, one],
      [made.two, two],
    ] as const) {
      const answer = await send(second.url, 'DELETE', `/v1/responses/${id}`);
      t.match(JSON.parse(answer.text), { id, deleted: true });
      t.equal(gateway.seen.at(-1)?.method, 'DELETE');
      t.equal(gateway.seen.at(-1)?.body.length, 0);
      t.match(await rowOf(second, answer), { call_type: 'adelete_responses', status: 'success' });
      const gone = await send(second.url, 'GET', `/v1/responses/${id}`);
      t.equal(gone.status, 404, 'the upstream’s own answer');
      t.equal(gone.headers['x-litellm-error-source'], 'upstream');
    }
    await second.stop();
  });
});

t.test('a response is its caller’s: to another key it does not exist', async (t) => {
  const gateway = await startDemoGateway();
  t.teardown(() => gateway.close());
  const folder = mkdtempSync(join(tmpdir(), 'throughline-by-id-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const config = (): string => `
model_list:
  - { model_name: demo, litellm_params: { model: openai/demo, api_base: "${gateway.url}/v1", api_key: sk-up } }
general_settings: { master_key: ${KEY}, inference_keys: [ sk-of-alice-00000000, sk-of-bob-0000000000 ] }
`;
  type Headers = Record<string, string>;
  const withKey = (key: string): Headers => ({ authorization: `Bearer ${key}` });
  const alice = withKey('sk-of-alice-00000000');
  const bob = withKey('sk-of-bob-0000000000');
  const admin = withKey(KEY);
  let rig = await startRig(t, { config, folder });
  const make = (by: Headers, more: object = {}) =>
    send(rig.url, 'POST', '/v1/responses', { model: 'demo', input: 'one', ...more }, by);
  const idOf = (text: string): string => (/"id":"(resp_[^"]+)"/.exec(text) as RegExpExecArray)[1] as string;
  const ids = [idOf((await make(alice)).text), idOf((await make(alice, { stream: true })).text)];

  const check = async (t: Test, id: string): Promise<void> => {
    const before = gateway.seen.length;
    for (const [method, suffix] of [
      ['GET', ''],
      ['GET', '/input_items'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const) {
      const body = method === 'POST' ? {} : undefined;
      const refused = await send(rig.url, method, `/v1/responses/${id}${suffix}`, body, bob);
      const unknown = await send(rig.url, method, `/v1/responses/resp_none${suffix}`, body, bob);
      t.equal(refused.status, 404, `${method} ${suffix}`);
      t.equal(refused.text.replaceAll(id, 'resp_none'), unknown.text, 'as an id that never was');
    }
    for (const more of [{}, { stream: true }]) {
      const continued = await make(bob, { previous_response_id: id, ...more });
      t.equal(continued.status, 404);
      t.match(JSON.parse(continued.text), {
        error: { code: 'response_not_found', param: 'previous_response_id' },
      });
    }
    t.equal(gateway.seen.length, before, 'nothing went upstream');
    t.equal((await make(alice, { previous_response_id: id })).status, 200, 'its own');
    t.equal((await send(rig.url, 'GET', `/v1/responses/${id}`, undefined, alice)).status, 200);
    t.equal((await make(admin, { previous_response_id: id })).status, 200, 'the master key reaches all');
    t.equal((await send(rig.url, 'GET', `/v1/responses/${id}`, undefined, admin)).status, 200);
  };

  for (const id of ids) await check(t, id);
  t.equal((await make(alice, { previous_response_id: 7 })).status, 400);
  await rig.stop();
  rig = await startRig(t, { config, folder });
  await t.test('after a restart too', async (t) => {
    for (const id of ids) await check(t, id);
  });
});

t.test('a response in the background is counted when it is fetched, once', async (t) => {
  const gateway = await startDemoGateway();
  t.teardown(() => gateway.close());
  const rig = await startRig(t, {
    config: () => `
model_list:
  - model_name: demo
    litellm_params: { model: openai/acme/demo, api_base: "${gateway.url}/compat/v1", api_key: sk-up }
    model_info: { input_cost_per_token: 0.001, output_cost_per_token: 0.01 }
general_settings: { master_key: ${KEY} }
`,
  });
  const made = await send(rig.url, 'POST', '/v1/responses', {
    model: 'demo',
    input: 'one two',
    background: true,
  });
  const { id, status } = JSON.parse(made.text) as { id: string; status: string };
  t.equal(status, 'queued');
  t.match(await rowOf(rig, made), { spend: null, total_tokens: 0, usage_source: 'none', status: 'success' });

  const path = `/v1/responses/${id}`;
  await send(rig.url, 'GET', `${path}/input_items`);
  const fetched = await Promise.all(Array.from({ length: 3 }, () => send(rig.url, 'GET', path)));
  const rows = await Promise.all(fetched.map((answer) => rowOf(rig, answer)));
  const counted = rows.filter(({ usage_source: source }) => source === 'upstream');
  t.equal(counted.length, 1, 'by one of them');
  const [row = {}] = counted;
  t.match(row, { call_type: 'aget_responses', prompt_tokens: 5, cost_source: 'entry' });
  const [prompt, completion] = [Number(row['prompt_tokens']), Number(row['completion_tokens'])];
  t.ok(completion > 0);
  t.equal(row['spend'], prompt * 0.001 + completion * 0.01);
  for (const other of rows.filter((one) => one !== row)) t.match(other, { spend: 0, total_tokens: 0 });
});

t.test(
  'so is one whose stream was left, or cut by the upstream: it is made to its end all the same',
  async (t) => {
    const gateway = await startDemoGateway();
    t.teardown(() => gateway.close());
    for (const estimates of [true, false]) {
      const rig = await startRig(t, {
        config: () => `
model_list:
  - model_name: "demo*"
    litellm_params: { model: "openai/acme/demo*", api_base: "${gateway.url}/compat/v1", api_key: sk-up }
    model_info: { input_cost_per_token: 0.001, output_cost_per_token: 0.01 }
general_settings: { master_key: ${KEY}, estimate_missing_usage: ${estimates} }
`,
      });
      for (const [model, end] of [
        ['demo-stall', 'client_gone'],
        ['demo-cut', 'truncated'],
        ['demo', 'complete'],
      ] as const) {
        const ask = { model, input: 'one two', stream: true, background: true };
        const call = openCall(rig.url, '/v1/responses', ask);
        const { headers } = await call.head;
        const text = await call.received(end === 'complete' ? 'response.completed' : 'output_text.delta');
        if (end === 'client_gone') call.leave();
        await rig.logged(
          (line) => line['call_id'] === headers['x-litellm-call-id'] && line['msg'] === 'request',
        );
        const made = await rowOf(rig, { headers });
        t.match(made, { end_reason: end });
        const isCounted = end === 'complete';
        if (isCounted) t.ok(Number(made['spend']) > 0);
        else t.match(made, { spend: null, total_tokens: 0, usage_source: 'none' }, model);
        const path = `/v1/responses/${/"id":"(resp_[^"]+)"/.exec(text)?.[1]}`;
        const fetched = await rowOf(rig, await send(rig.url, 'GET', path));
        const again = await rowOf(rig, await send(rig.url, 'GET', path));
        if (isCounted) t.match(fetched, { spend: 0, total_tokens: 0 }, 'it was counted when it was made');
        else {
          const [prompt, completion] = [
            Number(fetched['prompt_tokens']),
            Number(fetched['completion_tokens']),
          ];
          t.ok(prompt > 0 && completion > 0, model);
          t.equal(fetched['spend'], prompt * 0.001 + completion * 0.01);
        }
        t.match(again, { spend: 0, total_tokens: 0 });
      }
      await rig.stop();
    }
  },
);

t.test('a gateway may name a response anew each time it is fetched, as LiteLLM does', async (t) => {
  let named = 0;
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
  const gateway = createServer((request, response) => {
    const isDone = named >= 2;
    const id = `resp_name_${(named += 1)}`;
    const answer = { id, object: 'response', status: isDone ? 'completed' : 'queued', output: [] };
    response.setHeader('content-type', 'application/json');
    request
      .resume()
      .on('end', () => response.end(JSON.stringify({ ...answer, usage: isDone ? usage : null })));
  }).listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  t.teardown(() => gateway.close());
  const { port } = gateway.address() as AddressInfo;
  const rig = await startRig(t, {
    config: () => `
model_list:
  - { model_name: demo, litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:${port}", api_key: k } }
general_settings: { master_key: ${KEY}, inference_keys: [ sk-of-alice-00000000, sk-of-bob-0000000000 ] }
`,
  });
  const alice = { authorization: 'Bearer sk-of-alice-00000000' };
  const body = { model: 'demo', input: 'one', background: true };
  let answer = await send(rig.url, 'POST', '/v1/responses', body, alice);
  const made = JSON.parse(answer.text) as { id: string };
  let { id } = made;
  const counted: unknown[] = [];
  for (const status of ['queued', 'completed', 'completed']) {
    answer = await send(rig.url, 'GET', `/v1/responses/${id}`, undefined, alice);
    t.match(JSON.parse(answer.text), { status });
    counted.push((await rowOf(rig, answer))['total_tokens']);
    ({ id } = JSON.parse(answer.text) as { id: string });
  }
  const first = await send(rig.url, 'GET', `/v1/responses/${made.id}`, undefined, alice);
  counted.push((await rowOf(rig, first))['total_tokens']);
  t.same(counted, [0, 5, 0, 0], 'counted once, whatever its name');
  const bob = { authorization: 'Bearer sk-of-bob-0000000000' };
  t.equal(
    (await send(rig.url, 'GET', `/v1/responses/${id}`, undefined, bob)).status,
    404,
    'still hers alone',
  );
});
