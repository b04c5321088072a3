// What changes for callers: every setting counts, and no secret is shown.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { changesBetween, waitingForRestart, type Change } from '../../config/diff.ts';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import { startKeys } from '../../config/schema.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { selfSigned } from '../support/certificate.ts';
import { folder } from '../support/cli.ts';
import { SAMPLE_VALUES } from './fixture/sample-values.ts';

const dir = folder(t);
const SECRET_KEY = Buffer.alloc(32, 1).toString('base64');

function snapshot(text: string): Snapshot {
  const path = join(dir, 'gateway.yaml');
  writeFileSync(path, text);
  const loaded = loadConfig(path, { CI: 'sk-of-the-ci-system', CI_NEW: 'sk-of-another-ci' });
  if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
  return loaded.snapshot;
}

const entry = (name: string, more = '', base = 'https://a.example.com'): string =>
  `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/${name}, api_base: "${base}"${more} } }\n`;
const file = (entries: string, more = ''): string =>
  `model_list:\n${entries}general_settings: { master_key: sk-master }\n${more}`;
const between = (before: string, after: string): readonly Change[] =>
  changesBetween(snapshot(before), snapshot(after));
const brief = (changes: readonly Change[]): string[] =>
  changes.map(({ about, change, name, what, before, after }) =>
    [about, change, name, what, `${before} -> ${after}`].filter((part) => part !== '').join(' '),
  );

t.test('the same configuration changes nothing, however it is written', async (t) => {
  const text = file(entry('a', ', api_key: sk-key, timeout: 30'));
  t.strictSame(between(text, `# a comment\n${text.replace('timeout: 30', 'timeout: "30"')}`), []);
});

t.test('models: added, removed, served elsewhere', async (t) => {
  t.strictSame(brief(between(file(entry('a') + entry('b')), file(entry('a') + entry('c')))), [
    'model removed b https://a.example.com as b -> null',
    'model added c null -> https://a.example.com as c',
  ]);
  t.strictSame(brief(between(file(entry('a')), file(entry('a', '', 'https://b.example.com')))), [
    'model changed a served by https://a.example.com as a -> https://b.example.com as a',
  ]);
  t.strictSame(brief(between(file(entry('a')), file(entry('a') + entry('a', '', 'https://b.example.com')))), [
    'model changed a served by https://a.example.com as a -> https://a.example.com as a, https://b.example.com as a',
  ]);
  t.match(brief(between(file(entry('"x/*"')), file(entry('"y/*"')))), [
    /^model removed x\/\*/,
    /^model added y\/\*/,
  ]);
});

t.test('what a deployment sends, costs and waits for', async (t) => {
  const cases: readonly (readonly [before: string, after: string, says: string])[] = [
    [', timeout: 30', ', timeout: 60', 'timeout of the first byte 30 s -> 60 s'],
    [', extra_headers: { x-a: "1" }', '', 'header x-a [secret] -> null'],
    [
      ', extra_headers: { x-a: "1" }',
      ', extra_headers: { x-a: "2" }',
      'header x-a [secret] -> another secret',
    ],
    [', api_key: sk-one', ', api_key: sk-two', 'key of the gateway [secret] -> another secret'],
    ['', ', api_key: sk-two', 'key of the gateway null -> [secret]'],
    [', input_cost_per_token: 0.000003', ', input_cost_per_token: 0.000004', '0.000003 USD -> 0.000004 USD'],
    ['', ', max_parallel_requests: 5', 'calls at a time no limit -> 5'],
    ['', ', num_retries: 0', 'retries null -> 0'],
  ];
  for (const [before, after, says] of cases) {
    const lines = brief(between(file(entry('a', before)), file(entry('a', after))));
    t.ok(
      lines.some((line) => line.startsWith('model') && line.includes(says)),
      `${says}\n${lines.join('\n')}`,
    );
    t.notMatch(lines.join(), /sk-one|sk-two/);
  }
});

t.test('keys, teams and settings; what needs a restart says so', async (t) => {
  const keys = (text: string): string => `keys:\n  - ${text}\n`;
  t.match(brief(between(file(entry('a')), file(entry('a'), keys('{ key_alias: ci, key: os.environ/CI }')))), [
    'key added ci null -> present',
  ]);
  const changed = brief(
    between(
      file(entry('a'), keys('{ key_alias: ci, key: os.environ/CI, rpm_limit: 5 }')),
      file(entry('a'), keys('{ key_alias: ci, key: os.environ/CI_NEW, rpm_limit: 6 }')),
    ),
  );
  t.ok(changed.includes('key changed ci rpm_limit 5 -> 6'), changed.join('\n'));
  t.ok(
    changed.some((line) => line === 'key changed ci value [hash] -> another hash'),
    changed.join('\n'),
  );
  t.strictSame(
    brief(
      between(
        file(entry('a'), keys('{ key_alias: ci, key: os.environ/CI, expires: "2030-01-01T00:00:00Z" }')),
        file(entry('a'), keys('{ key_alias: ci, key: os.environ/CI, max_iterations: 3 }')),
      ),
    ),
    ['key removed ci expires 2030-01-01T00:00:00.000Z -> null', 'key added ci max_iterations null -> 3'],
  );
  t.match(brief(between(file(entry('a')), file(entry('a')).replace('sk-master', 'sk-other'))), [
    'setting changed master key [secret] -> another secret',
  ]);
  const settings = between(
    file(entry('a')),
    file(entry('a')).replace(
      'sk-master',
      'sk-master, max_request_size_mb: 5, database_url: "postgresql://n@db.example.com/x"',
    ),
  );
  const names = settings.map(({ name }) => name);
  t.ok(names.includes('general_settings.max_request_size_mb'));
  t.equal(settings.find(({ name }) => name === 'general_settings.max_request_size_mb')?.needsRestart, false);
  t.equal(settings.find(({ name }) => name.startsWith('general_settings.database_url'))?.needsRestart, true);
});

t.test('budgets are compared by what they are about and their window', async (t) => {
  const budgets = (...rules: readonly string[]): string => file('', `budgets: [${rules.join(', ')}]\n`);
  const day = (most: number): string => `{ scope: proxy, max_budget: ${most}, budget_duration: 1d }`;
  const month = '{ scope: proxy, max_budget: 100, budget_duration: 30d }';
  const team = '{ scope: team, id: acme, max_budget: 7, soft_budget: 5 }';
  t.strictSame(brief(between(budgets(day(10), month), budgets(month, day(10)))), []);
  t.strictSame(brief(between(budgets(day(10), month), budgets(team, month, day(11)))), [
    'setting changed budget of proxy, 1d: max_budget 10 -> 11',
    'setting added budget of team acme: max_budget null -> 7',
    'setting added budget of team acme: soft_budget null -> 5',
  ]);
});

t.test('names that operators choose are no amounts', async (t) => {
  const to = (model: string): string =>
    file(entry('a') + entry('b'), `router_settings: { model_group_alias: { MyPico: ${model} } }\n`);
  t.match(brief(between(to('a'), to('b'))), [
    'setting changed router_settings.model_group_alias.MyPico a -> b',
  ]);
});

interface SchemaPart {
  readonly properties?: Readonly<Record<string, SchemaPart>>;
  readonly additionalProperties?: SchemaPart | boolean;
  readonly items?: SchemaPart;
  readonly anyOf?: readonly SchemaPart[];
}

t.test('settings are named as the file names them', async (t) => {
  const { properties } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../schemas/gateway.json'), 'utf8'),
  ) as Required<Pick<SchemaPart, 'properties'>>;
  const isInSchema = (name: string): boolean => {
    let at: SchemaPart = { properties };
    for (const member of name.split('.')) {
      const any = typeof at.additionalProperties === 'object' ? at.additionalProperties : undefined;
      const next: SchemaPart | undefined = at.properties?.[member] ?? any ?? at.items;
      if (next === undefined) return at.anyOf !== undefined; // one of several forms
      at = next;
    }
    return true;
  };
  const sample = (name: string): Snapshot => {
    const path = join(import.meta.dirname, '../../config/samples', name);
    const variables = readFileSync(path, 'utf8').matchAll(/os\.environ\/(\w+)/g);
    const env = Object.fromEntries(
      [...variables].map(([, key = '']) => [key, SAMPLE_VALUES[key] ?? `sk-${key}`]),
    );
    const loaded = loadConfig(path, env);
    if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
    return loaded.snapshot;
  };
  const plain = snapshot(file(entry('a')));
  const names = ['full.yaml', 'platform-openhands.yaml']
    .flatMap((name) => changesBetween(plain, sample(name)))
    .filter(({ about }) => about === 'setting')
    .map(({ name }) => name);
  t.ok(names.length > 60, `${names.length} names`);
  const own = names.filter((name) => !name.includes(' ') && !/^(?:redis|tracing)/.test(name));
  t.same(
    own.filter((name) => !isInSchema(name)),
    [],
  );
});

t.test('what is read at the start only waits for a restart, and nothing else', async (t) => {
  const general = (more: string): Snapshot =>
    snapshot(`model_list:\n${entry('a')}general_settings: { master_key: sk-master${more} }\n`);
  const otel = (key: string): Snapshot => general(`, otel: { headers: { authorization: ${key} } }`);
  const start = general('');
  t.same(waitingForRestart(start, general(', drain_seconds: 7')), []);
  t.same(waitingForRestart(start, general(', workers: 2, admin_port: 4001')), [
    'general_settings.admin_port or admin_host',
    'general_settings.workers',
  ]);
  t.same(waitingForRestart(start, general(', database_url: "postgresql://u:p@127.0.0.1/d"')), [
    'general_settings.database_url',
  ]);
  const redis = snapshot(file(entry('a'), 'router_settings: { redis_host: 127.0.0.1 }\n'));
  t.same(waitingForRestart(start, redis), ['the Valkey or Redis that counters are shared by']);
  t.same(waitingForRestart(redis, start).length, 1);
  t.same(waitingForRestart(otel('a'), otel('b')), ['tracing'], 'another secret is another one');
  t.same(waitingForRestart(otel('a'), otel('a')), []);
});

/** A value for each key that is read at the start only, where another one of its section must stand beside it. */
const START_VALUES: Readonly<Record<string, readonly [value: unknown, beside?: object]>> = {
  'general_settings.admin_port': [4001],
  'general_settings.admin_host': ['127.0.0.1', { admin_port: 4001 }],
  'general_settings.allow_unauthenticated': [true],
  'general_settings.tls': [{ cert_file: `${dir}/own.pem`, key_file: `${dir}/own.key` }],
  'general_settings.tls.client_ca_file': [
    `${dir}/own.pem`,
    { cert_file: `${dir}/own.pem`, key_file: `${dir}/own.key` },
  ],
  'general_settings.capsules': [{}],
  'general_settings.capsules.directory': ['/srv/capsules', { max_age: '1d' }],
  'general_settings.fail_closed_rate_limit_enforcement': [true],
  'general_settings.fail_closed_budget_enforcement': [true],
  'general_settings.otel': [{}],
  'general_settings.workers': [2],
  'general_settings.database_url': ['postgresql://u:p@127.0.0.1/d'],
  'general_settings.database_url_file': [`${dir}/url`],
  'litellm_settings.cache_params': [{ type: 'redis', host: '127.0.0.2' }],
  'litellm_settings.callbacks': [['otel']],
  'litellm_settings.forward_traceparent_to_llm_provider': [false],
  'router_settings.redis_host': ['127.0.0.2'],
  'router_settings.redis_port': [6380, { redis_host: '127.0.0.1' }],
  'router_settings.redis_password': ['p', { redis_host: '127.0.0.1' }],
  'router_settings.redis_password_file': [`${dir}/word`, { redis_host: '127.0.0.1' }],
  'router_settings.redis_url': ['redis://127.0.0.3'],
  'router_settings.redis_url_file': [`${dir}/valkey`],
  'router_settings.redis_db': [3, { redis_host: '127.0.0.1' }],
  'router_settings.redis_ssl': [true, { redis_host: '127.0.0.1' }],
  'router_settings.redis_ssl_ca_certs': [`${dir}/own.pem`, { redis_host: '127.0.0.1', redis_ssl: true }],
  platform: [{ session_api_key: 'k', secret_key: SECRET_KEY }],
  'platform.secret_key': [Buffer.alloc(32, 2).toString('base64'), { session_api_key: 'k' }],
  'platform.port': [4001],
  'platform.host': ['127.0.0.1', { port: 4001 }],
  'platform.sandbox.driver': ['docker'],
  'platform.sandbox.isolation': ['none'],
  'platform.sandbox.docker_socket': ['/run/other.sock', { driver: 'docker' }],
  'platform.sandbox.kubernetes': [{ namespace: 'other' }, { driver: 'kubernetes' }],
};

t.test('every key that the schema marks waits for a restart', async (t) => {
  const { cert, key } = selfSigned();
  for (const [name, text] of [
    ['own.pem', cert],
    ['own.key', key],
    ['url', 'postgresql://u:p@127.0.0.1/e'],
    ['word', 'secret'],
    ['valkey', 'redis://127.0.0.4'],
  ] as const)
    writeFileSync(join(dir, name), text, { mode: 0o600 });
  t.same(
    Object.keys(START_VALUES).toSorted(),
    startKeys()
      .map(({ path }) => path)
      .toSorted(),
  );
  for (const [path, [value, beside = {}]] of Object.entries(START_VALUES)) {
    const [before, after] = [beside, { ...beside, [path.split('.').at(-1) ?? '']: value }].map((section) => {
      const whole = path
        .split('.')
        .slice(0, -1)
        .reduceRight<object>((inner, step) => ({ [step]: inner }), section);
      return snapshot(JSON.stringify(withSections(path, whole)));
    });
    if (before === undefined || after === undefined) return;
    const changes = changesBetween(before, after);
    t.ok(changes.length > 0 && changes.every(({ needsRestart }) => needsRestart), path);
  }
});

/** What a path needs elsewhere in the file. */
function withSections(path: string, whole: object): object {
  const { general_settings: general = {}, platform, ...rest } = whole as Readonly<Record<string, object>>;
  const needsValkey = path.startsWith('general_settings.fail_closed');
  const own = path.startsWith('platform.')
    ? { session_api_key: 'k', secret_key: SECRET_KEY, ...platform }
    : platform;
  return {
    model_list: [{ model_name: 'a', litellm_params: { model: 'openai/a', api_base: 'http://a/v1' } }],
    general_settings: { master_key: 'sk-master', ...general },
    ...(needsValkey ? { router_settings: { redis_host: '127.0.0.1' } } : {}),
    ...(path.endsWith('traceparent_to_llm_provider') ? { general_settings: { otel: {} } } : {}),
    ...(own === undefined ? {} : { platform: own }),
    ...rest,
  };
}

t.test('what is taken over while the proxy runs is not said to wait', async (t) => {
  const at = (one: object): Snapshot => snapshot(JSON.stringify(withSections('', one)));
  const needs = (before: object, after: object): readonly string[] =>
    changesBetween(at(before), at(after))
      .filter(({ needsRestart }) => needsRestart)
      .map(({ name }) => name);
  const capsules = (more: object): object => ({ general_settings: { capsules: more } });
  t.same(needs(capsules({ max_age: '1d' }), capsules({ max_age: '2d' })), []);
  t.same(needs(capsules({ directory: '/srv/c' }), {}), [], 'recording ends with the reload');
  const platform = (more: object): object => ({
    platform: { session_api_key: 'k', secret_key: SECRET_KEY, ...more },
  });
  t.same(needs(platform({}), platform({ session_api_key: 'other', sandbox: { max_running: 3 } })), []);
  const tls = (name: string): object => ({
    general_settings: { tls: { cert_file: `${dir}/${name}.pem`, key_file: `${dir}/${name}.key` } },
  });
  const other = selfSigned();
  writeFileSync(join(dir, 'other.pem'), other.cert);
  writeFileSync(join(dir, 'other.key'), other.key, { mode: 0o600 });
  t.same(needs(tls('own'), tls('other')), []);
  const before = at(capsules({ max_age: '1d' }));
  const after = at(capsules({ max_age: '2d', directory: '/srv/c' }));
  t.same(waitingForRestart(before, after), ['general_settings.capsules or its directory']);
  t.same(waitingForRestart(before, at(capsules({ max_age: '3d' }))), []);
  t.same(waitingForRestart(before, at({})), []);
  t.same(waitingForRestart(at({}), before), ['general_settings.capsules or its directory']);
});
