// Valkey is lost while calls go on, and comes back empty: counters hold what the rows say, with one server and with two.
import t, { type Test } from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { list, managed, newKey, type Json } from '../support/manage.ts';
import { beforeNextLook } from '../support/patience.ts';
import { anyPostgres } from '../support/postgres.ts';
import { chat, KEY, send, startRig, type Rig } from '../support/rig.ts';
import { ownValkey } from '../support/valkey.ts';

const configFor =
  (port: number, database = '') =>
  (demo: DemoGateway): string => `
model_list:
  - model_name: demo
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 5e-6 }
general_settings: { master_key: ${KEY}${database === '' ? '' : `, database_url: "${database}"`} }
router_settings: { num_retries: 0, redis_url: "redis://127.0.0.1:${port}/0" }
`;

const call = async (rig: Rig, key: string): Promise<number> =>
  (await chat(rig, 'demo', { max_tokens: 100 }, { authorization: `Bearer ${key}` })).status;

async function budgetOf(rig: Rig, scope: string): Promise<Json> {
  const { budgets } = await managed(rig, 'GET /spend/budgets');
  return list(budgets).find((one) => one['scope'] === scope) ?? {};
}

const isShared = async (rig: Rig): Promise<boolean> =>
  /^throughline_counters_degraded 0$/m.test((await send(rig.url, 'GET', '/metrics')).text);

async function until(fits: () => Promise<boolean>): Promise<void> {
  while (!(await fits())) await beforeNextLook();
}

/** No call runs: what is counted is the sum of the rows. */
async function isExact(t: Test, rigs: readonly Rig[]): Promise<void> {
  for (const rig of rigs) await until(async () => Number((await budgetOf(rig, 'key'))['reserved']) === 0);
  // Each has brought its rows into the store to answer.
  for (const rig of rigs) {
    const { counted, current_spend: spent } = await budgetOf(rig, 'key');
    t.equal(Number(counted), Number(spent));
    t.ok(Number(spent) > 0);
  }
}

t.test('a server that went on alone counts each call once when the counters begin anew', async (t) => {
  const valkey = await ownValkey(t);
  if (valkey === null) return;
  const rig = await startRig(t, { config: configFor(valkey.port) });
  const key = await newKey(rig, { max_budget: 1 });
  for (let i = 0; i < 3; i += 1) t.equal(await call(rig, key), 200);
  await valkey.kill();
  await until(async () => !(await isShared(rig)));
  for (let i = 0; i < 5; i += 1) t.equal(await call(rig, key), 200);
  await valkey.start();
  await until(() => isShared(rig));
  t.equal(await call(rig, key), 200);
  await isExact(t, [rig]);
});

t.test('so do two servers, whichever of them reads the sums', async (t) => {
  const valkey = await ownValkey(t);
  if (valkey === null) return;
  const { url } = await anyPostgres(t);
  const config = configFor(valkey.port, url());
  const rigs = [await startRig(t, { config }), await startRig(t, { config })] as const;
  const [first, second] = rigs;
  const key = await newKey(first, { max_budget: 1 });
  await until(async () => (await call(second, key)) === 200);
  for (const rig of rigs) {
    t.equal(await call(rig, key), 200);
    await valkey.kill();
    for (const one of rigs) await until(async () => !(await isShared(one)));
    for (let i = 0; i < 3; i += 1) for (const one of rigs) t.equal(await call(one, key), 200);
    await valkey.start();
    await until(() => isShared(rig));
    t.equal(await call(rig, key), 200);
    for (const one of rigs) await until(() => isShared(one));
    for (const one of rigs) t.equal(await call(one, key), 200);
    await isExact(t, rigs);
  }
});
