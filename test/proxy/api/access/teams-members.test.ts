// Members join, get budgets of their own, and leave: texts and statuses that platforms rely on.
import t from 'tap';
import { list, manage, managed, newKey, type Json, type Managed } from '../../../support/manage.ts';
import { chat, startRig, type Rig } from '../../../support/rig.ts';

const membershipsOf = async (rig: Rig, id: string): Promise<readonly Json[]> =>
  list((await managed(rig, `GET /team/info?team_id=${id}`))['team_memberships']);

const membersOf = async (rig: Rig, id: string): Promise<readonly Json[]> => {
  const { team_info: row } = (await managed(rig, `GET /team/info?team_id=${id}`)) as { team_info: Json };
  return list(row['members_with_roles']);
};

t.test('one member: an unknown user is made, its membership stands with and without a budget', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'one' });
  const row = await managed(rig, 'POST /team/member_add', {
    team_id: 'one',
    member: { user_id: 'u1', role: 'user' },
    max_budget_in_team: 0,
  });
  t.match(row, {
    team_id: 'one',
    members_with_roles: [{ user_id: 'u1', user_email: null, role: 'user' }],
    updated_users: [{ user_id: 'u1', user_role: 'internal_user', teams: ['one'] }],
    updated_team_memberships: [{ user_id: 'u1', team_id: 'one', spend: 0 }],
  });
  await managed(rig, 'POST /team/member_add', { team_id: 'one', member: { user_id: 'u2', role: 'admin' } });
  const [first, second, ...none] = await membershipsOf(rig, 'one');
  // Go clients read `model_max_budget` of this table as a text, which null is and an object is not.
  const table = { max_budget: 0, model_max_budget: null };
  t.match(first, { user_id: 'u1', team_id: 'one', spend: 0, litellm_budget_table: table });
  t.match(row['updated_team_memberships'], [{ litellm_budget_table: table }]);
  t.match(second, { user_id: 'u2', budget_id: null, litellm_budget_table: null });
  t.strictSame(none, []);
  t.match(await managed(rig, 'GET /user/info?user_id=u1'), {
    user_info: { user_id: 'u1' },
    teams: [{ team_id: 'one' }],
  });
});

t.test('already in the team: one is refused, a list only when all are in', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'dup' });
  const add = (member: unknown): Promise<Managed> =>
    manage(rig, 'POST /team/member_add', { team_id: 'dup', member });
  t.equal((await add({ user_id: 'a', user_email: 'A@Example.com', role: 'user' })).status, 200);
  for (const member of [
    { user_id: 'a', role: 'user' },
    { user_id: 'a', role: 'admin' },
    { user_email: 'a@example.COM', role: 'user' },
    [{ user_id: 'a', role: 'user' }],
  ]) {
    const again = await add(member);
    t.equal(again.status, 400);
    t.match(again.text.toLowerCase(), /already in team/);
    t.match(again.json, { error: { type: 'team_member_already_in_team', code: '400' } });
  }
  t.match(await membersOf(rig, 'dup'), [{ user_id: 'a', role: 'user' }], 'the role stays');
  const list = await add([
    { user_id: 'a', role: 'user' },
    { user_id: 'b', role: 'user' },
    { user_id: 'b', role: 'user' },
  ]);
  t.equal(list.status, 200);
  t.match(list.json['updated_team_memberships'], [{ user_id: 'b' }]);
  t.equal((await membersOf(rig, 'dup')).length, 2);
  t.match(
    await add([
      { user_id: 'a', role: 'user' },
      { user_id: 'b', role: 'user' },
    ]),
    {
      status: 400,
      text: /already in team/,
    },
  );
});

t.test('a list that names one user with two roles adds nobody, and says whom', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'two' });
  const add = (...member: readonly unknown[]): Promise<Managed> =>
    manage(rig, 'POST /team/member_add', { team_id: 'two', member });
  const other = { user_id: 'other', role: 'user' };
  const named = { user_id: 'a', user_email: 'A@example.com', role: 'user' };
  for (const [again, text] of [
    [{ user_id: 'a', role: 'admin' }, /user_id=a, user_email=None/],
    [{ user_email: 'a@EXAMPLE.com', role: 'admin' }, /user_id=None, user_email=a@EXAMPLE\.com/],
  ] as const) {
    const refused = await add(other, named, again);
    t.match(refused, { status: 400, json: { error: { reason: 'invalid_object', param: 'member' } } });
    t.match(refused.text, text);
    t.notMatch(refused.text.toLowerCase(), /already in team/);
  }
  t.same(await membersOf(rig, 'two'), []);
  t.equal((await manage(rig, 'GET /user/info?user_id=other')).status, 404, 'no user was made');
  t.equal((await add(other, named, { ...named, user_email: 'a@example.com' })).status, 200, 'one role twice');
  t.match(await membersOf(rig, 'two'), [{ user_id: 'other' }, { user_id: 'a', role: 'user' }]);
  t.equal((await add(named, { user_id: 'a', role: 'admin' })).status, 400, 'of a member, too');
});

t.test(
  'by e-mail: the known user joins, in any case of letters; nobody gets the address of another',
  async (t) => {
    const rig = await startRig(t);
    await managed(rig, 'POST /team/new', { team_id: 'mail' });
    await managed(rig, 'POST /user/new', {
      user_id: 'known',
      user_email: 'Known@Example.com',
      auto_create_key: false,
    });
    const add = (member: unknown): Promise<Managed> =>
      manage(rig, 'POST /team/member_add', { team_id: 'mail', member });
    t.match((await add({ user_email: 'known@example.com', role: 'user' })).json['members_with_roles'], [
      { user_id: 'known', user_email: 'Known@Example.com' },
    ]);
    t.match((await managed(rig, 'GET /user/info?user_id=known'))['teams'], [{ team_id: 'mail' }]);
    const taken = await add({ user_id: 'other', user_email: 'KNOWN@example.com', role: 'user' });
    t.match(taken, { status: 400, text: /already exists/ });
    const fresh = await add({ user_email: 'new@example.com', role: 'user' });
    t.match(fresh.json['updated_users'], [{ user_email: 'new@example.com', user_id: /^[0-9a-f-]{36}$/ }]);
  },
);

t.test('one new address in several teams at the same moment is one user', async (t) => {
  const rig = await startRig(t);
  const teams = Array.from({ length: 6 }, (_, n) => `team ${n}`);
  for (const team_id of teams.slice(0, 5)) await managed(rig, 'POST /team/new', { team_id });
  const member = { user_email: 'Same@example.com', role: 'user' };
  await Promise.all(
    teams.map((team_id, n) =>
      n < 5
        ? managed(rig, 'POST /team/member_add', {
            team_id,
            member: { ...member, user_email: n % 2 ? 'same@EXAMPLE.com' : 'Same@example.com' },
          })
        : managed(rig, 'POST /team/new', { team_id, members_with_roles: [member] }),
    ),
  );
  const ids = await Promise.all(
    teams.map(async (id) => (await membersOf(rig, encodeURIComponent(id)))[0]?.['user_id']),
  );
  t.equal(new Set(ids).size, 1);
});

t.test('ten unknown users join a team with one admin: twelve with the one who made it', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /user/new', { user_id: 'boss', user_role: 'proxy_admin', auto_create_key: false });
  const boss = await newKey(rig, { user_id: 'boss' });
  const body = { team_id: 'dozen', members_with_roles: [{ user_id: 'lead', role: 'admin' }] };
  const made = await managed(rig, 'POST /team/new', body, boss);
  t.match(made['members_with_roles'], [
    { user_id: 'lead', role: 'admin' },
    { user_id: 'boss', role: 'admin' },
  ]);
  const many = Array.from({ length: 10 }, (_, n) => ({ user_email: `u${n}@example.com`, role: 'user' }));
  const row = await managed(rig, 'POST /team/member_add', { team_id: 'dozen', member: many }, boss);
  t.equal(list(row['members_with_roles']).length, 12);
  t.equal(list(row['updated_users']).length, 10);
});

t.test('ten that join at the same moment are all in', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'race' });
  const ids = Array.from({ length: 10 }, (_, n) => `r${n}`);
  await Promise.all(
    ids.map((user_id) =>
      managed(rig, 'POST /team/member_add', { team_id: 'race', member: { user_id, role: 'user' } }),
    ),
  );
  t.strictSame((await membersOf(rig, 'race')).map((one) => one['user_id']).toSorted(), ids);
});

t.test(
  'an update gives a member a budget of its own; the shared one stays what it was for the others',
  async (t) => {
    const rig = await startRig(t);
    const team = await managed(rig, 'POST /team/new', { team_id: 'own', team_member_budget: 5 });
    const { team_member_budget_id: shared } = team['metadata'] as Json;
    for (const user_id of ['a', 'b'])
      await managed(rig, 'POST /team/member_add', { team_id: 'own', member: { user_id, role: 'user' } });
    t.match(await membershipsOf(rig, 'own'), [
      { user_id: 'a', budget_id: shared, litellm_budget_table: { max_budget: 5 } },
      { user_id: 'b', budget_id: shared, litellm_budget_table: { max_budget: 5 } },
    ]);
    const update = (body: Json): Promise<Managed> =>
      manage(rig, 'POST /team/member_update', { team_id: 'own', ...body });
    t.match((await update({ user_id: 'a', max_budget_in_team: 1 })).json, {
      team_id: 'own',
      user_id: 'a',
      max_budget_in_team: 1,
    });
    t.match(await membershipsOf(rig, 'own'), [
      { user_id: 'a', litellm_budget_table: { max_budget: 1 } },
      { user_id: 'b', budget_id: shared, litellm_budget_table: { max_budget: 5 } },
    ]);
    t.match(await managed(rig, 'POST /budget/info', { budgets: [shared] }), [{ max_budget: 5 }]);
    t.match(
      (await update({ user_id: 'a', rpm_limit: 9 })).json,
      { max_budget_in_team: 1, rpm_limit: 9 },
      'the rest stays',
    );
    t.match((await update({ user_id: 'b', role: 'admin' })).json, { role: 'admin', max_budget_in_team: 5 });
    t.match((await update({ user_id: 'a', max_budget_in_team: 1_000_000_000.0 })).json, {
      max_budget_in_team: 1_000_000_000,
    });
    t.match(
      (await update({ user_id: 'a', max_budget_in_team: null, rpm_limit: null })).json,
      {
        max_budget_in_team: 5,
        rpm_limit: null,
      },
      'cleared: the shared one counts again',
    );
    const unknown = await update({ user_id: 'nobody', max_budget_in_team: 1 });
    t.equal(unknown.status, 400);
    t.match(unknown.json, { detail: { error: "User id doesn't exist in team table" } });
    t.equal((await update({ user_id: 'a', max_budget_in_team: -1 })).status, 400);
    t.equal((await update({ user_id: 'a', max_budget_in_team: 'one' })).status, 422);
    t.equal((await update({ max_budget_in_team: 1 })).status, 422, 'nobody is named');
    const none = await manage(rig, 'POST /team/member_update', { team_id: 'nobody', user_id: 'a' });
    t.equal(none.status, 404);
  },
);

t.test('a member that leaves loses its keys of this team, by id and by e-mail', async (t) => {
  const rig = await startRig(t);
  for (const team_id of ['t1', 't2']) {
    await managed(rig, 'POST /team/new', { team_id });
    const member = [
      { user_id: 'gone', user_email: 'Gone@example.com', role: 'user' },
      { user_id: 'stays', role: 'user' },
    ];
    await managed(rig, 'POST /team/member_add', { team_id, member });
  }
  const lost = await newKey(rig, { team_id: 't1', user_id: 'gone' });
  const kept = [
    await newKey(rig, { team_id: 't2', user_id: 'gone' }),
    await newKey(rig, { user_id: 'gone' }),
    await newKey(rig, { team_id: 't1', user_id: 'stays' }),
    await newKey(rig, { team_id: 't1' }),
  ];
  const row = await managed(rig, 'POST /team/member_delete', { team_id: 't1', user_id: 'gone' });
  t.match(row['members_with_roles'], [{ user_id: 'stays' }]);
  t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${lost}` })).status, 401);
  t.equal((await manage(rig, `GET /key/info?key=${lost}`)).status, 404);
  for (const key of kept) t.equal((await manage(rig, `GET /key/info?key=${key}`)).status, 200);
  t.match((await managed(rig, 'GET /user/info?user_id=gone'))['teams'], [{ team_id: 't2' }]);
  await managed(rig, 'POST /team/member_delete', { team_id: 't2', user_email: 'gone@EXAMPLE.com' });
  t.match((await managed(rig, 'GET /team/info?team_id=t2'))['team_memberships'], [{ user_id: 'stays' }]);
  // Platforms ask again, and take 404 for "gone".
  const again = await manage(rig, 'POST /team/member_delete', { team_id: 't1', user_id: 'gone' });
  t.equal(again.status, 404);
  t.match(again.json, { detail: { error: /^User not found in team\./ } });
  t.equal(
    (await manage(rig, 'POST /team/member_delete', { team_id: 'nobody', user_id: 'gone' })).status,
    404,
  );
});

t.test('an admin of the team changes its members, a member does not', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', {
    team_id: 'r',
    members_with_roles: [
      { user_id: 'lead', role: 'admin' },
      { user_id: 'dev', role: 'user' },
    ],
  });
  await managed(rig, 'POST /team/new', { team_id: 'other' });
  const lead = await newKey(rig, { team_id: 'r', user_id: 'lead' });
  const dev = await newKey(rig, { team_id: 'r', user_id: 'dev' });
  const add = (user_id: string) => ({ team_id: 'r', member: { user_id, role: 'user' } });
  t.equal((await manage(rig, 'POST /team/member_add', add('new'), dev)).status, 403);
  t.equal((await manage(rig, 'POST /team/member_add', add('new'), lead)).status, 200);
  t.equal(
    (await manage(rig, 'POST /team/member_add', { ...add('new'), team_id: 'other' }, lead)).status,
    403,
  );
  t.equal(
    (await manage(rig, 'POST /team/member_delete', { team_id: 'r', user_id: 'lead' }, dev)).status,
    403,
  );
  t.equal(
    (await manage(rig, 'POST /team/member_update', { team_id: 'r', user_id: 'dev', role: 'admin' }, dev))
      .status,
    403,
  );
  t.equal(
    (await manage(rig, 'POST /team/member_delete', { team_id: 'r', user_id: 'new' }, lead)).status,
    200,
  );
});

t.test('an admin of a team who adds a stranger is told nothing of their other teams and costs', async (t) => {
  const rig = await startRig(t);
  const stranger = { user_id: 'stranger', user_email: 'stranger@example.com' };
  await managed(rig, 'POST /user/new', { ...stranger, metadata: { salary: 1 }, max_budget: 7 });
  await managed(rig, 'POST /team/new', {
    team_id: 'secret',
    members_with_roles: [{ ...stranger, role: 'user' }],
  });
  await managed(rig, 'POST /team/new', {
    team_id: 'open',
    members_with_roles: [{ user_id: 'lead', role: 'admin' }],
  });
  const lead = await newKey(rig, { user_id: 'lead' });
  const member = { user_email: 'stranger@example.com', role: 'user' };
  const added = await managed(rig, 'POST /team/member_add', { team_id: 'open', member }, lead);
  t.strictSame(added['updated_users'], [{ ...stranger, teams: ['open'] }]);
});
