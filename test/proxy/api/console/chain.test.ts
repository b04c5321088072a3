// The live figures of the chain, the configuration in force, rows and sums as the page reads them.
import t from 'tap';
import { ManualClock, WallClock } from '../../../support/clock.ts';
import { list, managed, newKey, type Json } from '../../../support/manage.ts';
import { chat, defaultConfig, KEY, send, startRig, type Rig } from '../../../support/rig.ts';

const get = async (rig: Pick<Rig, 'url'>, path: string, key = KEY): Promise<Json> => {
  const { status, text } = await send(rig.url, 'GET', path, undefined, { authorization: `Bearer ${key}` });
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
  return JSON.parse(text) as Json;
};

const codeAt = async (rig: Rig, path: string, key = KEY): Promise<unknown> => {
  const { text } = await send(rig.url, 'GET', path, undefined, { authorization: `Bearer ${key}` });
  return (JSON.parse(text) as { error: { code: unknown } }).error.code;
};

t.test('the chain', async (t) => {
  const clock = new WallClock();
  const rig = await startRig(t, {
    clock,
    config: (demo) => `${defaultConfig(demo).replace(
      'general_settings:',
      `  - model_name: pair
    litellm_params: { model: litellm_proxy/demo-500, api_base: "${demo.url}", api_key: sk-upstream-secret, order: 1 }
    model_info: { id: ill }
  - model_name: pair
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-upstream-secret, order: 2 }
general_settings:`,
    )}
router_settings: { num_retries: 0, allowed_fails: 1, cooldown_time: 30 }
`,
  });
  const host = new URL(rig.demo.url).host;
  const chain = (): Promise<Json> => {
    clock.advance(1_100); // past the snapshot of all readers
    return get(rig, '/chain');
  };

  t.match(await chain(), {
    window_s: 300,
    verdict: { level: 'ok', text: 'Ready: there were no calls in the last 5 minutes. Records are written.' },
    proxy: { workers: { configured: 1, serving: 1, silent: [] }, in_flight: 0, draining: false },
    traffic: { calls: 0, calls_per_minute: 0, first_byte_ms: { p50: null } },
    gateways: [{ gateway: host, state: 'ok', calls: 0 }],
    deployments_total: 6,
    ledger: { writable: true, rows_at_risk: 0, store_reachable: true },
    reload: { result: 'applied', errors: 0 },
    findings: [],
  });

  await t.test('calls, faults by side, and where they were', async (t) => {
    for (let n = 0; n < 3; n += 1) t.equal((await chat(rig, 'demo')).status, 200);
    t.equal((await chat(rig, 'none-such')).status, 404);
    t.equal((await chat(rig, 'demo-500')).status, 500);
    await send(rig.url, 'GET', '/v1/models', undefined, { authorization: 'Bearer sk-wrong' });
    const now = await chain();
    t.match(now, {
      verdict: { text: '1 of 5 calls of the last 5 minutes failed here or at a gateway. All are recorded.' },
      proxy: { refused_per_minute: 1 },
      traffic: { calls: 5, calls_per_minute: 5, faults: { client: 1, proxy: 0, upstream: 1 } },
      gateways: [{ calls: 4, faults: { client: 0, upstream: 1 } }],
    });
    const [first] = list(now['deployments']);
    t.match(first, {
      model_name: 'demo',
      calls: 3,
      faults: { upstream: 0 },
      source: 'config',
      shared_figures: false,
    });
    t.type((now['traffic'] as { first_byte_ms: { p95: unknown } }).first_byte_ms.p95, 'number');
    const { calls, upstream } = now['history'] as { calls: number[]; upstream: number[] };
    t.same([calls.length, calls.reduce((a, b) => a + b), upstream.reduce((a, b) => a + b)], [60, 5, 1]);
    t.notMatch(JSON.stringify(now), /sk-/);
  });

  await t.test('one snapshot a second for all; what is the same is not sent again', async (t) => {
    const ask = (etag = '') => send(rig.url, 'GET', '/chain', undefined, { 'if-none-match': etag });
    clock.advance(1_100);
    const [one, other] = [await ask(), await ask()];
    t.equal(one.text, other.text);
    await chat(rig, 'demo');
    t.equal((await ask()).text, one.text, 'within the second');
    t.equal((await ask(String(one.headers.etag))).status, 304);
    clock.advance(1_100);
    let last = await ask(String(one.headers.etag));
    t.equal(last.status, 200, 'there was a call');
    // Whether the machine is busy is news, too.
    while (last.status === 200) {
      clock.advance(1_100);
      last = await ask(String(last.headers.etag));
    }
    t.equal(last.status, 304, 'nothing but time has passed');
  });

  await t.test('a deployment that rests says why, and until when', async (t) => {
    for (let n = 0; n < 2; n += 1) t.equal((await chat(rig, 'pair')).status, 500);
    const now = await chain();
    t.match(list(now['deployments'])[0], {
      id: 'ill',
      state: 'cooling_down',
      reason: 'too many calls failed within a minute',
      ends_in_s: Number,
      shared_figures: true,
    });
    t.match(now['gateways'], [{ state: 'ok' }], 'the others serve');
    t.match(list(now['findings'])[0], {
      level: 'warning',
      text: /^pair at 127\.0\.0\.1:\d+ rests for \d+ s: too many calls failed/,
      link: 'models?id=ill',
    });
  });

  await t.test('what was spent today comes from the store, a little later', async (t) => {
    let spend: unknown = null;
    while (spend === null) spend = (await chain())['spend_today'];
    t.match(spend, { calls: Number, usd: Number, day: new Date(clock.now()).toISOString().slice(0, 10) });
  });

  await t.test('what is older than the window is not counted', async (t) => {
    clock.advance(310_000);
    t.equal(((await chain())['traffic'] as Json)['calls'], 0);
  });

  await t.test('a refused configuration, and what is doubtful', async (t) => {
    await rig.reconfigure('model_list: [');
    const now = await chain();
    t.match(now, { verdict: { level: 'error' }, reload: { result: 'refused' } });
    t.match(list(now['findings'])[0], {
      level: 'error',
      text: /^The configuration file was refused \(1 error\)/,
    });
  });
});

t.test('the configuration in force', async (t) => {
  const rig = await startRig(t, {
    config: (demo) =>
      defaultConfig(
        demo,
        '  cors: { allow_origins: [https://a.example] }\nlitellm_settings: { drop_params: true }\n',
      ),
    env: { SOME: 'x' },
  });
  await managed(rig, 'POST /model/new', {
    model_name: 'late',
    litellm_params: { model: 'openai/x', api_base: 'http://127.0.0.1:9/v1', api_key: 'sk-very-secret' },
  });
  const config = await get(rig, '/config');
  t.match(config, { reload: { result: 'applied', issues: [] }, models_total: 5 });
  const settings = list(config['settings']);
  const of = (path: string): Json | undefined => settings.find((one) => one['path'] === path);
  t.match(of('general_settings.master_key'), { value: '[secret]', place: /^gateway\.yaml:\d+$/ });
  t.match(of('general_settings.cors.allow_origins[0]'), { value: 'https://a.example' });
  t.notOk(settings.some(({ path }) => String(path).startsWith('model_list')));
  const models = list(config['models']);
  t.match(models[0], { model_name: 'demo', source: 'config', place: 'gateway.yaml:3' });
  t.match(models.at(-1), { model_name: 'late', source: 'runtime', place: null });
  t.notMatch(JSON.stringify(config), /sk-/);
});

t.test('since when the configuration is in force, whatever reloads came of nothing', async (t) => {
  const clock = new ManualClock();
  const rig = await startRig(t, { clock });
  const told = async (): Promise<readonly Json[]> => {
    const [chain, config] = [await get(rig, '/chain'), await get(rig, '/config')];
    return [chain['reload'] as Json, config['reload'] as Json];
  };
  const since = async (): Promise<unknown> => {
    clock.advance(5_000);
    const [chain, config] = await told();
    t.same(chain?.['since'], config?.['since'], 'both say the same');
    return chain?.['since'];
  };
  const start = new Date(clock.now()).toISOString();
  t.equal(await since(), start);
  const now = (): string => new Date(clock.now()).toISOString();
  for (const [text, result] of [
    ['model_list: [', 'refused'],
    [defaultConfig(rig.demo), 'unchanged'],
  ] as const) {
    clock.advance(60_000);
    const at = now();
    await rig.reconfigure(text);
    t.match(await told(), [
      { result, at, since: start },
      { result, at, since: start },
    ]);
  }
  clock.advance(60_000);
  const changed = now();
  await rig.reconfigure(defaultConfig(rig.demo, '  max_json_depth: 99\n'));
  t.equal(await since(), changed);
  clock.advance(60_000);
  const added = now();
  await managed(rig, 'POST /model/new', {
    model_name: 'late',
    litellm_params: { model: 'openai/x', api_base: 'http://127.0.0.1:9/v1', api_key: 'sk-x' },
  });
  t.equal(await since(), added, 'a model that was added makes another version');
});

t.test('settings that hold secrets are counted without them, and empty sections are there', async (t) => {
  const more = [
    '  inference_keys: [os.environ/AGENT, sk-written-out, { key: os.environ/OTHER, name: agents }]',
    '  capsules: {}',
    '  allow_headers: []',
    '  otel: { endpoint: "http://127.0.0.1:9/v1/traces", headers: { x-api-key: sk-collector } }',
    'brake: {}',
    '',
  ];
  const rig = await startRig(t, {
    config: (demo) => defaultConfig(demo, more.join('\n')),
    env: { AGENT: 'sk-agent-1', OTHER: 'sk-agent-2' },
  });
  const config = await get(rig, '/config');
  const settings = list(config['settings']).map(({ path, value }) => [String(path), value]);
  const below = (section: string): unknown => settings.filter(([path]) => String(path).startsWith(section));
  t.same(below('general_settings.inference_keys'), [
    ['general_settings.inference_keys[0]', 'os.environ/AGENT'],
    ['general_settings.inference_keys[1]', '[secret]'],
    ['general_settings.inference_keys[2].key', 'os.environ/OTHER'],
    ['general_settings.inference_keys[2].name', '[secret]'],
  ]);
  t.same(below('general_settings.otel.headers'), [['general_settings.otel.headers.x-api-key', '[secret]']]);
  t.same(below('general_settings.capsules'), [['general_settings.capsules', {}]]);
  t.same(below('general_settings.allow_headers'), [['general_settings.allow_headers', []]]);
  t.same(below('brake'), [['brake', {}]]);
  t.notMatch(JSON.stringify(config), /sk-/);
  await rig.reconfigure(defaultConfig(rig.demo, '  inference_keys: []\n'));
  const { settings: now } = await get(rig, '/config');
  t.strictSame(list(now).find(({ path }) => path === 'general_settings.inference_keys')?.['value'], []);
});

t.test('rows by keyset, and sums; users see their own', async (t) => {
  const rig = await startRig(t);
  const key = await newKey(rig, { user_id: 'uma', models: [] });
  const as = { authorization: `Bearer ${key}` };
  for (let n = 0; n < 5; n += 1) await chat(rig, 'demo', { metadata: { session_id: `s${n % 2}` } });
  for (let n = 0; n < 2; n += 1) await chat(rig, 'compat', { user: '<script>alert(1)</script>' }, as);
  await chat(rig, 'demo-500', {}, as);

  await t.test('each page begins where the last one ended', async (t) => {
    const seen: unknown[] = [];
    let next: unknown = '';
    const pages: number[] = [];
    while (next !== null) {
      const page: Json = await get(rig, `/spend/rows?limit=3&before=${String(next)}`);
      pages.push(list(page['rows']).length);
      seen.push(...list(page['rows']).map(({ request_id: id }) => id));
      next = page['next'];
    }
    t.same(pages, [3, 3, 2]);
    t.equal(new Set(seen).size, 8);
    const { rows, newest } = await get(rig, '/spend/rows?limit=3');
    t.same(
      list(rows).map(({ request_id: id }) => id),
      seen.slice(0, 3),
    );
    t.match(await get(rig, `/spend/rows?after=${String(newest)}`), { rows: [], newest: null, next: null });
    await chat(rig, 'demo');
    t.equal(list((await get(rig, `/spend/rows?after=${String(newest)}`))['rows']).length, 1);
    const answer = await send(rig.url, 'GET', '/spend/rows');
    const again = await send(rig.url, 'GET', '/spend/rows', undefined, {
      'if-none-match': String(answer.headers.etag),
    });
    t.same([again.status, again.text], [304, '']);
  });

  await t.test('filters', async (t) => {
    const found = async (query: string): Promise<number> =>
      list((await get(rig, `/spend/rows?${query}`))['rows']).length;
    t.equal(await found('session_id=s0'), 3);
    t.equal(await found('user_id=uma'), 3);
    t.equal(await found('user_id=uma&status=failure'), 1);
    t.equal(await found('model_group=compat'), 2);
    t.equal(await found(`end_user=${encodeURIComponent('<script>alert(1)</script>')}`), 2);
    t.equal(await found('request_id=none'), 0);
    t.equal(await found('start=2020-01-01&end=2020-01-31'), 0);
    const wrong = [
      'limit=0',
      'limit=201',
      'before=x',
      'before=1-a&after=1-a',
      'status=maybe',
      'start=yesterday',
      'start=2026-02-31',
      'start=2026-13-01',
      'start=2020-01-01',
      'start=2026-02-01&end=2026-01-01',
    ];
    for (const query of wrong) t.equal(await codeAt(rig, `/spend/rows?${query}`), 'invalid_parameter', query);
    t.equal(await found('start=2020-01-01&session_id=s0'), 3, 'an index serves it');
  });

  await t.test('sums by day and by what they are of', async (t) => {
    const all = await get(rig, '/spend/sums');
    t.match(all, { by: [], rows: [], whose: 'all', total: { requests: 9, failures: 1 } });
    const byModel = await get(rig, '/spend/sums?by=day,model_group');
    t.same(
      list(byModel['rows'])
        .map(({ model_group: name, requests }) => [name, requests])
        .toSorted(),
      [
        ['compat', 2],
        ['demo', 6],
        ['demo-500', 1],
      ],
    );
    t.match(byModel['total'], { requests: 9, spend: String });
    t.same(list((await get(rig, '/spend/sums?by=session&user_id='))['rows']).length > 1, true);
    t.match(await get(rig, '/spend/sums?by=user&limit=1'), { rows: [{}], more: true });
    for (const query of [
      'by=x',
      'by=day,model,user',
      'by=day,day',
      'by=tag,session',
      'by=constructor',
      'limit=0',
      'start_date=1',
    ])
      t.equal(await codeAt(rig, `/spend/sums?${query}`), 'invalid_parameter', query);
  });

  await t.test('somebody with a key sees their own part', async (t) => {
    t.match(await get(rig, '/spend/sums', key), { whose: 'own', total: { requests: 3 } });
    const { rows } = await get(rig, '/spend/rows', key);
    t.same(
      list(rows).map(({ user }) => user),
      ['uma', 'uma', 'uma'],
    );
    const [other] = list((await get(rig, '/spend/rows?model_group=demo'))['rows']);
    t.match(await get(rig, `/spend/rows?request_id=${String(other?.['request_id'])}`, key), { rows: [] });
    for (const query of ['user_id=otto', `api_key=${'a'.repeat(64)}`, 'team_id=blue&user_id=otto'])
      for (const route of ['/spend/rows', '/spend/sums'])
        t.equal(await codeAt(rig, `${route}?${query}`, key), 'management_denied', `${route}?${query}`);
    t.match(
      await get(rig, '/spend/rows?team_id=blue', key),
      { rows: [], whose: 'own' },
      'their own calls in that team',
    );
    const bare = await newKey(rig, { key_alias: 'bare' });
    t.match(await get(rig, '/spend/rows', bare), { rows: [], whose: 'own' });
  });
});
