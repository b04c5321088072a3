// What the operator's settings make of new keys: defaults, upper bounds, who may make which.
import t from 'tap';
import { manage, managed, newKey } from '../../../support/manage.ts';
import { defaultConfig, startRig, type Rig } from '../../../support/rig.ts';

const rigWith = (
  t: { teardown(act: () => unknown): unknown },
  settings: string,
  general = '',
): Promise<Rig> =>
  startRig(t, { config: (demo) => `${defaultConfig(demo, general)}\nlitellm_settings:\n${settings}` });

t.test('defaults fill what a call leaves out or states as null', async (t) => {
  const rig = await rigWith(
    t,
    '  default_key_generate_params: { max_budget: 1.5, models: [demo], metadata: { setup: x }, team_id: core, rpm_limit: 7 }',
  );
  t.match(await managed(rig, 'POST /key/generate', { max_budget: null, models: [] }), {
    max_budget: 1.5,
    models: ['demo'],
    metadata: { setup: 'x' },
    team_id: 'core',
    rpm_limit: 7,
  });
  t.match(await managed(rig, 'POST /key/generate', { max_budget: 0, models: ['*'], team_id: 'other' }), {
    max_budget: 0,
    models: ['*'],
    team_id: 'other',
  });
});

t.test('an empty object is no list of models, nor an empty list metadata', async (t) => {
  const rig = await startRig(t);
  for (const body of [{ models: {} }, { metadata: [] }])
    t.equal((await manage(rig, 'POST /key/generate', body)).status, 422, JSON.stringify(body));
  t.match(await managed(rig, 'POST /key/generate', { models: [], metadata: {} }), {
    models: [],
    metadata: {},
  });
});

t.test('upper bounds', async (t) => {
  const rig = await rigWith(
    t,
    '  upperbound_key_generate_params: { max_budget: 100, duration: 30d, budget_duration: 1mo, tpm_limit: 10 }',
  );
  const row = await managed(rig, 'POST /key/generate', { max_budget: 100 });
  t.match(row, { max_budget: 100, tpm_limit: 10, budget_duration: '1mo', duration: '30d' });
  t.type(row['expires'], 'string', 'who states nothing gets the bound');
  const over = await manage(rig, 'POST /key/generate', { max_budget: 100.01 });
  t.equal(over.status, 400);
  t.match(over.text, 'max_budget is over max limit set in config - user_value=100.01; max_value=100');
  t.match((await manage(rig, 'POST /key/generate', { duration: '31d' })).text, 'duration is over max limit');
  t.equal((await manage(rig, 'POST /key/generate', { duration: '4w' })).status, 200);
  t.equal((await manage(rig, 'POST /key/generate', { tpm_limit: 11 })).status, 400);
  const key = String(row['key']);
  t.equal((await manage(rig, 'POST /key/update', { key, max_budget: 101 })).status, 400, 'nor later');
  t.equal((await manage(rig, 'POST /key/update', { key, max_budget: null })).status, 400, 'nor without end');
  t.equal((await manage(rig, 'POST /key/update', { key, key_alias: 'a' })).status, 200);
  const more = { temp_budget_increase: 1, temp_budget_expiry: '2100-01-01T00:00:00Z' };
  const raised = await manage(rig, 'POST /key/update', { key, ...more });
  t.equal(raised.status, 400, 'nor for a while');
  t.match(raised.text, 'max_budget with temp_budget_increase is over max limit set in config');
  t.equal((await manage(rig, `POST /key/${key}/regenerate`, more)).status, 400);
  t.equal((await manage(rig, 'POST /key/generate', { max_budget: 99.5, ...more })).status, 400);
  t.equal((await manage(rig, 'POST /key/update', { key, max_budget: 99, ...more })).status, 200);
  const over99 = await manage(rig, 'POST /key/update', { key, max_budget: 100 });
  t.equal(over99.status, 400, 'nor one after the other');
  t.match(
    over99.text,
    'max_budget with temp_budget_increase is over max limit set in config - user_value=101',
  );
  const past = { temp_budget_increase: 1, temp_budget_expiry: '2020-01-01T00:00:00Z' };
  t.equal(
    (await manage(rig, 'POST /key/update', { key, max_budget: 100, ...past })).status,
    200,
    'it is over',
  );
  t.equal((await manage(rig, 'POST /key/update', { key, key_alias: 'b' })).status, 200);
});

t.test('values of keys that callers choose can be switched off', async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo, '  disable_custom_api_keys: true') });
  const own = await manage(rig, 'POST /key/generate', { key: 'sk-chosen-by-the-caller' });
  t.equal(own.status, 403);
  t.notMatch(own.text, 'chosen-by');
  const key = await newKey(rig, {});
  t.equal(
    (await manage(rig, `POST /key/${key}/regenerate`, { new_key: 'sk-chosen-by-the-caller' })).status,
    403,
  );
  t.equal((await manage(rig, 'POST /user/new', { key: 'sk-chosen-by-the-caller' })).status, 403);
});

t.test('rules for users: roles and members that a call must state', async (t) => {
  const rig = await rigWith(
    t,
    `  key_generation_settings:
    team_key_generation: { allowed_team_member_roles: [admin], required_params: [tags] }
    personal_key_generation: { allowed_user_roles: [proxy_admin] }`,
  );
  await managed(rig, 'POST /team/new', {
    team_id: 'core',
    members_with_roles: [
      { user_id: 'lead', role: 'admin' },
      { user_id: 'dev', role: 'user' },
    ],
  });
  const lead = await newKey(rig, { user_id: 'lead' });
  const dev = await newKey(rig, { user_id: 'dev' });
  const make = (key: string, body: object): ReturnType<typeof manage> =>
    manage(rig, 'POST /key/generate', body, key);
  t.match((await make(dev, {})).text, 'Personal key creation has been restricted by admin');
  const asUser = await make(dev, { team_id: 'core', user_id: 'dev', tags: [] });
  t.match(asUser.text, 'Team member role user not in allowed_team_member_roles');
  t.match((await make(lead, { team_id: 'core', user_id: 'lead' })).text, 'Required param tags not in data');
  t.equal((await make(lead, { team_id: 'core', user_id: 'lead', tags: ['x'] })).status, 200);
  t.equal((await make(dev, { team_id: 'nowhere', user_id: 'dev' })).status, 400, 'a team that is not there');
  const change = (by: string, path: string, body: object): ReturnType<typeof manage> =>
    manage(rig, `POST ${path}`, body, by);
  const intoTeam = await change(dev, '/key/update', { key: dev, team_id: 'core' });
  t.match(intoTeam.text, 'Team member role user not in allowed_team_member_roles', 'nor by a move');
  t.match((await change(dev, `/key/${dev}/regenerate`, { team_id: 'core' })).text, 'Team member role user');
  const teams = await newKey(rig, { user_id: 'lead', team_id: 'core' });
  const out = await change(lead, '/key/update', { key: teams, team_id: null });
  t.match(out.text, 'Personal key creation has been restricted by admin');
  const given = await newKey(rig, {
    user_id: 'dev',
    max_budget: 1,
    models: ['demo'],
    duration: '1d',
    spend: 1,
  });
  for (const wider of [{ max_budget: 9 }, { models: [] }, { duration: null }, { spend: 0 }, { rpm_limit: 9 }])
    t.match(
      (await change(dev, '/key/update', { key: given, ...wider })).text,
      'Personal key creation has been restricted by admin',
      `nor by a change: ${JSON.stringify(wider)}`,
    );
  t.equal((await change(dev, `/key/${given}/reset_spend`, { reset_to: 0 })).status, 400);
  t.equal(
    (await change(dev, '/key/update', { key: given, key_alias: 'mine', metadata: { a: 1 } })).status,
    200,
  );
  t.equal((await change(dev, '/key/block', { key: given })).status, 200);
  t.equal((await change(lead, '/key/update', { key: lead, key_alias: 'stays' })).status, 200);
  t.equal((await change(lead, '/key/update', { key: lead, team_id: 'core' })).status, 200);
  await managed(rig, 'POST /key/generate', { team_id: 'nowhere' });
});

t.test('guaranteed limits of keys stay within what their team may', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'core', tpm_limit: 100, rpm_limit: 10 });
  const body = { team_id: 'core', tpm_limit: 60, tpm_limit_type: 'guaranteed_throughput' };
  const key = await newKey(rig, body);
  const second = await manage(rig, 'POST /key/generate', body);
  t.equal(second.status, 400);
  t.match(second.text, 'Allocated TPM limit=60 + Key TPM limit=60 is greater than team TPM limit=100');
  t.equal((await manage(rig, 'POST /key/update', { key, tpm_limit: 100 })).status, 200, 'itself not counted');
  t.equal((await manage(rig, 'POST /key/update', { key, tpm_limit: 101 })).status, 400);
});

t.test('users make keys for themselves, never wider than the key that makes them', async (t) => {
  const rig = await startRig(t);
  const { key: own } = await managed(rig, 'POST /user/new', { user_id: 'u1', models: ['demo'] });
  const make = (body: object): ReturnType<typeof manage> =>
    manage(rig, 'POST /key/generate', body, String(own));
  const made = await make({ models: ['demo'] });
  t.equal(made.status, 200, made.text);
  t.match(made.json, { user_id: 'u1', created_by: 'u1' }, 'theirs without being asked');
  t.equal((await make({ models: [] })).status, 403, 'an empty list is all models');
  t.equal((await make({ models: ['demo', 'compat'] })).status, 403);
  t.equal((await make({ models: ['demo'], user_id: 'u2' })).status, 403);
  t.equal((await make({ models: ['demo'], organization_id: 'o' })).status, 400);
  const capped = await make({ models: ['demo'], max_budget: 1 });
  const key = String(capped.json['key']);
  t.equal((await manage(rig, 'POST /key/generate', { models: ['demo'] }, key)).status, 403);
  t.equal((await manage(rig, 'POST /key/update', { key, max_budget: null }, key)).status, 403);
  const llm = await managed(rig, 'POST /key/generate', { key_type: 'llm_api', user_id: 'u1' });
  t.match(llm, { allowed_routes: ['llm_api_routes'], key_type: 'llm_api' });
  t.equal((await manage(rig, 'POST /key/generate', {}, String(llm['key']))).status, 403);
});
