// Nothing written behind a key is the key left out, as in LiteLLM, unless something would stand open then.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import { SCHEMA, typesOf, type SchemaNode } from '../../config/schema.ts';
import { pathText, type Path } from '../../config/tree.ts';

function issuesOf(t: Test, yaml: string): string[] {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, yaml);
  const loaded = loadConfig(path, { PROXY_MASTER_KEY: 'sk-master', OPENAI_API_KEY: 'sk-o' });
  const issues = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  return issues.map((issue) => `${issue.severity} ${formatIssue(issue)}`);
}

const ENTRY = 'model_list: [{model_name: a, litellm_params: {model: gpt-4o}}]\n';

t.test('keys of LiteLLM without a value count as left out', async (t) => {
  const files = [
    'model_list: [{model_name: a, litellm_params: {model: gpt-4o, api_key: , api_version: , timeout: , max_budget: }}]\n',
    `${ENTRY}general_settings: {database_url: null, otel: null}\n`,
    `${ENTRY}router_settings: {redis_host: null, redis_password: null, redis_port: null, redis_url: null}\n`,
    `${ENTRY}environment_variables: {A: , B: null, C: x}\n`,
    `${ENTRY}litellm_settings: {ssl_verify: null, timezone: null, cache_params: null}\n`,
    `${ENTRY}credential_list: [{credential_name: c, credential_values: {api_version: null}}]\n`,
  ];
  for (const yaml of files) t.same(issuesOf(t, yaml), [], yaml);
});

t.test(
  'what protects something is not switched off by an empty value: the error says what to write',
  async (t) => {
    t.match(issuesOf(t, `${ENTRY}general_settings: {master_key: }\n`), [
      /^error .*master_key: must be text, got nothing - for example master_key: os\.environ\/MASTER_KEY$/,
    ]);
    t.match(issuesOf(t, `${ENTRY}keys: [{key_alias: k, key: os.environ/PROXY_MASTER_KEY, team_id: }]\n`), [
      /^error .*keys\[0\]\.team_id: must be text, got nothing - for example team_id:/,
    ]);
    const guards: Path[] = [];
    const visit = (schema: SchemaNode, path: Path): void => {
      if (schema['x-guards'] === true) {
        guards.push(path);
        const isText = typesOf(schema).includes('string');
        const refusesEmptyText = [schema.minLength, schema.pattern, schema.enum].some(
          (one) => one !== undefined,
        );
        t.ok((!isText || refusesEmptyText) && schema.examples !== undefined, pathText(path));
      }
      for (const [key, inner] of Object.entries(schema.properties ?? {})) visit(inner, [...path, key]);
      if (schema.items !== undefined) visit(schema.items, [...path, 0]);
    };
    visit(SCHEMA, []);
    t.ok(guards.length >= 10);
  },
);

const paramsWith = (key: string): string =>
  `model_list: [{model_name: a, litellm_params: {model: gpt-4o, ${key}: }}]\n`;
const credentialWith = (key: string): string =>
  `${ENTRY}credential_list: [{credential_name: c, credential_values: {${key}: }}]\n`;

t.test('an empty value moves no prompt and no key to another address, and lifts no check', async (t) => {
  const kept = ['api_base', 'base_url', 'api_key_file', 'azure_ad_token', 'azure_ad_token_file'];
  const files: readonly (readonly [path: string, yaml: string])[] = [
    ...[...kept, 'litellm_credential_name'].map((key) => [key, paramsWith(key)] as const),
    ...[...kept, 'api_key'].map((key) => [`credential_values.${key}`, credentialWith(key)] as const),
    ['deny_headers', `${ENTRY}general_settings: {deny_headers: }\n`],
    ['allowed_ips', `${ENTRY}general_settings: {allowed_ips: }\n`],
    ['admin_port', `${ENTRY}general_settings: {admin_port: }\n`],
    ['fail_closed_budget_enforcement', `${ENTRY}general_settings: {fail_closed_budget_enforcement: }\n`],
    [
      'client_secret',
      `${ENTRY}general_settings: {console: {oidc: {issuer: https://i.example.com, client_id: c, client_secret: , roles: {a: proxy_admin}}}}\n`,
    ],
    ['redis_ssl', `${ENTRY}router_settings: {redis_host: r.example.com, redis_ssl: }\n`],
    ['redis_ssl_ca_certs', `${ENTRY}router_settings: {redis_host: r.example.com, redis_ssl_ca_certs: }\n`],
    ['models', `${ENTRY}keys: [{key_alias: k, key: os.environ/PROXY_MASTER_KEY, models: }]\n`],
    ['mode', `${ENTRY}brake: {mode: }\n`],
  ];
  for (const [path, yaml] of files) {
    const issues = issuesOf(t, yaml).filter((issue) => issue.startsWith('error '));
    t.equal(issues.length, 1, yaml);
    t.match(issues[0], new RegExp(`${path.replace('.', String.raw`\.`)}: must be .*, got nothing - `), yaml);
  }
});

t.test('what must be there is told where it is empty', async (t) => {
  t.match(issuesOf(t, 'model_list: [{model_name: , litellm_params: {model: }}]\n'), [
    /^error .*model_name: must be text, got nothing/,
    /^error .*model: must be text, got nothing/,
  ]);
});

t.test('a number with underscores is one without quotes only', async (t) => {
  const file = (value: string): string =>
    `model_list: [{model_name: a, litellm_params: {model: gpt-4o, rpm: ${value}}}]\n`;
  t.same(issuesOf(t, file('20_000')), []);
  for (const text of ['"20_000"', "'20_000'"])
    t.match(issuesOf(t, file(text)), [/^error .*litellm_params\.rpm: must be a number, got text '20_000'/]);
});

t.test(
  'names in the place of drop_params: what LiteLLM has for them, and that nothing here reads it',
  async (t) => {
    const fix =
      /drop_params: must be true or false, got a list - write true; additional_drop_params of an entry, which LiteLLM has for names, has no effect here$/;
    t.match(issuesOf(t, `${ENTRY}litellm_settings: {drop_params: [tool_choice]}\n`), [fix]);
    const entry =
      'model_list: [{model_name: a, litellm_params: {model: gpt-4o, drop_params: [tool_choice]}}]\n';
    t.match(issuesOf(t, entry), [fix]);
  },
);
