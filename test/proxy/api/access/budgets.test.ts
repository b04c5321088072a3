// Shared budgets: made, changed for all that share them, and not deleted from under them.
import t from 'tap';
import { list, manage, managed, newKey, type Json, type Managed } from '../../../support/manage.ts';
import { startRig } from '../../../support/rig.ts';

t.test('caps by model are shown in the words in which they were stated', async (t) => {
  const rig = await startRig(t);
  const stated = {
    a: 5,
    b: { max_budget: 5, budget_duration: '30d' },
    c: { max_budget: 5 },
    d: { budget_limit: 5, time_period: '30d' },
  };
  await managed(rig, 'POST /budget/new', { budget_id: 'b', model_max_budget: stated });
  t.match(await managed(rig, 'POST /budget/info', { budgets: ['b'] }), [{ model_max_budget: stated }]);
  const { key } = await managed(rig, 'POST /key/generate', { model_max_budget: stated });
  t.same(
    ((await managed(rig, `GET /key/info?key=${String(key)}`))['info'] as Json)['model_max_budget'],
    stated,
  );
});

t.test('a budget is made, read, listed, changed and deleted', async (t) => {
  const rig = await startRig(t);
  const made = await managed(rig, 'POST /budget/new', {
    budget_id: 'gold',
    max_budget: 10,
    soft_budget: 8,
    budget_duration: '1mo',
    rpm_limit: 60,
    model_max_budget: { demo: { budget_limit: 1, time_period: '1d' } },
  });
  t.match(made, {
    budget_id: 'gold',
    max_budget: 10,
    soft_budget: 8,
    budget_duration: '1mo',
    budget_reset_at: /^\d{4}-\d\d-01T00:00:00/,
    rpm_limit: 60,
    tpm_limit: null,
    max_parallel_requests: null,
    model_max_budget: { demo: { budget_limit: 1, time_period: '1d' } },
    created_by: null,
  });
  const unnamed = await managed(rig, 'POST /budget/new', { max_budget: 1 });
  t.match(unnamed['budget_id'], /^[0-9a-f-]{36}$/);
  t.equal(
    unnamed['model_max_budget'],
    null,
    'as in LiteLLM, where keys, teams and users have an empty object',
  );
  t.match(await managed(rig, 'POST /budget/info', { budgets: ['nobody', 'gold'] }), [{ budget_id: 'gold' }]);
  t.strictSame(
    list(await managed(rig, 'GET /budget/list')).map((row) => row['budget_id']),
    ['gold', unnamed['budget_id']].toSorted((a, b) => Number(b === 'gold') - Number(a === 'gold')),
  );
  t.match(
    await managed(rig, 'POST /budget/update', { budget_id: 'gold', max_budget: 20, soft_budget: null }),
    {
      max_budget: 20,
      soft_budget: null,
      rpm_limit: 60,
      budget_duration: '1mo',
    },
  );
  t.match(await managed(rig, 'GET /budget/settings?budget_id=gold'), [
    { field_name: 'max_budget', field_type: 'Float', field_value: 20 },
  ]);
  t.match(await managed(rig, 'POST /budget/delete', { id: 'gold' }), { budget_id: 'gold' });
  t.match(await managed(rig, 'POST /budget/info', { budgets: ['gold'] }), []);
});

t.test('refusals have the shape of these routes', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /budget/new', { budget_id: 'one', max_budget: 1 });
  const again = await manage(rig, 'POST /budget/new', { budget_id: 'one', max_budget: 2 });
  t.equal(again.status, 400);
  t.strictSame(again.json, { detail: { error: "Budget with id 'one' already exists." } });
  for (const [call, body] of [
    ['POST /budget/update', { budget_id: 'nobody', max_budget: 1 }],
    ['POST /budget/delete', { id: 'nobody' }],
  ] as const)
    t.match(await manage(rig, call, body), { status: 404, json: { detail: { error: /does not exist/ } } });
  t.equal((await manage(rig, 'GET /budget/settings?budget_id=nobody')).status, 404);
  t.equal((await manage(rig, 'POST /budget/info', { budgets: [] })).status, 400);
  for (const body of [{}, { budgets: 'one' }, { budgets: [1] }])
    t.equal((await manage(rig, 'POST /budget/info', body)).status, 422);
  for (const max_budget of [-1, -1e-9])
    t.match(await manage(rig, 'POST /budget/new', { max_budget }), {
      status: 400,
      text: /non-negative finite/,
    });
  t.equal((await manage(rig, 'POST /budget/new', { budget_duration: '2y' })).status, 400);
  t.equal((await manage(rig, 'POST /budget/delete', {})).status, 422);
});

t.test('a budget that is in use stays; the refusal lists who uses it', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /budget/new', { budget_id: 'used', max_budget: 1 });
  await managed(rig, 'POST /customer/new', { user_id: 'cust', budget_id: 'used' });
  await managed(rig, 'POST /team/new', { team_id: 'team', metadata: { team_member_budget_id: 'used' } });
  await managed(rig, 'POST /organization/new', {
    organization_alias: 'org',
    organization_id: 'org',
    budget_id: 'used',
  });
  const refused = await manage(rig, 'POST /budget/delete', { id: 'used' });
  t.equal(refused.status, 400);
  t.match(refused.text, /in use by customer cust, organization org, members of team team/);
  for (let n = 0; n < 12; n += 1)
    await managed(rig, 'POST /customer/new', { user_id: `c${n}`, budget_id: 'used' });
  t.match((await manage(rig, 'POST /budget/delete', { id: 'used' })).text, / and 5 more; give them another/);
  await managed(rig, 'POST /team/delete', { team_ids: ['team'] });
  await managed(rig, 'DELETE /organization/delete', { organization_ids: ['org'] });
  await managed(rig, 'POST /customer/delete', {
    user_ids: ['cust', ...Array.from({ length: 12 }, (_, n) => `c${n}`)],
  });
  t.match(await managed(rig, 'POST /budget/delete', { id: 'used' }), { budget_id: 'used' });
});

t.test('a budget is not deleted from under what is given it at that moment', async (t) => {
  const rig = await startRig(t);
  const organization = { organization_id: 'o', organization_alias: 'o' };
  const key = await newKey(rig, {});
  await managed(rig, 'POST /user/new', { user_id: 'u' });
  await managed(rig, 'POST /customer/new', { user_id: 'c' });
  await managed(rig, 'POST /tag/new', { name: 't' });
  await managed(rig, 'POST /team/new', { team_id: 'team' });
  await managed(rig, 'POST /organization/new', organization);
  const takers: readonly (readonly [call: string, body: (id: string) => Json])[] = [
    ['POST /key/generate', () => ({})],
    ['POST /key/update', () => ({ key })],
    ['POST /user/new', (user_id) => ({ user_id })],
    ['POST /user/update', () => ({ user_id: 'u' })],
    ['POST /customer/new', (user_id) => ({ user_id })],
    ['POST /customer/update', () => ({ user_id: 'c' })],
    ['POST /tag/new', (name) => ({ name })],
    ['POST /tag/update', () => ({ name: 't' })],
    ['POST /team/new', (team_id) => ({ team_id })],
    ['POST /team/update', () => ({ team_id: 'team' })],
    ['POST /organization/new', () => ({ organization_alias: 'o2' })],
    ['PATCH /organization/update', () => organization],
  ];
  for (const [n, [call, body]] of takers.entries())
    for (const isFirst of [true, false]) {
      const budget_id = `b${n}${isFirst ? '' : '-later'}`;
      await managed(rig, 'POST /budget/new', { budget_id, max_budget: 0 });
      const named = call.includes('/team/')
        ? { metadata: { team_member_budget_id: budget_id } }
        : { budget_id };
      const take = (): Promise<Managed> => manage(rig, call, { ...body(budget_id), ...named });
      const before = isFirst ? take() : null;
      const deleting = manage(rig, 'POST /budget/delete', { id: budget_id });
      const [taken, deleted] = await Promise.all([before ?? take(), deleting]);
      const isThere = list(await managed(rig, 'POST /budget/info', { budgets: [budget_id] })).length === 1;
      t.same(
        [taken.status, deleted.status, isThere],
        isThere ? [200, 400, true] : [400, 200, false],
        `${call}: ${taken.text.slice(0, 80)}, ${deleted.text.slice(0, 80)}`,
      );
      t.match(isThere ? deleted.text : taken.text, isThere ? / is in use by / : /[Bb]udget/);
    }
});

t.test(
  'a budget whose deletion was refused can be given to others, and one that is changed, too',
  async (t) => {
    const rig = await startRig(t);
    await managed(rig, 'POST /budget/new', { budget_id: 'b', max_budget: 0 });
    await Promise.all([
      manage(rig, 'POST /customer/new', { user_id: 'c', budget_id: 'b' }),
      manage(rig, 'POST /budget/delete', { id: 'b' }),
    ]);
    await manage(rig, 'POST /budget/new', { budget_id: 'b', max_budget: 0 });
    await managed(rig, 'POST /budget/update', { budget_id: 'b', max_budget: 1 });
    await managed(rig, 'POST /customer/new', { user_id: 'c2', budget_id: 'b' });
  },
);

t.test('budgets and limits by model have a bound of patterns', async (t) => {
  const rig = await startRig(t);
  const patterns = (count: number): Json =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}-*`, 1]));
  await managed(rig, 'POST /budget/new', { budget_id: 'most', model_max_budget: patterns(100) });
  const refused = await manage(rig, 'POST /budget/new', {
    budget_id: 'more',
    model_max_budget: patterns(101),
  });
  t.equal(refused.status, 400);
  t.match(JSON.stringify(refused.json), /model_max_budget has 101 names with \*, and may have 100/);
  for (const member of ['model_rpm_limit', 'model_tpm_limit'])
    for (const call of ['POST /budget/new', 'POST /key/generate', 'POST /team/new', 'POST /user/new']) {
      t.equal((await manage(rig, call, { budget_id: member, [member]: patterns(100) })).status, 200, call);
      const { status, text } = await manage(rig, call, { budget_id: `${member} 2`, [member]: patterns(101) });
      t.equal(status, 400, `${call} ${member}`);
      t.match(text, `${member} has 101 names with *, and may have 100.`);
    }
  for (const model_rpm_limit of [patterns(101), 'none']) {
    const { status, text } = await manage(rig, 'POST /key/generate', { metadata: { model_rpm_limit } });
    t.equal(status, model_rpm_limit === 'none' ? 200 : 400);
    if (status === 400) t.match(text, 'metadata.model_rpm_limit has 101 names with *, and may have 100.');
  }
});
