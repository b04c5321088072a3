// Settings and LLM profiles of V1 over the wire.
import t from 'tap';
import { at, SESSION_KEY, startPlatform } from '../fixture/rig.ts';
import { send } from '../../support/rig.ts';

const PATH = '/api/v1/settings/profiles';

t.test('settings are changed by diffs, member by member', async (t) => {
  const rig = await startPlatform(t);
  t.same((await rig.api('GET', '/api/v1/settings')).json, { error: 'Settings not found' });
  const post = (body: unknown) => rig.api('POST', '/api/v1/settings', body);
  await post({
    language: 'de',
    agent_settings_diff: { llm: { model: 'a', api_key: 'sk-secret-a' }, tools: [{ name: 'x' }] },
  });
  await post({
    agent_settings_diff: { llm: { model: 'b' } },
    conversation_settings_diff: { max_iterations: 7 },
  });
  const { json, text } = await rig.api('GET', '/api/v1/settings');
  t.match(json, {
    language: 'de',
    v1_enabled: true,
    agent_settings: { llm: { model: 'b', api_key: null }, tools: [{ name: 'x' }] },
    conversation_settings: {
      schema_version: 1,
      max_iterations: 7,
      confirmation_mode: false,
      security_analyzer: 'llm',
    },
    sandbox_grouping_strategy: 'NO_GROUPING',
    llm_api_key_set: true,
    search_api_key_set: false,
  });
  t.notMatch(text, 'sk-secret-a');
  const legacy = await post({ agent_settings: {}, language: 'fr' });
  t.equal(legacy.status, 422);
  t.match(legacy.json, { error: /Use \*_diff/, keys: ['agent_settings'] });
  t.match((await post({ langage: 'fr' })).json, {
    detail: [{ loc: ['body', 'langage'], type: 'extra_forbidden' }],
  });
  t.match((await post({ sandbox_grouping_strategy: 'BEST' })).json, {
    detail: [{ type: 'enum', msg: /'NO_GROUPING', .* or 'ADD_TO_ANY'/ }],
  });
  const few = await post({ conversation_settings_diff: { max_iterations: 0 } });
  t.match(few.json, {
    detail: [{ loc: ['body', 'conversation_settings_diff', 'max_iterations'], type: 'greater_than_equal' }],
  });
  const proto = await post(Buffer.from('{"agent_settings_diff":{"__proto__":{"polluted":true}}}'));
  t.equal(proto.status, 422);
  t.equal(({} as Record<string, unknown>)['polluted'], undefined);
  t.match(
    (await rig.api('GET', '/api/v1/settings')).json,
    { language: 'de' },
    'what was refused changed nothing',
  );
});

t.test('a profile is saved, read without its key, activated, renamed and deleted', async (t) => {
  const rig = await startPlatform(t);
  const llm = { model: 'openai/demo', base_url: 'http://proxy:4000/v1', api_key: 'sk-profile-secret' };
  const saved = await rig.api('POST', `${PATH}/Default`, { llm });
  t.equal(saved.status, 201);
  t.same(saved.json, { name: 'Default', message: "Profile 'Default' saved" });
  const read = await rig.api('GET', `${PATH}/Default`);
  t.match(read.json, {
    name: 'Default',
    api_key_set: true,
    config: { ...llm, api_key: null, num_retries: 5, timeout: 300 },
  });
  t.notMatch(read.text, 'sk-profile-secret');
  await rig.api('POST', `${PATH}/Default`, { llm: { model: 'openai/other' } });
  t.equal(at(await rig.api('GET', `${PATH}/Default`), 'api_key_set'), true, 'an omitted key is kept');
  await rig.api('POST', `${PATH}/Default`, {
    preserve_existing_api_key: true,
    llm: { model: 'm', api_key: null },
  });
  t.equal(at(await rig.api('GET', `${PATH}/Default`), 'api_key_set'), true);
  t.same((await rig.api('POST', `${PATH}/Default/activate`, {})).json, {
    name: 'Default',
    message: "Switched to profile 'Default'",
    model: 'm',
  });
  t.match((await rig.api('GET', '/api/v1/settings')).json, {
    agent_settings: { llm: { model: 'm', stream: true } },
    llm_api_key_set: true,
  });
  t.equal((await rig.api('POST', `${PATH}/Default/rename`, { new_name: 'Second' })).status, 200);
  t.match((await rig.api('GET', PATH)).json, {
    active_profile: 'Second',
    profiles: [{ name: 'Second', model: 'm', api_key_set: true }],
  });
  t.same((await rig.api('GET', `${PATH}/Default`)).json, { detail: "Profile 'Default' not found" });
  await rig.api('POST', `${PATH}/Third`, {});
  t.match(
    (await rig.api('GET', `${PATH}/Third`)).json,
    { config: { model: 'm' } },
    'without llm: what the settings say',
  );
  t.equal((await rig.api('POST', `${PATH}/Third/rename`, { new_name: 'Second' })).status, 409);
  t.equal((await rig.api('POST', `${PATH}/Nobody/rename`, { new_name: 'x' })).status, 404);
  for (let times = 0; times < 2; times += 1) t.equal((await rig.api('DELETE', `${PATH}/Second`)).status, 200);
  t.equal(at(await rig.api('GET', PATH), 'active_profile'), null);
});

t.test('with If-None-Match: * a profile is made, and none is overwritten', async (t) => {
  const rig = await startPlatform(t);
  const make = (model: string) =>
    send(
      rig.url,
      'POST',
      `${PATH}/New`,
      { llm: { model } },
      { authorization: '', 'x-session-api-key': SESSION_KEY, 'if-none-match': '*' },
    );
  t.equal((await make('a')).status, 201);
  const again = await make('b');
  t.equal(again.status, 412);
  t.same(JSON.parse(again.text), { detail: "Profile 'New' already exists" });
  t.match((await rig.api('GET', `${PATH}/New`)).json, { config: { model: 'a' } });
  t.equal((await rig.api('POST', `${PATH}/New`, { llm: { model: 'b' } })).status, 201, 'without it, as ever');
});

t.test('what a profile must not hold is told at its place', async (t) => {
  const rig = await startPlatform(t);
  const cases: readonly (readonly [name: string, llm: unknown, loc: readonly unknown[], type: string])[] = [
    ['a b', {}, ['path', 'name'], 'string_pattern_mismatch'],
    ['x'.repeat(65), {}, ['path', 'name'], 'string_too_long'],
    ['a', { modell: 'x' }, ['body', 'llm', 'modell'], 'extra_forbidden'],
    ['a', { top_p: 2 }, ['body', 'llm', 'top_p'], 'less_than_equal'],
    ['a', { api_mode: 'fax' }, ['body', 'llm', 'api_mode'], 'enum'],
    ['a', { auth_type: 'subscription' }, ['body', 'llm', 'auth_type'], 'value_error'],
    ['a', { extra_headers: { 'X-A': 1 } }, ['body', 'llm', 'extra_headers', 'X-A'], 'string_type'],
    ['a', { extra_headers: { 'X A': 'b' } }, ['body', 'llm', 'extra_headers', 'X A'], 'value_error'],
    [
      'a',
      { extra_headers: { 'X-A': 'b\r\nX-B: c' } },
      ['body', 'llm', 'extra_headers', 'X-A'],
      'value_error',
    ],
    ['a', { extra_headers: { Host: 'b' } }, ['body', 'llm', 'extra_headers', 'Host'], 'value_error'],
    [
      'a',
      { extra_headers: { Content_Length: '1' } },
      ['body', 'llm', 'extra_headers', 'Content_Length'],
      'value_error',
    ],
    [
      'a',
      { extra_headers: { Authorization: 'b' } },
      ['body', 'llm', 'extra_headers', 'Authorization'],
      'value_error',
    ],
    [
      'a',
      { extra_headers: { 'X-A': 'b', 'x-a': 'c' } },
      ['body', 'llm', 'extra_headers', 'x-a'],
      'value_error',
    ],
  ];
  for (const [name, llm, loc, type] of cases) {
    const response = await rig.api('POST', `${PATH}/${encodeURIComponent(name)}`, { llm });
    t.equal(response.status, 422, JSON.stringify(loc));
    t.ok(
      (at(response, 'detail') as { loc: unknown; type: string }[]).some(
        (one) => one.type === type && JSON.stringify(one.loc) === JSON.stringify(loc),
      ),
      response.text,
    );
  }
  t.same((await rig.api('GET', PATH)).json, { profiles: [], active_profile: null });
  t.equal(
    (await rig.api('POST', `${PATH}/a`, {})).status,
    404,
    'there are no settings to take a snapshot of',
  );
});

t.test('secret headers of a profile are masked, the others shown; the mask keeps the value', async (t) => {
  const rig = await startPlatform(t);
  const headers = { 'X-OpenHands-User-Id': 'alice', 'X-Tenant-Token': 'token-secret' };
  await rig.api('POST', `${PATH}/a`, { llm: { model: 'demo', extra_headers: headers } });
  const shown = { 'X-OpenHands-User-Id': 'alice', 'X-Tenant-Token': '**********' };
  const read = await rig.api('GET', `${PATH}/a`);
  t.same(at(read, 'config.extra_headers'), shown);
  await rig.api('POST', `${PATH}/a`, { llm: { model: 'demo', extra_headers: shown } });
  await rig.api('POST', `${PATH}/a/activate`);
  const task = await rig.api('POST', '/api/v1/app-conversations', {});
  const { json } = await rig.api(
    'GET',
    `/api/v1/app-conversations?ids=${String(at(task, 'app_conversation_id'))}`,
  );
  const [conversation] = json as { llm_base_url: string; llm_api_key: string }[];
  await fetch(`${conversation?.llm_base_url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${conversation?.llm_api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'x' }] }),
  });
  t.match(JSON.stringify(rig.demo.seen.at(-1)?.rawHeaders), 'token-secret', 'the value itself goes upstream');
});

t.test('there are at most 50 profiles, and changes at the same time do not lose one', async (t) => {
  const rig = await startPlatform(t);
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) => rig.api('POST', `${PATH}/p${n}`, { llm: { model: 'm' } })),
  );
  t.equal(answers.filter(({ status }) => status === 201).length, 50);
  const refused = answers.find(({ status }) => status !== 201);
  t.equal(refused?.status, 409);
  t.same(refused?.json, { detail: 'Profile limit reached (50). Delete a profile before saving a new one.' });
  t.equal((at(await rig.api('GET', PATH), 'profiles') as unknown[]).length, 50);
});
