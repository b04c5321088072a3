// Keys and their owners: whoever is removed while they make keys has none afterwards.
import t from 'tap';
import { list, manage, managed, newKey, type Managed } from '../../../support/manage.ts';
import { startRig } from '../../../support/rig.ts';

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
