// Conversations without sandboxes: their keys, what calls with them are stamped with, their reports, pages and limits.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { headerOf, KEY, lastSeen, rowOf, send, startRig, type Answer } from '../../support/rig.ts';
import { at, SECRET_KEY, startPlatform, type PlatformRig } from '../fixture/rig.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';

const PATH = '/api/v1/app-conversations';

interface Conversation {
  readonly id: string;
  readonly llm_base_url: string;
  readonly llm_api_key: string;
  readonly [name: string]: unknown;
}

async function start(rig: PlatformRig, request: object, key?: string): Promise<Conversation> {
  const task = await rig.api('POST', PATH, request, key);
  if (task.status !== 200) throw new Error(task.text);
  return read(rig, String(at(task, 'app_conversation_id')), key);
}

async function read(rig: PlatformRig, id: string, key?: string): Promise<Conversation> {
  const { json } = await rig.api('GET', `${PATH}?ids=${id}`, undefined, key);
  return (json as Conversation[])[0] as Conversation;
}

const chat = (
  { llm_base_url: base, llm_api_key: key }: Conversation,
  headers: Readonly<Record<string, string>> = {},
  model = 'demo',
): Promise<Answer> => {
  const { origin, pathname } = new URL(base);
  const body = { model, messages: [{ role: 'user', content: 'one two three' }] };
  return send(origin, 'POST', `${pathname}/chat/completions`, body, {
    authorization: `Bearer ${key}`,
    ...headers,
  });
};

const dashed = (id: string): string => id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

t.test(
  'calls of a conversation carry its session, its tags and its profile headers, and its metrics follow',
  async (t) => {
    const rig = await startPlatform(t);
    const extra = { 'X-OpenHands-Project': 'proj-42', 'X-LiteLLM-Session-Id': 'from-the-profile' };
    await rig.api('POST', '/api/v1/settings/profiles/Team', {
      llm: { model: 'openai/demo', extra_headers: extra },
    });
    const tags = { costcenter: '4711', project: 'a b' };
    const conversation = await start(rig, { title: 'First', llm_profile: 'Team', tags });
    t.match(conversation, {
      id: /^[0-9a-f]{32}$/,
      title: 'First',
      llm_model: 'openai/demo',
      llm_profile: 'Team',
      tags,
      metrics: null,
      sandbox_status: 'MISSING',
      llm_base_url: `${rig.url}/c/${conversation.id}/v1`,
    });
    const response = await chat(conversation, {
      'x-litellm-session-id': 'of-the-client',
      'x-litellm-tags': 'own',
    });
    t.equal(response.status, 200);
    t.equal(response.headers['x-litellm-session-id'], dashed(conversation.id));
    const { rawHeaders } = lastSeen(rig);
    t.equal(headerOf(rawHeaders, 'x-litellm-session-id'), dashed(conversation.id), 'stamped once, by us');
    t.equal(headerOf(rawHeaders, 'x-openhands-project'), 'proj-42');
    t.notMatch(rawHeaders.join(), conversation.llm_api_key, 'its key does not go upstream');
    t.match(await rowOf(rig, response), {
      session_id: dashed(conversation.id),
      session_source: 'key',
      request_tags: ['costcenter:4711', 'project:a b', 'own'],
    });
    await chat(conversation);
    const { metrics } = await read(rig, conversation.id);
    t.match(metrics, {
      model_name: 'demo',
      accumulated_token_usage: {
        model: 'demo',
        prompt_tokens: 12,
        completion_tokens: 18,
        per_turn_token: 15,
      },
    });
    t.equal(
      (metrics as { accumulated_cost: number }).accumulated_cost.toFixed(6),
      '0.000048',
      'two calls, from the records',
    );
    const [day] = JSON.parse(
      (
        await send(
          rig.url,
          'GET',
          '/spend/logs/ui?start_date=2020-01-01&end_date=2099-01-01&tag=costcenter:4711',
        )
      ).text,
    ).data as unknown[];
    t.match(day, { session_id: dashed(conversation.id) }, 'and found by its tag');
  },
);

t.test('a conversation is stamped upstream even where client headers are not forwarded', async (t) => {
  const rig = await startPlatform(t);
  await rig.reconfigure(`
model_list:
  - { model_name: demo, litellm_params: { model: litellm_proxy/demo, api_base: "${rig.demo.url}", extra_headers: { X-Team: operator } } }
general_settings: { master_key: ${KEY} }
platform: { session_api_key: session-key-of-the-tests, secret_key: "${Buffer.alloc(32).toString('base64')}" }
`);
  const told = rig.log.some(({ msg }) => /secret_key.* take effect after a restart/.test(String(msg)));
  t.ok(told, 'another secret_key is not taken while the server runs, and that is said');
  const llm = { model: 'demo', extra_headers: { 'X-Team': 'profile', 'X-Project': 'p' } };
  await rig.api('POST', '/api/v1/settings/profiles/a', { llm });
  const conversation = await start(rig, { llm_profile: 'a' });
  await chat(conversation, { 'x-project': 'client', 'x-other': 'client' });
  const { rawHeaders } = lastSeen(rig);
  t.equal(headerOf(rawHeaders, 'x-litellm-session-id'), dashed(conversation.id));
  t.equal(headerOf(rawHeaders, 'x-team'), 'operator', 'the operator wins over the profile');
  t.equal(headerOf(rawHeaders, 'x-project'), 'p', 'the profile wins over the client');
  t.equal(headerOf(rawHeaders, 'x-other'), undefined, 'forwarding is off');
});

t.test(
  'every attempt carries the stamp and the profile, and the tags of both entry and conversation',
  async (t) => {
    const rig = await startPlatform(t);
    const entry = (model: string, order: number): string => `
  - model_name: demo
    litellm_params: { model: litellm_proxy/${model}, api_base: "${rig.demo.url}", order: ${order} }
    model_info: { tags: [entry-${order}] }`;
    await rig.reconfigure(`
model_list:${entry('demo-500', 1)}${entry('demo', 2)}
general_settings: { master_key: ${KEY} }
platform: { session_api_key: session-key-of-the-tests, secret_key: "${SECRET_KEY}" }
`);
    const llm = { model: 'demo', extra_headers: { 'X-Project': 'p', 'X-LiteLLM-Tags': 'profile' } };
    await rig.api('POST', '/api/v1/settings/profiles/a', { llm });
    const conversation = await start(rig, { llm_profile: 'a', tags: { team: 'blue' } });
    const response = await chat(conversation, { 'x-litellm-tags': 'own' });
    t.equal(response.status, 200);
    const seen = rig.demo.seen.slice(-2).map(({ rawHeaders }) => rawHeaders);
    t.same(
      seen.map((raw) =>
        ['x-litellm-session-id', 'x-project', 'x-litellm-tags'].map((name) => headerOf(raw, name)),
      ),
      [
        [dashed(conversation.id), 'p', 'entry-1,team:blue,profile,own'],
        [dashed(conversation.id), 'p', 'entry-2,team:blue,profile,own'],
      ],
    );
    t.match(await rowOf(rig, response), {
      attempts: 2,
      request_tags: ['entry-2', 'team:blue', 'profile', 'own'],
    });
  },
);

t.test(
  'a profile states tags, end user and spend metadata as a client would, and wins over it',
  async (t) => {
    const rig = await startPlatform(t, { more: 'litellm_settings: { extra_spend_tag_headers: [x-team] }' });
    const extra = {
      'X-LiteLLM-Tags': 'of-profile, two',
      'x-litellm-end-user-id': 'profile-user',
      'X-LITELLM-SPEND-LOGS-METADATA': '{"project":"p42","deep":{"a":[1]}}',
      'X-Team': 'blue',
    };
    await rig.api('POST', '/api/v1/settings/profiles/a', { llm: { model: 'demo', extra_headers: extra } });
    const conversation = await start(rig, { llm_profile: 'a', tags: { k: 'v' } });
    const alone = await chat(conversation);
    t.match(await rowOf(rig, alone), {
      end_user: 'profile-user',
      request_tags: ['k:v', 'of-profile', 'two', 'x-team: blue'],
      metadata: { spend_logs_metadata: { project: 'p42', deep: { a: [1] } } },
    });
    const { rawHeaders } = lastSeen(rig);
    t.equal(headerOf(rawHeaders, 'x-litellm-end-user-id'), 'profile-user', 'and so is the gateway told');
    t.equal(headerOf(rawHeaders, 'x-litellm-tags'), 'k:v,of-profile,two,x-team: blue');
    t.same(JSON.parse(String(headerOf(rawHeaders, 'x-litellm-spend-logs-metadata'))), {
      project: 'p42',
      deep: { a: [1] },
    });
    const both = await chat(conversation, {
      'x-litellm-tags': 'own',
      'x-litellm-customer-id': 'client-user',
      'x-litellm-spend-logs-metadata': '{"project":"other","mine":1}',
      'x-team': 'red',
    });
    const row = await rowOf(rig, both);
    t.match(row, {
      end_user: 'profile-user',
      request_tags: ['k:v', 'of-profile', 'two', 'own', 'x-team: blue'],
    });
    t.strictSame(
      (row['metadata'] as { spend_logs_metadata: unknown }).spend_logs_metadata,
      { project: 'p42', deep: { a: [1] } },
      'one of them, never a mixture',
    );
    await rig.api('POST', '/api/v1/settings/profiles/b', {
      llm: {
        model: 'demo',
        extra_headers: { 'x-litellm-spend-logs-metadata': 'no JSON', 'x-litellm-tags': ' , ' },
      },
    });
    await rig.api('POST', `${PATH}/${conversation.id}/switch_profile`, { profile_name: 'b' });
    const other = await chat(conversation, { 'x-litellm-spend-logs-metadata': '{"mine":1}' });
    t.match(await rowOf(rig, other), {
      request_tags: ['k:v'],
      metadata: {
        spend_logs_metadata: { mine: 1 },
        warnings: [/x-litellm-spend-logs-metadata of the profile is not a JSON object/],
      },
    });
  },
);

t.test('where clients may give no tags, a profile may not either', async (t) => {
  const rig = await startPlatform(t);
  const config = readFileSync(rig.configPath, 'utf8');
  await rig.reconfigure(
    config.replace('general_settings:', 'general_settings:\n  reject_clientside_metadata_tags: true'),
  );
  for (const [name, header] of [
    ['a', 'X-LiteLLM-Tags'],
    ['b', 'X-Other'],
  ] as const)
    await rig.api('POST', `/api/v1/settings/profiles/${name}`, {
      llm: { model: 'demo', extra_headers: { [header]: 'x' } },
    });
  const refused = await chat(await start(rig, { llm_profile: 'a' }));
  t.equal(refused.status, 400);
  t.match(refused.text, /`x-litellm-tags` not allowed in the extra_headers of a profile/);
  t.equal((await chat(await start(rig, { llm_profile: 'b' }))).status, 200);
});

t.test('its key makes LLM calls and nothing else, its base URL takes its key and no other', async (t) => {
  const rig = await startPlatform(t);
  const one = await start(rig, {});
  const two = await start(rig, {});
  const bearer = { authorization: `Bearer ${one.llm_api_key}` };
  for (const [method, path] of [
    ['GET', '/spend/logs'],
    ['POST', '/model/new'],
    ['GET', '/health'],
  ] as const)
    t.equal(
      (await send(rig.url, method, path, method === 'POST' ? {} : undefined, bearer)).status,
      403,
      path,
    );
  for (const path of ['/v1/models', `/c/${one.id}/v1/models`, `/c/${one.id}/v1/v1/model/info`])
    t.equal((await send(rig.url, 'GET', path, undefined, bearer)).status, 200, path);
  t.equal((await chat({ ...two, llm_api_key: one.llm_api_key })).status, 401, 'the base URL of another');
  t.equal(
    (await chat({ ...two, llm_api_key: KEY })).status,
    401,
    'the master key is no key of a conversation',
  );
  t.equal((await chat({ ...one, llm_base_url: `${rig.url}/v1` })).status, 200, 'the key alone is enough');
  const outside = await rig.api('GET', '/api/v1/settings', undefined, one.llm_api_key);
  t.equal(outside.status, 401, 'and it opens no settings');
  await rig.api('DELETE', `${PATH}/${one.id}`);
  t.equal((await chat(one)).status, 401, 'deleted: no key any more');
  t.equal((await chat(two)).status, 200);
});

t.test('it survives a restart: key, tags and headers', async (t) => {
  const folder = tempDir(t);
  const first = await startPlatform(t, { folder });
  await first.api('POST', '/api/v1/settings/profiles/a', {
    llm: { model: 'demo', extra_headers: { 'X-A': 'b' } },
  });
  const conversation = await start(first, { llm_profile: 'a', tags: { k: 'v' } });
  await first.stop();
  const second = await startPlatform(t, { folder });
  const { id, llm_base_url: base } = await read(second, conversation.id);
  t.equal(id, conversation.id);
  const response = await chat({ ...conversation, llm_base_url: base });
  t.match(await rowOf(second, response), { session_id: dashed(id), request_tags: ['k:v'] });
  t.equal(headerOf(lastSeen(second).rawHeaders, 'x-a'), 'b');
});

t.test('PATCH replaces tags for the next call, switch_profile the headers', async (t) => {
  const rig = await startPlatform(t);
  for (const name of ['a', 'b'])
    await rig.api('POST', `/api/v1/settings/profiles/${name}`, {
      llm: { model: `demo-${name}`, extra_headers: { 'X-P': name } },
    });
  const conversation = await start(rig, { tags: { old: '1' }, llm_profile: 'a', title: 'before' });
  const patched = await rig.api('PATCH', `${PATH}/${dashed(conversation.id)}`, {
    tags: { new: '2' },
    title: null,
    public: true,
  });
  t.match(patched.json, { id: conversation.id, tags: { new: '2' }, title: 'before', public: true });
  t.strictSame(at(patched, 'tags'), { new: '2' });
  t.same((await rig.api('POST', `${PATH}/${conversation.id}/switch_profile`, { profile_name: 'b' })).json, {
    success: true,
  });
  const response = await chat(conversation);
  t.strictSame((await rowOf(rig, response))['request_tags'], ['new:2']);
  t.equal(headerOf(lastSeen(rig).rawHeaders, 'x-p'), 'b');
  t.match(await read(rig, conversation.id), { llm_profile: 'b', llm_model: 'demo-b' });
  const unknown = await rig.api('PATCH', `${PATH}/${randomUUID()}`, { title: 'x' });
  t.equal(unknown.status, 404);
  t.same(unknown.json, { detail: 'unknown_app_conversation' });
  t.equal(
    (await rig.api('POST', `${PATH}/${conversation.id}/switch_profile`, { profile_name: 'zzz' })).status,
    404,
  );
  const many = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      rig.api('PATCH', `${PATH}/${conversation.id}`, { tags: { n: String(n) } }),
    ),
  );
  t.ok(
    many.every(({ status }) => status === 200),
    'changes at the same time take turns',
  );
});

t.test('searches filter, count and page; sub-conversations are left out unless asked for', async (t) => {
  const rig = await startPlatform(t);
  for (let n = 0; n < 5; n += 1) await start(rig, { title: `Topic ${n} 100%` });
  const parent = await start(rig, { title: 'Parent' });
  const child = await start(rig, { title: 'Child', parent_conversation_id: dashed(parent.id) });
  const titles = async (query: string): Promise<unknown[]> =>
    (at(await rig.api('GET', `${PATH}/search?${query}`), 'items') as Conversation[]).map(
      ({ title }) => title,
    );
  t.same(await titles('limit=2'), ['Parent', 'Topic 4 100%']);
  const first = await rig.api('GET', `${PATH}/search?limit=4`);
  t.equal(at(first, 'next_page_id'), '4');
  t.equal(at(first, 'items.0.llm_api_key'), null, 'keys are answered by id only');
  t.same(await titles('limit=4&page_id=4&sort_order=UPDATED_AT_DESC'), ['Topic 1 100%', 'Topic 0 100%']);
  t.same(await titles('title__contains=topic%203'), ['Topic 3 100%'], 'without regard to case');
  t.same(await titles('title__contains=0%25&limit=1'), ['Topic 4 100%'], 'a percent sign is a letter');
  t.same(await titles('title__contains=_opic'), [], 'so is an underscore');
  t.same(await titles('include_sub_conversations=true&limit=1'), ['Child']);
  t.same(await titles('created_at__lt=2020-01-01T00:00:00Z'), []);
  t.same(await titles('created_at__gte=2099-01-01'), []);
  t.equal((await titles('updated_at__gte=2020-01-01T00:00:00')).length, 6);
  t.equal((await rig.api('GET', `${PATH}/count?title__contains=Topic`)).json, 5);
  t.equal((await rig.api('GET', `${PATH}/count`)).json, 7);
  t.same((await read(rig, parent.id))['sub_conversation_ids'], [child.id]);
  const tasks = await rig.api('GET', `${PATH}/start-tasks/search?conversation_id__eq=${dashed(child.id)}`);
  t.match(tasks.json, {
    items: [{ status: 'READY', app_conversation_id: child.id, request: { title: 'Child' } }],
    next_page_id: null,
  });
  t.equal((await rig.api('GET', `${PATH}/start-tasks/count`)).json, 7);
  t.match((await rig.api('GET', `${PATH}/start-tasks/search?sort_order=CREATED_AT&limit=1`)).json, {
    items: [{ request: { title: 'Topic 0 100%' } }],
  });
  await rig.api('DELETE', `${PATH}/${child.id}`);
  const left = await rig.api('GET', `${PATH}/start-tasks/search?conversation_id__eq=${child.id}`);
  t.same(at(left, 'items'), [], 'what started it holds its first message, and goes with it');
  t.equal((await rig.api('GET', `${PATH}/start-tasks/count`)).json, 6);
});

t.test('without ids the newest are listed, without their keys', async (t) => {
  const rig = await startPlatform(t, { users: '[{ key: key-a, user_id: a }, { key: key-b, user_id: b }]' });
  t.same((await rig.api('GET', PATH, undefined, 'key-a')).json, []);
  for (const [title, key] of [
    ['First', 'key-a'],
    ['Second', 'key-a'],
    ['Other', 'key-b'],
  ] as const)
    await rig.api('POST', PATH, { title }, key);
  const { json, text } = await rig.api('GET', PATH, undefined, 'key-a');
  t.match(json, [
    { title: 'Second', llm_api_key: null },
    { title: 'First', llm_api_key: null },
  ]);
  t.equal((json as unknown[]).length, 2, 'of others none');
  t.notMatch(text, /sk-conv-/);
});

t.test('ids in every spelling are one id; too many or wrong ones are told', async (t) => {
  const rig = await startPlatform(t);
  const wanted = randomUUID();
  const conversation = await start(rig, { conversation_id: wanted.toUpperCase() });
  t.equal(conversation.id, wanted.replaceAll('-', ''));
  t.equal((await rig.api('POST', PATH, { conversation_id: wanted })).status, 409, 'an id is taken once');
  const { json } = await rig.api('GET', `${PATH}?ids=${wanted}&ids=${conversation.id}&ids=${randomUUID()}`);
  t.match(json, [{ id: conversation.id }, { id: conversation.id }, null]);
  const bad = await rig.api('GET', `${PATH}?ids=abc&ids=${wanted}`);
  t.equal(bad.status, 400);
  t.same(bad.json, { detail: 'Invalid UUID format for ids: ["abc"]' });
  const many = await rig.api(
    'GET',
    `${PATH}?${Array.from({ length: 100 }, () => `ids=${wanted}`).join('&')}`,
  );
  t.same([many.status, many.json], [400, { detail: 'Too many ids requested. Maximum is 99.' }]);
});

t.test('what does not fit is 422 at its place', async (t) => {
  const rig = await startPlatform(t);
  const posts: readonly (readonly [body: unknown, loc: readonly unknown[]])[] = [
    [{ tags: { 'Cost Center': 'x' } }, ['body', 'tags', 'Cost Center']],
    [{ tags: { a: 'x'.repeat(257) } }, ['body', 'tags', 'a']],
    [{ tags: { a: 1 } }, ['body', 'tags', 'a']],
    [{ tags: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 'v'])) }, ['body', 'tags']],
    [{ conversation_id: 'x' }, ['body', 'conversation_id']],
    [{ trigger: 'mood' }, ['body', 'trigger']],
    [{ git_provider: 'cvs' }, ['body', 'git_provider']],
    [{ agent_type: 'x' }, ['body', 'agent_type']],
    [{ pr_number: ['1'] }, ['body', 'pr_number', 0]],
    [{ processors: [{}] }, ['body', 'processors']],
  ];
  for (const [body, loc] of posts) {
    const response = await rig.api('POST', PATH, body);
    t.equal(response.status, 422, JSON.stringify(loc));
    t.match(response.json, { detail: [{ loc }] }, response.text);
  }
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=x',
    'created_at__gte=soon',
    'created_at__gte=2026-02-30T00:00:00Z',
    'include_sub_conversations=maybe',
  ])
    t.equal((await rig.api('GET', `${PATH}/search?${query}`)).status, 422, query);
  t.equal((await rig.api('GET', `${PATH}/start-tasks/search?sort_order=TITLE`)).status, 422);
  t.equal((await rig.api('PATCH', `${PATH}/not-an-id`, {})).status, 422);
  t.equal((await rig.api('GET', `${PATH}/search?title__contains=a%00b`)).status, 422);
  const listed = await rig.api('GET', `/api/v1/conversation/${randomUUID()}/events?id=a&id=a%00b`);
  t.equal(listed.status, 422, 'one of a list, too: PostgreSQL would refuse the query');
  t.match(await rig.api('POST', PATH, { title: 'a\0b' }), {
    status: 422,
    json: {
      detail: [{ loc: ['body', 'title'], msg: 'Value error, the input must not hold a NUL character' }],
    },
  });
  t.equal((await rig.api('POST', PATH, { parent_conversation_id: randomUUID() })).status, 404);
  t.equal((await rig.api('POST', PATH, { llm_profile: 'nobody' })).status, 404);
  t.equal((await rig.api('GET', `${PATH}/count`)).json, 0, 'nothing half-written');
});

t.test('a store that fails midway leaves neither a conversation nor a task, and no key', async (t) => {
  const rig = await startPlatform(t);
  const { DatabaseSync } = await import('node:sqlite');
  const db = new DatabaseSync(`${rig.folder}/data/platform.db`);
  db.exec(
    "CREATE TRIGGER broken BEFORE INSERT ON items WHEN NEW.kind = 'start_task' BEGIN SELECT RAISE(ABORT, 'x'); END",
  );
  t.equal((await rig.api('POST', PATH, {})).status, 500);
  db.exec('DROP TRIGGER broken');
  db.close();
  t.equal((await rig.api('GET', `${PATH}/count`)).json, 0);
  t.equal(rig.gateway.reloader.active.services.callers?.size, 0);
});

t.test(
  'users do not see, change or reach what belongs to others; the owner is the end user of the rows',
  async (t) => {
    const users = '[{ key: key-of-alice, user_id: alice }, { key: key-of-bob, user_id: bob }]';
    const rig = await startPlatform(t, { users });
    const conversation = await start(rig, {}, 'key-of-alice');
    t.equal(conversation['created_by_user_id'], 'alice');
    const bob = (method: string, path: string, body?: unknown) => rig.api(method, path, body, 'key-of-bob');
    t.same((await bob('GET', `${PATH}?ids=${conversation.id}`)).json, [null]);
    t.equal((await bob('PATCH', `${PATH}/${conversation.id}`, { title: 'x' })).status, 404);
    t.equal((await bob('DELETE', `${PATH}/${conversation.id}`)).status, 404);
    t.equal((await bob('GET', `${PATH}/count`)).json, 0);
    t.equal((await bob('GET', `${PATH}/start-tasks/count`)).json, 0);
    t.match(await rowOf(rig, await chat(conversation)), { end_user: 'alice' });
  },
);

t.test('a reload changes who may call, and says what waits for a restart', async (t) => {
  const rig = await startPlatform(t);
  const sections = (platform: string): string =>
    `model_list: []\ngeneral_settings: { master_key: ${KEY} }\n${platform}`;
  const section = `session_api_key: [{ key: new-key, user_id: carol }], secret_key: "${SECRET_KEY}"`;
  await rig.reconfigure(sections(`platform: { ${section}, public_base_url: "https://llm.example.com/" }`));
  t.equal((await rig.api('GET', `${PATH}/count`)).status, 401, 'the old key is none any more');
  const { llm_base_url: base } = await start(rig, {}, 'new-key');
  t.match(base, /^https:\/\/llm\.example\.com\/c\/[0-9a-f]{32}\/v1$/);
  await rig.reconfigure(sections(`platform: { ${section} }`));
  const own = await start(rig, {}, 'new-key');
  t.equal(new URL(own.llm_base_url).origin, rig.url, 'without public_base_url it is the own one again');
  await rig.reconfigure(sections(''));
  t.equal((await rig.api('GET', `${PATH}/count`, undefined, 'new-key')).status, 200);
  const said = rig.log.map(({ msg }) => String(msg));
  t.ok(said.some((msg) => /was removed .* until a restart/.test(msg)));
  t.notOk(
    said.some((msg) => /take effect after a restart/.test(msg)),
    'the same key is no change',
  );
  const off = await startRig(t, { config: () => sections('') });
  t.equal((await send(off.url, 'GET', '/api/v1/settings')).status, 404, 'off: there is no such route');
  await off.reconfigure(sections(`platform: { ${section} }`));
  t.ok(off.log.some(({ msg }) => /was added .* after a restart/.test(String(msg))));
});
