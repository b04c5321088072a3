// What a model that is added while the server runs may do beside the file's: attacks by the holder of the one key, and
// what must still work.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { loadConfig, overlay } from '../../config/load.ts';
import type { Loaded } from '../../config/load.ts';
import type { DisabledModel } from '../../config/runtime-models.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';

const ENV = { PATH: '/bin', SECRET: 'sk-env', TEAM_URL: 'https://team.example.com/', NAME: 'from-env' };

const fileOf = (general = '', more = ''): string => `
model_list:
  - { model_name: demo, litellm_params: { model: litellm_proxy/demo, api_base: "https://gw.example.com", weight: 2, order: 3 } }
  - { model_name: os.environ/NAME, litellm_params: { model: litellm_proxy/demo, api_base: "https://gw.example.com" } }
  - { model_name: "anthropic/*", litellm_params: { model: "litellm_proxy/*", api_base: "https://gw.example.com" } }
  - { model_name: "*-preview", litellm_params: { model: "openai/*", api_base: "https://gw.example.com/v1" } }
credential_list:
  - { credential_name: team, credential_values: { api_base: os.environ/TEAM_URL, api_key: sk-team } }
  - { credential_name: open, credential_values: { api_key: sk-open } }
  - { credential_name: metadata, credential_values: { api_base: "http://169.254.169.254", api_key: sk-m } }
router_settings:
  model_group_alias: { nick: demo }
  default_litellm_params: { extra_headers: { x-tenant: os.environ/SECRET } }
general_settings: { master_key: sk-m${general} }
${more}`;

function loaded(t: Test, text = fileOf()): Extract<Loaded, { ok: true }> {
  const dir = mkdtempSync(join(tmpdir(), 'throughline-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'gateway.yaml'), text);
  const result = loadConfig(join(dir, 'gateway.yaml'), ENV);
  if (!result.ok) throw new Error(result.issues.map(({ message }) => message).join());
  return result;
}

type Model = Readonly<Record<string, unknown>>;

const model = (params: object = {}, name: unknown = 'new', more: object = {}): Model => ({
  model_name: name,
  litellm_params: { model: 'litellm_proxy/x', api_base: 'https://stranger.example.net', ...params },
  ...more,
});

const credentialed = (params: object): Model => ({
  model_name: 'new',
  litellm_params: { model: 'litellm_proxy/x', litellm_credential_name: 'team', ...params },
});

function withModels(t: Test, entries: readonly Model[], text?: string): Snapshot {
  const runtime = entries.map((entry, n) => ({ id: `r-${n}`, entry }));
  const result = overlay(loaded(t, text).source, ENV, runtime);
  if (!result.ok) throw new Error(result.issues.map(({ path, message }) => `${path} ${message}`).join('; '));
  return result.snapshot;
}

const served = (snapshot: Snapshot): Deployment[] =>
  snapshot.deployments.filter(({ source }) => source === 'runtime');

const pathsOf = (disabled: readonly DisabledModel[]): string[] =>
  disabled.flatMap(({ issues }) => issues.map(({ path }) => path));

t.test('references to the environment are found wherever they are', (t) => {
  const cases: readonly (readonly [Model, string[]])[] = [
    [model({ api_key: 'os.environ/SECRET' }), ['litellm_params.api_key']],
    [model({ api_key: 'os.environ/NOT_SET' }), ['litellm_params.api_key']],
    [model({ api_base: 'os.environ/TEAM_URL' }), ['litellm_params.api_base']],
    [
      model({ extra_headers: { 'x-a': 'os.environ/SECRET' }, headers: { 'x-b': 'os.environ/PATH' } }),
      ['litellm_params.extra_headers.x-a', 'litellm_params.headers.x-b'],
    ],
    [model({ extra_body: { a: [{ b: 'os.environ/PATH' }] } }), ['litellm_params.extra_body.a[0].b']],
    [model({ aws_access_key_id: 'os.environ/PATH' }), ['litellm_params.aws_access_key_id']],
    [model({ timeout: 'os.environ/PATH' }), ['litellm_params.timeout']],
    [model({}, 'os.environ/NAME'), ['model_name']],
    [
      model({}, 'new', { model_info: { tags: ['a', 'os.environ/PATH'], deep: { er: 'os.environ/PATH' } } }),
      ['model_info.tags[1]', 'model_info.deep.er'],
    ],
    [model({ api_key: 'OS.Environ/SECRET' }), ['litellm_params.api_key']],
    [model({ api_key: ' os.environ/SECRET' }), ['litellm_params.api_key']],
    [model({ api_key: 'x-os.environ/SECRET' }), ['litellm_params.api_key']],
    [model({ api_base: 'https://h/os.environ/SECRET' }), ['litellm_params.api_base']],
    [model({}, 'new', JSON.parse('{"__proto__": "os.environ/SECRET"}') as object), ['__proto__']],
    [model({}, 'new', { unknown: 'os.environ/SECRET' }), ['unknown']],
  ];
  for (const [entry, paths] of cases) {
    const snapshot = withModels(t, [entry]);
    t.strictSame(pathsOf(snapshot.disabled), paths, JSON.stringify(entry));
    t.strictSame(served(snapshot), []);
    t.notMatch(JSON.stringify(snapshot.disabled), /sk-env/);
    t.match(snapshot.disabled[0]?.issues[0], { severity: 'error', fix: /runtime_models\.allow_references/ });
  }
  const allowed = withModels(
    t,
    [model({ api_key: 'os.environ/SECRET' })],
    fileOf(', runtime_models: { allow_references: true }'),
  );
  t.ok(served(allowed)[0]?.apiKey?.equals('sk-env'));
  t.end();
});

t.test('a credential goes to its own api_base, and with nothing beside it', (t) => {
  for (const own of [
    {},
    { api_base: 'https://team.example.com' },
    { api_base: 'HTTPS://TEAM.example.com:443/' },
  ]) {
    const snapshot = withModels(t, [credentialed(own)]);
    const [deployment] = served(snapshot);
    t.equal(deployment?.origin, 'https://team.example.com', JSON.stringify(own));
    t.ok(deployment?.apiKey?.equals('sk-team'));
  }
  const cases: readonly (readonly [object, string])[] = [
    [{ api_base: 'https://stranger.example.net' }, 'litellm_params.api_base'],
    [{ base_url: 'https://stranger.example.net' }, 'litellm_params.base_url'],
    [{ api_base: 'http://team.example.com' }, 'litellm_params.api_base'],
    [{ api_base: 'https://team.example.com:444' }, 'litellm_params.api_base'],
    [{ api_base: 'https://team.example.com/other' }, 'litellm_params.api_base'],
    [{ api_base: 'https://team.example.com.evil.net' }, 'litellm_params.api_base'],
    [{ api_base: 'https://team.example.com@evil.net' }, 'litellm_params.api_base'],
    [{ extra_headers: { 'x-portkey-custom-host': 'https://evil.net' } }, 'litellm_params.extra_headers'],
    [{ headers: { a: 'b' } }, 'litellm_params.headers'],
    [{ litellm_credential_name: 'open' }, 'litellm_params.litellm_credential_name'],
    [{ litellm_credential_name: 'metadata', api_base: 'http://169.254.169.254' }, 'litellm_params.api_base'],
  ];
  for (const [params, path] of cases) {
    const snapshot = withModels(t, [credentialed(params)]);
    t.equal(pathsOf(snapshot.disabled)[0], path, JSON.stringify(params));
    t.strictSame(served(snapshot), []);
  }
  const allowed = withModels(
    t,
    [credentialed({ api_base: 'https://stranger.example.net' })],
    fileOf(
      ', runtime_models: { allow_references: "os.environ/YES" }',
      'environment_variables: { YES: "true" }',
    ),
  );
  t.ok(served(allowed)[0]?.apiKey?.equals('sk-team'), 'the setting may come from the environment, too');
  t.end();
});

t.test('null is a member that is left out: a credential still goes to its own address alone', (t) => {
  const entry = credentialed({ api_base: null, api_key: null, timeout: null });
  const [one] = served(withModels(t, [entry]));
  t.equal(one?.origin, 'https://team.example.com');
  t.ok(one?.apiKey?.equals('sk-team'));
  t.end();
});

t.test('router-wide headers go where the file sends something itself', (t) => {
  const headersOf = (entry: Model, text?: string): unknown =>
    served(withModels(t, [entry], text))[0]?.staticHeaders.map(([name]) => name);
  t.strictSame(headersOf(model()), []);
  t.strictSame(headersOf(model({ extra_headers: { 'x-own': 'a' } })), ['x-own']);
  t.strictSame(headersOf(model({ api_base: 'https://gw.example.com/' })), ['x-tenant']);
  t.strictSame(headersOf(model({ api_base: 'https://gw.example.com/other' })), []);
  t.strictSame(headersOf(credentialed({})), ['x-tenant']);
  t.strictSame(headersOf(model(), fileOf(', runtime_models: { allow_references: true }')), ['x-tenant']);
  const { warnings } = withModels(t, [model()]);
  t.match(
    warnings.find(({ path }) => path === 'litellm_params.api_base'),
    { severity: 'warning', message: /headers of default_litellm_params are not sent/ },
  );
  t.end();
});

t.test('a name that the file serves is not joined, in no spelling', (t) => {
  const refused = [
    'demo',
    'Demo',
    'DEMO',
    'ｄｅｍｏ',
    'de\u200bmo',
    ' demo ',
    'nick',
    'NICK',
    'from-env',
    'anthropic/claude',
    'Anthropic/claude',
    'anthropic/',
    'gpt-preview',
    '*',
    '**',
    'd*',
    'ni*',
    'anthropic/claude-*',
    'anthropic*',
    '*/claude',
    'x*',
  ];
  for (const name of refused) {
    const snapshot = withModels(t, [model({}, name)]);
    t.strictSame(pathsOf(snapshot.disabled), ['model_name'], name);
    t.match(snapshot.disabled[0]?.issues[0]?.fix, /runtime_models\.allow_join/);
  }
  for (const name of ['demo2', 'dem', 'open/*/x', 'nickname', 'preview', 'b*c', 'anthropicx']) {
    const snapshot = withModels(t, [
      model({ model: name.includes('*') ? 'litellm_proxy/*' : 'litellm_proxy/x' }, name),
    ]);
    t.equal(served(snapshot)[0]?.group, name);
  }
  t.end();
});

t.test('where joining is allowed, the file keeps the larger share and its order', (t) => {
  const text = fileOf(', runtime_models: { allow_join: true }');
  const runtime = served(
    withModels(
      t,
      [
        model({ weight: 1e9, order: 0 }, 'demo'),
        model({ rpm: 1e300 }, 'demo'),
        model({ weight: 1e308 }, 'demo'),
        model({ weight: 7, order: 1 }, 'alone'),
      ],
      text,
    ),
  );
  const demo = runtime.filter(({ group }) => group === 'demo');
  t.equal(demo.length, 3);
  for (const { weight } of demo) t.ok(Math.abs(weight - 2 / 3) < 1e-9, String(weight));
  t.strictSame(
    demo.map(({ order }) => order),
    [3, Infinity, Infinity],
  );
  t.match(
    runtime.find(({ group }) => group === 'alone'),
    { weight: 7, order: 1 },
  );
  const [light] = served(withModels(t, [model({ weight: 1, order: 9 }, 'demo')], text));
  t.match(light, { weight: 1, order: 9 }, 'less is left as it is');
  t.end();
});

t.test(
  'link-local addresses are refused when written; everything else is checked for each connection',
  (t) => {
    for (const params of [
      { api_base: 'http://169.254.169.254' },
      { api_base: 'http://0xa9fea9fe/' },
      { api_base: 'http://[fe80::1]' },
      { api_base: undefined, base_url: 'http://metadata.google.internal.' },
    ]) {
      const [issue] = withModels(t, [model(params)]).disabled[0]?.issues ?? [];
      t.match(issue, { message: /link-local or metadata address/, fix: /allow_link_local/ });
    }
    for (const base of [
      'http://127.0.0.1:4000',
      'http://10.0.0.1',
      'http://[::1]:1',
      'http://gateway.internal',
    ])
      t.match(served(withModels(t, [model({ api_base: base })])), [{ refuseLinkLocal: true }]);
    const text = fileOf(', runtime_models: { allow_link_local: true }');
    t.match(served(withModels(t, [model({ api_base: 'http://169.254.169.254' })], text)), [
      { refuseLinkLocal: false },
    ]);
    const own = loaded(
      t,
      fileOf().replace('https://gw.example.com", weight', 'http://169.254.169.254", weight'),
    ).snapshot;
    t.match(own.deployments[0], { refuseLinkLocal: false, origin: 'http://169.254.169.254' }, 'the file may');
    t.end();
  },
);

t.test('what is disabled stands in the warnings, takes nothing else down and comes back', (t) => {
  const entries = [model({ api_key: 'os.environ/SECRET' }, 'kept'), model({}, 'fine')];
  const snapshot = withModels(t, entries);
  t.match(snapshot.disabled, [{ id: 'r-0', group: 'kept', publicParams: { model: 'litellm_proxy/x' } }]);
  t.notOk('api_key' in (snapshot.disabled[0]?.publicParams ?? {}));
  t.strictSame(
    served(snapshot).map(({ id }) => id),
    ['r-1'],
  );
  t.match(
    snapshot.warnings.find(({ message }) => message.includes('disabled')),
    { severity: 'warning', file: '<model/new>', message: /^the model 'r-0' is disabled: this refers to/ },
  );
  const open = fileOf(', runtime_models: { allow_references: true }');
  t.equal(served(withModels(t, entries, open)).length, 2);
  t.end();
});
