import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { formatIssue } from '../../../config/issue.ts';
import { loadConfig, type Environment, type Loaded } from '../../../config/load.ts';

const ENV: Environment = { PROXY_MASTER_KEY: 'sk-master', AGENTS_KEY: 'sk-agents', CI_KEY: 'sk-ci' };
const MODEL =
  'model_list:\n  - model_name: a\n    litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1" }\n';

function load(t: Test, more: string, env: Environment = ENV): Loaded {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, `${MODEL}${more}\n`);
  return loadConfig(path, env);
}

const settings = (text: string): string => `general_settings: { ${text} }`;

function errorsOf(t: Test, more: string, env: Environment = ENV): string[] {
  const loaded = load(t, more, env);
  return loaded.ok ? [] : loaded.issues.filter(({ severity }) => severity === 'error').map(formatIssue);
}

t.test('keys are texts, references or have names, and are secrets', async (t) => {
  const loaded = load(
    t,
    settings('inference_keys: [os.environ/AGENTS_KEY, { key: os.environ/CI_KEY, name: ci }]'),
  );
  if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
  const { inferenceKeys } = loaded.snapshot.access;
  t.same(
    inferenceKeys.map(({ key, name }) => [key.reveal(), name]),
    [
      ['sk-agents', null],
      ['sk-ci', 'ci'],
    ],
  );
  t.notMatch(JSON.stringify(loaded.snapshot.access), /sk-agents|sk-ci/);
});

t.test('keys that could be mixed up, or that protect nothing, are refused without being shown', async (t) => {
  const cases: readonly (readonly [more: string, says: RegExp, env?: Environment])[] = [
    [
      settings('inference_keys: [sk-master]'),
      /inference_keys\[0\]: this is the master key, .* - make another key/,
    ],
    [
      settings('inference_keys: [sk-a, { key: sk-a }]'),
      /inference_keys\[1\]\.key: this key stands in the list twice/,
    ],
    [
      settings('inference_keys: [{ key: sk-a, name: x }, { key: sk-b, name: x }]'),
      /inference_keys\[1\]\.name: another key has this name/,
    ],
    [settings('inference_keys: ["sk a"]'), /inference_keys\[0\]: the key contains a space/],
    [settings('inference_keys: [""]'), /inference_keys\[0\]: must not be empty/],
    [settings('inference_keys: [5]'), /inference_keys\[0\]: must be a key, or \{key, name\}, got a number/],
    [settings('inference_keys: sk-secret'), /inference_keys: must be a list, got text/],
    [settings('inference_keys: [{ name: x }]'), /inference_keys\[0\]\.key: is missing/],
    [settings('inference_keys: [{ key: sk-a, models: [] }]'), /inference_keys\[0\]\.models: unknown key/],
    [settings('inference_keys: [os.environ/NONE]'), /os\.environ\/NONE is not set/],
    [settings('inference_keys: [sk-a]'), /protects nothing without a master key/, {}],
    [
      `${settings('inference_keys: [sk-user]')}\nplatform: { session_api_key: sk-user, secret_key: "${'A'.repeat(43)}=" }`,
      /this key opens the platform interface/,
    ],
  ];
  for (const [more, says, env] of cases) {
    const errors = errorsOf(t, more, env);
    t.equal(errors.length, 1, more);
    t.match(errors[0], says);
    t.notMatch(errors[0], /sk-(master|secret|user)|sk a/);
  }
});

t.test('addresses and networks, and nothing else', async (t) => {
  const loaded = load(t, settings('allowed_ips: [10.0.0.1, "10.0.0.0/8", "fd00::/8", "::1"]'));
  t.match(loaded, {
    ok: true,
    snapshot: {
      access: {
        allowedAddresses: [
          { address: '10.0.0.1', bits: 32, family: 'ipv4' },
          { address: '10.0.0.0', bits: 8, family: 'ipv4' },
          { address: 'fd00::', bits: 8, family: 'ipv6' },
          { address: '::1', bits: 128, family: 'ipv6' },
        ],
      },
    },
  });
  for (const wrong of [
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'a.example',
    '*',
    'fe80::1%eth0',
    '10.0.0.0/-1',
  ])
    t.match(errorsOf(t, settings(`allowed_ips: ["${wrong}"]`)), [
      /allowed_ips\[0\]: is neither an address nor a network/,
    ]);
  t.equal(errorsOf(t, settings('allowed_ips: []')).length, 1, 'a list of nobody is refused');
});

t.test('X-Forwarded-For is believed of named proxies only', async (t) => {
  t.match(errorsOf(t, settings('use_x_forwarded_for: true')), [
    /every caller could state any address - list/,
  ]);
  t.match(load(t, settings('trusted_proxies: [10.0.0.1]')), {
    snapshot: { access: { trustedProxies: [] }, warnings: [{ message: /while use_x_forwarded_for is off/ }] },
  });
  t.match(load(t, settings('use_x_forwarded_for: true, trusted_proxies: [10.0.0.1]')), {
    snapshot: { access: { trustedProxies: [{ address: '10.0.0.1', bits: 32 }] }, warnings: [] },
  });
});

t.test('a host without a port is refused', async (t) => {
  t.match(errorsOf(t, settings('admin_host: 127.0.0.1')), [
    /admin_host: has no effect without a port - add admin_port/,
  ]);
  t.match(load(t, settings('admin_port: 4002')), { snapshot: { admin: { port: 4002, host: null } } });
  t.match(load(t, ''), { snapshot: { admin: null, access: { metricsNeedKey: null } } });
});
