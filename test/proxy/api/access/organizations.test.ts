// Organizations own teams: they are deleted with them, all of it or nothing.
import t from 'tap';
import { list, manage, managed, newKey, type Json, type Managed } from '../../../support/manage.ts';
import { startRig } from '../../../support/rig.ts';

t.test('made, read with its teams, changed, deleted with them', async (t) => {
  const rig = await startRig(t);
  const made = await managed(rig, 'POST /organization/new', {
    organization_alias: 'Acme',
    models: ['demo'],
    max_budget: 100,
    metadata: { plan: 'gold' },
  });
  const id = String(made['organization_id']);
  t.match(made, {
    organization_id: /^[0-9a-f-]{36}$/,
    organization_alias: 'Acme',
    models: ['demo'],
    spend: 0,
    metadata: { plan: 'gold' },
    members: [],
    teams: [],
    litellm_budget_table: { max_budget: 100 },
  });
  await managed(rig, 'POST /team/new', { team_id: 'inside', organization_id: id });
  await managed(rig, 'POST /team/new', { team_id: 'outside' });
  t.match(await managed(rig, `GET /organization/info?organization_id=${id}`), {
    teams: [{ team_id: 'inside' }],
  });
  t.match(await managed(rig, `GET /team/list?organization_id=${id}`), [{ team_id: 'inside' }]);
  t.equal(list(await managed(rig, 'GET /organization/list')).length, 1);
  for (const [query, found] of [
    ['org_alias=cM', 1],
    ['org_alias=other', 0],
    [`org_id=${id}`, 1],
    ['org_id=other', 0],
  ] as const)
    t.equal(list(await managed(rig, `GET /organization/list?${query}`)).length, found, query);
  t.match(
    await managed(rig, 'PATCH /organization/update', { organization_id: id, max_budget: null, models: [] }),
    { organization_alias: 'Acme', models: [], litellm_budget_table: { max_budget: null } },
  );
  t.match(await manage(rig, 'DELETE /organization/delete', { organization_ids: [id, 'nobody'] }), {
    status: 404,
  });
  t.equal((await manage(rig, 'GET /team/info?team_id=inside')).status, 200, 'nothing was deleted');
  t.match(await managed(rig, 'DELETE /organization/delete', { organization_ids: [id] }), [
    { organization_id: id, teams: [{ team_id: 'inside' }] },
  ]);
  t.equal((await manage(rig, 'GET /team/info?team_id=inside')).status, 404);
  t.equal((await manage(rig, 'GET /team/info?team_id=outside')).status, 200);
  t.equal((await manage(rig, `GET /organization/info?organization_id=${id}`)).status, 404);
});

t.test(
  'an organization has a budget table without a budget too: clients read its members unasked',
  async (t) => {
    const rig = await startRig(t);
    const made = await managed(rig, 'POST /organization/new', { organization_alias: 'free' });
    const table = {
      budget_id: null,
      max_budget: null,
      soft_budget: null,
      budget_duration: null,
      tpm_limit: null,
      rpm_limit: null,
      created_at: made['created_at'],
    };
    t.match(made, { litellm_budget_table: table });
    t.match(await managed(rig, 'GET /organization/list'), [{ litellm_budget_table: table }]);
  },
);

t.test(
  'rows are as clients of fixed types ask for them, who made them or not; they may be sent back',
  async (t) => {
    const rig = await startRig(t);
    const typed = { budget_id: '', created_by: 'default_user_id', updated_by: 'default_user_id' };
    await managed(rig, 'POST /organization/new', { organization_alias: 'none', organization_id: 'none' });
    t.match(await managed(rig, 'GET /organization/info?organization_id=none'), typed);
    const capped = { organization_alias: 'capped', organization_id: 'capped', max_budget: 5 };
    t.match(await managed(rig, 'POST /organization/new', capped), {
      ...typed,
      litellm_budget_table: { max_budget: 5, created_at: /^\d{4}-/ },
    });
    const row = await managed(rig, 'GET /organization/info?organization_id=capped');
    t.match(await managed(rig, 'PATCH /organization/update', row), { ...typed, max_budget: 5 });
    await managed(rig, 'POST /budget/new', { budget_id: 'shared', max_budget: 9 });
    t.match(
      await managed(rig, 'PATCH /organization/update', { organization_id: 'none', budget_id: 'shared' }),
      {
        budget_id: 'shared',
        litellm_budget_table: { max_budget: 9, created_at: /^\d{4}-/ },
      },
    );
  },
);

t.test('refusals', async (t) => {
  const rig = await startRig(t);
  t.equal((await manage(rig, 'POST /organization/new', {})).status, 422);
  await managed(rig, 'POST /organization/new', { organization_alias: 'a', organization_id: 'o' });
  t.match(await manage(rig, 'POST /organization/new', { organization_alias: 'b', organization_id: 'o' }), {
    status: 400,
    text: /already exists/,
  });
  t.equal(
    (await manage(rig, 'POST /organization/new', { organization_alias: 'c', budget_id: 'none' })).status,
    400,
  );
  t.equal((await manage(rig, 'PATCH /organization/update', { organization_id: 'nobody' })).status, 404);
  t.equal((await manage(rig, 'GET /organization/info')).status, 422);
  t.equal((await manage(rig, 'POST /organization/info', { organizations: [] })).status, 400);
});

t.test('no key and no team is left of an organization that is deleted while they are made', async (t) => {
  const rig = await startRig(t);
  const team = async (): Promise<Json> => {
    const { team_id } = await managed(rig, 'POST /team/new', {});
    return { team_id };
  };
  const takers: readonly (readonly [call: string, body: () => Promise<Json>])[] = [
    ['POST /key/generate', async () => ({})],
    ['POST /key/update', async () => ({ key: await newKey(rig, {}) })],
    ['POST /team/new', async () => ({})],
    ['POST /team/update', team],
  ];
  for (const [n, [call, bodyOf]] of takers.entries())
    for (const isFirst of [true, false]) {
      const organization_id = `o${n}${isFirst ? '' : '-later'}`;
      await managed(rig, 'POST /organization/new', { organization_id, organization_alias: 'o' });
      const body = { ...(await bodyOf()), organization_id };
      const take = (): Promise<Managed> => manage(rig, call, body);
      const before = isFirst ? take() : null;
      const deleting = managed(rig, 'DELETE /organization/delete', { organization_ids: [organization_id] });
      const { status, text } = await (before ?? take());
      await deleting;
      t.ok([200, 400].includes(status), `${call}: ${status} ${text.slice(0, 80)}`);
      const { keys } = await managed(rig, 'GET /key/list?return_full_object=true&size=100');
      t.notOk(
        list(keys).some((one) => one['organization_id'] === organization_id),
        call,
      );
      t.same(await managed(rig, `GET /team/list?organization_id=${organization_id}`), [], call);
    }
});
