// Two servers on one database change the same team at the same moment: no change is lost, and nothing is refused for it.
import t from 'tap';
import { list, manage, managed, newKey, type Json, type Managed } from '../support/manage.ts';
import { ownPostgres } from '../support/postgres.ts';
import { defaultConfig, send, startRig, type Rig } from '../support/rig.ts';

const statusOf = async (rig: Rig, key: string): Promise<number> =>
  (await send(rig.url, 'GET', '/v1/models', undefined, { authorization: `Bearer ${key}` })).status;

t.test('members that join on two servers at once are all in, also when both make the team', async (t) => {
  const server = await ownPostgres(t);
  if (server === null) {
    t.comment('no PostgreSQL is installed');
    return;
  }
  const env = { DATABASE_URL: server.url() };
  const one = await startRig(t, { env });
  const two = await startRig(t, { env, config: () => defaultConfig(one.demo) });
  const made = await Promise.all(
    [one, two].map((rig) => manage(rig, 'POST /team/new', { team_id: 'both', metadata: { version: 1 } })),
  );
  t.strictSame(made.map(({ status }) => status).toSorted(), [200, 400], 'one of them is told that it exists');
  t.match(made.find(({ status }) => status === 400)?.text, /already exists\. Please use a different team id/);

  for (const rig of [one, two]) while ((await manage(rig, 'GET /team/info?team_id=both')).status !== 200);
  const ids = Array.from({ length: 12 }, (_, n) => `u${String(n).padStart(2, '0')}`);
  await Promise.all(
    ids.map((user_id, n) =>
      managed(n % 2 === 0 ? one : two, 'POST /team/member_add', {
        team_id: 'both',
        member: { user_id, role: 'user' },
        max_budget_in_team: n,
      }),
    ),
  );
  const seen = async (rig: Rig): Promise<unknown> => {
    // A change makes the server read what others have stored before.
    await managed(rig, 'POST /team/update', { team_id: 'both', team_alias: 'both' });
    const { team_memberships: all } = await managed(rig, 'GET /team/info?team_id=both');
    return list(all)
      .map((one) => [one['user_id'], (one['litellm_budget_table'] as Json)['max_budget']])
      .toSorted();
  };
  for (const rig of [one, two])
    t.strictSame(
      await seen(rig),
      ids.map((id, n) => [id, n]),
    );

  const key = await newKey(one, { team_id: 'both', user_id: 'u00' });
  while ((await statusOf(two, key)) !== 200); // until the other server has heard of it
  await managed(two, 'POST /team/delete', { team_ids: ['both'] });
  t.equal(await statusOf(two, key), 401);
  while ((await statusOf(one, key)) !== 401);
});

t.test('no key that one server makes outlives the team that another one deletes', async (t) => {
  const server = await ownPostgres(t);
  if (server === null) {
    t.comment('no PostgreSQL is installed');
    return;
  }
  const env = { DATABASE_URL: server.url() };
  const one = await startRig(t, { env });
  const two = await startRig(t, { env, config: () => defaultConfig(one.demo) });
  for (const call of ['/team/delete', '/team/member_delete', '/team/delete'] as const) {
    await managed(one, 'POST /team/new', {
      team_id: 'both',
      members_with_roles: [{ user_id: 'dev', role: 'user' }],
    });
    const dev = await newKey(one, { user_id: 'dev' });
    const body = { team_id: 'both', user_id: 'dev' };
    const make = (): Promise<Managed> => manage(two, 'POST /key/generate', body, dev);
    while ((await statusOf(two, dev)) !== 200);
    const first = Array.from({ length: 15 }, make);
    await Promise.race(first);
    const gone = managed(one, `POST ${call}`, call === '/team/delete' ? { team_ids: ['both'] } : body);
    const made = await Promise.all([...first, ...Array.from({ length: 15 }, make)]);
    await gone;
    t.ok(made.every(({ status }) => status < 500));
    for (const rig of [one, two]) {
      const { keys } = await managed(rig, 'GET /key/list?team_id=both');
      t.same(keys, [], call);
    }
    await manage(one, 'POST /team/delete', { team_ids: ['both'] });
  }
});
