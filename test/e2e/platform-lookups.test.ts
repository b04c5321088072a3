// What the newest enterprise platform reads around each call that provisions somebody: it makes nothing that it has not found
// absent, believes nothing that it does not find again, and makes no second key for a call whose answer was lost.
import { hash } from 'node:crypto';
import t from 'tap';
import { list, manage, managed, type Json } from '../support/manage.ts';
import { startRig } from '../support/rig.ts';

const DEFAULT_TEAM = 'openhands';

t.test(
  'each object is looked up before it is made and after, a key by its hash until it is gone',
  async (t) => {
    const rig = await startRig(t);
    await managed(rig, 'POST /team/new', { team_id: DEFAULT_TEAM, models: [], spend: 0 });
    const isThere = async (kind: 'team' | 'user', id: string): Promise<boolean> => {
      const { status, json } = await manage(rig, `GET /${kind}/info?${kind}_id=${id}`);
      if (status === 404) return false;
      t.equal((json[`${kind}_info`] as Json)[`${kind}_id`], id);
      return true;
    };
    const isMember = async (user: string): Promise<boolean> => {
      const { team_info: info, team_memberships: rows } = (await managed(
        rig,
        'GET /team/info?team_id=org',
      )) as { team_info: Json; team_memberships: unknown };
      const members = [...list(info['members_with_roles']), ...list(rows)];
      for (const member of members) t.type(member['user_id'], 'string');
      return members.some((member) => member['user_id'] === user);
    };
    t.notOk(await isThere('team', 'org'));
    await managed(rig, 'POST /team/new', { team_id: 'org', models: [], spend: 0, max_budget: 5 });
    t.ok(await isThere('team', 'org'));
    for (const [user, taken] of [
      ['a', false],
      ['b', true],
    ] as const) {
      t.notOk(await isThere('user', user));
      const body = { user_id: user, models: [], teams: [DEFAULT_TEAM], auto_create_key: false };
      const first = await manage(rig, 'POST /user/new', { ...body, user_email: 'one@example.com' });
      if (taken) {
        // Only a refusal that says so is answered by a second attempt without the address.
        t.match(first, { status: 409, text: /email.*already exists/i });
        t.notOk(await isThere('user', user));
        await managed(rig, 'POST /user/new', { ...body, user_email: null });
      } else t.equal(first.status, 200);
      t.ok(await isThere('user', user));
      t.notOk(await isMember(user));
      const joins = { team_id: 'org', member: { user_id: user, role: 'user' }, max_budget_in_team: 0 };
      await managed(rig, 'POST /team/member_add', joins);
      t.ok(await isMember(user));
    }
    // The key is stored before it is asked for: a second attempt has the same value.
    const key = `sk-${'0123456789abcdef'.repeat(4)}`;
    const digest = hash('sha256', key, 'hex');
    const asked = { key, user_id: 'a', team_id: 'org', key_alias: 'openhands-rotation-1', models: [] };
    for (let attempt = 0; attempt < 2; attempt += 1)
      t.ok([200, 400, 409].includes((await manage(rig, 'POST /key/generate', asked)).status));
    const owned = async (): Promise<readonly Json[]> =>
      list((await managed(rig, 'GET /user/info?user_id=a'))['keys']);
    t.match(await owned(), [{ user_id: 'a', team_id: 'org', token: digest, key_alias: asked.key_alias }]);
    t.match(await managed(rig, `GET /key/info?key=${digest}`), { info: { user_id: 'a', team_id: 'org' } });
    const page = 'GET /key/list?user_id=a&page=1&size=100';
    t.match(await managed(rig, page), { keys: [digest], total_pages: 1, total_count: 1 });
    await managed(rig, 'POST /key/delete', { keys: [digest] });
    t.equal((await manage(rig, `GET /key/info?key=${digest}`)).status, 404);
    t.match(await owned(), []);
    t.match(await managed(rig, page), { keys: [], total_pages: 0 });
  },
);
