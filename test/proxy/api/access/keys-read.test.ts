// Keys are read by value or by hash, by whom they concern, in the types that strict clients parse.
import { hash } from 'node:crypto';
import t from 'tap';
import { list, manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { KEY, send, startRig } from '../../../support/rig.ts';

const digest = (text: string): string => hash('sha256', text, 'hex');

t.test('of budgets of one length the tightest is shown', async (t) => {
  const rig = await startRig(t);
  const one = { max_budget: 1_000, budget_duration: '1h' };
  for (const budget_limits of [
    [{ max_budget: 0.0064, budget_duration: '1h' }],
    [
      { max_budget: 2, budget_duration: '1h' },
      { max_budget: 0.0064, budget_duration: '1h' },
      { max_budget: 3, budget_duration: '1h' },
      { max_budget: 7, budget_duration: '1d' },
    ],
  ]) {
    const key = await newKey(rig, { ...one, budget_limits });
    const { budget_limits_usage: usage } = (await managed(rig, `GET /key/info?key=${key}`))['info'] as Json;
    t.match(usage, { '1h': { max_budget: 0.0064 } });
  }
  const wide = await newKey(rig, { max_budget: 1, budget_duration: '1h', budget_limits: [one] });
  const { budget_limits_usage: usage } = (await managed(rig, `GET /key/info?key=${wide}`))['info'] as Json;
  t.match(usage, { '1h': { max_budget: 1 } });
});

t.test('a key is read by its value and by its hash; what was asked for is answered', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, {
    key_alias: 'one',
    user_id: 'u',
    team_id: 't',
    metadata: { type: 'openhands' },
  });
  const byValue = await managed(rig, `GET /key/info?key=${key}`);
  t.equal(byValue['key'], key);
  t.match(byValue['info'], {
    user_id: 'u',
    team_id: 't',
    metadata: { type: 'openhands' },
    max_budget: null,
    spend: 0,
    key_alias: 'one',
    key_name: `sk-...${key.slice(-4)}`,
    blocked: false,
    status: 'active',
  });
  const byHash = await managed(rig, `GET /key/info?key=${digest(key)}`);
  t.equal(byHash['key'], digest(key));
  t.same(byHash['info'], byValue['info']);
  t.same((await managed(rig, `GET /key/info?key=${digest(key).toUpperCase()}`))['info'], byValue['info']);
});

t.test('the admin, the key itself, without a query itself; another key is refused', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, {});
  const other = await newKey(rig, {});
  t.equal((await manage(rig, `GET /key/info?key=${key}`, undefined, key)).status, 200);
  const own = await manage(rig, 'GET /key/info', undefined, key);
  t.match(own.json, { key: digest(key), info: { key_name: `sk-...${key.slice(-4)}` } });
  const foreign = await manage(rig, `GET /key/info?key=${key}`, undefined, other);
  t.equal(foreign.status, 403);
  t.match(foreign.json, { error: { code: '403', type: 'auth_error' } });
  t.notMatch(foreign.text, key);
});

t.test('a key that is not there is 404, also after it was deleted, and the master key is none', async (t) => {
  const rig = await startRig(t);
  const unknown = await manage(rig, 'GET /key/info?key=sk-nowhere-to-be-found');
  t.equal(unknown.status, 404);
  t.match(unknown.json, {
    error: { message: 'Key not found in database', type: 'not_found_error', param: 'key', code: '404' },
  });
  const key = await newKey(rig, {});
  await managed(rig, 'POST /key/delete', { keys: [key] });
  t.equal((await manage(rig, `GET /key/info?key=${key}`)).status, 404);
  t.equal((await manage(rig, `GET /key/info?key=${digest(key)}`)).status, 404);
  t.equal((await manage(rig, 'GET /key/info')).status, 404, 'the master key has no row');
});

t.test('no other query may carry a key', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, {});
  const refused = [
    `/key/info?api_key=${key}`,
    `/key/info?key=${KEY}`,
    `/key/info?key=${encodeURIComponent(KEY)}`,
    `/key/info?key=${key}&token=${key}`,
    `/key/info?key=${key};token=${key}`,
    `/key/info?KEY=${key}`,
    `/key/list?key=${key}`,
    `/key/list?key_hash=${key}`,
    `/user/info?user_id=x&key=${key}`,
    `/v1/models?key=${key}`,
    `//key/info?key=${key}`,
  ];
  for (const path of refused) {
    const { status, text } = await send(rig.url, 'GET', path);
    t.equal(status, 400, path.replace(key, 'KEY'));
    t.match(text, 'credentials_in_query');
  }
  t.equal((await send(rig.url, 'GET', `/key/info?key=${key}&key=${key}`)).status, 400);
  t.equal((await send(rig.url, 'HEAD', `/key/info?key=${key}`)).status, 200);
  t.equal((await send(rig.url, 'POST', `/key/info?key=${key}`, {})).status, 405);
});

t.test("several keys in one call; those that are not there or not one's own are left out", async (t) => {
  const rig = await startRig(t);
  const one = await newKey(rig, { key_alias: 'one' });
  const two = await newKey(rig, { key_alias: 'two' });
  const both = await managed(rig, 'POST /v2/key/info', { keys: [one, 'sk-nowhere-00000000', digest(two)] });
  t.same(both['key'], [one, 'sk-nowhere-00000000', digest(two)]);
  t.same(
    list(both['info']).map(({ key_alias }) => key_alias),
    ['one', 'two'],
  );
  const aliased = await managed(rig, 'POST /v2/key/info', { key_aliases: ['two', 'three'] });
  t.match(list(aliased['info']), [{ token: digest(two) }]);
  t.same((await managed(rig, 'POST /v2/key/info', { keys: [one, two] }, one))['info'], [
    list(both['info'])[0] as Json,
  ]);
  t.same((await managed(rig, 'POST /v2/key/info', { keys: ['sk-nowhere-00000000'] }))['info'], []);
  t.equal((await manage(rig, 'POST /v2/key/info', {})).status, 422);
});

t.test('a key asks whether it is in order', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, {});
  t.same(await managed(rig, 'POST /key/health', undefined, key), { key: 'healthy', logging_callbacks: null });
  t.equal((await manage(rig, 'POST /key/health', {}, 'sk-unknown-0000000000')).status, 401);
});

t.test('without a key, or with one that is not known, the error has the shape of the dialect', async (t) => {
  const rig = await startRig(t);
  const none = await manage(rig, 'GET /key/info', undefined, '');
  t.equal(none.status, 401);
  t.match(none.json, { error: { type: 'auth_error', code: '401' } });
  const unknown = await manage(rig, 'POST /key/update', { key: 'x' }, 'sk-unknown-0000000000');
  t.match(unknown.json, { error: { code: '401' } });
});
