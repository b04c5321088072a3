// The router keys: what they come to, and what is said of names that do not exist.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { formatIssue } from '../../../config/issue.ts';
import { loadConfig, type Loaded } from '../../../config/load.ts';
import type { Snapshot } from '../../../config/snapshot.ts';

const entry = (name: string, more = ''): string =>
  `  - { model_name: "${name}", litellm_params: { model: "litellm_proxy/${name}", api_base: "http://127.0.0.1:1"${more} } }\n`;
const MODELS = `model_list:\n${entry('a', ', order: 1, num_retries: 4, cooldown_time: 7')}${entry('b')}${entry('w/*')}`;

function load(t: Test, text: string): Loaded {
  const path = join(t.testdir({}), 'gateway.yaml');
  writeFileSync(path, text);
  return loadConfig(path, {});
}

function snapshot(t: Test, settings: string): Snapshot {
  const loaded = load(t, MODELS + settings);
  if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
  return loaded.snapshot;
}

/** Every issue without its file. */
function issues(t: Test, settings: string): string[] {
  const loaded = load(t, MODELS + settings);
  const all = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  return all.map((issue) => `${issue.severity} ${issue.path}: ${issue.message} - ${issue.fix}`);
}

t.test('where nothing is said, the defaults hold', async (t) => {
  const { routing, deployments } = snapshot(t, '');
  t.match(routing, {
    strategy: 'simple-shuffle',
    sessionAffinity: true,
    numRetries: null,
    retryPolicy: {},
    retryAfterMs: 0,
    retryBudget: 0.2,
    defaultFallbacks: [],
    maxFallbacks: 5,
    sameFirst: { count: 0, longestMs: 5_000 },
    continueOverFallbacks: false,
    continueByRepeat: false,
    allowedFails: 3,
    healthCheckMs: null,
  });
  t.same([routing.fallbacks.size, routing.aliases.size], [0, 0]);
  t.match(deployments[0], { order: 1, numRetries: 4, cooldownMs: 7_000 });
  t.match(deployments[1], { order: Infinity, numRetries: null, cooldownMs: 5_000 });
});

t.test('settings that cannot take effect are warned about', async (t) => {
  t.same(
    issues(
      t,
      'router_settings: { retry_same_first: 1, num_retries: 0, continue_over_fallbacks: true }\n',
    ).map((text) => text.split(':').slice(0, 2).join(':')),
    [
      'warning router_settings.retry_same_first: has no effect',
      'warning router_settings.continue_over_fallbacks: has no effect',
    ],
  );
  t.same(
    issues(
      t,
      'router_settings: { retry_same_first: "1", retry_same_max_wait: 0.5, continue_over_fallbacks: true, continue_by_repeat: true }\n',
    ),
    [],
  );
  t.match(
    snapshot(t, 'router_settings: { retry_same_first: "1", retry_same_max_wait: 0.5 }\n').routing.sameFirst,
    { count: 1, longestMs: 500 },
  );
});

t.test('the router wins over litellm_settings, the entry over both', async (t) => {
  const litellm = `litellm_settings:
  num_retries: 1
  allowed_fails: 9
  cooldown_time: 20
  fallbacks: [{ a: [b] }]
  default_fallbacks: [b]
`;
  const one = snapshot(t, litellm);
  t.match(one.routing, { numRetries: 1, allowedFails: 9, defaultFallbacks: ['b'] });
  t.same([...one.routing.fallbacks], [['a', ['b']]]);
  t.equal(one.deployments[1]?.cooldownMs, 20_000);
  const router = `router_settings:
  num_retries: "2"
  allowed_fails: 0
  cooldown_time: 0.5
  retry_after: 1
  fallbacks: [{ b: [a, w/x] }, { b: [w/y] }, { "*": [a] }]
  context_window_fallbacks: [{ a: [b] }]
  retry_policy: { TimeoutErrorRetries: 0, InternalServerErrorRetries: 5 }
  model_group_retry_policy: { old: { RateLimitErrorRetries: 6 } }
  model_group_alias: { old: a, hidden: { model: w/z, hidden: true } }
  default_litellm_params: { num_retries: 8 }
general_settings: { background_health_checks: true, health_check_interval: 0.25 }
`;
  const { routing, deployments } = snapshot(t, litellm + router);
  t.match(routing, {
    numRetries: 2,
    allowedFails: 0,
    retryAfterMs: 1_000,
    retryPolicy: { timeout: 0, server: 5 },
    listedAliases: ['old'],
    healthCheckMs: 250,
  });
  t.same(
    [...routing.fallbacks],
    [
      ['b', ['a', 'w/x', 'w/y']],
      ['*', ['a']],
    ],
  );
  t.same([...routing.contextWindowFallbacks], [['a', ['b']]]);
  t.same([...routing.aliases], Object.entries({ old: 'a', hidden: 'w/z' }));
  t.same(routing.groupRetryPolicy.get('a'), { rateLimit: 6 }, 'an alias stands for its model');
  t.same(
    deployments.map(({ numRetries, cooldownMs }) => [numRetries, cooldownMs]),
    [
      [4, 7_000],
      [8, 500],
      [8, 500],
    ],
  );
  t.equal(snapshot(t, 'router_settings: { disable_cooldowns: true }').routing.allowedFails, Infinity);
});

t.test('a name that is to take over must exist and be another one', async (t) => {
  const router = `router_settings:
  fallbacks: [{ a: [bb, a, old] }, { zz: [a] }]
  default_fallbacks: [nobody-knows]
  model_group_alias: { old: a, b: a, gone: missing-model }
  routing_strategy: usage-based-routing-v2
`;
  t.same(issues(t, router), [
    "error router_settings.fallbacks[0].a[0]: no entry of model_list serves 'bb' - did you mean b?",
    'error router_settings.fallbacks[0].a[1]: falls back to itself - name another one, or remove it',
    'error router_settings.fallbacks[0].a[2]: falls back to itself - name another one, or remove it',
    "warning router_settings.fallbacks[1].zz: no entry of model_list serves 'zz', so this is never used - remove it, or add the model",
    "error router_settings.default_fallbacks[0]: no entry of model_list serves 'nobody-knows' - name a model_name of model_list",
    'warning router_settings.model_group_alias.b: is also a model_name, which wins - remove one of the two',
    "error router_settings.model_group_alias.gone: no entry of model_list serves 'missing-model' - name a model_name of model_list",
    'warning router_settings.routing_strategy: usage-based-routing-v2 is served as simple-shuffle - write one of simple-shuffle, least-busy, latency-based-routing',
  ]);
});

t.test(
  'a circle is said and served; models of the store may come later; left-out entries take theirs along',
  async (t) => {
    t.same(issues(t, 'router_settings: { fallbacks: [{ a: [b] }, { b: [w/x] }, { w/x: [a] }] }\n'), [
      "warning router_settings.fallbacks: forms a cycle: 'a' -> 'b' -> 'w/x' -> 'a'; each name is tried once - leave it if this is intended",
    ]);
    const later =
      'general_settings: { store_model_in_db: true }\nrouter_settings: { fallbacks: [{ a: [later] }] }\n';
    t.match(issues(t, later), [/^warning .* serves 'later' \(it may come from the store\)/]);
    const skipping = `${entry('left-out').replace('litellm_proxy/', 'cohere/')}general_settings: { skip_unsupported_models: true }
router_settings: { fallbacks: [{ a: [left-out, b] }] }
`;
    t.match(issues(t, skipping), [
      /^warning model_list\[3\]/,
      /^warning router_settings\.fallbacks\[0\]\.a\[0\]: the entry of 'left-out' is skipped, so this is skipped too/,
    ]);
    t.same([...snapshot(t, skipping).routing.fallbacks], [['a', ['b']]]);
  },
);

t.test('values that fit no key are told with an example', async (t) => {
  const router = `router_settings:
  num_retries: many
  fallbacks: { a: [b] }
  model_group_alias: { x: 3 }
  routing_strategy: fastest
`;
  t.match(issues(t, router), [
    /num_retries: must be a whole number, got text 'many'/,
    /fallbacks: must be a list, got a mapping/,
    /model_group_alias\.x: must be a name, or a mapping with model and hidden, got/,
    /routing_strategy: must be one of simple-shuffle/,
  ]);
});
