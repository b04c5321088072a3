// Keys and their owners: whoever is removed while they make keys has none afterwards.
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { list, manage, managed, newKey, type Json, type Managed } from '../../../support/manage.ts';
import { startRig, type Rig } from '../../../support/rig.ts';

t.test(
  'no key outlives the membership, the team or the user that it is made for at that moment',
  async (t) => {
    const rig = await startRig(t);
    for (const [call, body] of [
      ['POST /team/member_delete', { team_id: 'core', user_id: 'dev' }],
      ['POST /team/delete', { team_ids: ['core'] }],
      ['POST /user/delete', { user_ids: ['dev'] }],
    ] as const)
      for (let round = 0; round < 3; round += 1) {
        await managed(rig, 'POST /team/new', {
          team_id: 'core',
          members_with_roles: [{ user_id: 'dev', role: 'user' }],
        });
        const own = await newKey(rig, { user_id: 'dev' });
        const given = await newKey(rig, { user_id: 'dev' });
        const make = (): Promise<Managed> =>
          manage(rig, 'POST /key/generate', { team_id: 'core', user_id: 'dev' }, own);
        const moved = (): Promise<Managed> =>
          manage(rig, 'POST /key/update', { key: given, team_id: 'core' }, own);
        const before = Array.from({ length: 6 }, make);
        const gone = manage(rig, call, body);
        const answers = await Promise.all([...before, moved(), ...Array.from({ length: 6 }, make)]);
        t.equal((await gone).status, 200);
        t.notOk(
          answers.some(({ status }) => ![200, 400, 401, 403, 404].includes(status)),
          answers.map(({ status, text }) => `${status} ${text.slice(0, 80)}`).join('; '),
        );
        const { keys } = await managed(
          rig,
          `GET /key/list?${call.includes('user') ? 'user_id=dev' : 'team_id=core'}`,
        );
        t.same(list(keys), [], call);
        await manage(rig, 'POST /team/delete', { team_ids: ['core'] });
        await manage(rig, 'POST /user/delete', { user_ids: ['dev'] });
      }
  },
);

/** A call whose caller has been let in and whose body waits for `sent`. */
async function begun(
  rig: Rig,
  path: string,
  key: string,
): Promise<(body: object) => Promise<{ readonly status: number; readonly text: string }>> {
  const req = request(`${rig.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', expect: '100-continue' },
    agent: false,
  });
  const answered = once(req, 'response');
  req.flushHeaders();
  await Promise.race([once(req, 'continue'), answered.then(() => Promise.reject(new Error('not let in')))]);
  return async (body) => {
    req.end(JSON.stringify(body));
    const [res] = await answered;
    return { status: Number(res.statusCode), text: await text(res) };
  };
}

t.test('who is removed, or may do less, after a call was let in, changes nothing by it', async (t) => {
  const rig = await startRig(t);
  const user = { user_id: 'u', user_role: 'proxy_admin', max_budget: 0, auto_create_key: false };
  const cases: readonly (readonly [change: string, body: Json, status: number])[] = [
    ['POST /user/delete', { user_ids: ['u'] }, 401],
    ['POST /user/update', { user_id: 'u', user_role: 'internal_user_viewer' }, 403],
  ];
  for (const [change, body, status] of cases) {
    await managed(rig, 'POST /user/new', user);
    const own = await newKey(rig, { user_id: 'u' });
    const paths = ['/key/generate', '/budget/new', '/model/new', '/config/reload'];
    const calls = await Promise.all(paths.map((path) => begun(rig, path, own)));
    await managed(rig, change, body);
    const answers = await Promise.all(calls.map((sent) => sent({ user_id: 'u' })));
    t.same(
      answers.map((answer) => answer.status),
      paths.map(() => status),
      answers.map((answer) => answer.text.slice(0, 120)).join('; '),
    );
    const { keys } = await managed(rig, 'GET /key/list?user_id=u');
    t.equal(list(keys).length, change === 'POST /user/delete' ? 0 : 1, change);
    t.same(await managed(rig, 'GET /budget/list'), []);
    await manage(rig, 'POST /user/delete', { user_ids: ['u'] });
  }
  await managed(rig, 'POST /user/new', { ...user, user_role: 'internal_user', max_budget: 1 });
  const own = await newKey(rig, { user_id: 'u' });
  const regenerating = await begun(rig, '/key/regenerate', own);
  await managed(rig, 'POST /key/block', { key: own });
  t.equal((await regenerating({ key: own })).status, 401);
});

t.test('an admin who deletes what their own key goes with is answered, and nothing is left', async (t) => {
  const rig = await startRig(t);
  const user = { user_id: 'u', user_role: 'proxy_admin', auto_create_key: false };
  const organization = { organization_id: 'o', organization_alias: 'o' };
  for (const [call, body] of [
    ['POST /user/delete', { user_ids: ['u'] }],
    ['POST /team/delete', { team_ids: ['t'] }],
    ['DELETE /organization/delete', { organization_ids: ['o'] }],
    ['POST /team/member_delete', { team_id: 't', user_id: 'u' }],
    ['POST /key/delete', { key_aliases: ['own'] }],
  ] as const) {
    await manage(rig, 'POST /user/new', user);
    await manage(rig, 'POST /organization/new', organization);
    const members_with_roles = [{ user_id: 'u', role: 'user' }];
    await manage(rig, 'POST /team/new', { team_id: 't', organization_id: 'o', members_with_roles });
    const own = await newKey(rig, { user_id: 'u', team_id: 't', key_alias: 'own' });
    const { status, text } = await manage(rig, call, body, own);
    t.equal(status, 200, `${call}: ${text.slice(0, 120)}`);
    t.same((await managed(rig, 'GET /key/list?user_id=u'))['keys'], [], call);
  }
});
