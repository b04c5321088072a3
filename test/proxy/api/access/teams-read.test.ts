// What a caller sees of teams: an administrator all, a member its own, a key its team.
import t from 'tap';
import { list, manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { startRig, type Rig } from '../../../support/rig.ts';

async function twoTeams(
  rig: Rig,
): Promise<{ readonly lead: string; readonly dev: string; readonly bare: string }> {
  await managed(rig, 'POST /team/new', {
    team_id: 'mine',
    team_alias: 'B mine',
    members_with_roles: [
      { user_id: 'lead', role: 'admin' },
      { user_id: 'dev', role: 'user' },
    ],
  });
  await managed(rig, 'POST /team/new', { team_id: 'foreign', team_alias: 'A foreign' });
  return {
    lead: await newKey(rig, { team_id: 'mine', user_id: 'lead', key_alias: 'of lead' }),
    dev: await newKey(rig, { team_id: 'mine', user_id: 'dev', key_alias: 'of dev' }),
    bare: await newKey(rig, { team_id: 'mine', key_alias: 'of nobody' }),
  };
}

t.test('a team that does not exist is 404 and nothing else, which an init container waits for', async (t) => {
  const rig = await startRig(t);
  const answer = await manage(rig, 'GET /team/info?team_id=openhands');
  t.equal(answer.status, 404);
  t.match(answer.json, {
    error: { message: 'Team not found, passed team id: openhands.', type: 'not_found_error', code: '404' },
  });
  for (const path of ['/team/info', '/team/info?team_id='])
    t.match(await manage(rig, `GET ${path}`), {
      status: 422,
      json: { detail: [{ loc: ['query', 'team_id'] }] },
    });
});

t.test('what clients of fixed types ask for of aliases and memberships', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /budget/new', { budget_id: 'other', max_budget: 2 });
  const sourceOf = async (team_id: string, user_id: string): Promise<unknown> => {
    const { team_memberships: all } = await managed(rig, `GET /team/info?team_id=${team_id}`);
    return list(all).find((one) => one['user_id'] === user_id)?.['budget_source'];
  };
  const members_with_roles = [
    { user_id: 'a', role: 'user' },
    { user_id: 'b', role: 'user' },
  ];
  const body = { members_with_roles, model_aliases: { quick: 'demo' } };
  const made = await managed(rig, 'POST /team/new', { ...body, team_id: 'plain' });
  t.match(made['litellm_model_table'], {
    model_aliases: { quick: 'demo' },
    created_by: 'default_user_id',
    updated_by: 'default_user_id',
  });
  await managed(rig, 'POST /team/new', { ...body, team_id: 'shared', team_member_budget: 1 });
  for (const team_id of ['plain', 'shared'])
    await managed(rig, 'POST /team/member_update', { team_id, user_id: 'b', max_budget_in_team: 3 });
  t.equal(await sourceOf('plain', 'a'), 'none');
  t.equal(await sourceOf('plain', 'b'), 'custom');
  t.equal(await sourceOf('shared', 'a'), 'team_default');
  t.equal(await sourceOf('shared', 'b'), 'custom');
});

t.test('a team with its keys and memberships', async (t) => {
  const rig = await startRig(t);
  await twoTeams(rig);
  const read = await managed(rig, 'GET /team/info?team_id=mine');
  t.match(read, {
    team_id: 'mine',
    team_info: { team_id: 'mine', team_alias: 'B mine', team_member_budget_table: null },
    team_memberships: [
      { user_id: 'lead', team_id: 'mine', budget_id: null, spend: 0, litellm_budget_table: null },
      { user_id: 'dev' },
    ],
  });
  const keys = list(read['keys']);
  t.equal(keys.length, 3);
  for (const key of keys) {
    t.match(key, { token: /^[0-9a-f]{64}$/, team_id: 'mine', spend: 0, key_name: /^sk-\.\.\..{4}$/ });
  }
});

t.test('a member sees its team, not another; of others in it neither keys nor spending', async (t) => {
  const rig = await startRig(t);
  const { lead, dev, bare } = await twoTeams(rig);
  const see = async (key: string): Promise<{ readonly keys: unknown[]; readonly members: unknown[] }> => {
    const read = await managed(rig, 'GET /team/info?team_id=mine', undefined, key);
    return {
      keys: list(read['keys'])
        .map((one) => one['key_alias'])
        .toSorted(),
      members: list(read['team_memberships']).map((one) => one['user_id']),
    };
  };
  t.strictSame(await see(lead), { keys: ['of dev', 'of lead', 'of nobody'], members: ['lead', 'dev'] });
  t.strictSame(await see(dev), { keys: ['of dev'], members: ['dev'] });
  t.strictSame(await see(bare), { keys: ['of nobody'], members: [] });
  for (const key of [lead, dev, bare])
    for (const id of ['foreign', 'nobody'])
      t.equal(
        (await manage(rig, `GET /team/info?team_id=${id}`, undefined, key)).status,
        403,
        'and no hint which exist',
      );
});

t.test('lists: by alias, filtered exactly, of what the caller sees', async (t) => {
  const rig = await startRig(t);
  const { dev } = await twoTeams(rig);
  const ids = async (query: string, key?: string): Promise<unknown> =>
    list(await managed(rig, `GET /team/list${query}`, undefined, key)).map((row) => row['team_id']);
  t.strictSame(await ids(''), ['foreign', 'mine']);
  t.strictSame(await ids('?user_id=dev'), ['mine']);
  t.strictSame(await ids('?user_id=de'), []);
  t.strictSame(await ids('?organization_id=none'), []);
  t.strictSame(await ids('', dev), ['mine']);
  t.strictSame(await ids('?user_id=lead', dev), ['mine'], 'a filter does not widen');
  const [row] = list(await managed(rig, 'GET /team/list?user_id=dev'));
  t.match(row, {
    team_id: 'mine',
    keys: [{}, {}, {}],
    team_memberships: [{ user_id: 'lead' }, { user_id: 'dev' }],
  });
  t.strictSame(await managed(rig, 'GET /team/available'), []);
});

t.test('pages', async (t) => {
  const rig = await startRig(t);
  for (let n = 0; n < 23; n += 1)
    await managed(rig, 'POST /team/new', {
      team_id: `t${String(n).padStart(2, '0')}`,
      team_alias: `alias ${n % 2}`,
    });
  const page = (query: string): Promise<Json> => managed(rig, `GET /v2/team/list${query}`);
  const first = await page('');
  t.match(first, { total: 23, page: 1, page_size: 10, total_pages: 3 });
  t.equal(list(first['teams']).length, 10);
  const last = await page('?page=3&page_size=10&sort_by=team_id');
  t.strictSame(
    list(last['teams']).map((row) => row['team_id']),
    ['t20', 't21', 't22'],
  );
  t.match(await page('?page=9'), { teams: [], total: 23, page: 9 });
  t.match(await page('?team_alias=alias%201&page_size=100'), { total: 11, total_pages: 1 });
  await managed(rig, 'POST /team/new', { team_id: 'exact', team_alias: 'lias' });
  t.match(await page('?team_alias=LIAS'), { total: 24 });
  t.match(await page('?team_alias=lias'), { total: 24, teams: [{ team_id: 'exact' }] });
  t.match(await page('?search=IAS%201'), { total: 11 });
  t.match(await page('?search=t03'), { total: 1, teams: [{ team_id: 't03' }] });
  t.match(await page('?status=deleted'), { total: 0 });
  t.equal((await manage(rig, 'GET /v2/team/list?status=odd')).status, 422);
  t.strictSame(await managed(rig, 'GET /team/list?team_alias=alias'), []);
  await managed(rig, 'POST /team/delete', { team_ids: ['exact'] });
  t.strictSame(
    list((await page('?sort_by=created_at&sort_order=desc&page_size=1'))['teams']).map(
      (row) => row['team_id'],
    ),
    ['t22'],
  );
  for (const query of ['?page=0', '?page_size=101', '?page=x', '?page_size=-1', '?page=1.5'])
    t.equal((await manage(rig, `GET /v2/team/list${query}`)).status, 422, query);
  for (const query of ['?sort_by=constructor', '?sort_order=up'])
    t.equal((await manage(rig, `GET /v2/team/list${query}`)).status, 400, query);
});
