// Spend that is set anew while calls are under way: what they cost adds to it when they end, in counters and in rows, and a start
// counts the same.
import t from 'tap';
import type { Test } from 'tap';
import { beforeNextLook } from '../support/patience.ts';
import { list, managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, rowOf, startRig, type Rig } from '../support/rig.ts';
import { ownValkey } from '../support/valkey.ts';

const config =
  (more: string) =>
  ({ url }: { readonly url: string }): string => `
model_list:
  - model_name: "demo*"
    litellm_params: { model: "openai/acme/demo*", api_base: "${url}/compat/v1", api_key: k, input_cost_per_token: 0.001, output_cost_per_token: 0.002 }
general_settings: { master_key: ${KEY} }
${more}`;

const rounded = (usd: number): number => Math.round(usd * 1e12) / 1e12;

/** What the counter of each of these says, and what the rows do. */
async function agreed(t: Test, rig: Rig, spend: number, because: string): Promise<void> {
  const { budgets, spending } = rig.gateway.reloader.active.services;
  const scopes = new Map<string, number>();
  for await (const { cap, state } of budgets.states()) {
    const [fromRows] = await spending.spentBy([cap.scope]);
    t.equal(state.spentPico, fromRows, `${because}: counter and rows of ${cap.scope.kind}`);
    scopes.set(cap.scope.kind, Number(state.spentPico) / 1e12);
  }
  t.same(scopes, new Map(['key', 'user'].map((kind) => [kind, rounded(spend)])), because);
}

async function held(rig: Rig, fits: (reserved: bigint) => boolean): Promise<void> {
  for (;;) {
    for await (const { state } of rig.gateway.reloader.active.services.budgets.states())
      if (fits(state.reservedPico)) return;
    await beforeNextLook();
  }
}

const spendOf = async (rig: Rig, call: string, member: string): Promise<unknown> =>
  ((await managed(rig, call))[member] as Json)['spend'];

/** @param isUsed whether another call begins the new counters before the one under way ends */
async function setAnew(t: Test, more: string, isUsed: boolean): Promise<void> {
  const rig = await startRig(t, { config: config(more) });
  const terms = { max_budget: 100, budget_duration: '30d' };
  await managed(rig, 'POST /user/new', { user_id: 'ann', auto_create_key: false, ...terms });
  const key = await newKey(rig, { user_id: 'ann', ...terms });
  const own = { authorization: `Bearer ${key}` };
  t.equal((await chat(rig, 'demo', { max_tokens: 10 }, own)).status, 200);
  const running = chat(rig, 'demo-hold', { max_tokens: 20 }, own);
  await held(rig, (reserved) => reserved > 0n);
  await managed(rig, `POST /key/${key}/reset_spend`, { reset_to: 0 });
  await managed(rig, 'POST /user/update', { user_id: 'ann', spend: 0 });
  const between = isUsed ? Number((await rowOf(rig, await chat(rig, 'demo', {}, own)))['spend']) : 0;
  rig.demo.release();
  const spend = between + Number((await rowOf(rig, await running))['spend']);
  t.ok(spend > between);
  t.equal(await spendOf(rig, `GET /key/info?key=${key}`, 'info'), rounded(spend));
  t.equal(await spendOf(rig, 'GET /user/info?user_id=ann', 'user_info'), rounded(spend));
  const after = Number((await rowOf(rig, await chat(rig, 'demo', { max_tokens: 5 }, own)))['spend']);
  await held(rig, (reserved) => reserved === 0n);
  await agreed(t, rig, spend + after, 'after another call');
  await rig.stop();
  const again = await startRig(t, { config: config(more), folder: rig.folder });
  await again.gateway.reloader.active.services.budgets.countFurthest(20);
  await agreed(t, again, spend + after, 'after a restart');
  t.equal(list((await managed(again, 'GET /spend/budgets'))['budgets']).length, 2);
}

for (const isUsed of [false, true]) {
  const when = isUsed ? 'when others have come since' : 'when none has come since';
  t.test(`a call that was under way when spend was set anew adds to it, ${when}`, async (t) => {
    await setAnew(t, '', isUsed);
  });
  t.test(`the same where servers count in Valkey, ${when}`, async (t) => {
    const valkey = await ownValkey(t);
    if (valkey === null) return;
    await setAnew(t, `router_settings: { redis_host: 127.0.0.1, redis_port: ${valkey.port} }`, isUsed);
  });
}
