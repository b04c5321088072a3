// Calls whose end leaves open what they cost: broken answers, time-outs, upstreams that hang up. Rows and budgets say the same, to
// the pico-dollar, and nobody gets prompts for nothing by way of them.
import { createServer } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { managed, newKey } from '../support/manage.ts';
import { ManualClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { chat, KEY, send, startRig, type Answer, type Rig, type Row } from '../support/rig.ts';

const PRICES = 'input_cost_per_token: 1e-6, output_cost_per_token: 2e-6';
/** 10 tokens of output cost 20,000,000 pico-dollars; the short prompt reserves some 100 to 200 tokens. */
const OUTPUT_PICO = 20_000_000n;

const config =
  (more = '', general = '', router = '') =>
  ({ url }: { readonly url: string }): string => `
model_list:
  - model_name: "demo-*"
    litellm_params: { model: "openai/acme/demo-*", api_base: "${url}/compat/v1", api_key: k, timeout: 5, ${PRICES} }
${more}
general_settings: { master_key: ${KEY}${general} }
router_settings: { cooldown_time: 0, disable_cooldowns: true, ${router || 'num_retries: 0'} }
`;

interface Ended {
  readonly row: Row;
  readonly pico: bigint;
}

/** One call by a key with a budget; its row, once counter and rows agree. */
async function ended(
  t: Test,
  rig: Rig,
  key: string,
  call: () => Promise<Answer>,
  because: string,
): Promise<Ended> {
  const known = (await rig.rows()).length;
  await call().catch(() => null);
  let rows = await rig.rows();
  while (rows.length <= known) rows = await rig.rows();
  const row = rows.at(-1) ?? {};
  const { info } = await managed(rig, `GET /key/info?key=${key}`);
  const total = rows.reduce((sum, one) => sum + picoOf(one['spend']), 0n);
  const { budgets } = rig.gateway.reloader.active.services;
  for await (const { cap, state } of budgets.states()) {
    if (cap.scope.kind !== 'key') continue;
    t.equal(state.spentPico, total, `${because}: the counter is the sum of the rows`);
    t.equal(state.reservedPico, 0n, `${because}: nothing is held`);
  }
  t.equal(picoOf((info as { spend: number }).spend), total, `${because}: so says /key/info`);
  return { row, pico: picoOf(row['spend']) };
}

const picoOf = (usd: unknown): bigint => BigInt(Math.round(Number(usd) * 1e12));

const call = (rig: Rig, key: string, model: string, more: object = {}): Promise<Answer> =>
  chat(rig, model, { max_tokens: 10, ...more }, { authorization: `Bearer ${key}` });

t.test('a call that reached no upstream costs nothing', async (t) => {
  const port = await freePort();
  const gone = `  - model_name: gone
    litellm_params: { model: openai/acme/demo, api_base: "http://127.0.0.1:${port}/v1", api_key: k, ${PRICES} }`;
  const rig = await startRig(t, { config: config(gone) });
  const key = await newKey(rig, { max_budget: 1 });
  const { row, pico } = await ended(t, rig, key, () => call(rig, key, 'gone'), 'unreachable');
  t.equal(pico, 0n);
  t.match(row, { status: 'failure', spend: 0 });
});

t.test('an upstream that refuses costs nothing', async (t) => {
  const rig = await startRig(t, { config: config() });
  const key = await newKey(rig, { max_budget: 1 });
  for (const model of ['demo-500', 'demo-429', 'demo-refuse-400'])
    t.equal((await ended(t, rig, key, () => call(rig, key, model), model)).pico, 0n, model);
});

t.test('an upstream that takes the request and gives no answer costs the prompt', async (t) => {
  const clock = new ManualClock();
  const rig = await startRig(t, { config: config(), clock });
  const key = await newKey(rig, { max_budget: 1 });
  for (const [model, code, stream] of [
    ['demo-drop', 'upstream_broken', false],
    ['demo-silent', 'timeout', false],
    ['demo-silent', 'timeout', true],
  ] as const) {
    const { row, pico } = await ended(
      t,
      rig,
      key,
      () => clock.during(call(rig, key, model, { stream }), 500),
      `${model} ${stream}`,
    );
    t.ok(pico > 0n && pico < 300_000_000n, `${model}: ${pico}`);
    t.match(JSON.stringify(row), new RegExp(code), model);
    t.match(JSON.stringify(row), /what its prompt had reserved/, model);
  }
});

t.test('an answer that breaks off costs what was delivered of it, or all that was reserved', async (t) => {
  const rig = await startRig(t, { config: config() });
  const key = await newKey(rig, { max_budget: 1 });
  for (const model of ['demo-cut', 'demo-cut-clean']) {
    const { row, pico } = await ended(t, rig, key, () => call(rig, key, model, { stream: true }), model);
    t.ok(pico > 0n, `${model}: ${pico}`);
    t.match(JSON.stringify(row), /estimate/, 'its tokens were counted');
  }
  const blind = await startRig(t, { config: config('', ', estimate_missing_usage: false') });
  const other = await newKey(blind, { max_budget: 1 });
  for (const model of ['demo-cut', 'demo-no-usage']) {
    const { row, pico } = await ended(
      t,
      blind,
      other,
      () => call(blind, other, model, { stream: true }),
      model,
    );
    t.ok(pico > OUTPUT_PICO, `${model}: ${pico}: prompt and the whole answer`);
    t.match(JSON.stringify(row), /all that it had reserved/, model);
  }
});

t.test(
  'a compaction whose usage nobody states costs all that it had reserved: nobody can read what was written',
  async (t) => {
    const rig = await startRig(t, { config: config() });
    const key = await newKey(rig, { max_budget: 1 });
    const compact = (): Promise<Answer> => {
      const body = { model: 'demo-no-usage', input: 'go on' };
      return send(rig.url, 'POST', '/v1/responses/compact', body, { authorization: `Bearer ${key}` });
    };
    const { row, pico } = await ended(t, rig, key, compact, 'compaction');
    t.ok(pico > 16_384n * 2_000_000n, `${pico}: prompt and the longest answer`);
    t.match(JSON.stringify(row), /all that it had reserved/);
  },
);

t.test('a stream that ends with an error event costs what came before it', async (t) => {
  const rig = await startRig(t, { config: config() });
  const key = await newKey(rig, { max_budget: 1 });
  const failed = () => call(rig, key, 'demo-error-event', { stream: true });
  const { row, pico } = await ended(t, rig, key, failed, 'error event');
  t.ok(pico > 0n, `${pico}`);
  t.match(row, { end_reason: 'upstream_error', status: 'failure', usage_source: 'estimate' });
});

t.test('attempts that were replaced count too, within what the call had reserved', async (t) => {
  const rig = await startRig(t, {
    config: config('', '', 'num_retries: 0, fallbacks: [{ demo-drop: [demo-x] }]'),
  });
  const key = await newKey(rig, { max_budget: 1 });
  const { row, pico } = await ended(t, rig, key, () => call(rig, key, 'demo-drop'), 'a fallback');
  t.match(row, { status: 'success' });
  const plain = await ended(t, rig, key, () => call(rig, key, 'demo-x'), 'without one');
  t.ok(pico > plain.pico, `${pico} of two attempts, ${plain.pico} of one`);
  const many = await startRig(t, { config: config('', '', 'num_retries: 2, retry_budget: 100') });
  const other = await newKey(many, { max_budget: 1 });
  const single = await startRig(t, { config: config() });
  const third = await newKey(single, { max_budget: 1 });
  const one = await ended(t, single, third, () => call(single, third, 'demo-drop'), 'no retry');
  const three = await ended(t, many, other, () => call(many, other, 'demo-drop'), 'two retries');
  t.match(three.row, { attempts: 3 });
  t.equal(three.pico, one.pico + OUTPUT_PICO, 'all that it had reserved, and no more');
});

t.test('a fallback that costs more is charged at its own price', async (t) => {
  const dear = (id: string): string => `  - model_name: ${id}
    litellm_params: { model: openai/acme/demo, api_base: "URL/compat/v1", api_key: k, input_cost_per_token: 1e-5, output_cost_per_token: 2e-5 }`;
  const rig = await startRig(t, {
    config: (demo) =>
      config(
        dear('dear').replace('URL', demo.url),
        '',
        'num_retries: 0, fallbacks: [{ demo-500: [dear] }]',
      )(demo),
  });
  const key = await newKey(rig, { max_budget: 1 });
  const own = await ended(t, rig, key, () => call(rig, key, 'dear'), 'asked for by its name');
  const fallback = await ended(t, rig, key, () => call(rig, key, 'demo-500'), 'after a failure');
  t.match(fallback.row, { status: 'success', attempts: 2 });
  t.equal(fallback.pico, own.pico, 'the failure costs nothing, the dear one what it costs');
  const poor = await newKey(rig, { max_budget: 0.0005 });
  const refused = await call(rig, poor, 'demo-500', { max_tokens: 10 });
  t.equal(refused.status, 422, 'what may be spent counts before the call begins');
});

t.test('no key drains its budget unseen by a body that is cut off by the upstream', async (t) => {
  // Hangs up as soon as anything of the request has come.
  const server = createServer((socket) => socket.once('data', () => socket.destroy()));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const cutting = `  - model_name: cutting
    litellm_params: { model: openai/acme/demo, api_base: "http://127.0.0.1:${port}/v1", api_key: k, ${PRICES} }`;
  const rig = await startRig(t, { config: config(cutting) });
  const key = await newKey(rig, { max_budget: 0.0005 });
  const statuses: number[] = [];
  for (let n = 0; n < 12; n += 1) statuses.push((await call(rig, key, 'cutting')).status);
  t.ok(statuses.includes(422), statuses.join());
  t.equal((await send(rig.url, 'GET', '/health/liveness')).status, 200);
});

t.test(
  'a response in the background counts for what it reserved, else for what its fetch states',
  async (t) => {
    for (const [general, isReserved] of [
      ['', true],
      [', budget_reservation: "off"', false],
    ] as const) {
      const rig = await startRig(t, { config: config('', general) });
      const key = await newKey(rig, { max_budget: 1 });
      const by = { authorization: `Bearer ${key}` };
      for (const [model, stream] of [
        ['demo-x', false],
        ['demo-cut', true],
      ] as const) {
        const body = { model, stream, input: 'one two', background: true, max_output_tokens: 10 };
        let id = '';
        const post = async (): Promise<Answer> => {
          const answer = await send(rig.url, 'POST', '/v1/responses', body, by);
          id = /"id":"(resp_[^"]+)"/.exec(answer.text)?.[1] ?? '';
          return answer;
        };
        const get = (): Promise<Answer> => send(rig.url, 'GET', `/v1/responses/${id}`, undefined, by);
        const made = await ended(t, rig, key, post, `made, ${model}`);
        const fetched = await ended(t, rig, key, get, 'fetched');
        const again = await ended(t, rig, key, get, 'fetched again');
        t.equal(made.pico > OUTPUT_PICO, isReserved, model);
        t.equal(fetched.pico > 0n, !isReserved, model);
        t.equal(again.pico, 0n, model);
      }
      await rig.stop();
    }
  },
);
