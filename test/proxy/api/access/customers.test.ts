// End users of a product: both names of the routes, shared budgets or their own, blocking.
import t from 'tap';
import { list, manage, managed } from '../../../support/manage.ts';
import { startRig } from '../../../support/rig.ts';

t.test('the same under both names', async (t) => {
  const rig = await startRig(t);
  for (const base of ['/customer', '/end_user']) {
    const user_id = `user of ${base}`;
    const path = encodeURIComponent(user_id);
    t.match(
      await managed(rig, `POST ${base}/new`, { user_id, alias: 'A', max_budget: 3, budget_duration: '1d' }),
      {
        user_id,
        alias: 'A',
        blocked: false,
        spend: 0,
        allowed_model_region: null,
        default_model: null,
        litellm_budget_table: { max_budget: 3, budget_duration: '1d' },
      },
    );
    t.match(await managed(rig, `GET ${base}/info?end_user_id=${path}`), { user_id });
    t.match(await managed(rig, `POST ${base}/update`, { user_id, max_budget: null, default_model: 'demo' }), {
      default_model: 'demo',
      litellm_budget_table: { max_budget: null, budget_duration: '1d' },
    });
    t.equal(list(await managed(rig, `GET ${base}/list`)).length, 1);
    t.match(await managed(rig, `POST ${base}/delete`, { user_ids: [user_id] }), {
      deleted_customers: 1,
      message: /Successfully deleted/,
    });
    t.match(await manage(rig, `GET ${base}/info?end_user_id=${path}`), {
      status: 404,
      json: { error: { message: `End User Id=${user_id} does not exist in db`, code: '404' } },
    });
  }
});

t.test('a shared budget or terms of its own, never both', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /budget/new', { budget_id: 'free', max_budget: 0 });
  t.equal(
    (await manage(rig, 'POST /customer/new', { user_id: 'c', budget_id: 'free', max_budget: 1 })).status,
    422,
  );
  t.match(await manage(rig, 'POST /customer/new', { user_id: 'c', budget_id: 'none' }), {
    status: 400,
    text: /Budget not found for budget_id=none/,
  });
  t.match(await managed(rig, 'POST /customer/new', { user_id: 'c', budget_id: 'free' }), {
    budget_id: 'free',
    litellm_budget_table: { budget_id: 'free', max_budget: 0 },
  });
  await managed(rig, 'POST /budget/update', { budget_id: 'free', max_budget: 2 });
  t.match(await managed(rig, 'GET /customer/info?end_user_id=c'), {
    litellm_budget_table: { max_budget: 2 },
  });
  t.match(await managed(rig, 'POST /customer/update', { user_id: 'c', max_budget: 9 }), {
    budget_id: null,
    litellm_budget_table: { max_budget: 9 },
  });
  t.match(await managed(rig, 'POST /customer/update', { user_id: 'c', budget_id: 'free' }), {
    budget_id: 'free',
    litellm_budget_table: { max_budget: 2 },
  });
  t.match(await managed(rig, 'POST /customer/update', { user_id: 'c', budget_id: null }), {
    budget_id: null,
    litellm_budget_table: null,
  });
});

t.test('refusals', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /customer/new', { user_id: 'c' });
  t.match(await manage(rig, 'POST /customer/new', { user_id: 'c' }), {
    status: 400,
    json: { error: { message: /already exists/, type: 'bad_request_error' } },
  });
  for (const body of [{}, { user_id: '' }, { user_id: null }, { user_id: 5 }])
    t.equal((await manage(rig, 'POST /customer/new', body)).status, 422);
  t.equal((await manage(rig, 'GET /customer/info')).status, 422);
  t.equal((await manage(rig, 'POST /customer/update', { user_id: 'nobody' })).status, 404);
  t.equal((await manage(rig, 'POST /customer/delete', { user_ids: ['c', 'nobody'] })).status, 404);
  t.equal((await manage(rig, 'GET /customer/info?end_user_id=c')).status, 200, 'nothing was deleted');
  t.equal((await manage(rig, 'POST /customer/delete', { user_ids: [] })).status, 400);
});

t.test('blocking makes those that nobody has stated; unblocking answers with who is left', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /customer/new', { user_id: 'known', max_budget: 1 });
  t.match(await managed(rig, 'POST /customer/block', { user_ids: ['known', 'unknown'] }), {
    blocked_users: [
      { user_id: 'known', blocked: true, litellm_budget_table: { max_budget: 1 } },
      { user_id: 'unknown', blocked: true, litellm_budget_table: null },
    ],
  });
  t.strictSame(await managed(rig, 'POST /customer/unblock', { user_ids: ['known', 'nobody'] }), {
    blocked_users: ['unknown'],
  });
  t.match(await managed(rig, 'GET /customer/info?end_user_id=known'), { blocked: false });
});

t.test('what is sent again as it is, is no change in the audit', async (t) => {
  const rig = await startRig(t);
  const customer = { user_id: 'c', allowed_model_region: '', default_model: 'demo' };
  await managed(rig, 'POST /customer/new', customer);
  await managed(rig, 'POST /customer/update', { user_id: 'c', alias: 'A', default_model: 'demo' });
  const update = await rig.logged(({ action }) => action === 'customer_update');
  t.same([update['before'], update['after']], [{}, { alias: 'A' }]);
});
