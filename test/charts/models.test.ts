// The chart and the server judge models alike: names and addresses of one list go through both. And models by name join the
// list.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../../config/load.ts';
import { at, CHART, helm, NO_HELM, objectsOf } from '../support/helm.ts';

const URL = 'https://gateway.example.com';
const ENV = { PROXY_MASTER_KEY: 'sk-master', BASE: URL };

/** litellm_params of one entry each. */
const ENTRIES: readonly Readonly<Record<string, string>>[] = [
  { model: 'litellm_proxy/a', api_base: URL },
  { model: 'litellm_proxy/a', api_base: `${URL}/` },
  { model: 'litellm_proxy/a', api_base: `${URL}/v1` },
  { model: 'litellm_proxy/a', api_base: `${URL}/v1/` },
  { model: 'litellm_proxy/a', api_base: `${URL}//v1//` },
  { model: 'litellm_proxy/a', api_base: `${URL}/team/v1` },
  { model: 'litellm_proxy/a', api_base: `${URL}/v1/team` },
  { model: 'litellm_proxy/a', api_base: 'https://v1' },
  { model: 'litellm_proxy/a', api_base: 'http://gateway:4000/v1beta' },
  { model: 'litellm_proxy/a', base_url: `${URL}/v1` },
  { model: 'litellm_proxy/a', api_base: URL, base_url: `${URL}/v1` },
  { model: 'litellm_proxy/a' },
  { model: 'litellm_proxy/a', api_base: 'os.environ/BASE' },
  { model: 'litellm_proxy/a', api_base: 'gateway.example.com' },
  { model: 'litellm_proxy/a', api_base: 'ftp://gateway.example.com' },
  { model: 'litellm_proxy/a', api_base: 'HTTPS://gateway.example.com' },
  { model: 'litellm_proxy/a', api_base: `${URL}?a=b` },
  { model: 'litellm_proxy/a', api_base: `${URL}#a` },
  { model: 'litellm_proxy/a', api_base: 'https://user:key@gateway.example.com' },
  { model: 'litellm_proxy/a', api_base: `${URL}/v1/chat/completions` },
  { model: 'litellm_proxy/a', api_base: `${URL}/models/` },
  { model: 'openai/a', api_base: URL },
  { model: 'openai/a', api_base: `${URL}/v1` },
  { model: 'openai/a', api_base: `${URL}/v1/` },
  { model: 'openai/a', api_base: `${URL}/openai/v1` },
  { model: 'openai/a', api_base: `${URL}/v1beta/openai` },
  { model: 'openai/a', api_base: `${URL}/v2` },
  { model: 'openai/a', api_base: `${URL}/api/paas/v4/` },
  { model: 'openai/a', api_base: `${URL}/inference` },
  { model: 'openai/a', api_base: 'https://models.github.ai/inference/' },
  { model: 'openai/a', api_base: 'https://API.githubcopilot.com:443' },
  { model: 'openai/a', api_base: 'https://api.githubcopilot.com.example.com' },
  { model: 'openai/a', api_base: 'https://adb-1.2.azuredatabricks.net/serving-endpoints' },
  { model: 'openai/a', api_base: 'https://v1/' },
  { model: 'openai/a', api_base: 'https://v1.example.com/api' },
  { model: 'openai/a', api_base: `${URL}/v1/chat/completions` },
  { model: 'openai/a', api_base: `${URL}/v1/messages` },
  { model: 'openai/a/b', api_base: `${URL}/V1` },
  { model: 'gpt-4', api_base: `${URL}/v1` },
  { model: 'gpt-4', api_base: URL },
  { model: 'gpt-4', api_key: 'k' },
  { model: 'gpt', api_base: `${URL}/v1` },
  { model: 'claude-opus-4-1', api_key: 'k' },
  { model: 'openai/gpt-4', api_key: 'k' },
  { model: 'openai/mine', api_key: 'k' },
  { model: 'groq/x', api_key: 'k' },
  { model: 'groq/x', api_base: `${URL}/v1/chat/completions` },
  { model: 'ollama/x' },
  { model: 'bedrock/x', api_base: URL },
  { model: 'cohere/x', api_base: URL },
  { model: 'gpt-4', custom_llm_provider: 'openai', api_base: `${URL}/v1` },
  { model: 'gpt-4', custom_llm_provider: 'litellm_proxy', api_base: `${URL}/v1` },
  { model: 'openai/gpt-4', custom_llm_provider: 'litellm_proxy', api_base: URL },
  { model: 'anthropic/claude', api_base: `${URL}/v1` },
  { model: 'OpenAI/gpt', api_base: `${URL}/v1` },
  { model: 'litellm_proxy', api_base: URL },
  { model: 'azure/gpt', api_base: URL },
  { model: 'os.environ/MODEL', api_base: 'os.environ/BASE' },
];

type Config = Readonly<Record<string, unknown>>;

function configOf(more: Config): Config {
  const list = ENTRIES.map((params, index) => ({ model_name: `m${index}`, litellm_params: { ...params } }));
  const { general_settings: general, ...rest } = more;
  return {
    model_list: list,
    general_settings: { master_key: 'os.environ/PROXY_MASTER_KEY', ...Object(general) },
    ...rest,
  };
}

/** Indexes of the entries that the server refuses. */
function refusedByServer(folder: string, config: Config): readonly number[] {
  const path = join(folder, 'config.yaml');
  writeFileSync(path, stringify(config));
  const brand = String(at(config, 'general_settings', 'dialect', 'brand') ?? 'litellm');
  const loaded = loadConfig(path, { ...ENV, MODEL: `${brand}_proxy/a` });
  const issues = loaded.ok ? [] : loaded.issues.filter(({ severity }) => severity === 'error');
  return sorted(issues.map((issue) => Number(/model_list\[(\d+)\]/.exec(issue.path)?.[1])));
}

function refusedByChart(folder: string, config: Config): readonly number[] {
  const path = join(folder, 'values.yaml');
  writeFileSync(path, JSON.stringify({ proxy_config: config }));
  const { err } = helm('template', CHART, '--kube-version', '1.31.0', '-f', path);
  return sorted(
    [...err.matchAll(/^proxy_config\.model_list\[(\d+)\] \(m\d+\): .* - /gm)].map(([, index]) =>
      Number(index),
    ),
  );
}

const sorted = (all: readonly number[]): readonly number[] => [...new Set(all)].sort((a, b) => a - b);

for (const [name, more, some] of [
  ['as they are', {}, true],
  ['skipped where the prefix is unknown', { general_settings: { skip_unsupported_models: true } }, true],
  ['with other words', { general_settings: { dialect: { brand: 'azure', compat: 'anthropic' } } }, true],
] as const) {
  t.test(`the chart refuses the models that the server refuses: ${name}`, { skip: NO_HELM }, (t) => {
    const folder = t.testdir();
    const server = refusedByServer(folder, configOf(more));
    t.equal(server.length > 5 && server.length < ENTRIES.length, some);
    const chart = refusedByChart(folder, configOf(more));
    t.same(chart, server, chart.map((index) => JSON.stringify(ENTRIES[index])).join('\n'));
    t.end();
  });
}

t.test('the models of the replaced chart get a sentence each', { skip: NO_HELM }, (t) => {
  const path = join(import.meta.dirname, 'values/dialect-default.yaml');
  const { ok, err } = helm('template', CHART, '--kube-version', '1.31.0', '-f', path);
  t.notOk(ok);
  t.match(
    err,
    /model_list\[1\] \(fake-openai-endpoint\): api_base must include \/v1 for openai\/, .* - write https:\/\/\S+\.railway\.app\/v1\./,
  );
  t.end();
});

t.test('a provider that nothing here calls gets a sentence', { skip: NO_HELM }, (t) => {
  const values = join(t.testdir(), 'values.yaml');
  const models = {
    strange: { model: 'cohere/command' },
    signed: { model: 'bedrock/claude' },
    bare: { model: 'my-model' },
  };
  const entries = Object.entries(models).map(([name, params]) => [name, { litellm_params: params }]);
  writeFileSync(values, stringify({ models: Object.fromEntries(entries) as unknown }));
  const { err } = helm('template', CHART, '--kube-version', '1.31.0', '-f', values);
  t.match(
    err,
    /"cohere" is not a supported provider prefix - write litellm_proxy\/NAME .*skip_unsupported_models: true/,
  );
  t.match(err, /calls of "bedrock" need a signature of AWS, .* write litellm_proxy\/NAME/);
  t.match(err, /"my-model" has no provider prefix - write litellm_proxy\/NAME/);
  t.end();
});

t.test('models by name join the list, and a later file changes and removes one', { skip: NO_HELM }, (t) => {
  const folder = t.testdir();
  const file = (name: string, values: unknown): readonly string[] => {
    writeFileSync(join(folder, name), JSON.stringify(values));
    return ['-f', join(folder, name)];
  };
  const entry = (model: string): Config => ({ litellm_params: { model, api_base: URL } });
  const base = file('base.yaml', {
    proxy_config: { model_list: [{ model_name: 'listed', ...entry('litellm_proxy/l') }] },
    models: {
      b: entry('litellm_proxy/b'),
      a: { model_name: 'group', ...entry('litellm_proxy/a') },
      gone: entry('litellm_proxy/g'),
    },
  });
  const over = file('over.yaml', {
    models: { b: { litellm_params: { api_base: 'http://other:4000' } }, gone: null },
  });
  const run = helm('template', 'openhands', CHART, '--kube-version', '1.31.0', ...base, ...over);
  t.ok(run.ok, run.err);
  const config: unknown = parse(
    String(at(objectsOf(run.out).get('ConfigMap/openhands-litellm-config'), 'data', 'config.yaml')),
  );
  t.same(at(config, 'model_list'), [
    { model_name: 'listed', ...entry('litellm_proxy/l') },
    { model_name: 'group', ...entry('litellm_proxy/a') },
    { model_name: 'b', litellm_params: { model: 'litellm_proxy/b', api_base: 'http://other:4000' } },
  ]);
  const wrong = helm(
    'template',
    CHART,
    '--kube-version',
    '1.31.0',
    ...base,
    ...over,
    '--set',
    'models.b.litellm_params.api_base=http://other/v1',
  );
  t.match(wrong, {
    ok: false,
    err: /^models\.b \(b\): api_base must not end in \/v1 for litellm_proxy\/, .* write http:\/\/other\.$/m,
  });
  t.end();
});

t.test('what templates know of the configuration is what the server knows', (t) => {
  const facts: unknown = JSON.parse(readFileSync(join(CHART, 'files/configuration.json'), 'utf8'));
  t.match(facts, { reference: 'os.environ/', prefixes: { proxy: 'litellm_proxy', compat: 'openai' } });
  t.end();
});
