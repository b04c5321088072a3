// Each key of the dialect that would protect something is refused with what to do instead, or is off, or is honoured: none
// is accepted without effect.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import { SCHEMA, type SchemaNode } from '../../config/schema.ts';

const ENTRY =
  'model_list:\n  - model_name: a\n    litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1"';

function issuesOf(t: Test, yaml: string): string[] {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, yaml);
  const loaded = loadConfig(path, { PROXY_MASTER_KEY: 'sk-master' });
  const issues = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  return issues.map((issue) => `${issue.severity} ${formatIssue(issue).replace(path, 'gateway.yaml')}`);
}

const fileWith = (section: string, key: string, value: unknown): string => {
  const written = `${key}: ${JSON.stringify(value)}`;
  if (section === 'litellm_params') return `${ENTRY}, ${written} }\n`;
  const head = `${ENTRY} }\n`;
  return section === '' ? `${head}${written}\n` : `${head}${section}: { ${written} }\n`;
};

/** What must never be accepted without effect, whatever the schema says of it. */
const PROTECTING: Readonly<Record<string, readonly (readonly [key: string, value: unknown])[]>> = {
  '': [
    ['guardrails', [{ guardrail_name: 'pii' }]],
    ['policies', { a: {} }],
    ['policy_attachments', [{ policy: 'a' }]],
    ['agent_list', [{ agent_name: 'a', litellm_params: { max_iterations: 25, make_public: true } }]],
    ['agent_list', [{ agent_name: 'a' }, { agent_name: 'b', session_tpm_limit: 0 }]],
  ],
  general_settings: [
    ['custom_auth', 'custom_auth.check'],
    ['enable_jwt_auth', true],
    ['custom_key_generate', 'custom.generate'],
    ['custom_key_update', 'custom.update'],
    ['default_team_disabled', true],
    ['enable_oauth2_auth', true],
    ['enable_oauth2_proxy_auth', true],
    ['role_permissions', [{ role: 'a' }]],
    ['service_account_settings', { enforced_params: ['user'] }],
    ['enforced_params', ['user']],
    ['completion_model', 'a'],
    ['salt_key', 'sk-salt'],
    ['allowed_routes', ['/v1/models']],
    ['admin_only_routes', ['/v1/models']],
    ['admin_allowed_routes', ['/v1/models']],
    ['max_response_size_mb', 1],
  ],
  litellm_settings: [
    ['guardrails', [{ pii: {} }]],
    ['banned_keywords_list', ['w']],
    ['pre_call_rules', 'rules.check'],
    ['post_call_rules', 'rules.check'],
    ['priority_reservation', { prod: 0.9 }],
    ['callbacks', ['hide_secrets']],
    ['callbacks', ['otel', 'presidio']],
    ['callbacks', 'custom_callbacks.handler'],
    ['max_iterations', 25],
  ],
  router_settings: [
    ['enable_tag_filtering', true],
    ['guardrail_list', [{ a: 1 }]],
    ['optional_pre_call_checks', ['prompt_caching', 'enforce_model_rate_limits']],
  ],
  litellm_params: [
    ['guardrails', ['pii']],
    ['max_file_size_mb', 5],
    ['max_iterations', 25],
    ['max_budget_per_session', 5],
  ],
};

t.test('a key that would protect something stops the start with what to do instead', async (t) => {
  for (const [section, keys] of Object.entries(PROTECTING))
    for (const [key, value] of keys) {
      const errors = issuesOf(t, fileWith(section, key, value)).filter((text) => text.startsWith('error'));
      t.equal(errors.length, 1, `${section}.${key} ${JSON.stringify(value)}`);
      t.match(errors[0], new RegExp(`^error gateway.yaml:\\d+:\\d+ .*\\b${key}\\S*: .+ - .+$`));
    }
});

const OFF: readonly unknown[] = [null, false, 0, '', [], {}];

t.test('each refused key says what to do instead, and may stand there when it is off', async (t) => {
  const sections: readonly (readonly [section: string, schema: SchemaNode | undefined])[] = [
    ['', SCHEMA],
    ...['general_settings', 'litellm_settings', 'router_settings'].map(
      (name) => [name, SCHEMA.properties?.[name]] as const,
    ),
    ['litellm_params', SCHEMA.properties?.['model_list']?.items?.properties?.['litellm_params']],
  ];
  let count = 0;
  for (const [section, schema] of sections)
    for (const [key, inner] of Object.entries(schema?.properties ?? {})) {
      if (inner['x-effect'] !== 'refused') continue;
      count += 1;
      t.match(inner['x-fix'], /^[a-z].*(remove it|remove these)/, `${section}.${key} says what to do`);
      const wanted = inner['x-refuses'] ?? ['x'];
      t.match(issuesOf(t, fileWith(section, key, wanted)).join('\n'), /^error /, key);
      for (const off of OFF)
        t.same(issuesOf(t, fileWith(section, key, off)), [], `${key}: ${JSON.stringify(off)}`);
    }
  t.ok(count > 25, `${count} keys`);
});

t.test('checks that protect nothing, or are always made here, are left alone', async (t) => {
  const agents = [{ agent_name: 'a', tpm_limit: null, litellm_params: { model: 'm' } }];
  t.match(issuesOf(t, fileWith('', 'agent_list', agents)), [/^warning .*agent_list: has no effect here/]);
  for (const limiters of [['max_iterations_limiter'], ['max_budget_limiter', 'parallel_request_limiter_v3']])
    t.same(issuesOf(t, fileWith('litellm_settings', 'callbacks', limiters)), []);
  // Budgets of deployments and providers are always counted.
  for (const check of ['prompt_caching', 'router_budget_limiting'])
    t.same(issuesOf(t, fileWith('router_settings', 'optional_pre_call_checks', [check])), []);
});

t.test(
  'what is always so is accepted without a word, and its opposite is not accepted silently',
  async (t) => {
    for (const key of ['turn_off_message_logging', 'redact_messages_in_exceptions', 'store_audit_logs']) {
      t.same(issuesOf(t, fileWith('litellm_settings', key, true)), [], key);
      t.match(issuesOf(t, fileWith('litellm_settings', key, false)), [
        /^warning .*has no effect here: it is always on/,
      ]);
    }
    t.same(issuesOf(t, fileWith('litellm_settings', 'ssl_verify', true)), []);
    t.match(issuesOf(t, fileWith('litellm_settings', 'ssl_verify', false)), [
      /^warning .*has no effect: certificates are always checked/,
    ]);
    t.same(issuesOf(t, fileWith('general_settings', 'block_robots', true)), []);
  },
);

t.test('rpm and tpm are refused where LiteLLM would enforce them', async (t) => {
  const file = (strategy: string): string =>
    `${ENTRY}, rpm: 60, tpm: 1000 }\nrouter_settings: { routing_strategy: ${strategy} }\n`;
  t.same(issuesOf(t, file('simple-shuffle')), []);
  for (const strategy of ['usage-based-routing', 'usage-based-routing-v2']) {
    const errors = issuesOf(t, file(strategy)).filter((text) => text.startsWith('error'));
    t.equal(errors.length, 2, strategy);
    t.match(
      errors[0],
      /litellm_params\.rpm: would limit nothing: .* - bound the deployment by max_parallel_requests/,
    );
  }
});

t.test('a stored or added model is held to the same rule', async (t) => {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, `${ENTRY} }\n`);
  const entry = {
    model_name: 'b',
    litellm_params: { model: 'litellm_proxy/b', api_base: 'http://127.0.0.1:1', guardrails: ['pii'] },
  };
  const loaded = loadConfig(path, {}, [{ id: 'b', entry }]);
  t.match(loaded, { ok: false, issues: [{ path: 'litellm_params.guardrails', severity: 'error' }] });
});

t.test('a key without effect whose subject has another place says which', async (t) => {
  const issues = issuesOf(
    t,
    fileWith('general_settings', 'alert_to_webhook_url', { budget_alerts: 'https://x' }),
  );
  t.match(
    issues.filter((issue) => issue.includes('alert_to_webhook_url')),
    [/^warning .*has no effect here.*name the receivers in alerts\.webhooks/],
  );
});

t.test("LiteLLM's switch for traces is told where traces are turned on, and off it is nothing", async (t) => {
  t.match(issuesOf(t, fileWith('general_settings', 'otel', true)), [
    /^warning gateway\.yaml:4:21 general_settings\.otel: is a switch of LiteLLM's, without effect here - write litellm_settings\.callbacks: \[otel\]/,
  ]);
  for (const off of [false, null]) t.same(issuesOf(t, fileWith('general_settings', 'otel', off)), []);
  t.match(issuesOf(t, fileWith('general_settings', 'otel', 'yes')), [/must be a mapping/]);
});

t.test('names of a current LiteLLM are known, and what becomes of them is said', async (t) => {
  const known: readonly (readonly [section: string, key: string, value: unknown])[] = [
    ['', 'default_vertex_config', { vertex_project: 'p' }],
    ['litellm_params', 'vertex_ai_project', 'p'],
    ['litellm_params', 'vertex_ai_location', 'l'],
    ['litellm_params', 'mock_timeout', true],
    ['litellm_settings', 'return_response_headers', true],
    ['litellm_settings', 'vertex_project', 'p'],
    ['litellm_settings', 'use_aiohttp_transport', true],
    ['general_settings', 'database_connect_timeout', 10],
    ['general_settings', 'enable_health_check_routing', true],
  ];
  for (const [section, key, value] of known)
    t.match(issuesOf(t, fileWith(section, key, value)), [/^warning .*: has no effect here - /], key);
  t.same(issuesOf(t, fileWith('litellm_settings', 'global_disable_no_log_param', true)), []);
  t.match(issuesOf(t, fileWith('litellm_settings', 'global_disable_no_log_param', false)), [
    /it is always on/,
  ]);
});
