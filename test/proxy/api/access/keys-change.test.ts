// Keys are changed and deleted: what is absent stays, null clears, and the next call is decided by what was changed.
import { hash } from 'node:crypto';
import t from 'tap';
import { manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { chat, startRig, type Rig } from '../../../support/rig.ts';

const digest = (text: string): string => hash('sha256', text, 'hex');
const infoOf = async (rig: Rig, key: string): Promise<Json> =>
  (await managed(rig, `GET /key/info?key=${key}`))['info'] as Json;
const callWith = async (rig: Rig, key: string, model = 'demo'): Promise<number> =>
  (await chat(rig, model, {}, { authorization: `Bearer ${key}` })).status;

t.test('absent stays, null clears, an empty text unsets, metadata is replaced as a whole', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, {
    key_alias: 'a',
    max_budget: 5,
    rpm_limit: 3,
    models: ['demo'],
    user_id: 'u',
    team_id: 't',
    metadata: { a: 1, b: { c: 2 } },
    budget_duration: '1d',
  });
  const before = await infoOf(rig, key);
  const row = await managed(rig, 'POST /key/update', { key });
  t.match(row, { key, max_budget: 5, key_alias: 'a', token: digest(key) });
  const { updated_at: _, ...same } = await infoOf(rig, key);
  t.match(before, same);
  await managed(rig, 'POST /key/update', { key, max_budget: null, rpm_limit: null, budget_duration: null });
  t.match(await infoOf(rig, key), {
    max_budget: null,
    rpm_limit: null,
    budget_reset_at: null,
    models: ['demo'],
  });
  await managed(rig, 'POST /key/update', { key, max_budget: 7 });
  await managed(rig, 'POST /key/update', {
    key,
    max_budget: '',
    user_id: ' ',
    metadata: { d: 4 },
    models: [],
  });
  t.match(await infoOf(rig, key), { max_budget: null, user_id: null, team_id: 't', models: [] });
  t.same((await infoOf(rig, key))['metadata'], { d: 4 });
  await managed(rig, 'POST /key/update', { key, metadata: null, team_id: null });
  t.same((await infoOf(rig, key))['metadata'], {});
  t.equal((await infoOf(rig, key))['team_id'], null);
});

t.test('limits by model and tags live in the metadata, as in LiteLLM', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, { tags: ['a'], model_rpm_limit: { demo: 1 }, metadata: { x: 1 } });
  await managed(rig, 'POST /key/update', { key, model_rpm_limit: { demo: 2 } });
  t.same((await infoOf(rig, key))['metadata'], { x: 1, tags: ['a'], model_rpm_limit: { demo: 2 } });
  await managed(rig, 'POST /key/update', { key, metadata: { y: 1, tags: ['b'] } });
  t.same((await infoOf(rig, key))['metadata'], { y: 1, tags: ['b'] });
  await managed(rig, 'POST /key/update', { key, tags: null });
  t.same((await infoOf(rig, key))['metadata'], { y: 1 });
});

t.test('a new list of models counts for the next call', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, { models: ['compat'] });
  t.equal(await callWith(rig, key), 403);
  await managed(rig, 'POST /key/update', { key: digest(key), models: ['demo'] });
  t.equal(await callWith(rig, key), 200);
  await managed(rig, 'POST /key/update', { key, models: [] });
  t.equal(await callWith(rig, key, 'compat'), 200, 'an empty list is all');
});

t.test('by hash, by alias; unknown, without a key, with wrong types', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, { key_alias: 'mine' });
  await newKey(rig, { key_alias: 'theirs' });
  t.match(await managed(rig, 'POST /key/update', { key: 'mine', max_budget: 1 }), { max_budget: 1 });
  t.equal(
    (await manage(rig, 'POST /key/update', { key: 'sk-nowhere-000000000', max_budget: 1 })).status,
    404,
  );
  const none = await manage(rig, 'POST /key/update', { max_budget: 1 });
  t.equal(none.status, 422);
  t.match(none.json, { detail: [{ type: 'missing', loc: ['body', 'key'], msg: 'Field required' }] });
  t.equal((await manage(rig, 'POST /key/update', { key, max_budget: -1 })).status, 400);
  t.equal((await manage(rig, 'POST /key/update', { key, max_budget: 'x' })).status, 422);
  const taken = await manage(rig, 'POST /key/update', { key, key_alias: 'theirs' });
  t.match(taken.json, { error: { message: /^Key with alias 'theirs' already exists\./ } });
  t.equal((await manage(rig, 'POST /key/update', { key, key_alias: 'mine' })).status, 200, 'its own again');
});

t.test('spend, a temporary increase, an expiry that is set and taken away', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, {});
  const both = { temp_budget_increase: 5, temp_budget_expiry: '2030-01-01 00:00' };
  t.match(await managed(rig, 'POST /key/update', { key, ...both }), {
    temp_budget_increase: 5,
    temp_budget_expiry: '2030-01-01T00:00:00.000+00:00',
  });
  t.equal((await manage(rig, 'POST /key/update', { key, temp_budget_increase: 5 })).status, 422);
  for (const temp_budget_expiry of [
    'soon',
    '2026-02-31',
    '2026-04-31T10:00:00Z',
    '2027-02-29 10:00',
    '2026-13-01',
  ])
    t.equal(
      (await manage(rig, 'POST /key/update', { key, ...both, temp_budget_expiry })).status,
      422,
      temp_budget_expiry,
    );
  await managed(rig, 'POST /key/update', { key, temp_budget_increase: null, temp_budget_expiry: null });
  t.notOk(Object.hasOwn(await infoOf(rig, key), 'temp_budget_increase'));
  await managed(rig, 'POST /key/update', { key, duration: '1h' });
  t.type((await infoOf(rig, key))['expires'], 'string');
  await managed(rig, 'POST /key/update', { key, duration: '-1' });
  t.equal((await infoOf(rig, key))['expires'], null);
});

t.test('blocked at once, and open again', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, {});
  t.match(await managed(rig, 'POST /key/block', { key }), { blocked: true, token: digest(key) });
  t.equal(await callWith(rig, key), 401);
  t.match(await managed(rig, 'POST /key/unblock', { key: digest(key) }), { blocked: false });
  t.equal(await callWith(rig, key), 200);
  const running = chat(rig, 'demo-hold', { stream: true }, { authorization: `Bearer ${key}` });
  await rig.demo.waitFor(2);
  await managed(rig, 'POST /key/block', { key });
  rig.demo.release();
  t.equal((await running).status, 200, 'a call under way ends as it would');
  t.match(await infoOf(rig, key), { blocked: true }, 'and its end does not bring the key back');
  t.equal(await callWith(rig, key), 401);
  await managed(rig, 'POST /key/unblock', { key });
  t.equal((await manage(rig, 'POST /key/block', { key: 'sk-nowhere-00000000' })).status, 404);
  const malformed = await manage(rig, 'POST /key/block', { key: 'not a key' });
  t.equal(malformed.status, 400);
  t.match(malformed.json, { error: { message: 'Invalid key format.' } });
  t.equal((await manage(rig, 'POST /key/block', {})).status, 422);
});

t.test('deleted by value, hash and alias; names that are gone do not hinder the others', async (t) => {
  const rig = await startRig(t);
  const one = await newKey(rig, {});
  const two = await newKey(rig, { key_alias: 'two, with comma' });
  t.same(await managed(rig, 'POST /key/delete', { keys: [one, 'sk-nowhere-00000000'] }), {
    deleted_keys: [one, 'sk-nowhere-00000000'],
  });
  t.equal(await callWith(rig, one), 401);
  await managed(rig, 'POST /key/delete', { keys: [], key_aliases: ['two, with comma', 'unknown'] });
  t.equal(await callWith(rig, two), 401);
  for (const body of [{ keys: [one] }, { key_aliases: ['unknown'] }]) {
    const { status, text } = await manage(rig, 'POST /key/delete', body);
    t.equal(status, 404);
    t.match(text, 'No keys found');
  }
  for (const body of [{}, { keys: [] }, { keys: null }, { keys: 'x' }])
    t.equal((await manage(rig, 'POST /key/delete', body)).status, 422, JSON.stringify(body));
});

t.test('many changes of one key at once all count', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, {});
  const fields = ['max_budget', 'rpm_limit', 'tpm_limit', 'max_parallel_requests', 'soft_budget'];
  const answers = await Promise.all(
    fields.map((name) => manage(rig, 'POST /key/update', { key, [name]: 3 })),
  );
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.match(await infoOf(rig, key), Object.fromEntries(fields.map((name) => [name, 3])));
});

t.test('a limited key deletes no other key of its user', async (t) => {
  const rig = await startRig(t);
  const key = String((await managed(rig, 'POST /user/new', { user_id: 'u' }))['key']);
  for (const own of [
    { max_budget: 0.001, rpm_limit: 1 },
    { allowed_routes: ['/key/delete', '/key/list'] },
    { key_type: 'management' },
    { metadata: { max_iterations: 3 } },
  ]) {
    const limited = await newKey(rig, { user_id: 'u', ...own });
    const { status, text } = await manage(rig, 'POST /key/delete', { keys: [limited, key] }, limited);
    t.equal(status, 403, `${JSON.stringify(own)}: ${text}`);
    t.equal(await callWith(rig, key), 200);
    t.same(await managed(rig, 'POST /key/delete', { keys: [limited] }, limited), { deleted_keys: [limited] });
  }
  const spare = await newKey(rig, { user_id: 'u', max_budget: 1 });
  t.same(await managed(rig, 'POST /key/delete', { keys: [spare] }, key), { deleted_keys: [spare] });
  const brief = await newKey(rig, {
    user_id: 'u',
    duration: '1d',
    tags: ['ci'],
    models: ['all-team-models'],
  });
  t.same(
    await managed(rig, 'POST /key/delete', { keys: [key] }, brief),
    { deleted_keys: [key] },
    'one that has leaked',
  );
});

t.test('whose key it is not may not change it, and the attempt is in the audit', async (t) => {
  const rig = await startRig(t);
  const users = await Promise.all(['u1', 'u2'].map((user_id) => managed(rig, 'POST /user/new', { user_id })));
  const [key = '', other = ''] = users.map((user) => String(user['key']));
  const none = await newKey(rig, {});
  for (const caller of [other, none]) {
    t.equal((await manage(rig, 'POST /key/update', { key, blocked: true }, caller)).status, 403);
    t.equal((await manage(rig, 'POST /key/block', { key }, caller)).status, 403);
    t.equal((await manage(rig, 'POST /key/delete', { keys: [key] }, caller)).status, 403);
    t.equal((await manage(rig, `POST /key/${digest(key)}/regenerate`, {}, caller)).status, 403);
    t.equal((await manage(rig, `POST /key/${digest(key)}/reset_spend`, { reset_to: 0 }, caller)).status, 403);
  }
  t.equal(await callWith(rig, key), 200);
  const lines = rig.log.filter(
    ({ outcome, error }) => outcome === 'refused' && error === 'management_denied',
  );
  t.equal(lines.length, 10);
  t.ok(lines.every(({ key: by }) => [digest(other), digest(none)].some((id) => id.startsWith(String(by)))));
  t.equal(
    (await manage(rig, 'POST /key/update', { key, key_alias: 'mine' }, key)).status,
    200,
    'its owner may',
  );
});

t.test('what was spent can be set back, not up', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, { spend: 0, max_budget: 5 });
  const reset = (reset_to: unknown): ReturnType<typeof manage> =>
    manage(rig, `POST /key/${digest(key)}/reset_spend`, { reset_to });
  t.equal((await reset(true)).status, 422);
  t.equal((await reset('1')).status, 422);
  t.equal((await reset(-1)).status, 400);
  t.equal((await reset(6)).status, 400);
  t.match((await reset(0)).json, { key_hash: digest(key), spend: 0, previous_spend: 0, max_budget: 5 });
  t.equal((await manage(rig, 'POST /key/sk-nowhere-000000/reset_spend', { reset_to: 0 })).status, 404);
});

t.test('the audit says what was changed, and only that', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, { key_alias: 'a', max_budget: 5, models: ['demo'] });
  await managed(rig, 'POST /key/update', { key, models: ['demo', 'compat'], metadata: { secret: 'value' } });
  const line = rig.log.find(({ action }) => action === 'key_update');
  t.match(line, {
    outcome: 'applied',
    object: 'key',
    object_id: digest(key).slice(0, 12),
    key: /^[0-9a-f]{12}$/,
  });
  t.same(line?.['before'], { models: ['demo'] });
  t.same(line?.['after'], { models: ['demo', 'compat'], metadata: ['secret'] });
  await managed(rig, 'POST /key/delete', { keys: [key] });
  const gone = rig.log.find(({ action }) => action === 'key_delete');
  t.match(gone, { before: { alias: 'a', budget: { maxBudget: 5 } }, after: null });
});
