// What members of a team, who are no admins of it, may do with keys of the team, where the team says so.
import t from 'tap';
import { manage, managed, newKey, type Json, type Managed } from '../../../support/manage.ts';
import { startRig, type Rig } from '../../../support/rig.ts';

async function teamWith(rig: Rig, permissions: readonly string[] | null): Promise<void> {
  await managed(rig, 'POST /team/new', {
    team_id: 'core',
    team_member_permissions: permissions,
    members_with_roles: [
      { user_id: 'lead', role: 'admin' },
      { user_id: 'dev', role: 'user' },
    ],
  });
}

t.test('members do what their team lists, its admins everything', async (t) => {
  const rig = await startRig(t);
  await teamWith(rig, ['/key/info', '/key/update']);
  const [lead, dev] = [await newKey(rig, { user_id: 'lead' }), await newKey(rig, { user_id: 'dev' })];
  const own = await newKey(rig, { user_id: 'dev', team_id: 'core', key_alias: 'own' });
  const as = (key: string, call: string, body: Json): Promise<Managed> => manage(rig, call, body, key);

  const made = await as(dev, 'POST /key/generate', { team_id: 'core', user_id: 'dev' });
  t.equal(made.status, 403);
  t.match(made.json, {
    error: {
      message:
        'Team member does not have permissions for endpoint: /key/generate. You only have access to the following ' +
        'endpoints: /key/info, /key/update for team core.',
      type: 'team_member_permission_error',
      param: '/key/generate',
    },
  });
  for (const [call, body] of [
    ['POST /key/delete', { keys: [own] }],
    ['POST /key/delete', { key_aliases: ['own'] }],
    ['POST /key/block', { key: own }],
    ['POST /key/regenerate', { key: own }],
    [`POST /key/${own}/regenerate`, {}],
    [`POST /key/${own}/reset_spend`, { reset_to: 0 }],
    ['POST /key/update', { key: dev, team_id: 'core' }],
  ] as const) {
    const answer = await as(dev, call, body);
    t.match(answer.text, 'Team member does not have permissions', `${call} ${JSON.stringify(body)}`);
    t.equal(answer.status, 403);
  }
  t.equal((await as(dev, 'POST /key/update', { key: own, metadata: { a: 1 } })).status, 200);
  t.equal((await manage(rig, `GET /key/info?key=${own}`, undefined, dev)).status, 200);
  t.equal(
    (await as(dev, 'POST /key/generate', {})).status,
    200,
    'their own keys are not the keys of the team',
  );
  t.equal((await as(lead, 'POST /key/generate', { team_id: 'core', user_id: 'lead' })).status, 200);
  t.equal((await as(lead, 'POST /key/block', { key: own })).status, 200);

  await managed(rig, 'POST /team/update', { team_id: 'core', team_member_permissions: ['/key/regenerate'] });
  t.equal((await as(dev, `POST /key/${own}/regenerate`, {})).status, 200);
  t.equal((await as(dev, 'POST /key/update', { key: 'own', metadata: {} })).status, 403);
});

t.test('permissions are read and set by calls of their own; a team that lists none leaves all', async (t) => {
  const rig = await startRig(t);
  await teamWith(rig, null);
  const [lead, dev] = [await newKey(rig, { user_id: 'lead' }), await newKey(rig, { user_id: 'dev' })];
  const read = (key?: string): Promise<Managed> =>
    manage(rig, 'GET /team/permissions_list?team_id=core', undefined, key);
  t.match((await read(dev)).json, {
    team_id: 'core',
    team_member_permissions: [],
    all_available_permissions: ['/key/generate'],
  });
  const make = async (): Promise<number> =>
    (await manage(rig, 'POST /key/generate', { team_id: 'core', user_id: 'dev' }, dev)).status;
  t.equal(await make(), 200);
  const set = (permissions: unknown, key?: string): Promise<Managed> =>
    manage(
      rig,
      'POST /team/permissions_update',
      { team_id: 'core', team_member_permissions: permissions },
      key,
    );
  t.match((await set(['/key/info'], lead)).json, { team_id: 'core', team_member_permissions: ['/key/info'] });
  t.equal(await make(), 403);
  t.equal((await set([], dev)).status, 403, 'not by a member');
  t.equal((await set('/key/generate')).status, 422);
  t.equal((await set([])).status, 200);
  t.equal(await make(), 200);
  t.equal((await manage(rig, 'GET /team/permissions_list?team_id=nobody')).status, 404);
});
