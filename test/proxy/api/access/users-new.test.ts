// New users: with or without a key, in their teams, once per id and once per e-mail address.
import t from 'tap';
import { list, manage, managed, type Json } from '../../../support/manage.ts';
import { chat, defaultConfig, startRig } from '../../../support/rig.ts';

t.test('a user comes with a key unless the call says otherwise', async (t) => {
  const rig = await startRig(t);
  const row = await managed(rig, 'POST /user/new', { user_id: 'u1', models: ['demo'], max_budget: 3 });
  t.match(row, { user_id: 'u1', max_budget: 3, models: ['demo'], user_role: 'internal_user', spend: 0 });
  const key = String(row['key']);
  t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status, 200);
  t.match((await managed(rig, `GET /key/info?key=${key}`))['info'], { user_id: 'u1', max_budget: null });
  const without = await managed(rig, 'POST /user/new', {
    user_email: 'a@example.com',
    models: [],
    user_id: 'u2',
    auto_create_key: false,
    send_invite_email: false,
    metadata: { version: 1 },
  });
  t.match(without, { user_id: 'u2', key: '', user_email: 'a@example.com', metadata: { version: 1 } });
  t.same((await managed(rig, 'GET /user/info?user_id=u2'))['keys'], []);
  const unnamed = await managed(rig, 'POST /user/new', {});
  t.match(unnamed['user_id'], /^[0-9a-f-]{36}$/);
});

t.test('ten at once', async (t) => {
  const rig = await startRig(t);
  const rows = await Promise.all(
    Array.from({ length: 10 }, () => managed(rig, 'POST /user/new', { duration: null, max_budget: null })),
  );
  t.equal(new Set(rows.map(({ user_id }) => user_id)).size, 10);
});

t.test('an id and an address are taken once, the address in any case of letters', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /user/new', {
    user_id: 'u1',
    user_email: 'Ada@Example.com',
    auto_create_key: false,
  });
  const id = await manage(rig, 'POST /user/new', { user_id: 'u1' });
  t.equal(id.status, 409);
  t.match(id.text, 'User with id u1 already exists');
  const email = await manage(rig, 'POST /user/new', { user_id: 'u2', user_email: 'ada@example.COM' });
  t.equal(email.status, 409);
  t.match(email.text, 'already exists');
  t.equal((await manage(rig, 'GET /user/info?user_id=u2')).status, 404, 'nothing of it was made');
  await managed(rig, 'POST /user/new', { user_id: 'u2', user_email: null, auto_create_key: false });
  const raced = await Promise.all(
    Array.from({ length: 5 }, () => manage(rig, 'POST /user/new', { user_email: 'Raced@example.com' })),
  );
  t.same(raced.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409]);
});

t.test('teams by id or as objects; one that is not there is left out and told', async (t) => {
  const rig = await startRig(t);
  for (const team_id of ['a', 'b', 'c']) await managed(rig, 'POST /team/new', { team_id });
  const row = await managed(rig, 'POST /user/new', {
    user_id: 'u1',
    teams: ['a', { team_id: 'b', max_budget_in_team: 4, user_role: 'admin' }],
    team_id: 'c',
  });
  t.same((row['teams'] as string[]).toSorted(), ['a', 'b', 'c']);
  t.match(row, { team_id: 'c' }, 'its key is of the team');
  const team = await managed(rig, 'GET /team/info?team_id=b');
  t.match((team['team_info'] as Json)['members_with_roles'], [{ user_id: 'u1', role: 'admin' }]);
  t.match(list(team['team_memberships']), [{ user_id: 'u1', litellm_budget_table: { max_budget: 4 } }]);
  t.notOk('warnings' in row);
  const without = await managed(rig, 'POST /user/new', {
    user_id: 'u2',
    teams: ['a', 'nowhere', { team_id: 'no', max_budget_in_team: 4 }],
  });
  t.strictSame(without['teams'], ['a']);
  t.match(without['warnings'], [
    /^teams: nowhere is no team here; the user is not in it$/,
    /^teams: no is no team here/,
  ]);
  t.match(await managed(rig, 'GET /user/info?user_id=u2'), { teams: [{ team_id: 'a' }] });
  // Its key would be of that team.
  const missing = await manage(rig, 'POST /user/new', { user_id: 'u9', team_id: 'nowhere' });
  t.equal(missing.status, 400);
  t.equal((await manage(rig, 'GET /user/info?user_id=u9')).status, 404);
  t.equal((await manage(rig, 'POST /user/new', { teams: 'a' })).status, 422);
  t.equal((await manage(rig, 'POST /user/new', { teams: [{ max_budget_in_team: 4 }] })).status, 422);
  t.equal((await manage(rig, 'POST /user/new', { user_role: 'root' })).status, 422);
});

t.test('defaults of the operator', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => `${defaultConfig(demo)}
litellm_settings:
  max_internal_user_budget: 10
  internal_user_budget_duration: 1mo
  default_internal_user_params: { user_role: internal_user_viewer, models: [demo] }`,
  });
  t.match(await managed(rig, 'POST /user/new', {}), {
    user_role: 'internal_user_viewer',
    max_budget: 10,
    budget_duration: '1mo',
    models: ['demo'],
  });
  t.match(await managed(rig, 'POST /user/new', { max_budget: 0, models: [] }), { max_budget: 0, models: [] });
});

t.test('only administrators make users', async (t) => {
  const rig = await startRig(t);
  const { key } = await managed(rig, 'POST /user/new', { user_id: 'u1' });
  t.equal((await manage(rig, 'POST /user/new', { user_id: 'u2' }, String(key))).status, 403);
  const { key: admin } = await managed(rig, 'POST /user/new', { user_id: 'boss', user_role: 'proxy_admin' });
  t.equal((await manage(rig, 'POST /user/new', { user_id: 'u2' }, String(admin))).status, 200);
});
