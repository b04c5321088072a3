// Where servers share what they count: as the router, the cache and the environment of the dialect write it.
import t from 'tap';
import { loadConfig, type Environment } from '../../../config/load.ts';
import { formatIssue } from '../../../config/issue.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ValkeySettings } from '../../../config/valkey-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'throughline-valkey-config-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

function load(yaml: string, env: Environment = {}): { settings: ValkeySettings | null; issues: string } {
  const path = join(folder, 'gateway.yaml');
  writeFileSync(path, `model_list: []\n${yaml}\n`);
  const loaded = loadConfig(path, env);
  const issues = (loaded.ok ? loaded.snapshot.warnings : loaded.issues).map(formatIssue).join('\n');
  return { settings: loaded.ok ? loaded.snapshot.valkey : null, issues };
}

const cache = (more: string): string => `litellm_settings:\n  cache_params: { type: redis, ${more} }`;

t.test('TLS: on or off, the files, and what the environment fills in', async (t) => {
  t.equal(load(cache('host: h')).settings?.tls, null);
  t.same(load(cache('host: h, ssl: true')).settings?.tls, { caFile: null, certFile: null, keyFile: null });
  const files = 'ssl_ca_certs: /ca.pem, ssl_certfile: /c.pem, ssl_keyfile: /k.pem';
  const all = { caFile: '/ca.pem', certFile: '/c.pem', keyFile: '/k.pem' };
  t.same(load(cache(`host: h, ssl: "True", ${files}`)).settings?.tls, all);
  t.same(load(cache(`url: "rediss://h:1/0", ${files}`)).settings?.tls, all);
  const router = 'router_settings: { redis_host: h, redis_ssl: true, redis_ssl_ca_certs: /ca.pem }';
  t.match(load(router).settings, { tls: { caFile: '/ca.pem' }, shown: 'rediss://h:6379/0' });
  const env = { REDIS_SSL: 'true', REDIS_SSL_CA_CERTS: '/env.pem' };
  t.match(load('router_settings: { redis_host: h }', env).settings?.tls, { caFile: '/env.pem' });
});

t.test('a URL says by its scheme whether TLS is spoken', async (t) => {
  for (const scheme of ['redis', 'valkey']) {
    const { settings } = load(`router_settings: { redis_url: "${scheme}://h:1/0" }`);
    t.match(settings, { tls: null, host: 'h', port: 1, shown: 'redis://h:1/0' }, scheme);
    const encrypted = load(cache(`url: "${scheme}s://h:1/0"`)).settings;
    t.match(encrypted, { tls: { caFile: null }, shown: 'rediss://h:1/0' }, `${scheme}s`);
  }
});

t.test(
  'a variable of Redis that is not set counts as left out, unless calls are refused without it',
  async (t) => {
    for (const place of [
      'router_settings: { redis_host: os.environ/NOT_SET }',
      'router_settings: { redis_url: os.environ/NOT_SET }',
      cache('host: os.environ/NOT_SET'),
    ]) {
      const open = load(place);
      t.equal(open.settings, null, place);
      t.match(open.issues, 'NOT_SET is not set, so this counts as left out');
      for (const general of [
        'fail_closed_budget_enforcement: true',
        'fail_closed_rate_limit_enforcement: true',
        'idempotency: { fail_closed: true }',
      ]) {
        const closed = load(`${place}\ngeneral_settings: { ${general} }`);
        t.match(closed.issues, 'NOT_SET is not set - set the environment variable NOT_SET', general);
        t.notMatch(closed.issues, 'counts as left out', general);
        const off = load(`${place}\ngeneral_settings: { ${general.replace('true', 'false')} }`);
        t.match(off.issues, 'counts as left out', `${general} turned off`);
        const referring = `${place}\ngeneral_settings: { ${general.replace('true', 'os.environ/FC')} }`;
        t.match(
          load(referring, { FC: 'false' }).issues,
          'counts as left out',
          `${general} off by a variable`,
        );
        const on = load(referring, { FC: 'True' }).issues;
        t.match(on, 'NOT_SET is not set - set', `${general} on by a variable`);
        t.notMatch(on, 'counts as left out', `${general} on by a variable`);
      }
    }
  },
);

t.test('certificates are checked in any case, and who asks for less is told', async (t) => {
  const { settings, issues } = load(cache('host: h, ssl: true, ssl_cert_reqs: none'));
  t.not(settings?.tls, null);
  t.match(issues, 'name the authority of the certificate in ssl_ca_certs');
  t.match(load(cache('host: h, ssl: true, ssl_check_hostname: false')).issues, 'has no effect');
  t.notMatch(load(cache('host: h, ssl: true, ssl_cert_reqs: required')).issues, 'no effect');
});

t.test('Sentinels stand in the cache settings or in the environment', async (t) => {
  const nodes = 'sentinel_nodes: [[s0, 26379], ["s1", "26380"]], service_name: mymaster';
  const { settings } = load(cache(`${nodes}, sentinel_password: os.environ/SP, password: os.environ/P`), {
    SP: 'watch',
    P: 'pass',
  });
  const found = [
    { host: 's0', port: 26379 },
    { host: 's1', port: 26380 },
  ];
  t.match(settings, { sentinels: { service: 'mymaster', nodes: found } });
  t.equal(settings?.sentinels?.password?.reveal(), 'watch');
  t.equal(settings?.password?.reveal(), 'pass');
  t.equal(settings?.shown, 'mymaster of the Sentinels s0:26379, s1:26380');
  const env = { REDIS_SENTINEL_NODES: '[["s0", 26379]]', REDIS_SERVICE_NAME: 'mymaster' };
  t.match(load('litellm_settings: { cache_params: { type: redis } }', env).settings?.sentinels?.nodes, [
    found[0],
  ]);
  for (const wrong of ['service_name: mymaster', 'sentinel_nodes: [[s0, 26379]]'])
    t.match(load(cache(wrong)).issues, 'Sentinels need sentinel_nodes');
  t.match(
    load('litellm_settings: { cache_params: { type: redis } }', { ...env, REDIS_SENTINEL_NODES: '{' }).issues,
    'Sentinels need sentinel_nodes',
  );
});

t.test('a cluster is refused with the way out', async (t) => {
  const startup = cache('redis_startup_nodes: [{ host: a, port: 7001 }]');
  t.match(load(startup).issues, 'names a cluster, which is not supported');
  const env = { REDIS_CLUSTER_NODES: '[{"host":"a","port":7001}]' };
  t.match(load(cache('host: h'), env).issues, 'name one server');
  t.notMatch(load(cache('host: h')).issues, 'cluster');
});
