// Budgets that follow from the deployment that serves a call: those of the team, the user and the tags that it states count for
// it as they do for a key, wherever retries and fallbacks lead, and hinder no call that another deployment can serve.
import t from 'tap';
import type { Test } from 'tap';
import { manage, managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, rowOf, send, startRig, type Answer, type Rig } from '../support/rig.ts';

/** `spread` has a broken deployment of nobody, and one that works and is of the team, the user and the tag. */
const config = (info: string) => (demo: { readonly url: string }) => `
model_list:
  - model_name: spread
    litellm_params: { model: openai/acme/demo, api_base: "http://127.0.0.1:9/v1", api_key: k, order: 1, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
  - model_name: spread
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, order: 2, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
    model_info: { id: d-paid, ${info} }
  - model_name: paid-only
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
    model_info: { id: d-only, ${info} }
  - model_name: either
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, order: 1, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
    model_info: { id: d-first, ${info} }
  - model_name: either
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, order: 2, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
    model_info: { id: d-second }
router_settings: { fallbacks: [{ paid-only: [either] }] }
general_settings: { master_key: ${KEY} }
`;

const call = (rig: Rig, key: string, model: string): Promise<Answer> =>
  chat(rig, model, { max_tokens: 10 }, { authorization: `Bearer ${key}` });

async function newAdminKey(rig: Rig, more: Json): Promise<string> {
  await manage(rig, 'POST /user/new', { user_id: 'admin', user_role: 'proxy_admin', auto_create_key: false });
  return await newKey(rig, { ...more, user_id: 'admin' });
}

const OWNERS = {
  team: {
    info: 'team_id: paid',
    make: (rig: Rig, max_budget: number) => managed(rig, 'POST /team/new', { team_id: 'paid', max_budget }),
    newKey: newAdminKey, // keys of users are served by deployments of their own team alone
  },
  user: {
    info: 'user_id: paid',
    make: (rig: Rig, max_budget: number) =>
      managed(rig, 'POST /user/new', { user_id: 'paid', max_budget, auto_create_key: false }),
    newKey,
  },
  tag: {
    info: 'tags: [paid]',
    make: (rig: Rig, max_budget: number) => managed(rig, 'POST /tag/new', { name: 'paid', max_budget }),
    newKey,
  },
};

for (const [kind, { info, make, newKey: made }] of Object.entries(OWNERS)) {
  const started = async (t: Test, maxBudget: number): Promise<Rig> => {
    const rig = await startRig(t, { config: config(info) });
    await make(rig, maxBudget);
    return rig;
  };

  t.test(`the budget of the ${kind} of a deployment holds where a call comes to it by a retry`, async (t) => {
    const rig = await started(t, 1e-6);
    for (const key of [await made(rig, {}), await made(rig, { max_budget: 1 }), KEY]) {
      t.equal((await call(rig, key, 'spread')).status, 503, 'the other one does not work');
      t.equal(rig.demo.seen.length, 0);
    }
  });

  t.test(`a call goes where there is room for it, whoever's ${kind} has none`, async (t) => {
    const rig = await started(t, 1e-6);
    for (const key of [await made(rig, {}), await made(rig, { max_budget: 1 })]) {
      const answer = await call(rig, key, 'either');
      t.equal(answer.status, 200, answer.text);
      t.match(await rowOf(rig, answer), { model_id: 'd-second' });
    }
  });

  t.test(`a fallback because the ${kind} of the only deployment has no room is counted as one`, async (t) => {
    const rig = await started(t, 1e-6);
    const answer = await call(rig, await made(rig, {}), 'paid-only');
    t.equal(answer.status, 200, answer.text);
    t.match(await rowOf(rig, answer), { model_id: 'd-second' });
    const { text } = await send(rig.url, 'GET', '/metrics', undefined, { authorization: `Bearer ${KEY}` });
    t.match(text, /throughline_fallbacks_total\{[^}]*"paid-only"[^}]*"either"[^}]*\} 1\b/);
  });

  t.test(`with room for it, it counts for the ${kind} when the ${kind}'s deployment serves it`, async (t) => {
    const rig = await started(t, 1);
    const answer = await call(rig, await made(rig, {}), 'spread');
    t.equal(answer.status, 200, answer.text);
    const row = await rowOf(rig, answer);
    t.match(row, { model_id: 'd-paid' });
    const { budgets } = rig.gateway.reloader.active.services;
    for await (const { cap, state } of budgets.states())
      if (cap.scope.id === 'paid') {
        t.equal(Number(state.spentPico) / 1e12, row['spend']);
        t.equal(state.reservedPico, 0n);
      }
  });
}

t.test('a fallback from a name that cools down and has no room either is counted as one', async (t) => {
  const priced = 'api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6';
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: down
    litellm_params: { model: openai/acme/demo, api_base: "http://127.0.0.1:9/v1", ${priced} }
    model_info: { tags: [paid] }
  - model_name: open
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", ${priced} }
router_settings: { allowed_fails: 0, cooldown_time: 600, num_retries: 0, fallbacks: [{ down: [open] }] }
general_settings: { master_key: ${KEY} }
`,
  });
  await managed(rig, 'POST /tag/new', { name: 'paid', max_budget: 1 });
  const fallbacks = async (): Promise<string | undefined> => {
    const answer = await call(rig, KEY, 'down');
    t.match(await rowOf(rig, answer), { http_status: 200, model_group: 'down' });
    const { text } = await send(rig.url, 'GET', '/metrics');
    return /throughline_fallbacks_total\{[^}]*"down"[^}]*"open"[^}]*\} (\d+)/.exec(text)?.[1];
  };
  t.equal(await fallbacks(), '1', 'after a failed attempt');
  t.equal(await fallbacks(), '2', 'it cools down');
  await managed(rig, 'POST /tag/update', { name: 'paid', max_budget: 1e-6 });
  t.equal(await fallbacks(), '3', 'and has no room');
});
