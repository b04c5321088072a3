import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import type { Test } from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig, loadConfigAgain, overlay } from '../../config/load.ts';
import type { Environment, Loaded } from '../../config/load.ts';
import { plainOf, treeOf } from '../../config/tree.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import { runs } from '../support/runs.ts';
import { SAMPLE_VALUES } from './fixture/sample-values.ts';

type Files = Readonly<Record<string, string>>;

function write(t: Tap, files: Files): string {
  const folder = t.testdir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return join(folder, 'gateway.yaml');
}
type Tap = Pick<typeof t, 'testdir'>;

function texts(loaded: Loaded): readonly string[] {
  return (loaded.ok ? loaded.snapshot.warnings : loaded.issues).map(formatIssue);
}

function must(loaded: Loaded): Snapshot {
  if (!loaded.ok) throw new Error(texts(loaded).join('\n'));
  return loaded.snapshot;
}

function load(t: Tap, text: string, env: Environment = {}): Snapshot {
  return must(loadConfig(write(t, { 'gateway.yaml': text }), env));
}

function only(snapshot: Snapshot): Deployment {
  const [deployment] = snapshot.deployments;
  if (deployment === undefined) throw new Error('no route');
  return deployment;
}

const entry = (more: readonly string[] = [], rest: readonly string[] = []): string =>
  [
    'model_list:',
    '  - model_name: a',
    '    litellm_params:',
    '      model: litellm_proxy/a',
    '      api_base: https://gateway.example.com',
    ...more.map((line) => `      ${line}`),
    ...rest,
    '',
  ].join('\n');

t.test('every sample loads in its stated environment', async (t) => {
  const folder = join(import.meta.dirname, '../../config/samples');
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), 'utf8');
    t.match(text, /^# yaml-language-server: \$schema=\.\.\/\.\.\/schemas\/editor\.json\n/, name);
    const needs = [...(/# Needs: ([\s\S]*?)\.\n/.exec(text)?.[1] ?? '').matchAll(/[A-Z_]{3,}/g)].map(
      (match) => match[0],
    );
    const env = Object.fromEntries(needs.map((key) => [key, SAMPLE_VALUES[key] ?? 'sk-sample']));
    const loaded = loadConfig(join(folder, name), env);
    t.ok(loaded.ok, `${name} ${texts(loaded).join('\n')}`);
    const warnings = texts(loaded).length;
    if (name === 'plain-litellm.yaml') t.ok(warnings > 14, 'a plain file of the dialect is warned about');
    else t.equal(warnings, 0, `${name} ${texts(loaded).join('\n')}`);
    for (const key of needs)
      t.notOk(
        loadConfig(join(folder, name), { ...env, [key]: undefined }).ok && key !== 'LITELLM_MASTER_KEY',
        key,
      );
  }
});

t.test('the quickstart serves the demo gateway of both kinds', async (t) => {
  const snapshot = must(loadConfig(join(import.meta.dirname, '../../config/samples/quickstart.yaml'), {}));
  t.ok(snapshot.masterKey?.equals('sk-quickstart'));
  t.match(snapshot.groups.get('demo')?.[0], {
    kind: 'proxy',
    upstreamModel: 'demo',
    origin: 'http://127.0.0.1:4010',
    pathPrefix: '/v1',
  });
  t.match(snapshot.groups.get('demo-compat')?.[0], {
    kind: 'compat',
    upstreamModel: 'acme/demo',
    pathPrefix: '/compat/v1',
  });
  t.equal(snapshot.headers.forwardAll, true);
});

t.test('references resolve anywhere, also in lists and numbers', async (t) => {
  const text = entry(
    ['api_key: os.environ/KEY', 'timeout: os.environ/SECONDS', 'extra_headers: {x-a: os.environ/HEADER}'],
    [
      'general_settings:',
      '  deny_headers: [x-one, os.environ/DENY]',
      '  max_json_depth: os.environ/DEPTH',
      '  allow_unauthenticated: os.environ/YES',
      '  master_key: os.environ/FROM_FILE',
      'environment_variables:',
      '  FROM_FILE: os.environ/KEY',
      '  DEPTH: 99',
      '  HEADER: file wins',
    ],
  );
  const env = { KEY: 'sk-k', SECONDS: '7.5', HEADER: 'process', DENY: 'X-Two', DEPTH: '1', YES: 'True' };
  const snapshot = load(t, text, env);
  const deployment = only(snapshot);
  t.ok(deployment.apiKey?.equals('sk-k'));
  t.equal(deployment.clocks.firstByteMs, 7500);
  t.equal(deployment.staticHeaders[0]?.[1].reveal(), 'file wins');
  t.strictSame(snapshot.headers.deny, ['x-one', 'x-two']);
  t.equal(snapshot.limits.jsonDepth, 99);
  t.equal(snapshot.allowUnauthenticated, true);
  t.ok(snapshot.masterKey?.equals('sk-k'));
});

t.test('no secret is found in a printed snapshot or in its public parts', async (t) => {
  const text = entry(
    [
      'api_key: sk-one',
      'extra_headers: {x-a: sk-two}',
      'aws_secret_access_key: sk-three',
      'azure_ad_token: sk-four',
      'extra_body: {auth: {password: sk-five}}',
    ],
    ['    model_info: {api_key: sk-six, note: open}', 'general_settings: {master_key: sk-seven}'],
  );
  const snapshot = load(t, text);
  t.notMatch(inspect(snapshot, { depth: 12, showHidden: true }), /sk-/);
  t.notMatch(JSON.stringify({ ...snapshot, groups: [...snapshot.groups] }), /sk-/);
  const deployment = only(snapshot);
  t.notOk('api_key' in deployment.publicParams);
  t.match(deployment.publicParams, { model: 'litellm_proxy/a', extra_headers: { 'x-a': '[secret]' } });
  t.match(
    { ...deployment.knownFacts, ...deployment.statedInfo },
    {
      note: 'open',
      id: deployment.id,
      db_model: false,
      litellm_provider: 'litellm_proxy',
    },
  );
});

t.test('the master key comes from the file, else from one of two variables', async (t) => {
  const env = { PROXY_MASTER_KEY: 'sk-p', LITELLM_MASTER_KEY: 'sk-l' };
  t.ok(load(t, entry([], ['general_settings: {master_key: sk-f}']), env).masterKey?.equals('sk-f'));
  t.ok(load(t, entry(), env).masterKey?.equals('sk-p'));
  t.ok(load(t, entry(), { ...env, PROXY_MASTER_KEY: '' }).masterKey?.equals('sk-l'));
  t.equal(load(t, entry(), {}).masterKey, null);
  const bad = loadConfig(write(t, { 'gateway.yaml': entry() }), { PROXY_MASTER_KEY: 'sk-p\n' });
  t.match(texts(bad), [/the environment variable PROXY_MASTER_KEY ends in a space or a line break/]);
  t.equal(load(t, entry(), { STORE_MODEL_IN_DB: 'True' }).storeModelInDb, true);
  t.equal(
    load(t, entry([], ['general_settings: {store_model_in_db: false}']), { STORE_MODEL_IN_DB: 'True' })
      .storeModelInDb,
    false,
  );
});

t.test('each clock is the entry’s, else the default of all entries', async (t) => {
  const dflt = {
    connectMs: 10_000,
    firstByteMs: 600_000,
    streamFirstByteMs: 600_000,
    idleMs: 600_000,
    firstTokenMs: 0,
    hedgeAfterMs: 0,
    totalMs: 3_600_000,
  };
  t.strictSame(only(load(t, entry())).clocks, dflt);
  t.match(only(load(t, entry(['timeout: 30']))).clocks, { firstByteMs: 30_000, streamFirstByteMs: 30_000 });
  t.match(
    only(load(t, entry(["timeout: '7200'"]))).clocks,
    { totalMs: 7_200_000 },
    'an unstated total gives way',
  );
  t.match(only(load(t, entry(['timeout: 7200', 'total_timeout: 60']))).clocks, { totalMs: 60_000 });
  t.match(only(load(t, entry(['idle_timeout: 0', 'connect_timeout: 0.5']))).clocks, {
    idleMs: 0,
    connectMs: 500,
  });
  const router = [
    'router_settings:',
    '  timeout: 40',
    '  stream_timeout: 50',
    '  ttft_timeout: 30',
    '  hedge_after: 2.5',
    '  default_litellm_params: {idle_timeout: 60, total_timeout: 70}',
  ];
  t.strictSame(only(load(t, entry([], router))).clocks, {
    connectMs: 10_000,
    firstByteMs: 40_000,
    streamFirstByteMs: 50_000,
    idleMs: 60_000,
    firstTokenMs: 30_000,
    hedgeAfterMs: 2_500,
    totalMs: 70_000,
  });
  const own = only(load(t, entry(['hedge_after: 0', 'assistant_prefill: true'], router)));
  t.match(own, { clocks: { hedgeAfterMs: 0 }, assistantPrefill: true });
  t.match(only(load(t, entry(['stream_timeout: 5'], router))).clocks, {
    firstByteMs: 40_000,
    streamFirstByteMs: 5000,
  });
  t.match(only(load(t, entry([], ['litellm_settings: {request_timeout: 9}']))).clocks, {
    firstByteMs: 9000,
    streamFirstByteMs: 9000,
  });
});

t.test('answers state the model of the upstream, unless the entry or all say otherwise', async (t) => {
  const states = (own: string[], general: string[] = []): boolean =>
    only(load(t, entry(own, general))).statesAskedModel;
  const all = ['general_settings: {answer_model: asked}'];
  t.equal(states([]), false);
  t.equal(states(['answer_model: asked']), true);
  t.equal(states([], all), true);
  t.equal(states(['answer_model: upstream'], all), false, 'the entry wins');
});

t.test('static headers merge per name, the entry over the router', async (t) => {
  const router = [
    'router_settings:',
    '  default_litellm_params:',
    '    extra_headers: {X-Tenant: r, x-both: r, authorization: Bearer r}',
  ];
  const shown = (deployment: Deployment): unknown =>
    deployment.staticHeaders.map(([name, value]) => `${name}: ${value.reveal()}`);
  const own = ['extra_headers: {X-Both: e, x-port: 8080}', 'headers: {x-alias: h, x-both: h}'];
  t.strictSame(shown(only(load(t, entry(own, router)))), [
    'authorization: Bearer r',
    'x-alias: h',
    'x-both: e',
    'x-port: 8080',
    'x-tenant: r',
  ]);
  const keyed = load(t, entry(['api_key: sk-a'], router));
  t.strictSame(
    shown(only(keyed)),
    ['x-both: r', 'x-tenant: r'],
    'the bearer of api_key is the one that is sent',
  );
  t.match(keyed.warnings, [{ message: /authorization is sent for entries without api_key only/ }]);
});

t.test(
  'prices are integers in pico-dollars, those of litellm_params before those of model_info',
  async (t) => {
    const text = entry(
      ['input_cost_per_token: 3e-06', "output_cost_per_token: '0.000015'"],
      ['    model_info: {input_cost_per_token: 1, input_cost_per_request: 0.002, base_model: gpt-4o}'],
    );
    const deployment = only(load(t, text));
    t.match(deployment.prices, {
      version: /^[0-9a-f]{12}$/,
      tokens: { input: { base: 3_000_000_000_000n }, output: { base: 15_000_000_000_000n } },
      units: { requests: 2_000_000_000_000_000n },
    });
    t.equal(deployment.cataloguePrices?.tokens.input?.base, 2_500_000_000_000n);
    t.match(
      { ...deployment.knownFacts, ...deployment.statedInfo },
      { key: 'gpt-4o', input_cost_per_token: 3e-6, max_input_tokens: 128_000 },
    );
    t.equal(only(load(t, entry())).prices, null);
  },
);

t.test('an id is stable over restarts and rotated keys, and no two entries share one', async (t) => {
  const id = (text: string, key = 'sk-1'): string => only(load(t, text, { KEY: key })).id;
  const text = entry(['api_key: os.environ/KEY']);
  t.match(id(text), /^[0-9a-f]{64}$/);
  t.equal(id(text, 'sk-2'), id(text), 'the key behind a reference may change');
  t.not(id(entry(['timeout: 5'])), id(entry()));
  t.equal(id(entry([], ['    model_info: {id: mine}'])), 'mine');
  const twice = load(
    t,
    entry() + entry().replace('model_list:\n', '') + entry().replace('model_list:\n', ''),
  );
  const [first, second, third] = twice.deployments.map((deployment) => deployment.id);
  t.strictSame([second, third], [`${first}-2`, `${first}-3`]);
  t.equal(twice.groups.get('a')?.length, 3);
});

t.test('weight is weight, else rpm, else tpm, else 1', async (t) => {
  t.equal(only(load(t, entry(['weight: 3', 'rpm: 5']))).weight, 3);
  t.equal(only(load(t, entry(['rpm: 5', 'tpm: 7']))).weight, 5);
  t.equal(only(load(t, entry(["tpm: '7'"]))).weight, 7);
  t.equal(only(load(t, entry())).weight, 1);
});

t.test('wildcards are anchored and tried from the most specific', async (t) => {
  const line = (name: string, model: string): string =>
    `  - {model_name: '${name}', litellm_params: {model: '${model}', api_base: 'https://gateway.example.com/v1'}}`;
  const list = [
    line('*', 'openai/*'),
    line('anthropic/*', 'openai/anthropic/*'),
    line('anthropic/claude-*', 'openai/fixed'),
    line('*.beta', 'openai/*'),
    line('exact', 'openai/x'),
  ];
  const snapshot = load(t, `model_list:\n${list.join('\n')}\n`);
  t.strictSame(
    snapshot.wildcards.map((group) => group.pattern),
    ['anthropic/claude-*', 'anthropic/*', '*.beta', '*'],
  );
  t.strictSame([...snapshot.groups.keys()], ['exact']);
  t.equal(snapshot.wildcards[1]?.regex.exec('anthropic/claude/x')?.[1], 'claude/x');
  t.notOk(snapshot.wildcards[1]?.regex.test('x/anthropic/claude'));
  t.notOk(snapshot.wildcards[2]?.regex.test('axbeta'), 'a dot is a dot');
});

t.test('client headers are forwarded for all, for none, or for named models', async (t) => {
  const forwards = (lines: readonly string[]): boolean =>
    only(load(t, entry([], lines))).forwardClientHeaders;
  const groups = (list: string): readonly string[] => [
    `litellm_settings: {model_group_settings: {forward_client_headers_to_llm_api: ${list}}}`,
  ];
  t.equal(forwards([]), false);
  t.equal(forwards(['general_settings: {forward_client_headers_to_llm_api: true}']), true);
  for (const list of ['[]', "['*']", '[all-proxy-models]', '[a]', '[b, a*]'])
    t.equal(forwards(groups(list)), true, list);
  for (const list of ['[b]', '[aa]', '[b*]']) t.equal(forwards(groups(list)), false, list);
  const stated = (value: boolean, lines: readonly string[]): boolean =>
    only(load(t, entry([`forward_client_headers_to_llm_api: ${value}`], lines))).forwardClientHeaders;
  t.equal(stated(true, []), true);
  t.equal(stated(false, ['general_settings: {forward_client_headers_to_llm_api: true}']), false);
  t.equal(stated(false, groups('[a]')), false);
});

t.test('includes extend lists, merge maps and win over other values', async (t) => {
  const path = write(t, {
    'gateway.yaml': `include: [parts/more.yaml]\n${entry()}general_settings: {max_json_depth: 1, max_request_headers: 5, deny_headers: [x-a]}\n`,
    'parts/more.yaml': `${entry().replaceAll(' a\n', ' b\n')}include: [parts/third.yaml]\ngeneral_settings: {max_json_depth: 2, deny_headers: [x-b]}\n`,
    'parts/third.yaml': 'general_settings: {max_json_depth: 3}\n',
  });
  const snapshot = must(loadConfig(path, {}));
  t.strictSame(
    snapshot.deployments.map((deployment) => deployment.group),
    ['a', 'b'],
  );
  t.match(snapshot.limits, { jsonDepth: 3, headerCount: 5 });
  t.strictSame(snapshot.headers.deny, ['x-a', 'x-b']);
  t.strictSame(
    snapshot.files.map((file) => file.slice(dirname(path).length + 1)),
    ['gateway.yaml', 'parts/more.yaml', 'parts/third.yaml'],
  );
  writeFileSync(join(dirname(path), 'parts/third.yaml'), 'general_settings: {max_json_depth: 4}\n');
  t.not(must(loadConfig(path, {})).version, snapshot.version, 'the version names all that was read');
});

t.test('an entry takes from its credential what it does not state', async (t) => {
  const text = [
    'credential_list:',
    '  - credential_name: team',
    '    credential_values: {api_base: https://team.example.com, api_key: os.environ/TEAM, aws_region_name: eu}',
    'model_list:',
    '  - {model_name: a, litellm_params: {model: litellm_proxy/a, litellm_credential_name: team}}',
    '  - {model_name: b, litellm_params: {model: litellm_proxy/b, litellm_credential_name: team, api_base: https://own.example.com}}',
    '  - {model_name: c, litellm_params: {model: litellm_proxy/c, litellm_credential_name: team, api_key: }}',
    '',
  ].join('\n');
  const snapshot = load(t, text, { TEAM: 'sk-team' });
  t.strictSame(
    snapshot.deployments.map((deployment) => deployment.apiBase),
    ['https://team.example.com', 'https://own.example.com', 'https://team.example.com'],
  );
  t.ok(snapshot.deployments.every((deployment) => deployment.apiKey?.equals('sk-team')));
  const unset = loadConfig(write(t, { 'gateway.yaml': text }), {});
  t.equal(
    texts(unset).filter((line) => line.includes('os.environ/TEAM is not set')).length,
    1,
    'said once, at the credential',
  );
});

t.test('a runtime addition is validated by the same path, and its issues name no line', async (t) => {
  const loaded = loadConfig(write(t, { 'gateway.yaml': entry() }), {});
  if (!loaded.ok) throw new Error('must load');
  const good = {
    model_name: 'new',
    litellm_params: { model: 'openai/acme/x', api_base: 'https://new.example.com/v1', api_key: 'sk-new' },
  };
  const added = must(overlay(loaded.source, {}, [{ entry: good, id: 'r-1' }]));
  t.strictSame(
    added.deployments.map((deployment) => [deployment.group, deployment.source]),
    [
      ['a', 'config'],
      ['new', 'runtime'],
    ],
  );
  t.match(added.groups.get('new'), [
    { id: 'r-1', kind: 'compat', upstreamModel: 'acme/x', statedInfo: { id: 'r-1' } },
  ]);
  t.not(added.version, loaded.snapshot.version);
  t.equal(loaded.snapshot.deployments.length, 1, 'the snapshot before it is untouched');

  const bad = {
    model_name: 'new',
    litellm_params: { model: 'openai/x', api_base: 'https://user:sk-p@new.example.com', timeot: 1 },
  };
  const refused = overlay(loaded.source, {}, [{ entry: bad, id: 'r-1' }]);
  t.equal(refused.ok, false);
  t.strictSame(texts(refused), [
    '<model/new> litellm_params.timeot: unknown key - did you mean timeout?',
    '<model/new> litellm_params.api_base: must not contain credentials - write https://new.example.com and put the key into api_key',
  ]);
  const nearly = overlay(loaded.source, {}, [
    {
      entry: {
        ...good,
        litellm_params: { ...good.litellm_params, api_base: 'https://user:sk-p@new.example.com' },
      },
      id: 'r-1',
    },
  ]);
  t.match(texts(nearly), [/^<model\/new> litellm_params\.api_base: must not contain credentials/]);
  for (const odd of [
    null,
    5,
    'text',
    [],
    {},
    { model_name: 'x' },
    JSON.parse('{"__proto__": {"model_name": "x"}}'),
  ])
    t.equal(overlay(loaded.source, {}, [{ entry: odd, id: 'r-1' }]).ok, false, JSON.stringify(odd));
  const twice = overlay(loaded.source, {}, [
    { entry: good, id: 'r-1' },
    { entry: good, id: 'r-1' },
  ]);
  t.match(texts(twice), [/model_info\.id: another entry has this id/]);
});

t.test('a snapshot cannot be edited', async (t) => {
  const snapshot = load(
    t,
    entry(['extra_headers: {x-a: b}'], ['general_settings: {cors: {allow_origins: ["*"]}}']),
  );
  const seen = new Set<unknown>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    const plain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
    if (plain) t.ok(Object.isFrozen(value), inspect(value, { depth: 0 }));
    for (const inner of value instanceof Map ? value.values() : Object.values(value)) visit(inner);
  };
  visit(snapshot);
  t.ok(seen.size > 20);
});

/** The program writes the text of one file into a named pipe, once. */
function writer(t: Pick<Test, 'teardown'>, pipe: string, from: string): void {
  spawnSync('mkfifo', [pipe]);
  const child = spawn('sh', ['-c', 'exec cat "$1" > "$2"', 'sh', from, pipe], { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
}

t.test(
  'at the start pipes are read, included ones too, once each; a process that serves reads none',
  async (t) => {
    const path = write(t, {
      'models.yaml': entry(),
      'main.yaml': 'include: [models]\ngeneral_settings: { master_key: sk-m }\n',
    });
    const folder = dirname(path);
    writer(t, path, join(folder, 'main.yaml'));
    writer(t, join(folder, 'models'), join(folder, 'models.yaml'));
    t.equal(must(loadConfig(path, {})).deployments.length, 1);
    t.match(texts(loadConfigAgain(path, {}, [])), [
      /gateway\.yaml is a pipe or a device, which cannot be read a second time/,
    ]);
    t.match(texts(loadConfigAgain(folder, {}, [])), [/is a folder, not a file/]);
    t.match(texts(loadConfigAgain(join(folder, 'none.yaml'), {}, [])), [/the file does not exist/]);
    t.ok(loadConfigAgain(join(folder, 'models.yaml'), {}, []).ok);
  },
);

t.test('what cannot be read is told apart', async (t) => {
  const folder = t.testdir({
    'latin.yaml': Buffer.from([0x61, 0x3a, 0x20, 0xe9]),
    'bom.yaml': `\ufeff${entry()}`,
    'crlf.yaml': entry().replaceAll('\n', '\r\n'),
  });
  t.match(texts(loadConfig(join(folder, 'none.yaml'), {})), [
    /none\.yaml the file does not exist - check the path/,
  ]);
  t.match(texts(loadConfig(folder, {})), [/is a folder, not a file/]);
  t.match(texts(loadConfig(join(folder, 'latin.yaml'), {})), [/is not UTF-8 text/]);
  writeFileSync(join(folder, 'utf16.yaml'), Buffer.from('model_list: []\n', 'utf16le'));
  t.match(texts(loadConfig(join(folder, 'utf16.yaml'), {})), [/is not UTF-8 text/]);
  writeFileSync(join(folder, 'nul.yaml'), `${entry()}# a\0b\n`);
  t.match(texts(loadConfig(join(folder, 'nul.yaml'), {})), [/holds a NUL byte, in line 6 - remove it/]);
  t.ok(loadConfig(join(folder, 'bom.yaml'), {}).ok);
  t.ok(loadConfig(join(folder, 'crlf.yaml'), {}).ok);
  writeFileSync(join(folder, 'big.yaml'), '#'.repeat(10 * 1024 * 1024 + 1));
  t.match(texts(loadConfig(join(folder, 'big.yaml'), {})), [/the limit is 10485760/]);
});

t.test(
  'a mistake in a section is the only one that is reported: what else it states still counts',
  async (t) => {
    const stated = [
      'keys: [{ key_alias: ci, key: os.environ/CI_KEY }]',
      'general_settings:',
      '  master_key: os.environ/MASTER',
      '  inference_keys: [os.environ/AGENT]',
      '  dialect: { brand: acme }',
      '  skip_unsupported_models: true',
      '  console:',
      '    public_url: https://llm.example.com',
      '    oidc: { issuer: "https://id.example.com", client_id: proxy, roles: { ops: proxy_admin } }',
    ];
    const models = entry()
      .replace('litellm_proxy/a', 'acme_proxy/a')
      .concat('  - { model_name: b, litellm_params: { model: cohere/command } }\n');
    const env = { MASTER: 'sk-master', AGENT: 'sk-agent', CI_KEY: 'sk-ci' };
    const broken = (...lines: string[]): readonly string[] => {
      const text = [...models.split('\n'), ...stated, ...lines.map((line) => `  ${line}`)].join('\n');
      const loaded = loadConfig(write(t, { 'gateway.yaml': text }), env);
      return loaded.ok
        ? []
        : loaded.issues.filter(({ severity }) => severity === 'error').map(({ path }) => path);
    };
    t.same(broken(), []);
    t.same(broken('drain_seconds: soon'), ['general_settings.drain_seconds']);
    t.same(broken('no_such_key: 1'), ['general_settings.no_such_key']);
    t.same(broken('min_drain_seconds: 9000', 'drain_seconds: soon'), ['general_settings.drain_seconds']);
    t.same(broken('admin_host: 127.0.0.1', 'admin_port: high'), ['general_settings.admin_port']);
    t.same(broken('use_x_forwarded_for: true', 'trusted_proxies: 10.0.0.0/8'), [
      'general_settings.trusted_proxies',
    ]);
    t.same(broken('use_x_forwarded_for: maybe', 'trusted_proxies: [10.0.0.0/8]'), [
      'general_settings.use_x_forwarded_for',
    ]);
    const noMaster = stated.indexOf('  master_key: os.environ/MASTER');
    stated[noMaster] = '  master_key: os.environ/NOT_SET';
    t.same(broken(), ['general_settings.master_key']);
  },
);

t.test('a key without effect is warned about once, however many entries carry it', async (t) => {
  const item = entry(['additional_drop_params: [seed]', 'max_retries: 2']).replace('model_list:\n', '');
  const snapshot = load(t, `model_list:\n${item.repeat(50)}`);
  t.strictSame(
    snapshot.warnings.map((issue) => issue.path),
    ['model_list[0].litellm_params.additional_drop_params', 'model_list[0].litellm_params.max_retries'],
  );
});

t.test('settings reach the units the server reads', async (t) => {
  const general = [
    'general_settings:',
    '  max_request_size_mb: 0.5',
    '  accept_compressed_requests: {}',
    '  drain_seconds: 1.5',
    '  user_header_name: X-User',
    '  always_include_stream_usage: false',
    '  journal: {segment_mb: 1}',
    'litellm_settings: {extra_spend_tag_headers: [X-Team]}',
  ];
  const snapshot = load(t, entry([], general));
  t.match(snapshot, {
    limits: { requestBytes: 524_288, inflatedBytes: 67_108_864 },
    drainMs: 1500,
    userHeader: 'x-user',
    alwaysIncludeStreamUsage: false,
    tagHeaders: ['x-team'],
  });
  t.strictSame(snapshot.journal, { fsyncIntervalMs: 100, segmentBytes: 1_048_576, whenUnwritable: 'block' });
  const plain = load(t, entry());
  t.match(plain, {
    cors: null,
    userHeader: null,
    alwaysIncludeStreamUsage: undefined,
    limits: { inflatedBytes: null },
  });
});

t.test(
  "LiteLLM's user_header_mappings: the customer's header names the end user, the others are warned about",
  (t) => {
    const mappings = [
      '  user_header_mappings:',
      '    - {header_name: X-OpenWebUI-User-Id, litellm_user_role: internal_user}',
      '    - {header_name: X-OpenWebUI-User-Email, litellm_user_role: customer}',
    ];
    const mapped = load(t, entry([], ['general_settings:', ...mappings]));
    t.equal(mapped.userHeader, 'x-openwebui-user-email');
    t.strictSame(
      mapped.warnings.map(({ path }) => path),
      ['general_settings.user_header_mappings[0]'],
    );
    const named = load(t, entry([], ['general_settings:', '  user_header_name: X-User', ...mappings]));
    t.equal(named.userHeader, 'x-user', 'its own name wins');
    t.strictSame(
      named.warnings.map(({ path }) => path),
      ['general_settings.user_header_mappings[0]', 'general_settings.user_header_mappings[1]'],
    );
    t.end();
  },
);

t.test(
  'whatever stands at whatever place, loading answers with issues or a snapshot and shows no secret',
  async (t) => {
    const env = {
      MASTER_KEY: 'sk-m',
      GATEWAY_KEY: 'sk-g',
      TENANT: 'sk-t',
      OTEL_AUTHORIZATION: 'sk-o',
      OIDC_CLIENT_SECRET: 'sk-c',
      ...SAMPLE_VALUES,
    };
    const loaded = loadConfig(join(import.meta.dirname, '../../config/samples/full.yaml'), env);
    if (!loaded.ok) throw new Error('must load');
    const plain = plainOf(loaded.source.tree);
    const paths: (readonly string[])[] = [];
    const visit = (value: unknown, path: readonly string[]): void => {
      if (path.length > 0) paths.push(path);
      if (typeof value === 'object' && value !== null)
        for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key]);
    };
    visit(plain, []);
    const odd = fc.oneof(
      fc.constantFrom(
        null,
        '',
        'os.environ/NOT_SET',
        'os.environ/TENANT',
        'sk-x\r\nx: y',
        '*',
        -1,
        1e308,
        true,
        'litellm_proxy/',
        'http://sk-u:sk-p@h/v1?sk-q',
      ),
      fc.jsonValue({ maxDepth: 2 }),
    );
    let refused = 0;
    fc.assert(
      fc.property(fc.constantFrom(...paths), odd, (path, value) => {
        const copy: unknown = structuredClone(plain);
        let at: unknown = copy;
        for (const step of path.slice(0, -1)) at = Object.getOwnPropertyDescriptor(at, step)?.value;
        Object.defineProperty(at, path.at(-1) ?? '', {
          value,
          enumerable: true,
          configurable: true,
          writable: true,
        });
        const tree = treeOf(copy, { name: 'x', lineStarts: [0] });
        const result = overlay({ ...loaded.source, tree }, env, []);
        if (!result.ok) refused += 1;
        if (!result.ok && result.issues.every((issue) => issue.severity === 'warning'))
          throw new Error('refused without an error');
        const shown = texts(result).join('\n');
        if (/sk-/.test(shown)) throw new Error(`a secret is shown: ${shown}`);
      }),
      { numRuns: runs(100) },
    );
    t.ok(refused > runs(100) / 10, 'many odd values are refused');
  },
);

t.test('every price that LiteLLM states of long prompts in a service tier is taken', async (t) => {
  const snapshot = load(
    t,
    entry([
      'input_cost_per_token: 3e-06',
      'output_cost_per_token: 15e-06',
      'input_cost_per_token_above_200k_tokens_priority: 9e-06',
      'cache_creation_input_token_cost_above_1hr_above_200k_tokens: 12e-06',
      'output_cost_per_token_above_272k_tokens_batches: 1e-06',
      'input_cost_per_video_token: 1e-06',
    ]),
  );
  t.match(only(snapshot).prices?.tokens, {
    input: { above: [{ promptTokens: 200_000, base: null, tiers: { priority: 9_000_000_000_000n } }] },
    cacheWrite1h: { base: null, above: [{ promptTokens: 200_000, base: 12_000_000_000_000n }] },
  });
});
