// What LiteLLM's own black-box tests of teams assert (tests/test_team.py), by behaviour: docs/litellm-behaviours.md has the list
// of all of them, and which hold.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { list, manage, managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, startRig, type Answer, type Rig } from '../support/rig.ts';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: gpt-4
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-x }
    model_info: { access_groups: [azure-models] }
  - model_name: gpt-3.5-turbo
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-x }
general_settings: { master_key: ${KEY} }
`;

/** As the tests make users: with members that have nothing to do with users. */
const newUser = (rig: Rig, more: Json = {}): Promise<Json> =>
  managed(rig, 'POST /user/new', {
    models: ['azure-models'],
    aliases: { 'mistral-7b': 'gpt-3.5-turbo' },
    duration: null,
    max_budget: null,
    budget_duration: null,
    user_email: null,
    ...more,
  });

const newTeam = (rig: Rig, more: Json = {}): Promise<Json> =>
  managed(rig, 'POST /team/new', { team_alias: 'my-new-team', ...more });

const info = (rig: Rig, id: unknown): Promise<Json> => managed(rig, `GET /team/info?team_id=${String(id)}`);

t.test('ten teams at once for one user', async (t) => {
  const rig = await startRig(t, { config });
  const members_with_roles = [{ role: 'user', user_id: randomUUID() }];
  const teams = await Promise.all(Array.from({ length: 10 }, () => newTeam(rig, { members_with_roles })));
  t.equal(new Set(teams.map((team) => team['team_id'])).size, 10);
});

t.test('team/info: by the master key, by a key of the team, not by another', async (t) => {
  const rig = await startRig(t, { config });
  const { team_id: id } = await newTeam(rig);
  const body = {
    models: ['azure-models', 'gpt-4', 'dall-e-3'],
    duration: null,
    max_budget: null,
    budget_duration: null,
  };
  const own = await newKey(rig, { ...body, team_id: id });
  const other = await newKey(rig, body);
  for (const [key, status] of [
    [KEY, 200],
    [own, 200],
    [other, 403],
  ] as const)
    t.equal((await manage(rig, `GET /team/info?team_id=${String(id)}`, undefined, key)).status, status);
});

t.test('an update of the alias changes nothing else', async (t) => {
  const rig = await startRig(t, { config });
  const admin = randomUUID();
  await newUser(rig, { user_id: admin });
  const team = await newTeam(rig, { members_with_roles: [{ role: 'admin', user_id: admin }] });
  const member = Array.from({ length: 10 }, () => ({
    role: 'user',
    user_id: `krrish_${randomUUID()}@berri.ai`,
  }));
  await managed(rig, 'POST /team/member_add', { team_id: team['team_id'], member });
  // Twelve in LiteLLM, which adds a user that stands for the master key; see "ten unknown users join" for keys of users.
  t.equal(list(((await info(rig, team['team_id']))['team_info'] as Json)['members_with_roles']).length, 11);
  const { data } = await managed(rig, 'POST /team/update', {
    team_id: team['team_id'],
    team_alias: 'my-new-team',
  });
  for (const [name, value] of Object.entries(data as Json))
    if (!['members_with_roles', 'updated_at'].includes(name)) t.strictSame(value, team[name], name);
});

t.test('a user that exists joins by e-mail', async (t) => {
  const rig = await startRig(t, { config });
  const team = await newTeam(rig, { members_with_roles: [{ role: 'admin', user_id: 'admin' }] });
  const user_email = `krrish${randomUUID()}@berri.ai`;
  const { user_id: id } = await newUser(rig, { user_email });
  await managed(rig, 'POST /team/member_add', {
    team_id: team['team_id'],
    member: [{ role: 'user', user_email }],
  });
  const { teams } = await managed(rig, `GET /user/info?user_id=${String(id)}`);
  t.match(teams, [{ team_id: team['team_id'] }]);
});

t.test('a deleted team is in no user and is 404', async (t) => {
  const rig = await startRig(t, { config });
  const user = randomUUID();
  await newUser(rig, { user_id: user });
  const { team_id: id } = await newTeam(rig, { members_with_roles: [{ role: 'user', user_id: user }] });
  const teamsOf = async (): Promise<number> =>
    list((await managed(rig, `GET /user/info?user_id=${user}`))['teams']).length;
  t.equal(await teamsOf(), 1);
  await newKey(rig, { team_id: id, models: [] });
  await managed(rig, 'POST /team/delete', { team_ids: [id] });
  t.equal(await teamsOf(), 0);
  t.equal((await manage(rig, `GET /team/info?team_id=${String(id)}`)).status, 404);
});

for (const dimension of ['user_id', 'user_email'])
  t.test(`a member is deleted by ${dimension}`, async (t) => {
    const rig = await startRig(t, { config });
    const user_id = randomUUID();
    const named = { [dimension]: dimension === 'user_id' ? user_id : `${user_id}@berri.ai` };
    await newUser(rig, { user_id, user_email: `${user_id}@berri.ai` });
    const team = await newTeam(rig, {
      members_with_roles: [
        { role: 'admin', user_id: 'admin' },
        { role: 'user', ...named },
      ],
    });
    t.match(list(team['members_with_roles'])[1], { user_id, user_email: `${user_id}@berri.ai` });
    const left = await managed(rig, 'POST /team/member_delete', { team_id: team['team_id'], ...named });
    t.match(left['members_with_roles'], [{ user_id: 'admin' }]);
  });

t.test('an alias of the team works for a key that allows only what it stands for', async (t) => {
  const rig = await startRig(t, { config });
  const { team_id: id } = await newTeam(rig, { model_aliases: { 'cheap-model': 'gpt-3.5-turbo' } });
  const key = await newKey(rig, { team_id: id, models: ['gpt-3.5-turbo'] });
  const call = async (model: string): Promise<number> =>
    (await chat(rig, model, {}, { authorization: `Bearer ${key}` })).status;
  t.equal(await call('cheap-model'), 200);
  t.not(await call('gpt-4'), 200);
});

t.test('a user that is made with a team is in it, and gets a budget in it', async (t) => {
  const rig = await startRig(t, { config });
  const { team_id: id } = await newTeam(rig);
  const user_id = `krrish_${randomUUID()}@berri.ai`;
  const { key } = await newUser(rig, {
    user_id,
    team_id: id,
    max_budget: 10,
    budget_duration: '5s',
    models: ['gpt-4'],
  });
  t.type(key, 'string');
  await managed(rig, 'POST /team/member_update', { team_id: id, user_id, max_budget_in_team: 0.0000001 });
  t.equal((await chat(rig, 'gpt-4', {}, { authorization: `Bearer ${String(key)}` })).status, 200);
  const { teams } = await managed(rig, `GET /user/info?user_id=${encodeURIComponent(user_id)}`);
  t.match(teams, [
    { team_id: id, team_memberships: [{ user_id, litellm_budget_table: { max_budget: 0.0000001 } }] },
  ]);
});

t.test(
  'a budget of a member: the first call is served, the second refused, and its spending is told',
  async (t) => {
    const priced = (demo: DemoGateway): string => `
model_list:
  - model_name: gpt-4
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-x, input_cost_per_token: 0.001, output_cost_per_token: 0.001 }
general_settings: { master_key: ${KEY}, budget_reservation: "off" }
`;
    const rig = await startRig(t, { config: priced });
    const { team_id } = await newTeam(rig);
    const { key, user_id } = await newUser(rig, {
      team_id,
      max_budget: 10,
      budget_duration: '5s',
      models: ['gpt-4'],
    });
    await managed(rig, 'POST /team/member_update', { team_id, user_id, max_budget_in_team: 0.0000001 });
    const call = (): Promise<Answer> => chat(rig, 'gpt-4', {}, { authorization: `Bearer ${String(key)}` });
    t.equal((await call()).status, 200);
    const refused = await call();
    t.not(refused.status, 200);
    t.match(refused.text, /Budget has been exceeded/);
    const { teams } = await managed(rig, `GET /user/info?user_id=${String(user_id)}`);
    const [membership] = list(list(teams)[0]?.['team_memberships']);
    t.ok(Number(membership?.['spend']) >= 0.0000001);
    t.match(membership, { litellm_budget_table: { max_budget: 0.0000001 } });
  },
);

t.test('the list of teams', async (t) => {
  const rig = await startRig(t, { config });
  const { team_id: id } = await newTeam(rig);
  t.match(await managed(rig, 'GET /team/list'), [{ team_id: id, keys: [], team_memberships: [] }]);
});
