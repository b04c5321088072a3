// Users are changed and deleted, with their keys and memberships.
import t from 'tap';
import { list, manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { chat, startRig } from '../../../support/rig.ts';

t.test('by id or address; absent stays, null clears; an unknown one is made', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /user/new', {
    user_id: 'u1',
    user_email: 'a@example.com',
    max_budget: 5,
    metadata: { a: 1 },
  });
  t.match(await managed(rig, 'POST /user/update', { user_id: 'u1', rpm_limit: 3 }), {
    user_id: 'u1',
    data: { user_id: 'u1', max_budget: 5, rpm_limit: 3, metadata: { a: 1 } },
  });
  t.match(await managed(rig, 'POST /user/update', { user_email: 'A@example.com', max_budget: null }), {
    data: { user_id: 'u1', max_budget: null },
  });
  t.match(await managed(rig, 'POST /user/update', { user_id: 'litellm-proxy-budget', spend: 0 }), {
    user_id: 'litellm-proxy-budget',
    data: { spend: 0 },
  });
  t.equal((await manage(rig, 'POST /user/update', { max_budget: 1 })).status, 422);
  t.equal((await manage(rig, 'POST /user/update', { user_id: 'u1', max_budget: -1 })).status, 400);
  await managed(rig, 'POST /user/new', { user_id: 'u2', user_email: 'b@example.com' });
  t.equal(
    (await manage(rig, 'POST /user/update', { user_id: 'u2', user_email: 'A@EXAMPLE.com' })).status,
    409,
  );
});

t.test('teams that the user is not in are no change of the user', async (t) => {
  const rig = await startRig(t);
  const own = String((await managed(rig, 'POST /user/new', { user_id: 'u1' }))['key']);
  const members_with_roles = [{ user_id: 'u1', role: 'user' }];
  await managed(rig, 'POST /team/new', { team_id: 'tA', members_with_roles });
  await managed(rig, 'POST /team/new', { team_id: 'tB' });
  const body = { user_id: 'u1', user_alias: 'x' };
  for (const teams of [['tB'], ['tA', 'tB'], []])
    t.match(await manage(rig, 'POST /user/update', { ...body, teams }, own), {
      status: 400,
      text: /team\/member_add/,
    });
  t.match(await managed(rig, 'POST /user/update', { ...body, teams: ['tA'] }, own), {
    data: { user_alias: 'x', teams: ['tA'] },
  });
  t.match(await managed(rig, 'POST /user/update', { ...body, teams: null }), { data: { teams: ['tA'] } });
});

t.test('nobody gives themselves a role or money', async (t) => {
  const rig = await startRig(t);
  const { key } = await managed(rig, 'POST /user/new', { user_id: 'u1', max_budget: 5 });
  const own = String(key);
  const update = (body: Json): ReturnType<typeof manage> =>
    manage(rig, 'POST /user/update', { user_id: 'u1', ...body }, own);
  t.equal((await update({ user_role: 'proxy_admin' })).status, 403);
  t.equal((await update({ max_budget: 500 })).status, 403);
  t.equal((await update({ spend: 0 })).status, 403);
  t.equal((await update({ user_alias: 'me' })).status, 200);
  await managed(rig, 'POST /user/new', { user_id: 'u2', user_email: 'u2@example.com' });
  const refusals = await Promise.all(
    [
      { user_id: 'u2' },
      { user_id: 'u9' },
      { user_email: 'u2@example.com' },
      { user_email: 'u9@example.com' },
    ].map((named) => manage(rig, 'POST /user/update', { ...named, user_alias: 'x' }, own)),
  );
  t.same(new Set(refusals.map(({ status }) => status)), new Set([403]));
  t.equal(new Set(refusals.map(({ text }) => text)).size, 1, 'nobody is told which users there are');
  const renamed = await Promise.all(
    ['u2@example.com', 'u9@example.com'].map((user_email) => update({ user_email })),
  );
  t.same(new Set(renamed.map(({ status }) => status)), new Set([403]));
  t.equal(new Set(renamed.map(({ text }) => text)).size, 1, 'nor which addresses are taken');
});

t.test('deleted with keys and memberships, or not at all', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'core' });
  for (const user_id of ['u1', 'u2', 'u3'])
    await managed(rig, 'POST /user/new', { user_id, teams: ['core'], auto_create_key: false });
  const key = await newKey(rig, { user_id: 'u1', team_id: 'core' });
  const missing = await manage(rig, 'POST /user/delete', { user_ids: ['u1', 'nobody'] });
  t.equal(missing.status, 404);
  t.match(missing.json, { detail: { error: /User not found, passed user_id=nobody/ } });
  t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status, 200, 'all is as it was');
  t.equal((await manage(rig, 'POST /user/delete', { user_ids: ['u1', 'u2', 'u1'] })).text, '2');
  t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status, 401);
  const team = await managed(rig, 'GET /team/info?team_id=core');
  t.match(list((team['team_info'] as Json)['members_with_roles']), [{ user_id: 'u3' }]);
  t.equal((await manage(rig, 'GET /user/info?user_id=u1')).status, 404);
  t.equal((await manage(rig, 'POST /user/delete', {})).status, 422);
  const lines = rig.log.filter(({ action, outcome }) => action === 'user_delete' && outcome === 'applied');
  t.same(
    lines.map(({ object }) => object).toSorted(),
    ['key', 'team', 'user', 'user'],
    'each object that it changed has its line',
  );
});

t.test('a user that is made again owes nothing of the one before', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /user/new', { user_id: 'u1', spend: 7 });
  await managed(rig, 'POST /user/delete', { user_ids: ['u1'] });
  await managed(rig, 'POST /user/new', { user_id: 'u1' });
  t.match((await managed(rig, 'GET /user/info?user_id=u1'))['user_info'], { spend: 0 });
});
