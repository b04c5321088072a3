// Members of organizations, as Terraform's providers and litellm-as-code keep them.
import t from 'tap';
import { manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { startRig } from '../../../support/rig.ts';

t.test('added, shown, changed, removed', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /organization/new', { organization_alias: 'Acme', organization_id: 'o' });
  await managed(rig, 'POST /user/new', { user_id: 'ada', user_email: 'ada@example.com' });
  const one = { organization_id: 'o', member: { user_id: 'ada', role: 'org_admin' } };
  t.match(await managed(rig, 'POST /organization/member_add', one), {
    organization_id: 'o',
    updated_users: [{ user_id: 'ada', organization_memberships: [{ organization_id: 'o' }] }],
    updated_organization_memberships: [{ user_id: 'ada', organization_id: 'o', user_role: 'org_admin' }],
  });
  t.match(await manage(rig, 'POST /organization/member_add', one), { status: 400, text: /already in/ });
  const more = [
    { user_id: 'ada', role: 'internal_user' },
    { user_email: 'new@example.com', role: 'internal_user_viewer' },
  ];
  const added = await managed(rig, 'POST /organization/member_add', { organization_id: 'o', member: more });
  const [made] = added['updated_users'] as readonly Json[];
  t.match(made, { user_email: 'new@example.com', user_role: 'internal_user' }, 'made on the way');
  t.match((await managed(rig, 'GET /organization/info?organization_id=o'))['members'], [
    { user_id: 'ada', user_role: 'org_admin', user_email: 'ada@example.com' },
    { user_id: made?.['user_id'], user_role: 'internal_user_viewer', user_email: 'new@example.com' },
  ]);

  const changed = await managed(rig, 'PATCH /organization/member_update', {
    organization_id: 'o',
    user_email: 'ADA@example.com',
    role: 'internal_user',
  });
  t.match(changed, { user_id: 'ada', user_role: 'internal_user' });
  t.match((await managed(rig, 'GET /v2/user/info?user_id=ada'))['organization_memberships'], [
    { organization_id: 'o', user_role: 'internal_user' },
  ]);
  const gone = { organization_id: 'o', user_id: 'ada' };
  t.match(await managed(rig, 'DELETE /organization/member_delete', gone), { user_id: 'ada' });
  t.equal((await manage(rig, 'DELETE /organization/member_delete', gone)).status, 404);
  t.equal(
    (await manage(rig, 'PATCH /organization/member_update', { ...gone, role: 'org_admin' })).status,
    404,
  );
  await managed(rig, 'POST /user/delete', { user_ids: [made?.['user_id']] });
  t.match(await managed(rig, 'POST /organization/info', { organizations: ['o', 'none'] }), [
    { organization_id: 'o', members: [] },
  ]);
});

t.test('a user that is deleted at the same moment is no member, of a team neither', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /organization/new', { organization_alias: 'Acme', organization_id: 'o' });
  await managed(rig, 'POST /team/new', { team_id: 't' });
  for (const user_id of Array.from({ length: 20 }, (_, at) => `u${at}`)) {
    await managed(rig, 'POST /user/new', { user_id, auto_create_key: false });
    const answers = await Promise.all([
      manage(rig, 'POST /organization/member_add', {
        organization_id: 'o',
        member: { user_id, role: 'internal_user' },
      }),
      manage(rig, 'POST /team/member_add', { team_id: 't', member: { user_id, role: 'user' } }),
      manage(rig, 'POST /user/delete', { user_ids: [user_id] }),
    ]);
    for (const { status, text } of answers) t.equal(status, 200, text);
  }
  const { directory } = rig.gateway.reloader.active.services.access;
  for (const one of [directory.organization('o'), directory.team('t')])
    t.notOk(one === null || one.members.some(({ userId }) => directory.user(userId) === null));
});

t.test('a member whose user an older server has deleted can be removed', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /organization/new', { organization_alias: 'Acme', organization_id: 'o' });
  const member = { user_id: 'ada', role: 'internal_user' };
  await managed(rig, 'POST /organization/member_add', { organization_id: 'o', member });
  const { access } = rig.gateway.reloader.active.services;
  const user = access.directory.user('ada');
  if (user === null) throw new Error('ada is missing');
  await access.change([{ remove: user }]);
  const gone = { organization_id: 'o', user_id: 'ada' };
  t.match(await managed(rig, 'DELETE /organization/member_delete', gone), { user_id: 'ada' });
});

t.test('a role opens nothing', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /organization/new', { organization_alias: 'Acme', organization_id: 'o' });
  const key = await newKey(rig, { user_id: 'ada' });
  const member = { user_id: 'ada', role: 'org_admin' };
  await managed(rig, 'POST /organization/member_add', { organization_id: 'o', member });
  for (const [call, body] of [
    ['GET /organization/info?organization_id=o', undefined],
    ['GET /organization/list', undefined],
    ['POST /organization/info', { organizations: ['o'] }],
    ['POST /organization/member_add', { organization_id: 'o', member: { ...member, user_id: 'eve' } }],
    ['PATCH /organization/member_update', { organization_id: 'o', ...member }],
    ['DELETE /organization/member_delete', { organization_id: 'o', user_id: 'ada' }],
    ['POST /team/new', { organization_id: 'o' }],
  ] as const)
    t.equal((await manage(rig, call, body, key)).status, 403, call);
});

t.test('refusals', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /organization/new', { organization_alias: 'Acme', organization_id: 'o' });
  const role = 'internal_user';
  const add = async (member: unknown, more: Json = {}): Promise<readonly [number, string]> => {
    const body = { organization_id: 'o', member, ...more };
    const { status, text } = await manage(rig, 'POST /organization/member_add', body);
    return [status, text];
  };
  const cases = [
    [await add([]), 422, /member/],
    [await add({ user_id: 'a' }), 422, /role/],
    [await add({ user_id: 'a', role: 'proxy_admin' }), 422, /org_admin/],
    [await add({ role }), 422, /user_id or user_email/],
    [
      await add([
        { user_id: 'a', role },
        { user_id: 'a', role: 'org_admin' },
      ]),
      400,
      /twice/,
    ],
    [await add({ user_id: 'a', role }, { organization_id: 'none' }), 404, /not found/],
    [await add({ user_id: 'a', role }, { max_budget_in_organization: 5 }), 400, /max_budget_in_team/],
  ] as const;
  for (const [[status, text], wanted, said] of cases) {
    t.equal(status, wanted, text);
    t.match(text, said);
  }
  t.equal((await manage(rig, 'GET /user/info?user_id=a')).status, 404, 'nobody was made');
  t.match((await managed(rig, 'GET /organization/info?organization_id=o'))['members'], []);
});
