// Deployments of one team (`model_info.team_id`), from outside: no key of another team, and none without a team, is served by them or
// learns of them, wherever a deployment is chosen or shown.
import t from 'tap';
import type { Test } from 'tap';
import { list, managed, newKey, type Json } from '../support/manage.ts';
import { openSession, startRealtimeUpstream } from '../support/realtime-upstream.ts';
import { startUpstream } from '../support/call.ts';
import { chat, KEY, rowOf, send, startRig, type Answer, type Rig } from '../support/rig.ts';

const ENTRIES = `
  - model_name: common
    litellm_params: { model: litellm_proxy/demo, api_base: "$URL", api_key: k }
    model_info: { id: d-common, access_groups: [everybodys] }
  - model_name: broken
    litellm_params: { model: openai/demo, api_base: "http://127.0.0.1:9/v1", api_key: k }
    model_info: { id: d-broken }
  - model_name: mixed
    litellm_params: { model: litellm_proxy/demo, api_base: "$URL", api_key: k, order: 1 }
    model_info: { id: d-red-mixed, team_id: red, access_groups: [reddish] }
  - model_name: mixed
    litellm_params: { model: openai/demo, api_base: "http://127.0.0.1:9/v1", api_key: k, order: 2 }
    model_info: { id: d-blue-mixed, team_id: blue }
  - model_name: mixed
    litellm_params: { model: openai/acme/demo, api_base: "$URL/compat/v1", api_key: k, order: 3 }
    model_info: { id: d-mixed }
  - model_name: crimson
    litellm_params: { model: litellm_proxy/demo, api_base: "$URL", api_key: k }
    model_info: { id: d-crimson, team_id: red, access_groups: [reds] }
  - model_name: ruby
    litellm_params: { model: litellm_proxy/only-ruby, api_base: "$URL", api_key: k }
    model_info: { id: d-ruby, team_id: red }
  - model_name: red/*
    litellm_params: { model: litellm_proxy/*, api_base: "$URL", api_key: k }
    model_info: { id: d-red-any, team_id: red }
`;

const config = (demo: { readonly url: string }, more = ''): string => `
model_list:${ENTRIES.replaceAll('$URL', demo.url)}
router_settings:
  num_retries: 2
  model_group_alias: { scarlet: crimson }
  fallbacks: [{ broken: [crimson, red/demo] }]
general_settings: { master_key: ${KEY} }
${more}`;

const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const start = (t: Test, more = ''): Promise<Rig> => startRig(t, { config: (demo) => config(demo, more) });

/** A key of the team, one of another team, one of none, and two more that stand for the platform. */
async function keysOf(rig: Rig) {
  for (const team_id of ['red', 'blue']) await managed(rig, 'POST /team/new', { team_id });
  await managed(rig, 'POST /user/new', {
    user_id: 'admin',
    user_role: 'proxy_admin',
    auto_create_key: false,
  });
  return {
    red: await newKey(rig, { team_id: 'red' }),
    blue: await newKey(rig, { team_id: 'blue' }),
    none: await newKey(rig, {}),
    admin: await newKey(rig, { user_id: 'admin' }),
  };
}

const errorOf = ({ text }: Answer): Json => (JSON.parse(text) as { error: Json }).error;
const get = async (rig: Rig, path: string, key: string): Promise<Json> =>
  JSON.parse((await send(rig.url, 'GET', path, undefined, as(key))).text) as Json;
const idsIn = async (rig: Rig, path: string, key: string): Promise<readonly unknown[]> =>
  list((await get(rig, path, key))['data']).map(
    ({ id, model_group, model_info }) => id ?? model_group ?? (model_info as Json)['id'],
  );

/** Each says what belongs to the team red alone. */
const OF_RED = /crimson|scarlet|ruby|red|only-/;

t.test(
  'a deployment of a team serves the keys of that team alone, by whatever name it is asked for',
  async (t) => {
    const rig = await start(t);
    const { red, blue, none, admin } = await keysOf(rig);
    for (const name of ['crimson', 'scarlet', 'red/demo'])
      for (const key of [red, admin, KEY]) {
        const answer = await chat(rig, name, {}, as(key));
        t.equal(answer.status, 200, answer.text);
        t.match(
          await rowOf(rig, answer),
          { team_id: 'red' },
          'who calls for others, calls for the team of the deployment',
        );
      }
    const seen = rig.demo.seen.length;
    for (const key of [blue, none]) {
      for (const name of ['crimson', 'scarlet', 'red/demo']) {
        const answer = await chat(rig, name, {}, as(key));
        t.equal(answer.status, 403, answer.text);
        t.match(errorOf(answer), { code: 'key_model_access_denied', message: /not allowed to access model/ });
      }
      for (const name of ['d-crimson', 'litellm_proxy/only-ruby', 'crimsom']) {
        const answer = await chat(rig, name, {}, as(key));
        t.equal(answer.status, 404, `no id, no upstream name and no hint: ${name}`);
        t.notMatch(String(errorOf(answer)['message']).replace(`\`${name}\``, ''), OF_RED);
      }
    }
    t.equal(rig.demo.seen.length, seen, 'nothing went there');
    t.equal((await chat(rig, 'd-crimson', {}, as(red))).status, 200, 'its own key may name it');
  },
);

t.test(
  'of a name with deployments of several, each team has its own and those of nobody, retries included',
  async (t) => {
    const rig = await start(t);
    const { red, blue, none } = await keysOf(rig);
    const servedBy = async (key: string): Promise<unknown> =>
      (await rowOf(rig, await chat(rig, 'mixed', {}, as(key))))['model_id'];
    t.equal(await servedBy(red), 'd-red-mixed');
    t.equal(await servedBy(none), 'd-mixed');
    const moved = await chat(rig, 'mixed', {}, as(blue));
    t.match(await rowOf(rig, moved), { model_id: 'd-mixed', attempts: 2, team_id: 'blue' });
  },
);

t.test('a fallback to a deployment of another team is left out', async (t) => {
  const rig = await start(t);
  const { red, blue, none } = await keysOf(rig);
  for (const key of [red, KEY]) t.equal((await chat(rig, 'broken', {}, as(key))).status, 200);
  const seen = rig.demo.seen.length;
  for (const key of [blue, none]) t.equal((await chat(rig, 'broken', {}, as(key))).status, 503);
  t.equal(rig.demo.seen.length, seen);
});

t.test('what a list of models allows is not served to another team either', async (t) => {
  const rig = await start(t);
  await keysOf(rig);
  for (const models of [['crimson'], ['reds'], ['*'], ['red/*', 'crimson']]) {
    const key = await newKey(rig, { team_id: 'blue', models });
    t.match(errorOf(await chat(rig, 'crimson', {}, as(key))), { code: 'key_model_access_denied' });
    t.notMatch(JSON.stringify(await idsIn(rig, '/v1/models', key)), OF_RED);
  }
  const aliased = await newKey(rig, { team_id: 'blue', aliases: { mine: 'crimson' } });
  t.match(errorOf(await chat(rig, 'mine', {}, as(aliased))), { code: 'key_model_access_denied' });
  t.notOk((await idsIn(rig, '/v1/models', aliased)).includes('mine'));
});

t.test('no listing shows a deployment of another team', async (t) => {
  const rig = await start(t);
  const { red, blue, none, admin } = await keysOf(rig);
  await managed(rig, 'POST /access_group/new', {
    access_group: 'all-reds',
    model_names: ['crimson', 'ruby'],
  });
  for (const key of [blue, none]) {
    t.same(await idsIn(rig, '/v1/models', key), ['common', 'broken', 'mixed']);
    t.same(await idsIn(rig, '/v1/models?include_model_access_groups=true', key), [
      ...['common', 'broken', 'mixed'],
      'everybodys',
    ]);
    t.same(await idsIn(rig, '/model_group/info', key), ['common', 'broken', 'mixed']);
    for (const path of [
      '/v1/models?include_metadata=true',
      '/v1beta/models',
      '/model/info',
      '/v1/model/info',
      '/v2/model/info',
    ]) {
      const { text } = await send(rig.url, 'GET', path, undefined, as(key));
      t.match(text, /mixed/);
      t.notMatch(text, OF_RED, path);
    }
    for (const name of ['crimson', 'scarlet', 'red/demo'])
      t.equal((await send(rig.url, 'GET', `/v1/models/${name}`, undefined, as(key))).status, 404);
    t.equal(
      (await send(rig.url, 'GET', '/model/info?litellm_model_id=d-crimson', undefined, as(key))).status,
      400,
    );
    const counted = await send(
      rig.url,
      'POST',
      '/utils/token_counter',
      { model: 'ruby', prompt: 'hi' },
      as(key),
    );
    t.match(JSON.parse(counted.text), { model_used: 'ruby' }, 'nor what it is upstream');
  }
  t.same(await idsIn(rig, '/model_group/info?model_group=mixed', blue), ['mixed']);
  t.notMatch(JSON.stringify(await get(rig, '/model/info', blue)), /d-red-mixed/);
  t.match(JSON.stringify(await get(rig, '/model/info', blue)), /d-blue-mixed/);
  for (const key of [red, admin, KEY]) {
    const names = await idsIn(rig, '/v1/models', key);
    for (const name of ['crimson', 'scarlet', 'ruby', 'red/*']) t.ok(names.includes(name), name);
  }
  for (const key of [red, KEY])
    t.same(await idsIn(rig, '/v1/models?only_model_access_groups=true', key), [
      ...['everybodys', 'reddish', 'reds'],
      'all-reds',
    ]);
});

t.test('what is said of names that a key is to call tells of no deployment of another team', async (t) => {
  const rig = await start(t);
  await keysOf(rig);
  await managed(rig, 'POST /user/new', {
    user_id: 'member',
    user_role: 'internal_user',
    auto_create_key: false,
  });
  for (const team_id of ['red', 'blue'])
    await managed(rig, 'POST /team/member_add', { team_id, member: { user_id: 'member', role: 'admin' } });
  const member = await newKey(rig, { user_id: 'member' });
  const warningsOf = async (call: string, body: Json): Promise<unknown> =>
    (await managed(rig, call, { ...body, models: ['comon', 'crimsom', 'crimson', 'reds'] }, member))[
      'warnings'
    ];
  const unknown = (name: string, near = ''): string =>
    `models: ${name} is no model here, and allows nothing until there is one${near}`;
  const toOthers = [
    unknown('comon', '; did you mean common?'),
    ...['crimsom', 'crimson', 'reds'].map((name) => unknown(name)),
  ];
  t.same(await warningsOf('POST /key/generate', {}), toOthers);
  t.same(await warningsOf('POST /key/generate', { team_id: 'blue' }), toOthers);
  t.same(await warningsOf('POST /team/update', { team_id: 'blue' }), toOthers);
  t.same(await warningsOf('POST /key/generate', { team_id: 'red' }), undefined, 'its pattern serves them');
});

t.test('of a bare name that the gateway of another team lists, no look-up tells', async (t) => {
  const gateway = await startUpstream(t, ({ res }) => void res.end('{"data":[{"id":"gpt-red"}]}'));
  const rig = await startRig(t, {
    config: () => `
model_list:
  - model_name: "*"
    litellm_params: { model: openai/*, api_base: "${gateway}/v1", api_key: k, discover_models: true }
    model_info: { team_id: red }
  - model_name: "*"
    litellm_params: { model: openai/*, api_base: "http://127.0.0.1:9/v1", api_key: k }
general_settings: { master_key: ${KEY} }
`,
  });
  await rig.logged(({ msg }) => msg === 'the models of a gateway are known');
  await keysOf(rig);
  const lookUp = async (team_id: string): Promise<number> => {
    const key = await newKey(rig, { team_id, models: ['gpt-red'] });
    return (await send(rig.url, 'GET', '/v1/models/gpt-red', undefined, as(key))).status;
  };
  t.equal(await lookUp('red'), 200);
  t.equal(await lookUp('blue'), 404);
});

t.test(
  'a key of a team in the file is bound as one that was made, and keys for many teams are not',
  async (t) => {
    const rig = await startRig(t, {
      env: { CI_KEY: 'sk-ci-key-of-blue-1', AGENTS_KEY: 'sk-agents-key-00001' },
      config: (demo) =>
        config(
          demo,
          'teams: [{ team_id: blue }]\nkeys: [{ key_alias: ci, key: os.environ/CI_KEY, team_id: blue }]\n',
        ).replace(`master_key: ${KEY}`, `master_key: ${KEY}, inference_keys: [os.environ/AGENTS_KEY]`),
    });
    t.equal((await chat(rig, 'crimson', {}, as('sk-ci-key-of-blue-1'))).status, 403);
    const answer = await chat(rig, 'crimson', {}, as('sk-agents-key-00001'));
    t.match(await rowOf(rig, answer), { http_status: 200, team_id: 'red' });
  },
);

t.test('a stored response is not asked of a deployment that has become another team’s', async (t) => {
  const rig = await start(t);
  const { none } = await keysOf(rig);
  const entry = {
    model_name: 'stored',
    litellm_params: { model: 'openai/demo', api_base: `${rig.demo.url}/v1`, api_key: 'k' },
    model_info: { id: 'd-stored' },
  };
  await managed(rig, 'POST /model/new', entry);
  const made = await send(rig.url, 'POST', '/v1/responses', { model: 'stored', input: 'hi' }, as(none));
  t.equal(made.status, 200, made.text);
  const { id } = JSON.parse(made.text) as { id: string };
  await managed(rig, 'POST /model/update', { model_info: { id: 'd-stored', team_id: 'red' } });
  const seen = rig.demo.seen.length;
  const answer = await send(rig.url, 'GET', `/v1/responses/${id}`, undefined, as(none));
  t.equal(answer.status, 403, answer.text);
  t.equal(rig.demo.seen.length, seen);
});

t.test('a realtime session is opened at deployments of the own team alone', async (t) => {
  const upstream = await startRealtimeUpstream(t);
  const rig = await startRig(t, {
    config: () => `
model_list:
  - model_name: rt
    litellm_params: { model: openai/gpt-realtime, api_base: "${upstream.url}/v1", api_key: k }
    model_info: { team_id: red }
general_settings: { master_key: ${KEY} }
`,
  });
  const { red, blue } = await keysOf(rig);
  const open = (key: string) => openSession(`${rig.url}/v1/realtime?model=rt`, { headers: as(key) });
  await t.rejects(open(blue), /403/);
  const { peer } = await open(red);
  peer.socket.terminate();
});

t.test('a model of /model/new that the file does not let in is shown to its team alone', async (t) => {
  const served = (demo: { readonly url: string }, name: string): string => `
model_list:
  - model_name: ${name}
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: k }
general_settings: { master_key: ${KEY} }
`;
  const rig = await startRig(t, { config: (demo) => served(demo, 'common') });
  const { red, blue } = await keysOf(rig);
  const entry = {
    model_name: 'later',
    litellm_params: { model: 'openai/demo', api_base: `${rig.demo.url}/v1`, api_key: 'k' },
    model_info: { id: 'd-later', team_id: 'red' },
  };
  await managed(rig, 'POST /model/new', entry);
  await rig.reconfigure(served(rig.demo, 'later'));
  t.match(JSON.stringify(await get(rig, '/model/info', red)), /d-later.*"disabled":true/);
  t.notMatch(JSON.stringify(await get(rig, '/model/info', blue)), /d-later/);
});
