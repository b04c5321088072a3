// A key gets another value: alias, settings and spend stay; the old value ends at once or after its grace time.
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { openCall } from '../../../support/call.ts';
import { ManualClock } from '../../../support/clock.ts';
import { ownValkey } from '../../../support/valkey.ts';
import { chat, defaultConfig, KEY, send, startRig, type Rig } from '../../../support/rig.ts';

const digest = (text: string): string => hash('sha256', text, 'hex');
const callWith = async (rig: Rig, key: string): Promise<number> =>
  (await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status;

t.test('without grace the old value is refused at once', async (t) => {
  const rig = await startRig(t);
  const old = await newKey(rig, { key_alias: 'kept', max_budget: 5, metadata: { a: 1 }, user_id: 'u' });
  const row = await managed(rig, `POST /key/${old}/regenerate`, {});
  const key = String(row['key']);
  t.not(key, old);
  t.match(row, {
    key_alias: 'kept',
    max_budget: 5,
    metadata: { a: 1 },
    user_id: 'u',
    token: digest(key),
    key_name: `sk-...${key.slice(-4)}`,
  });
  t.equal(await callWith(rig, old), 401);
  t.equal(await callWith(rig, key), 200);
  t.equal((await manage(rig, `GET /key/info?key=${old}`)).status, 404);
  t.match((await managed(rig, `GET /key/info?key=${key}`))['info'], { key_alias: 'kept' });
});

t.test('with grace both are accepted until it is over', async (t) => {
  const time = { ms: Date.UTC(2026, 10, 18) };
  const rig = await startRig(t, { clock: { now: () => time.ms, mono: () => performance.now() } });
  const old = await newKey(rig, {});
  const { key } = await managed(rig, 'POST /key/regenerate', { key: old, grace_period: '24h' });
  t.equal(await callWith(rig, old), 200);
  t.equal(await callWith(rig, String(key)), 200);
  const info = (await managed(rig, `GET /key/info?key=${old}`))['info'] as Json;
  t.equal(info['key_name'], `sk-...${String(key).slice(-4)}`, 'it is the same key');
  time.ms += 86_400_000;
  t.equal(await callWith(rig, old), 401);
  t.equal(await callWith(rig, String(key)), 200);
});

t.test('without grace all old values end, also those that had some left', async (t) => {
  const rig = await startRig(t);
  const values = [await newKey(rig, { max_budget: 5 })];
  for (const body of [{ grace_period: '24h' }, { grace_period: '1h' }, {}]) {
    const { key } = await managed(rig, `POST /key/${digest(values.at(-1) ?? '')}/regenerate`, body);
    values.push(String(key));
    const statuses: number[] = [];
    for (const value of values) statuses.push(await callWith(rig, value));
    const last = Object.hasOwn(body, 'grace_period') ? values.map(() => 200) : [401, 401, 401, 200];
    t.same(statuses, last, JSON.stringify(body));
  }
  const info = (await managed(rig, `GET /key/info?key=${values.at(-1)}`))['info'] as Json;
  t.equal(info['rotation_count'], 3, 'rows of all of them are those of the key');
});

t.test('members of the body change on the way; by hash, with a value of the caller', async (t) => {
  const rig = await startRig(t);
  const old = await newKey(rig, { max_budget: 5 });
  const new_key = 'sk-chosen-for-the-next-year';
  t.match(
    await managed(rig, `POST /key/${digest(old)}/regenerate`, { new_key, max_budget: 9, duration: '1d' }),
    {
      key: new_key,
      max_budget: 9,
      expires: /^\d{4}-/,
    },
  );
  t.equal(await callWith(rig, new_key), 200);
  const other = await newKey(rig, {});
  const taken = await manage(rig, `POST /key/${other}/regenerate`, { new_key });
  t.equal(taken.status, 400);
  t.equal(await callWith(rig, other), 200, 'nothing was changed');
  t.equal((await manage(rig, `POST /key/${other}/regenerate`, { new_key: 'short' })).status, 400);
  t.equal((await manage(rig, `POST /key/${other}/regenerate`, { grace_period: 'long' })).status, 400);
});

t.test('what is not there is 404, without the key in the answer', async (t) => {
  const rig = await startRig(t);
  const { status, text } = await manage(rig, 'POST /key/sk-nowhere-0123456789/regenerate', {});
  t.equal(status, 404);
  t.notMatch(text, 'nowhere');
  t.equal((await manage(rig, 'POST /key/regenerate', {})).status, 422);
});

t.test('two at once: one new value, and one call that has to look again', async (t) => {
  const rig = await startRig(t);
  const old = await newKey(rig, { key_alias: 'raced' });
  const answers = await Promise.all([1, 2].map(() => manage(rig, `POST /key/${old}/regenerate`, {})));
  t.same(answers.map(({ status }) => status).toSorted(), [200, 404]);
  const { keys } = await managed(rig, 'GET /key/list?key_alias=raced');
  t.equal((keys as string[]).length, 1);
});

t.test('many at once with grace: each gets a value, of one key', async (t) => {
  const rig = await startRig(t);
  const first = await newKey(rig, { key_alias: 'rotated' });
  const answers = await Promise.all(
    Array.from({ length: 16 }, () => manage(rig, `POST /key/${first}/regenerate`, { grace_period: '1h' })),
  );
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]), answers.at(-1)?.text ?? '');
  const { keys } = await managed(rig, 'GET /key/list?key_alias=rotated');
  t.equal((keys as string[]).length, 1);
});

const PRICED = ({ url }: { readonly url: string }): string => `
model_list:
  - model_name: demo
    litellm_params:
      { model: litellm_proxy/demo, api_base: "${url}", api_key: sk-x, input_cost_per_token: 0.001, output_cost_per_token: 0.001 }
general_settings: { master_key: ${KEY} }
`;

t.test('what was spent stays with the key, whatever value was used, to the last digit', async (t) => {
  const rig = await startRig(t, { config: PRICED });
  const spendOf = async (key: string): Promise<unknown> =>
    ((await managed(rig, `GET /key/info?key=${key}`))['info'] as Json)['spend'];
  const first = await newKey(rig, { max_budget: 500 });
  await callWith(rig, first);
  const one = Number(await spendOf(first));
  t.ok(one > 0);
  const { key: second, spend } = await managed(rig, `POST /key/${first}/regenerate`, { grace_period: '1h' });
  t.equal(spend, one);
  await callWith(rig, first);
  await callWith(rig, String(second));
  t.equal(Number(await spendOf(String(second))).toFixed(9), (3 * one).toFixed(9));
  const { key: third } = await managed(rig, `POST /key/${String(second)}/regenerate`, {});
  t.equal(Number(await spendOf(String(third))).toFixed(9), (3 * one).toFixed(9));
  const taken = await manage(rig, 'POST /key/generate', { key: first });
  t.equal(taken.status, 400, 'a former value is no value for another key');
});

t.test('a value that is used again owes nothing of the key before', async (t) => {
  const rig = await startRig(t, { config: PRICED });
  const key = 'sk-one-value-for-two-keys';
  await managed(rig, 'POST /key/generate', { key });
  await callWith(rig, key);
  await managed(rig, 'POST /key/delete', { keys: [key] });
  await managed(rig, 'POST /key/generate', { key, max_budget: 500 });
  t.match(((await managed(rig, `GET /key/info?key=${key}`))['info'] as Json)['spend'], 0);
  await callWith(rig, key);
  const { spend, budget_limits_usage: usage } = (await managed(rig, `GET /key/info?key=${key}`))[
    'info'
  ] as Json;
  t.ok(Number(spend) > 0);
  t.match(usage, { ever: { current_spend: spend, max_budget: 500, budget_reset_at: null } });
});

t.test('a cap of 0, none, and the amount that platforms write for none', async (t) => {
  const rig = await startRig(t, { config: PRICED });
  for (const [max_budget, isServed] of [
    [0, false],
    [null, true],
    [1_000_000_000, true],
  ] as const) {
    const key = await newKey(rig, { max_budget });
    t.equal((await callWith(rig, key)) === 200, isServed, String(max_budget));
    const models = await chatModels(rig, key);
    t.equal(models, 200, 'the list of models is free of budgets');
  }
});

async function chatModels(rig: Rig, key: string): Promise<number> {
  const { status } = await send(rig.url, 'GET', '/v1/models', undefined, { authorization: `Bearer ${key}` });
  return status;
}

t.test('keys, their aliases and their spend outlive the process', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const before = await startRig(t, { config: PRICED, folder });
  const key = await newKey(before, { key_alias: 'kept', max_budget: 500 });
  await callWith(before, key);
  const { spend } = (await managed(before, `GET /key/info?key=${key}`))['info'] as Json;
  await before.stop();
  const after = await startRig(t, { config: PRICED, folder });
  t.match((await managed(after, `GET /key/info?key=${key}`))['info'], { key_alias: 'kept', spend });
  t.equal(await callWith(after, key), 200);
});

t.test('limits hold over all values of a key: another value begins none of them anew', async (t) => {
  const rig = await startRig(t, { clock: new ManualClock() }); // nothing comes back meanwhile
  const cases: readonly (readonly [terms: Json, refusal: number])[] = [
    [{ rpm_limit: 2 }, 429],
    [{ tpm_limit: 50 }, 429],
    [{ model_rpm_limit: { demo: 2 } }, 429],
    [{ metadata: { max_iterations: 2 } }, 422],
    [{ metadata: { session_rpm_limit: 2 } }, 429],
  ];
  for (const [terms, refusal] of cases)
    for (const grace of [{}, { grace_period: '1h' }]) {
      const named = JSON.stringify({ ...terms, ...grace });
      const session = { 'x-litellm-session-id': named };
      const callOf = async (key: string): Promise<number> =>
        (await chat(rig, 'demo', { max_tokens: 20 }, { authorization: `Bearer ${key}`, ...session })).status;
      let key = await newKey(rig, terms);
      let status = 200;
      for (let calls = 0; calls < 5 && status === 200; calls += 1) status = await callOf(key);
      t.equal(status, refusal, named);
      // More values than are remembered.
      for (let i = 0; i < 22; i += 1)
        key = String((await managed(rig, 'POST /key/regenerate', { key, ...grace }))['key']);
      t.equal(await callOf(key), refusal, named);
    }
});

t.test('a call that runs with the old value holds its place among those of the new one', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, { max_parallel_requests: 1 });
  const running = openCall(
    rig.url,
    '/v1/chat/completions',
    { model: 'demo-stall', stream: true, messages: [{ role: 'user', content: 'a' }] },
    { authorization: `Bearer ${key}` },
  );
  await running.received('data:');
  const { key: next } = await managed(rig, 'POST /key/regenerate', { key });
  t.equal(await callWith(rig, String(next)), 429);
  running.leave();
});

t.test('limits that servers share in Valkey hold over both values, too', async (t) => {
  const server = await ownValkey(t);
  if (server === null) return;
  const rig = await startRig(t, {
    config: (demo) =>
      defaultConfig(demo, `router_settings: { redis_host: 127.0.0.1, redis_port: ${server.port} }\n`),
  });
  const key = await newKey(rig, { rpm_limit: 2 }); // one comes back in 30 s
  const statuses = [await callWith(rig, key), await callWith(rig, key)];
  const { key: next } = await managed(rig, 'POST /key/regenerate', { key });
  t.same([...statuses, await callWith(rig, String(next))], [200, 200, 429]);
});
