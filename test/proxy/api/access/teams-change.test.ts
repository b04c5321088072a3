// Teams are made, changed, blocked and deleted in the dialect's words: statuses and texts that clients match.
import t from 'tap';
import { list, manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { chat, raw, startRig, type Rig } from '../../../support/rig.ts';

const info = async (rig: Rig, id: string): Promise<Json> =>
  (await managed(rig, `GET /team/info?team_id=${id}`))['team_info'] as Json;

const lines = (rig: Rig, action: string): readonly Record<string, unknown>[] =>
  rig.log.filter((line) => line['event'] === 'admin_change' && line['action'] === action);

t.test('a team is made, and read as strict clients parse it', async (t) => {
  const rig = await startRig(t);
  const body = {
    team_id: 'org-1',
    team_alias: 'One',
    models: [],
    max_budget: 0,
    spend: 77, // no member of this call: passed over
    metadata: { version: 4, model: 'litellm_proxy/demo', nested: { a: [1, null] } },
  };
  const row = await managed(rig, 'POST /team/new', body);
  t.match(row, {
    team_id: 'org-1',
    team_alias: 'One',
    models: [],
    max_budget: 0,
    budget_duration: null,
    budget_reset_at: null,
    spend: 0,
    blocked: false,
    tpm_limit: null,
    rpm_limit: null,
    members_with_roles: [],
    organization_id: null,
    metadata: body.metadata,
    litellm_model_table: null,
  });
  t.strictSame(Object.keys(await managed(rig, 'GET /team/info?team_id=org-1')).sort(), [
    'keys',
    'team_id',
    'team_info',
    'team_memberships',
  ]);
  t.strictSame((await info(rig, 'org-1'))['metadata'], body.metadata);

  const again = await manage(rig, 'POST /team/new', { ...body, max_budget: 5 });
  t.equal(again.status, 400);
  t.match(again.json, {
    error: {
      message: 'Team id = org-1 already exists. Please use a different team id.',
      param: 'team_id',
      code: '400',
    },
  });
  t.equal((await info(rig, 'org-1'))['max_budget'], 0, 'nothing was changed');

  const [made, refused] = lines(rig, 'team_new');
  t.match(made, { outcome: 'applied', object: 'team', object_id: 'org-1', before: null });
  t.match(refused, { outcome: 'refused', object_id: 'org-1', error: 'object_exists' });
});

t.test('an absent or blank id becomes a UUID; ten at once are ten', async (t) => {
  const rig = await startRig(t);
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      managed(rig, 'POST /team/new', {
        max_budget: null,
        budget_duration: null,
        ...[{}, { team_id: '' }, { team_id: ' \u3000' }][n % 3],
      }),
    ),
  );
  const ids = new Set(answers.map((row) => row['team_id']));
  t.equal(ids.size, 10);
  for (const id of ids) t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
});

t.test('a duplicate is one also when both come at the same moment', async (t) => {
  const rig = await startRig(t);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => manage(rig, 'POST /team/new', { team_id: 'same' })),
  );
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400, 400, 400]);
});

t.test('ids with spaces, slashes and letters of the world', async (t) => {
  const rig = await startRig(t);
  for (const id of ['a b', 'a/b', 'äöü 東京', "it's & more?", '%41']) {
    await managed(rig, 'POST /team/new', { team_id: id });
    t.equal((await info(rig, encodeURIComponent(id)))['team_id'], id);
  }
  t.equal((await manage(rig, 'GET /team/info?team_id=A')).status, 404, 'no id is decoded twice');
});

t.test('what cannot be is refused in words', async (t) => {
  const rig = await startRig(t);
  const refusal = async (body: unknown): Promise<readonly [number, string]> => {
    const { status, text } = await manage(rig, 'POST /team/new', body);
    return [status, text];
  };
  for (const max_budget of [-1, -0.000001])
    t.match(await refusal({ max_budget }), [400, /max_budget must be a non-negative finite number/]);
  for (const [body, name, type] of [
    [{ max_budget: 'x' }, 'max_budget', 'float_type'],
    [{ max_budget: true }, 'max_budget', 'float_type'],
    [{ rpm_limit: 1.5 }, 'rpm_limit', 'int_from_float'],
    [{ models: 'demo' }, 'models', 'list_type'],
    [{ models: [1] }, 'models', 'string_type'],
    [{ metadata: [] }, 'metadata', 'dict_type'],
    [{ blocked: 'no' }, 'blocked', 'bool_type'],
    [{ team_id: 7 }, 'team_id', 'string_type'],
    [{ members_with_roles: {} }, 'members_with_roles', 'list_type'],
    [{ members_with_roles: [{ user_id: 'u', role: 'owner' }] }, 'members_with_roles', 'enum'],
  ] as const) {
    const [status, text] = await refusal(body);
    t.equal(status, 422, text);
    const { detail } = JSON.parse(text) as { detail: { loc: unknown[]; type: string; msg: string }[] };
    t.match(detail, [{ loc: ['body', name], type, msg: String }], text);
  }
  t.match(await refusal({ members_with_roles: [{ role: 'user' }] }), [422, /Either user_id or user_email/]);
  t.match(await refusal({ budget_duration: '1y' }), [400, /Invalid budget_duration '1y'/]);
  t.match(await refusal({ budget_duration: '0d' }), [400, /Invalid budget_duration '0d'/]);
  t.match(await refusal({ max_budget: 5, soft_budget: 5 }), [400, /soft_budget .* must be strictly lower/]);
  t.match(await refusal({ organization_id: 'none' }), [400, /Organization not found/]);
  t.match(await refusal({ metadata: { team_member_budget_id: 'none' } }), [400, /names no budget/]);
  t.match(await refusal([]), [400, /must be one JSON object/]);
  const number = `{"team_id":"big","max_budget":1e999}`;
  const port = Number(new URL(rig.url).port);
  const answer = await raw(
    port,
    `POST /team/new HTTP/1.1\r\nhost: 127.0.0.1\r\nx-goog-api-key: sk-test-master-key\r\nconnection: close\r\n` +
      `content-type: application/json\r\ncontent-length: ${number.length}\r\n\r\n${number}`,
  );
  t.match(answer, /^HTTP\/1\.1 400 [\s\S]*max_budget must be a non-negative finite number/);
  t.strictSame(list(await managed(rig, 'GET /team/list')), [], 'nothing was stored');
});

t.test('an update keeps what is absent, clears what is null, and takes an empty list for all', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', {
    team_id: 'u',
    team_alias: 'before',
    max_budget: 10,
    soft_budget: 5,
    budget_duration: '30d',
    rpm_limit: 100,
    models: ['demo'],
    model_aliases: { fast: 'demo' },
    metadata: { a: 1, b: 2 },
    prompts: ['p'],
  });
  const update = async (body: Json): Promise<Json> => {
    const answer = await managed(rig, 'POST /team/update', { team_id: 'u', ...body });
    t.equal(answer['team_id'], 'u');
    return answer['data'] as Json;
  };
  const same = await update({});
  t.match(same, {
    team_alias: 'before',
    max_budget: 10,
    soft_budget: 5,
    budget_duration: '30d',
    rpm_limit: 100,
    models: ['demo'],
    metadata: { a: 1, b: 2 },
    prompts: ['p'],
    litellm_model_table: { model_aliases: { fast: 'demo' } },
  });
  t.match(same['budget_reset_at'], /^\d{4}-\d\d-\d\dT/);
  t.match(await update({ soft_budget: null, max_budget: null }), {
    max_budget: null,
    soft_budget: null,
    rpm_limit: 100,
  });
  t.match(await update({ max_budget: 1_000_000_000.0 }), { max_budget: 1_000_000_000 });
  t.match(await update({ budget_duration: null }), { budget_duration: null, budget_reset_at: null });
  t.strictSame((await update({ models: [] }))['models'], []);
  t.strictSame((await update({ metadata: { c: 3 } }))['metadata'], { c: 3 }, 'replaced, not merged');
  t.strictSame((await update({ metadata: null }))['metadata'], {});
  t.match(await update({ max_budget: '', rpm_limit: null, model_aliases: {} }), {
    max_budget: null,
    rpm_limit: null,
    litellm_model_table: null,
  });
  t.match(await update({ unknown_member: { deep: true } }), { team_alias: 'before' });
  const missing = await manage(rig, 'POST /team/update', { team_id: 'nobody', max_budget: 1 });
  t.equal(missing.status, 404);
  t.match(missing.text, /Team not found, passed team_id=nobody/);
  t.equal((await manage(rig, 'POST /team/update', { max_budget: 1 })).status, 422, 'without an id');
  t.equal((await manage(rig, 'POST /team/update', { team_id: null })).status, 422);
});

t.test(
  'a budget that all members share: its id stands in the metadata and survives an update of them',
  async (t) => {
    const rig = await startRig(t);
    const row = await managed(rig, 'POST /team/new', {
      team_id: 'shared',
      team_member_budget: 7,
      team_member_rpm_limit: 3,
      metadata: { version: 1 },
    });
    const { team_member_budget_id: id } = row['metadata'] as Json;
    t.type(id, 'string');
    const read = await managed(rig, 'GET /team/info?team_id=shared');
    t.match((read['team_info'] as Json)['team_member_budget_table'], {
      budget_id: id,
      max_budget: 7,
      rpm_limit: 3,
    });
    t.match(await managed(rig, 'POST /budget/info', { budgets: [id] }), [{ budget_id: id, max_budget: 7 }]);
    // A platform writes metadata of its own, without the id.
    await managed(rig, 'POST /team/update', { team_id: 'shared', metadata: { version: 2 } });
    t.strictSame((await info(rig, 'shared'))['metadata'], { version: 2, team_member_budget_id: id });
    // Another one sends back what it has read.
    const told = (await info(rig, 'shared'))['metadata'] as Json;
    await managed(rig, 'POST /team/update', {
      team_id: 'shared',
      metadata: { ...told, version: 3 },
      team_member_budget: 9,
    });
    t.strictSame((await info(rig, 'shared'))['metadata'], { version: 3, team_member_budget_id: id });
    t.match(await managed(rig, 'POST /budget/info', { budgets: [id] }), [{ max_budget: 9, rpm_limit: 3 }]);
    await managed(rig, 'POST /team/update', { team_id: 'shared', team_member_budget: null });
    t.match(await managed(rig, 'POST /budget/info', { budgets: [id] }), [{ max_budget: null, rpm_limit: 3 }]);
  },
);

t.test('a blocked team: its keys make no calls until it is unblocked', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'b' });
  const key = await newKey(rig, { team_id: 'b' });
  const call = async (): Promise<number> =>
    (await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status;
  t.equal(await call(), 200);
  t.match(await managed(rig, 'POST /team/block', { team_id: 'b' }), { team_id: 'b', blocked: true });
  t.not(await call(), 200);
  t.match(await managed(rig, 'POST /team/unblock', { team_id: 'b' }), { team_id: 'b', blocked: false });
  t.equal(await call(), 200);
  for (const path of ['/team/block', '/team/unblock'])
    t.equal((await manage(rig, `POST ${path}`, { team_id: 'nobody' })).status, 404);
});

t.test('models are added and taken away; no change widens a team to all models', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'm', models: ['demo'] });
  const add = (models: unknown): Promise<Json> =>
    managed(rig, 'POST /team/model/add', { team_id: 'm', models });
  t.strictSame((await add(['compat', 'demo']))['models'], ['demo', 'compat']);
  const take = (models: unknown) => manage(rig, 'POST /team/model/delete', { team_id: 'm', models });
  t.strictSame((await take(['demo'])).json['models'], ['compat']);
  const last = await take(['compat']);
  t.equal(last.status, 400);
  t.match(last.text, /without models, which means all of them/);
  await managed(rig, 'POST /team/update', { team_id: 'm', models: [] });
  t.strictSame((await add(['demo']))['models'], [], 'all stays all');
  t.match(await take(['demo']), { status: 400, text: /may call all models/ });
});

t.test(
  'models that are added to a team do not take it beyond the patterns that a list may have',
  async (t) => {
    const rig = await startRig(t);
    const patterns = (from: number, count: number): string[] =>
      Array.from({ length: count }, (_, n) => `group-${from + n}/*`);
    await managed(rig, 'POST /team/new', { team_id: 'm', models: patterns(0, 400) });
    const add = (models: unknown) => manage(rig, 'POST /team/model/add', { team_id: 'm', models });
    t.match(await add(patterns(400, 101)), { status: 400, text: /team m, .* has 501 patterns; at most 500/ });
    t.equal((await add(patterns(300, 200))).status, 200, 'those that it has count once');
    t.equal((await add(['one-more/*'])).status, 400);
    t.equal((await add(['a-name'])).status, 200);
  },
);

t.test('deleting teams: all or none, with their keys', async (t) => {
  const rig = await startRig(t);
  for (const id of ['x', 'y']) {
    await managed(rig, 'POST /team/new', { team_id: id });
    await managed(rig, 'POST /team/member_add', {
      team_id: id,
      member: { user_id: `u-${id}`, role: 'user' },
    });
  }
  const keys = await Promise.all(
    ['x', 'x', 'y'].map((id) => newKey(rig, { team_id: id, user_id: `u-${id}` })),
  );
  const other = await newKey(rig, { user_id: 'u-x' });

  const refused = await manage(rig, 'POST /team/delete', { team_ids: ['x', 'nobody', 'y'] });
  t.equal(refused.status, 404);
  t.match(refused.json, { detail: { error: 'Team not found, passed team_id=nobody' } });
  for (const id of ['x', 'y']) t.equal((await info(rig, id))['team_id'], id, 'nothing was deleted');
  for (const key of keys) await managed(rig, `GET /key/info?key=${key}`);

  t.strictSame(await managed(rig, 'POST /team/delete', { team_ids: ['x', 'y', 'x'] }), {
    deleted_teams: ['x', 'y'],
  });
  for (const id of ['x', 'y']) t.equal((await manage(rig, `GET /team/info?team_id=${id}`)).status, 404);
  for (const key of keys) {
    t.equal((await manage(rig, `GET /key/info?key=${key}`)).status, 404);
    t.equal((await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status, 401, 'at once');
  }
  await managed(rig, `GET /key/info?key=${other}`);
  const user = await managed(rig, 'GET /user/info?user_id=u-x');
  t.strictSame(user['teams'], [], 'users stay, without the team');
  t.equal(
    (await manage(rig, 'POST /team/delete', { team_ids: ['x'] })).status,
    404,
    'platforms take it for deleted',
  );
  t.equal((await manage(rig, 'POST /team/delete', { team_ids: [] })).status, 400);
  t.equal((await manage(rig, 'POST /team/delete', {})).status, 422);
  t.match(lines(rig, 'team_delete')[0], { outcome: 'refused', error: 'object_not_found' });
  const removed = lines(rig, 'team_delete').filter((line) => line['outcome'] === 'applied');
  t.strictSame(
    removed.map((line) => line['object']).toSorted(),
    ['key', 'key', 'key', 'team', 'team'],
    'each object that went',
  );
});

t.test('parallel changes of one team are all in it', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', { team_id: 'p', models: ['demo'] });
  const names = Array.from({ length: 20 }, (_, n) => `model-${n}`);
  await Promise.all(
    names.map((name) => managed(rig, 'POST /team/model/add', { team_id: 'p', models: [name] })),
  );
  t.strictSame(new Set((await info(rig, 'p'))['models'] as string[]), new Set(['demo', ...names]));
});

t.test('who may not, may not, and each attempt is in the audit', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', {
    team_id: 'r',
    max_budget: 5,
    models: ['demo'],
    members_with_roles: [
      { user_id: 'lead', role: 'admin' },
      { user_id: 'dev', role: 'user' },
    ],
  });
  const lead = await newKey(rig, { team_id: 'r', user_id: 'lead' });
  const dev = await newKey(rig, { team_id: 'r', user_id: 'dev' });
  const attempts = [
    ['POST /team/new', { team_id: 'own' }],
    ['POST /team/update', { team_id: 'r', max_budget: 1_000 }],
    ['POST /team/update', { team_id: 'r', models: [] }],
    ['POST /team/block', { team_id: 'r' }],
    ['POST /team/delete', { team_ids: ['r'] }],
    ['POST /team/update', { team_id: 'nobody', team_alias: 'a' }],
  ] as const;
  for (const key of [lead, dev])
    for (const [call, body] of attempts) t.equal((await manage(rig, call, body, key)).status, 403, call);
  const before = await info(rig, 'r');
  t.match(before, { max_budget: 5, models: ['demo'], blocked: false });
  t.equal((await manage(rig, 'POST /team/update', { team_id: 'r', team_alias: 'ours' }, lead)).status, 200);
  t.equal((await manage(rig, 'POST /team/update', { team_id: 'r', team_alias: 'mine' }, dev)).status, 403);
  const take = { team_id: 'r', models: ['demo'] };
  t.equal((await manage(rig, 'POST /team/model/delete', take, dev)).status, 403, 'not what the team has');
  for (const key of ['sk-unknown', ''])
    t.equal((await manage(rig, 'POST /team/new', { team_id: 'z' }, key)).status, 401);
  const denied = rig.log.filter((line) => line['event'] === 'admin_change' && line['outcome'] === 'refused');
  t.equal(denied.length, 2 * attempts.length + 2 + 2);
});
