// Who sees which daily sums: administrators all, admins of a team those of the team, users their own.
import t from 'tap';
import { list, manage, managed, newKey, type Json } from '../../support/manage.ts';
import { chat, startRig } from '../../support/rig.ts';

t.test('sums of teams and users', async (t) => {
  const rig = await startRig(t);
  for (const id of ['a', 'b'])
    await managed(rig, 'POST /team/new', {
      team_id: id,
      team_alias: `Team ${id}`,
      members_with_roles: [
        { user_id: `lead-${id}`, role: 'admin' },
        { user_id: `dev-${id}`, role: 'user' },
      ],
    });
  const key = async (user: string, team: string): Promise<string> =>
    newKey(rig, { team_id: team, user_id: user, key_alias: `of ${user}`, max_budget: 9 });
  const [lead, dev, other] = [await key('lead-a', 'a'), await key('dev-a', 'a'), await key('dev-b', 'b')];
  for (const one of [lead, dev, dev, other]) await chat(rig, 'demo', {}, { authorization: `Bearer ${one}` });
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const range = `start_date=${day(Date.now() - 86_400_000)}&end_date=${day(Date.now() + 86_400_000)}`;
  const requests = async (path: string, by?: string): Promise<unknown> => {
    const { metadata } = await managed(rig, `GET ${path}&${range}`, undefined, by);
    return (metadata as Json)['total_api_requests'];
  };
  const status = async (path: string, by: string): Promise<number> =>
    (await manage(rig, `GET ${path}&${range}`, undefined, by)).status;

  t.equal(await requests('/team/daily/activity?'), 4);
  t.equal(await requests('/team/daily/activity?team_ids=a'), 3);
  t.equal(await requests('/team/daily/activity?', lead), 3, 'their team alone');
  t.equal(await requests('/team/daily/activity?team_ids=a', lead), 3);
  for (const ids of ['b', 'a,b', 'nobody'])
    t.equal(await status(`/team/daily/activity?team_ids=${ids}`, lead), 403);
  t.equal(await status('/team/daily/activity?team_ids=a', dev), 403, 'no admin of it');
  t.equal(await status('/team/daily/activity?', other), 403);

  const { results } = await managed(rig, `GET /team/daily/activity?team_ids=b&${range}`);
  const alias = { metadata: { key_alias: 'of dev-b', team_id: 'b' } };
  const { breakdown } = list(results)[0] as { breakdown: { api_keys: Json; entities: Json } };
  t.match(Object.values(breakdown.api_keys), [alias], 'people know keys by their alias');
  t.match(breakdown.entities, {
    b: { metadata: { team_alias: 'Team b' } },
  });
  const keys = (await manage(rig, `GET /spend/keys?${range}`)).json as unknown as readonly Json[];
  t.match(
    keys.find((one) => one['key_alias'] === 'of dev-b'),
    { key_name: /^sk-\.\.\./, max_budget: 9, requests: 1 },
  );

  t.equal(await requests('/user/daily/activity?', dev), 2);
  t.equal(await requests('/user/daily/activity?user_id=dev-a', dev), 2);
  t.equal(await status('/user/daily/activity?user_id=lead-a', dev), 403);
  t.equal(await status('/tag/daily/activity?', lead), 403);

  const calls = await newKey(rig, { user_id: 'dev-a', key_type: 'llm_api' });
  await chat(rig, 'demo', {}, { authorization: `Bearer ${calls}` });
  t.equal(await requests('/user/daily/activity?', calls), 1, 'a key for LLM calls sees itself');
  t.equal(await requests('/user/daily/activity?', dev), 3);
  t.equal(await status('/user/daily/activity?user_id=lead-a', calls), 403);
});
