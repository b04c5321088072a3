// Who is told that a budget is used up, or reaches its soft budget: once, and again when its amount has changed; also where no
// call ends any more because all are refused, and never of a budget that has nothing to use up.
import t from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { ManualClock } from '../support/clock.ts';
import { folder } from '../support/cli.ts';
import { managed, newKey } from '../support/manage.ts';
import { beforeNextLook } from '../support/patience.ts';
import { chat, KEY, startRig, type Rig } from '../support/rig.ts';

/** A call with `max_tokens: 10` costs 0.01 USD at most. */
const config = ({ url }: { readonly url: string }): string => `
model_list:
  - model_name: demo
    litellm_params: { model: openai/acme/demo, api_base: "${url}/compat/v1", api_key: k, input_cost_per_token: 0, output_cost_per_token: 0.001 }
  - model_name: free
    litellm_params: { model: openai/acme/demo, api_base: "${url}/compat/v1", api_key: k, input_cost_per_token: 0, output_cost_per_token: 0 }
general_settings:
  master_key: ${KEY}
  budget_reservation: off
`;

const call = async (rig: Rig, key: string, model = 'demo'): Promise<number> =>
  (await chat(rig, model, { max_tokens: 10 }, { authorization: `Bearer ${key}` })).status;

const USED_UP = 'budget_used_up';
const limits = (rig: Rig, event = USED_UP): unknown[] =>
  rig.log.filter((line) => line['event'] === event).map((line) => line['limit_usd']);
const told = (rig: Rig, limit: string, event = USED_UP): Promise<unknown> =>
  rig.logged((line) => line['event'] === event && line['limit_usd'] === limit);

/** Those of the history, when there is one: it is written behind the log, which nothing may hold up. */
async function alertsOf(rig: Rig): Promise<readonly unknown[]> {
  for (;;) {
    const { alerts } = await managed(rig, 'GET /alerts');
    if (Array.isArray(alerts) && alerts.length > 0) return alerts;
    await beforeNextLook();
  }
}

t.test('a cap that is raised and used up again is told again', async (t) => {
  const rig = await startRig(t, { config });
  const key = await newKey(rig, { max_budget: 0.005, soft_budget: 0.001 });
  t.equal(await call(rig, key), 200);
  await told(rig, '0.005');
  t.equal(await call(rig, key), 422);
  await managed(rig, 'POST /key/update', { key, max_budget: 0.015, soft_budget: 0.012 });
  t.equal(await call(rig, key), 200);
  await told(rig, '0.015');
  t.same(limits(rig), ['0.005', '0.015']);
  t.same(limits(rig, 'soft_budget'), ['0.001', '0.012']);
});

t.test('an increase for a while that is over leaves a budget used up', async (t) => {
  const clock = new ManualClock();
  const rig = await startRig(t, { config, clock });
  const key = await newKey(rig, { max_budget: 0.005 });
  const expiry = new Date(clock.now() + 3_600_000).toISOString();
  const increase = { temp_budget_increase: 1, temp_budget_expiry: expiry };
  await managed(rig, 'POST /key/update', { key, ...increase });
  t.equal(await call(rig, key), 200);
  clock.advance(3_600_001);
  t.equal(await call(rig, key), 422);
  await told(rig, '0.005');
  t.equal(await call(rig, key), 422);
  t.same(limits(rig), ['0.005'], 'once');
});

t.test('a cap that is set below what was spent', async (t) => {
  const rig = await startRig(t, { config });
  const key = await newKey(rig, { max_budget: 1 });
  t.equal(await call(rig, key), 200);
  await managed(rig, 'POST /key/update', { key, max_budget: 0.005 });
  t.equal(await call(rig, key), 422);
  await told(rig, '0.005');
});

t.test('a budget of 0 is not used up, and nobody is told of it at each start', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const options = { folder: folder(t), config: () => config(demo) };
  const first = await startRig(t, options);
  await managed(first, 'POST /team/new', { team_id: 'platform', max_budget: 0 });
  const key = await newKey(first, { team_id: 'platform' });
  t.equal(await call(first, key, 'free'), 200);
  t.equal(await call(first, await newKey(first, { max_budget: 0 })), 422);
  await first.stop();
  const second = await startRig(t, options);
  t.equal(await call(second, await newKey(second, { max_budget: 0.005 })), 200);
  await told(second, '0.005');
  t.same([...limits(first), ...limits(second)], ['0.005']);
});

t.test('a budget of a user that calls with keys of a team use up is told at once, and once', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const options = { folder: folder(t), config: () => config(demo) };
  const first = await startRig(t, options);
  await managed(first, 'POST /user/new', { user_id: 'u9', max_budget: 0.005, auto_create_key: false });
  await managed(first, 'POST /team/new', { team_id: 'core' });
  const key = await newKey(first, { team_id: 'core', user_id: 'u9' });
  t.equal(await call(first, key), 200);
  await told(first, '0.005');
  t.equal(await call(first, key), 200, 'the team pays');
  t.match(await alertsOf(first), [
    { text: /^Budget used up: user u9 .*; calls with the user's own keys are refused\.$/ },
  ]);
  t.equal(await call(first, await newKey(first, { user_id: 'u9' })), 422);
  await first.stop();
  const second = await startRig(t, options);
  t.equal(await call(second, await newKey(second, { max_budget: 0.001 })), 200);
  await told(second, '0.001');
  t.same([...limits(first), ...limits(second)], ['0.005', '0.001']);
});
