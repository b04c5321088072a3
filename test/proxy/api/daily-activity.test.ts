// Who sees which daily sums: administrators all, admins of a team those of the team, users their own.
import t from 'tap';
import { manage, managed, newKey, type Json } from '../../support/manage.ts';
import { chat, startRig } from '../../support/rig.ts';

t.test('sums of teams and users', async (t) => {
  const rig = await startRig(t);
  for (const id of ['a', 'b'])
    await managed(rig, 'POST /team/new', {
      team_id: id,
      members_with_roles: [
        { user_id: `lead-${id}`, role: 'admin' },
        { user_id: `dev-${id}`, role: 'user' },
      ],
    });
  const key = async (user: string, team: string): Promise<string> =>
    newKey(rig, { team_id: team, user_id: user });
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

  t.equal(await requests('/user/daily/activity?', dev), 2);
  t.equal(await requests('/user/daily/activity?user_id=dev-a', dev), 2);
  t.equal(await status('/user/daily/activity?user_id=lead-a', dev), 403);
  t.equal(await status('/tag/daily/activity?', lead), 403);
});
