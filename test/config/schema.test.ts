import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { isInert, SCHEMA } from '../../config/schema.ts';
import type { SchemaNode } from '../../config/schema.ts';
import { Diagnostics } from '../../config/diagnostics.ts';
import { treeOf } from '../../config/tree.ts';
import { defaults, validated } from '../../config/validate.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The keys of a path, because one of them has a dot in its name. */
type Keys = readonly string[];

function* members(schema: SchemaNode, above: Keys): Generator<[keys: Keys, schema: SchemaNode]> {
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    yield [[...above, key], inner];
    yield* members(inner.items ?? inner, [...above, key]);
  }
}

function valueFor(keys: Keys, value: unknown): unknown {
  const path = keys.join('.');
  return keys.reduceRight((inner, key) => {
    if (key === 'model_list')
      return {
        model_list: [{ model_name: 'a', litellm_params: { model: 'litellm_proxy/a' }, ...(inner as object) }],
      };
    if (key === 'litellm_params' && path.startsWith('model_list') && !path.endsWith('litellm_params'))
      return { litellm_params: { model: 'litellm_proxy/a', ...(inner as object) } };
    if (key === 'credential_list')
      return { credential_list: [{ credential_name: 'a', credential_values: {}, ...(inner as object) }] };
    if (key === 'session_api_key' && path !== 'platform.session_api_key')
      return { session_api_key: [{ key: 'a', user_id: 'a', ...(inner as object) }] };
    if (key === 'inference_keys' && path !== 'general_settings.inference_keys')
      return { inference_keys: [{ key: 'a', ...(inner as object) }] };
    if (key === 'user_header_mappings' && path !== 'general_settings.user_header_mappings')
      return {
        user_header_mappings: [{ header_name: 'a', litellm_user_role: 'customer', ...(inner as object) }],
      };
    if (key === 'webhooks' && path !== 'alerts.webhooks')
      return { webhooks: [{ name: 'a', url: 'http://a', ...(inner as object) }] };
    if (key === 'spend_anomaly') return { spend_anomaly: { min_cost_per_hour: 1, ...(inner as object) } };
    if (key === 'budgets' && path !== 'budgets')
      return { budgets: [{ scope: 'proxy', ...(inner as object) }] };
    if (key === 'keys' && path !== 'keys') return { keys: [{ key_alias: 'a', ...(inner as object) }] };
    if (key === 'members' && path !== 'teams.members')
      return { members: [{ user_id: 'a', ...(inner as object) }] };
    if (key === 'teams' && path !== 'teams') return { teams: [{ team_id: 'a', ...(inner as object) }] };
    if (key === 'sandbox_specs' && path !== 'platform.sandbox_specs')
      return { sandbox_specs: [{ id: 'a', ...(inner as object) }] };
    if (key === 'oidc' && !path.endsWith('.oidc'))
      return {
        oidc: { issuer: 'https://a', client_id: 'a', roles: { a: 'proxy_admin' }, ...(inner as object) },
      };
    if (key === 'platform')
      return { platform: { session_api_key: 'a', secret_key: 'a', ...(inner as object) } };
    return { [key]: inner };
  }, value);
}

t.test('a value that must fit a pattern has words for what it must be', (t) => {
  const texts = (schema: unknown, path: string): string[] => {
    if (typeof schema !== 'object' || schema === null) return [];
    const own = 'pattern' in schema && !('x-says' in schema) && !path.endsWith('propertyNames') ? [path] : [];
    return [...own, ...Object.entries(schema).flatMap(([key, inner]) => texts(inner, `${path}/${key}`))];
  };
  t.same(texts(SCHEMA.properties, ''), []);
  t.end();
});

t.test('every key is described, shown by an example, and accepts its example and its default', async (t) => {
  let count = 0;
  for (const [keys, schema] of members(SCHEMA, [])) {
    const path = keys.join('.');
    count += 1;
    t.ok((schema.description ?? '').endsWith('.'), `${path} has a description`);
    t.ok((schema.examples ?? []).length > 0, `${path} has an example`);
    if (path === 'model_list' || path === 'credential_list') continue; // their members are tried one by one
    for (const value of [
      ...(schema.examples ?? []),
      ...(schema.default === undefined ? [] : [schema.default]),
    ]) {
      const tree = treeOf(valueFor(keys, value), { name: 'x', lineStarts: null });
      const diagnostics = new Diagnostics(tree);
      validated(tree, diagnostics);
      t.strictSame(diagnostics.issues(), [], `${path}: ${JSON.stringify(value)}`);
    }
  }
  t.ok(count > 500, `${count} keys`);
});

t.test('the schema is one: a start does not look', async (t) => {
  const ajv = new Ajv2020({ allowUnionTypes: true });
  ajv.addVocabulary([
    'x-authenticates',
    'x-effect',
    'x-file-of',
    'x-fix',
    'x-optional',
    'x-refuses',
    'x-secret',
    'x-says',
  ]);
  t.ok(ajv.validateSchema(SCHEMA), ajv.errorsText());
});

t.test('an empty file gets every default', async (t) => {
  const file = defaults();
  t.match(file.general_settings, {
    max_request_size_mb: 64,
    max_request_headers: 200,
    max_json_depth: 512,
    allow_unauthenticated: false,
    forward_header_prefixes: ['x-', 'anthropic-', 'openai-beta'],
    deny_headers: [],
    drain_seconds: 600,
    journal: { fsync_interval_ms: 100, segment_mb: 16, when_unwritable: 'block' },
    dialect: { brand: 'litellm', compat: 'openai', sdk: 'stainless' },
  });
  t.equal(file.litellm_settings.request_timeout, 600);
  t.strictSame(file.model_list, []);
});

t.test('the keys of the dialect that matter to nobody here are known', async (t) => {
  const inertAt = (section: string, key: string): boolean =>
    isInert(SCHEMA.properties?.[section]?.properties?.[key]);
  for (const key of ['modify_params', 'cache', 'success_callback'])
    t.ok(inertAt('litellm_settings', key), key);
  for (const key of ['database_type', 'alerting_threshold', 'custom_sso'])
    t.ok(inertAt('general_settings', key), key);
  for (const key of ['enable_pre_call_checks', 'max_retries', 'cache_responses'])
    t.ok(inertAt('router_settings', key), key);
  for (const key of ['mcp_servers', 'search_tools', 'files_settings'])
    t.ok(isInert(SCHEMA.properties?.[key]), key);
});

t.test('what is generated from the schema is fresh', async (t) => {
  const run = promisify(execFile);
  await t.resolves(run(process.execPath, [join(ROOT, 'config/generate.ts'), '--check']));
  const page = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
  for (const [keys] of members(SCHEMA, [])) t.ok(page.includes(`\`${keys.at(-1) ?? ''}\``), keys.join('.'));
});
