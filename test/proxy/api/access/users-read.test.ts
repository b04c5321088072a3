// Users are read with their keys, teams and what they may spend in each, by whom they concern.
import { hash } from 'node:crypto';
import t from 'tap';
import { list, manage, managed, newKey } from '../../../support/manage.ts';
import { startRig } from '../../../support/rig.ts';

t.test('a user with keys and teams', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'org', max_budget: 0 });
  await managed(rig, 'POST /user/new', { user_id: 'u1', teams: ['org'], auto_create_key: false, models: [] });
  const key = await newKey(rig, {
    user_id: 'u1',
    team_id: 'org',
    key_alias: 'alias, one',
    metadata: { type: 'openhands' },
  });
  const answer = await managed(rig, 'GET /user/info?user_id=u1');
  t.match(answer, {
    user_id: 'u1',
    user_info: { user_id: 'u1', max_budget: null, spend: 0, teams: ['org'], models: [], metadata: {} },
    keys: [
      {
        user_id: 'u1',
        team_id: 'org',
        token: hash('sha256', key, 'hex'),
        key_alias: 'alias, one',
        key_name: `sk-...${key.slice(-4)}`,
        metadata: { type: 'openhands' },
        spend: 0,
      },
    ],
    teams: [
      {
        team_id: 'org',
        team_memberships: [{ user_id: 'u1', team_id: 'org', spend: 0, litellm_budget_table: null }],
      },
    ],
  });
});

t.test("unknown users, one's own, another's", async (t) => {
  const rig = await startRig(t);
  const unknown = await manage(rig, 'GET /user/info?user_id=nobody');
  t.equal(unknown.status, 404);
  t.match(unknown.text, 'User nobody not found');
  const { key } = await managed(rig, 'POST /user/new', { user_id: 'u1' });
  const { key: other } = await managed(rig, 'POST /user/new', { user_id: 'u2' });
  t.match(await managed(rig, 'GET /user/info', undefined, String(key)), { user_id: 'u1' });
  t.equal((await manage(rig, 'GET /user/info?user_id=u1', undefined, String(key))).status, 200);
  t.equal((await manage(rig, 'GET /user/info?user_id=u1', undefined, String(other))).status, 403);
  t.match(await managed(rig, 'GET /v2/user/info', undefined, String(key)), { user_id: 'u1', teams: [] });
  t.equal((await managed(rig, 'GET /v2/user/info?user_id=u1'))['keys'], undefined);
  t.equal((await manage(rig, 'GET /v2/user/info?user_id=nobody')).status, 404);
  t.equal((await manage(rig, 'GET /v2/user/info')).status, 400);
  for (const path of [
    'GET /user/info?user_id=u1',
    'GET /user/info?user_id=nobody',
    'GET /v2/user/info?user_id=u1',
    'GET /v2/user/info?user_id=nobody',
  ]) {
    const { status, text } = await manage(rig, path, undefined, String(other));
    t.equal(status, 403, 'nobody is told which users there are');
    t.match(text, 'You are not allowed to access this user');
  }
  await managed(rig, 'POST /user/new', { user_id: 'a+b@example.com', auto_create_key: false });
  t.match(await managed(rig, 'GET /user/info?user_id=a+b@example.com'), { user_id: 'a+b@example.com' });
});

t.test('lists: pages, filters, how many keys', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'core' });
  for (let n = 0; n < 27; n += 1)
    await managed(rig, 'POST /user/new', {
      user_id: `u${n}`,
      user_email: `user${n}@example.com`,
      user_role: n === 0 ? 'proxy_admin_viewer' : 'internal_user',
      ...(n < 2 ? { teams: ['core'] } : {}),
    });
  const first = await managed(rig, 'GET /user/list');
  t.match(first, { total: 27, page: 1, page_size: 25, total_pages: 2 });
  t.equal(list(first['users']).length, 25);
  t.ok(list(first['users']).every(({ key_count }) => key_count === 1));
  const ids = async (query: string): Promise<unknown[]> =>
    list((await managed(rig, `GET /user/list?${query}`))['users']).map(({ user_id }) => user_id);
  t.equal((await ids('page=2')).length, 2);
  t.same(await ids('role=proxy_admin_viewer'), ['u0']);
  t.same(await ids('user_ids=u3,u5,nobody&sort_by=user_id&sort_order=asc'), ['u3', 'u5']);
  t.same(await ids('user_email=USER26@'), ['u26']);
  t.same(await ids('search=USER26@'), ['u26']);
  t.same(await ids('search=u26'), ['u26']);
  await managed(rig, 'POST /organization/new', { organization_alias: 'o', organization_id: 'o' });
  const member = { user_id: 'u4', role: 'internal_user' };
  await managed(rig, 'POST /organization/member_add', { organization_id: 'o', member });
  t.same(await ids('organization_ids=o,other'), ['u4']);
  await managed(rig, 'POST /user/update', { user_id: 'u5', sso_user_id: 'sso-5' });
  t.same(await ids('sso_user_ids=sso-5,sso-6'), ['u5']);
  t.same(await ids('team=core&sort_by=user_id&sort_order=asc'), ['u0', 'u1']);
  t.equal((await manage(rig, 'GET /user/list?page_size=101')).status, 422);
  t.equal((await manage(rig, 'GET /user/list?sort_by=password')).status, 400);
  const viewer = await newKey(rig, { user_id: 'u0' });
  const plain = await newKey(rig, { user_id: 'u1' });
  t.equal((await manage(rig, 'GET /user/list', undefined, viewer)).status, 200);
  t.equal((await manage(rig, 'GET /user/list', undefined, plain)).status, 403);
  t.type(first['users'], Array);
});
