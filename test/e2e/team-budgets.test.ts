// Budgets that the API states, met by calls: 0, null and "unlimited" in each place that can have one, what has been spent as
// rows show it, and the list of models, which knows no budgets.
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { list, managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, rowOf, send, startRig, type Answer, type Rig } from '../support/rig.ts';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';

const UNLIMITED = 1_000_000_000.0;

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: demo
    litellm_params:
      model: litellm_proxy/demo
      api_base: "${demo.url}"
      api_key: sk-x
      input_cost_per_token: 0.001
      output_cost_per_token: 0.002
general_settings: { master_key: ${KEY} }
`;

const call = (rig: Rig, key: string, more: object = {}): Promise<Answer> =>
  chat(rig, 'demo', { max_tokens: 5, ...more }, { authorization: `Bearer ${key}` });

/** Each place that can have a cap: how it gets one, and a key whose calls it holds for. */
const PLACES: Readonly<Record<string, (rig: Rig, max_budget: number | null) => Promise<string>>> = {
  key: (rig, max_budget) => newKey(rig, { max_budget }),
  team: async (rig, max_budget) => {
    const { team_id } = await managed(rig, 'POST /team/new', { max_budget });
    return newKey(rig, { team_id });
  },
  'member of a team': async (rig, max_budget_in_team) => {
    const { team_id } = await managed(rig, 'POST /team/new', {});
    const member = { user_id: `member-${String(max_budget_in_team)}`, role: 'user' };
    await managed(rig, 'POST /team/member_add', { team_id, member, max_budget_in_team });
    return newKey(rig, { team_id, user_id: member.user_id });
  },
  'all members of a team': async (rig, team_member_budget) => {
    const { team_id } = await managed(rig, 'POST /team/new', { team_member_budget });
    const member = { user_id: `one-${String(team_member_budget)}`, role: 'user' };
    await managed(rig, 'POST /team/member_add', { team_id, member });
    return newKey(rig, { team_id, user_id: member.user_id });
  },
  user: async (rig, max_budget) => {
    const user = await managed(rig, 'POST /user/new', { max_budget, auto_create_key: false });
    return newKey(rig, { user_id: user['user_id'] });
  },
  tag: async (rig, max_budget) => {
    const name = `tag-${String(max_budget)}`;
    await managed(rig, 'POST /tag/new', { name, ...(max_budget === null ? {} : { max_budget }) });
    return newKey(rig, { tags: [name] });
  },
  organization: async (rig, max_budget) => {
    const { organization_id } = await managed(rig, 'POST /organization/new', {
      organization_alias: 'o',
      max_budget,
    });
    const { team_id } = await managed(rig, 'POST /team/new', { organization_id });
    return newKey(rig, { team_id });
  },
};

for (const [place, make] of Object.entries(PLACES))
  t.test(`a cap of 0, none, and no limit: ${place}`, async (t) => {
    const rig = await startRig(t, { config });
    for (const cap of [null, UNLIMITED]) {
      const key = await make(rig, cap);
      const answer = await call(rig, key);
      t.equal(answer.status, 200, `${String(cap)}: ${answer.text}`);
    }
    const key = await make(rig, 0);
    const before = rig.demo.seen.length;
    const refused = await call(rig, key);
    t.equal(refused.status, 422, refused.text);
    t.match(JSON.parse(refused.text), { error: { type: 'budget_exceeded', message: /udget/ } });
    t.notMatch(refused.text, /\b429\b|rate[\s_-]*limit/i, 'no client takes it for something that passes');
    t.equal(rig.demo.seen.length, before, 'nothing went upstream');
    const models = await send(rig.url, 'GET', '/v1/models', undefined, { authorization: `Bearer ${key}` });
    t.equal(models.status, 200, 'a platform would mint a new key at anything else');
  });

t.test('a customer with a cap of 0, by a shared budget', async (t) => {
  const rig = await startRig(t, { config });
  const key = await newKey(rig, {});
  await managed(rig, 'POST /budget/new', { budget_id: 'free', max_budget: 0 });
  await managed(rig, 'POST /customer/new', { user_id: 'poor', budget_id: 'free' });
  t.equal((await call(rig, key, { user: 'poor' })).status, 422);
  t.equal((await call(rig, key, { user: 'rich' })).status, 200);
  await managed(rig, 'POST /budget/update', { budget_id: 'free', max_budget: 5 });
  t.equal((await call(rig, key, { user: 'poor' })).status, 200, 'at once');
});

t.test('what is cleared or raised counts at once', async (t) => {
  const rig = await startRig(t, { config });
  const { team_id } = await managed(rig, 'POST /team/new', { max_budget: 0 });
  const key = await newKey(rig, { team_id });
  const status = async (max_budget: number | null): Promise<number> => {
    await managed(rig, 'POST /team/update', { team_id, max_budget });
    return (await call(rig, key)).status;
  };
  t.strictSame(
    [await status(null), await status(0), await status(UNLIMITED), await status(0)],
    [200, 422, 200, 422],
  );
});

t.test('rows show what has been spent, to the last digit', async (t) => {
  const rig = await startRig(t, { config });
  const { organization_id } = await managed(rig, 'POST /organization/new', { organization_alias: 'o' });
  const { team_id } = await managed(rig, 'POST /team/new', {
    organization_id,
    members_with_roles: [
      { user_id: 'a', role: 'user' },
      { user_id: 'b', role: 'user' },
    ],
  });
  await managed(rig, 'POST /customer/new', { user_id: 'buyer' });
  const [a, b] = [await newKey(rig, { team_id, user_id: 'a' }), await newKey(rig, { team_id, user_id: 'b' })];
  const spent: number[] = [];
  for (const key of [a, a, b]) {
    const answer = await call(rig, key, { user: 'buyer' });
    spent.push(Number((await rowOf(rig, answer))['spend']));
  }
  const [first = 0, second = 0, third = 0] = spent;
  t.ok(first > 0);
  const near = (value: unknown, expected: number): boolean => Math.abs(Number(value) - expected) < 1e-9;
  const read = await managed(rig, `GET /team/info?team_id=${String(team_id)}`);
  t.ok(near((read['team_info'] as Json)['spend'], first + second + third));
  const [ofA, ofB] = list(read['team_memberships']);
  t.ok(near(ofA?.['spend'], first + second));
  t.ok(near(ofB?.['spend'], third));
  const keys = list(read['keys'])
    .map((one) => Number(one['spend']))
    .toSorted((x, y) => x - y);
  t.ok(near(keys[0], third) && near(keys[1], first + second));
  const [listed] = list(await managed(rig, 'GET /team/list'));
  t.ok(near(listed?.['spend'], first + second + third));
  t.ok(near((await managed(rig, 'GET /customer/info?end_user_id=buyer'))['spend'], first + second + third));
  const organization = await managed(
    rig,
    `GET /organization/info?organization_id=${String(organization_id)}`,
  );
  t.ok(near(organization['spend'], first + second + third));
});

t.test('an organization keeps what was spent under it, and takes on nothing that was not', async (t) => {
  let rig = await startRig(t, { config, folder: tempDir(t) });
  const organization_id = 'o';
  await managed(rig, 'POST /organization/new', {
    organization_id,
    organization_alias: 'o',
    max_budget: UNLIMITED,
  });
  const { team_id } = await managed(rig, 'POST /team/new', { organization_id });
  const keys = {
    ofTeam: await newKey(rig, { team_id }),
    deleted: await newKey(rig, { organization_id }),
    leaves: await newKey(rig, { organization_id }),
    comes: await newKey(rig, {}),
  };
  const spentBy = async (key: string, whose: string | null): Promise<number> => {
    const row = await rowOf(rig, await call(rig, key));
    t.equal(row['organization_id'], whose);
    return Number(row['spend']);
  };
  let spent = 0;
  for (const key of [keys.ofTeam, keys.deleted, keys.leaves]) spent += await spentBy(key, organization_id);
  t.ok((await spentBy(keys.comes, null)) > 0);
  const agrees = async (because: string): Promise<void> => {
    const { spend } = await managed(rig, `GET /organization/info?organization_id=${organization_id}`);
    t.ok(Math.abs(Number(spend) - spent) < 1e-9, `${because}: ${String(spend)} of ${spent}`);
  };
  await agrees('at first');
  await managed(rig, 'POST /key/delete', { keys: [keys.deleted] });
  await managed(rig, 'POST /key/update', { key: keys.leaves, organization_id: null });
  await managed(rig, 'POST /key/update', { key: keys.comes, organization_id });
  await managed(rig, 'POST /team/delete', { team_ids: [team_id] });
  await agrees('whoever is gone');
  t.ok((await spentBy(keys.leaves, null)) > 0);
  spent += await spentBy(keys.comes, organization_id);
  await agrees('and what follows');
  await rig.stop();
  rig = await startRig(t, { config, folder: rig.folder });
  await agrees('after a restart');
  await managed(rig, 'PATCH /organization/update', { organization_id, max_budget: spent });
  t.equal((await call(rig, keys.comes)).status, 422);
  await managed(rig, 'DELETE /organization/delete', { organization_ids: [organization_id] });
  await managed(rig, 'POST /organization/new', { organization_id, organization_alias: 'again' });
  spent = 0;
  await agrees('one of the same id that is made anew');
  spent += await spentBy(await newKey(rig, { organization_id }), organization_id);
  await agrees('and its first call');
});
