// Tags that somebody has stated, with budgets and limits, and what a key says of each of its conversations.
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { list, manage, managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, send, startRig, type Answer } from '../support/rig.ts';

/** A call costs 0.01 for its prompt of 7 tokens and nothing for its answer, whatever is said. */
const config = (demo: DemoGateway): string => `
model_list:
  - model_name: gpt-4
    litellm_params:
      { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: sk-x, input_cost_per_token: 0.001, output_cost_per_token: 0 }
    model_info: { id: id-gpt }
general_settings: { master_key: ${KEY}, budget_reservation: "off" }
budgets: [{ scope: tag, id: ruled, max_budget: 0.0001 }]
keys:
  - { key_alias: file, key: os.environ/FILE_KEY, max_iterations: 1 }
`;
const rig = await startRig(t, { config, env: { FILE_KEY: 'sk-of-the-file-1234' } });
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const tagged = (...tags: string[]): Promise<Answer> => chat(rig, 'gpt-4', { metadata: { tags } });
const errorOf = ({ text }: Answer): Json => (JSON.parse(text) as Json)['error'] as Json;

t.test('a tag is made, shown, changed and deleted', async (t) => {
  t.match(await managed(rig, 'POST /tag/new', { name: 'blue', description: 'd', models: [] }), {
    message: 'Tag blue created successfully',
    tag: {
      name: 'blue',
      description: 'd',
      models: [],
      model_info: {},
      created_by: null,
    },
  });
  t.match(await managed(rig, 'POST /tag/info', { names: ['blue', 'blue'] }), {
    blue: { name: 'blue', models: [] },
  });
  t.notOk(
    'litellm_budget_table' in ((await managed(rig, 'POST /tag/info', { names: ['blue'] }))['blue'] as Json),
  );
  t.match(await managed(rig, 'POST /tag/update', { name: 'blue', max_budget: 5, rpm_limit: 3 }), {
    message: 'Tag blue updated successfully',
    tag: { description: 'd', models: [] },
  });
  t.match(await managed(rig, 'POST /tag/info', { names: ['blue'] }), {
    blue: { litellm_budget_table: { max_budget: 5, rpm_limit: 3, budget_id: null } },
  });
  for (const [call, body, status, said] of [
    ['POST /tag/new', { name: 'blue' }, 400, /Tag blue already exists/],
    ['POST /tag/new', {}, 422, /name/],
    ['POST /tag/new', { name: '' }, 400, /name/],
    ['POST /tag/new', { name: 'x', max_budget: -1 }, 400, /non-negative/],
    ['POST /tag/new', { name: 'x', models: 'a' }, 422, /list/],
    ['POST /tag/new', { name: 'x', models: ['id-gpt'] }, 400, /limit nothing.*at the key/],
    ['POST /tag/update', { name: 'blue', models: ['gpt-4', '*'] }, 400, /limit nothing/],
    ['POST /tag/new', { name: 'x', budget_id: 'none' }, 400, /Budget not found/],
    ['POST /tag/update', { name: 'none' }, 404, /Tag none not found/],
    ['POST /tag/delete', { name: 'none' }, 404, /Tag none not found/],
    ['POST /tag/info', { names: ['blue', 'none'] }, 404, /Tags not found: \['none'\]/],
    ['GET /tag/list?start_date=2026-01-01', undefined, 400, /together/],
    ['GET /tag/list?start_date=x&end_date=y', undefined, 400, /YYYY-MM-DD/],
  ] as const) {
    const answer = await manage(rig, call, body);
    t.equal(answer.status, status, `${call} ${JSON.stringify(body)} ${answer.text}`);
    t.match(answer.text, said);
  }
  t.same(await managed(rig, 'POST /tag/delete', { name: 'blue' }), {
    message: 'Tag blue deleted successfully',
  });
  t.equal((await manage(rig, 'POST /tag/info', { names: ['blue'] })).status, 404);
});

t.test('the budget of a tag holds for all calls that carry it, and beside one of the file', async (t) => {
  await managed(rig, 'POST /tag/new', { name: 'dear', max_budget: 0.000001 });
  t.equal((await tagged('other', 'dear')).status, 200);
  const over = await tagged('dear');
  t.equal(over.status, 422);
  t.match(errorOf(over), { code: 'budget_exceeded', message: /^Budget has been exceeded! Tag=dear / });
  t.equal((await tagged('other')).status, 200, 'the other tag has none');
  await managed(rig, 'POST /tag/update', { name: 'dear', max_budget: 100 });
  t.equal((await tagged('dear')).status, 200, 'at once');
  await managed(rig, 'POST /tag/new', { name: 'ruled', max_budget: 100 });
  t.equal((await tagged('ruled')).status, 200);
  t.match(errorOf(await tagged('ruled')), { message: /Tag=ruled/ }, 'the one of the file is lower');
  await managed(rig, 'POST /budget/new', { budget_id: 'shared', max_budget: 0 });
  await managed(rig, 'POST /tag/new', { name: 'poor', budget_id: 'shared' });
  t.equal((await tagged('poor')).status, 200, 'free is let in at the cap');
  t.equal((await tagged('poor')).status, 422);
  t.equal((await manage(rig, 'POST /budget/delete', { id: 'shared' })).status, 400, 'it is in use');
  const names = list(await managed(rig, 'GET /tag/list')).map(({ name }) => name);
  t.same(names, ['dear', 'poor', 'ruled', 'other'], 'those that are stated, then those that calls carried');
  const old = list(await managed(rig, 'GET /tag/list?start_date=2020-01-01&end_date=2020-01-02'));
  t.same(
    old.map(({ name }) => name),
    ['dear', 'poor', 'ruled'],
  );
});

t.test('the limits of a tag', async (t) => {
  await managed(rig, 'POST /tag/new', { name: 'slow', rpm_limit: 1 });
  const first = await tagged('slow');
  t.equal(first.headers['x-ratelimit-tag-remaining-requests'], '0');
  const second = await tagged('slow');
  t.equal(second.status, 429);
  t.match(errorOf(second), { message: /^Rate limit exceeded for tag: slow\. / });
});

t.test('a conversation of a key makes so many calls', async (t) => {
  const key = await newKey(rig, { metadata: { max_iterations: 2 } });
  const call = (session: string | null, of = key): Promise<Answer> =>
    chat(rig, 'gpt-4', session === null ? {} : { metadata: { session_id: session } }, as(of));
  const first = await call('s1');
  t.equal(first.headers['x-ratelimit-session-remaining-max_iterations'], '1');
  t.equal((await call('s1')).status, 200);
  const over = await call('s1');
  t.equal(over.status, 422);
  t.match(errorOf(over), {
    code: 'session_calls_used_up',
    type: 'budget_exceeded',
    message: /^Max iterations exceeded for session s1\. Current count: 2, max_iterations: 2\./,
  });
  t.notMatch(over.text, /\b429\b|rate limit/i, 'SDKs would send it again');
  t.equal((await call('s2')).status, 200, 'another conversation');
  for (let n = 0; n < 4; n += 1) t.equal((await call(null)).status, 200, 'a call of no conversation');
  t.equal(
    (await call('s1', await newKey(rig, { metadata: { max_iterations: 1 } }))).status,
    200,
    'another key',
  );
  await managed(rig, 'POST /key/update', { key, metadata: { max_iterations: 3 } });
  t.equal((await call('s1')).status, 200, 'one more');
  t.equal((await call('s1')).status, 422);
  const refused = await chat(rig, 'nothing', { metadata: { session_id: 's3' } }, as(key));
  t.not(refused.status, 200);
  for (let n = 0; n < 3; n += 1) t.equal((await call('s3')).status, 200, 'what was refused does not count');
  const fileKey = 'sk-of-the-file-1234';
  t.same(
    [(await call('f', fileKey)).status, (await call('f', fileKey)).status],
    [200, 422],
    'a key of the file',
  );
});

t.test('a conversation of a key spends so much, whatever the key may spend', async (t) => {
  const key = await newKey(rig, { max_budget: 100, metadata: { max_budget_per_session: 0.000001 } });
  const call = (session: string): Promise<Answer> =>
    chat(rig, 'gpt-4', {}, { ...as(key), 'x-litellm-session-id': session });
  t.equal((await call('m1')).status, 200);
  const over = await call('m1');
  t.equal(over.status, 422);
  t.match(errorOf(over), {
    code: 'budget_exceeded',
    message:
      /^Session budget exceeded for session m1\. Current spend: \$0\.\d+, max_budget_per_session: \$0\.000001\./,
  });
  t.equal((await call('m2')).status, 200);
});

t.test('calls a minute of a conversation', async (t) => {
  const key = await newKey(rig, { metadata: { session_rpm_limit: 1 } });
  const call = (session: string): Promise<Answer> =>
    chat(rig, 'gpt-4', {}, { ...as(key), 'x-litellm-session-id': session });
  t.same([(await call('r1')).status, (await call('r1')).status, (await call('r2')).status], [200, 429, 200]);
});

t.test('a limit that cannot be read is refused when it is written', async (t) => {
  for (const [metadata, param] of [
    [{ max_iterations: -1 }, 'metadata.max_iterations'],
    [{ max_iterations: 'many' }, 'metadata.max_iterations'],
    [{ max_iterations: 1.5 }, 'metadata.max_iterations'],
    [{ max_iterations: true }, 'metadata.max_iterations'],
    [{ max_budget_per_session: '1e999' }, 'metadata.max_budget_per_session'],
    [{ max_budget_per_session: -0.1 }, 'metadata.max_budget_per_session'],
    [{ session_rpm_limit: [] }, 'metadata.session_rpm_limit'],
  ] as const) {
    const answer = await manage(rig, 'POST /key/generate', { metadata });
    t.equal(answer.status, 400, JSON.stringify(metadata));
    t.match(answer.json, { error: { param } });
  }
  const text = await newKey(rig, { metadata: { max_iterations: '1', max_budget_per_session: null } });
  const call = (): Promise<Answer> =>
    send(
      rig.url,
      'POST',
      '/v1/chat/completions',
      { model: 'gpt-4', messages: [], metadata: { session_id: 'x' } },
      as(text),
    );
  t.same([(await call()).status, (await call()).status], [200, 422], 'a number that is written as text');
});

t.test('no number of other tags keeps a tag of the team from counting', async (t) => {
  const members_with_roles = [{ user_id: 'lead', role: 'admin' }];
  const others = (count: number): string[] => Array.from({ length: count }, (_, n) => `other-${n}`);
  await managed(rig, 'POST /tag/new', { name: 'closed', max_budget: 0 });
  await managed(rig, 'POST /team/new', { team_id: 'tagged', tags: ['closed'], members_with_roles });
  const lead = await newKey(rig, { user_id: 'lead' });
  const own = { team_id: 'tagged', user_id: 'lead', tags: others(100) };
  const { key } = await managed(rig, 'POST /key/generate', own, lead);
  const call = (): Promise<Answer> =>
    chat(rig, 'gpt-4', { metadata: { tags: others(100) } }, as(String(key)));
  await call(); // it spends, as budgets reserve nothing here
  t.match(errorOf(await call()), { code: 'budget_exceeded', message: /closed/ });
  const many = { team_id: 'tagged', tags: [...others(99), 'closed'] };
  await managed(rig, 'POST /team/update', many, lead);
  t.match(errorOf(await call()), { code: 'budget_exceeded', message: /closed/ });
  await managed(rig, 'POST /tag/delete', { name: 'closed' });
  await managed(rig, 'POST /tag/new', { name: 'other-99', max_budget: 0 });
  await call(); // it begins at 0
  t.match(errorOf(await call()), { code: 'budget_exceeded', message: /other-99/ }, 'nor one of the key');
  await managed(rig, 'POST /tag/delete', { name: 'other-99' });
});

t.test('tags of keys and teams are at most 100, and a list wherever they stand', async (t) => {
  const many = Array.from({ length: 101 }, (_, n) => `t${n}`);
  const key = await newKey(rig, { metadata: { tags: ['a'] } });
  await managed(rig, 'POST /team/new', { team_id: 'listed' });
  for (const [call, named] of [
    ['POST /key/generate', {}],
    ['POST /key/update', { key }],
    ['POST /key/regenerate', { key }],
    ['POST /team/new', {}],
    ['POST /team/update', { team_id: 'listed' }],
    ['POST /user/new', {}],
  ] as const)
    for (const [body, status, place] of [
      [{ tags: many }, 400, 'tags'],
      [{ metadata: { tags: many } }, 400, 'metadata'],
      [{ metadata: { tags: 7 } }, 422, 'metadata.tags'],
      [{ metadata: { tags: [1] } }, 422, 'metadata.tags.0'],
    ] as const) {
      const refused = await manage(rig, call, { ...named, ...body });
      t.equal(refused.status, status, `${call} ${JSON.stringify(body).slice(0, 40)} ${refused.text}`);
      if (status === 400) t.match(refused.json, { error: { param: place, message: /more than 100/ } });
      else
        t.equal(list(refused.json['detail'])[0]?.['loc']?.toString(), `body,${place.replaceAll('.', ',')}`);
    }
  for (const metadata of [{ tags: null }, { tags: [] }, { tags: many.slice(1), more: 'x' }])
    await managed(rig, 'POST /key/update', { key, metadata });
  const texts = { key, metadata: { tags: 'ruled, other', version: 2 } };
  t.match(await managed(rig, 'POST /key/update', texts), {
    metadata: { tags: ['ruled', 'other'], version: 2 },
  });
});
