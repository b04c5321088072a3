// Which key goes where: a variable of a vendor is read for the vendor's own address alone, and never for a runtime model.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { formatIssue } from '../../../config/issue.ts';
import { loadConfig, overlay } from '../../../config/load.ts';
import type { Deployment } from '../../../config/snapshot.ts';

const path = join(t.testdir(), 'gateway.yaml');

type Env = Readonly<Record<string, string>>;

function loaded(params: string, env: Env, more = ''): Deployment | string {
  writeFileSync(path, `model_list:\n  - model_name: m\n    litellm_params: { ${params} }\n${more}`);
  const result = loadConfig(path, env);
  if (!result.ok) return result.issues.map(formatIssue).join('\n');
  return result.snapshot.deployments[0] ?? 'nothing';
}

/** `address key`, or the issues. */
function place(params: string, env: Env = {}): string {
  const found = loaded(params, env);
  return typeof found === 'string'
    ? found
    : `${found.origin}${found.pathPrefix} ${found.apiKey?.reveal() ?? 'none'}`;
}

const KEYS = {
  OPENAI_API_KEY: 'sk-o',
  ANTHROPIC_API_KEY: 'sk-a',
  AZURE_API_KEY: 'sk-z',
  LITELLM_PROXY_API_KEY: 'sk-p',
};

t.test('a known address takes the key of its variable', async (t) => {
  t.equal(place('model: gpt-4o', KEYS), 'https://api.openai.com/v1 sk-o');
  t.equal(
    place('model: openai/gpt-4o, api_base: "https://api.openai.com/v1"', KEYS),
    'https://api.openai.com/v1 sk-o',
  );
  t.equal(place('model: claude-opus-4-1', KEYS), 'https://api.anthropic.com/v1 sk-a');
  t.equal(place('model: claude-opus-4-1, api_key: own', KEYS), 'https://api.anthropic.com/v1 own');
  t.equal(
    place('model: together_ai/x', { TOGETHERAI_API_KEY: 'late', TOGETHER_API_KEY: '' }),
    'https://api.together.ai/v1 late',
  );
  t.equal(
    place('model: azure/x, api_base: "https://r.openai.azure.com"', KEYS),
    'https://r.openai.azure.com/openai sk-z',
  );
  t.equal(place('model: ollama/x', KEYS), 'http://localhost:11434/v1 none');
});

t.test('the address of a variable takes it, too', async (t) => {
  const env = {
    ...KEYS,
    OPENAI_BASE_URL: 'https://mine/v1',
    AZURE_API_BASE: 'https://az',
    LITELLM_PROXY_API_BASE: 'https://gw',
  };
  t.equal(place('model: openai/anything', env), 'https://mine/v1 sk-o');
  t.equal(place('model: azure/x', env), 'https://az/openai sk-z');
  t.equal(place('model: litellm_proxy/x', env), 'https://gw/v1 sk-p');
  t.match(
    place('model: openai/x', { OPENAI_BASE_URL: 'https://mine' }),
    /must include \/v1.*set OPENAI_BASE_URL to https:\/\/mine\/v1/,
  );
});

t.test('no other address gets the key of a variable', async (t) => {
  for (const params of [
    'model: openai/gpt-4o, api_base: "https://gateway.example.com/v1"',
    'model: openai/gpt-4o, api_base: "http://api.openai.com/v1"',
    'model: openai/gpt-4o, api_base: "https://api.openai.com.example.com/v1"',
    'model: openai/gpt-4o, api_base: "https://api.openai.com:8443/v1"',
    'model: anthropic/x, api_base: "https://gateway.example.com"',
    'model: azure/x, api_base: "https://azure.com.example.com"',
    'model: azure/x, api_base: "https://notazure.com"',
    'model: azure/x, api_base: "http://r.openai.azure.com"',
    'model: litellm_proxy/x, api_base: "https://gateway.example.com"',
  ])
    t.match(place(params, KEYS), / none$/, params);
});

t.test('what is missing is said with the variables that would do', async (t) => {
  t.match(
    place('model: gpt-4o'),
    /api_key: is missing, and OPENAI_API_KEY is not set - set OPENAI_API_KEY, or add api_key/,
  );
  t.match(
    place('model: openai/my-model', KEYS),
    /api_base: is missing - add it: openai\/NAME .*there is no default provider/,
  );
  t.match(place('model: litellm_proxy/x', KEYS), /api_base: is missing .*there is no default provider/);
  t.match(place('model: hosted_vllm/x', KEYS), /api_base: is missing .*or set HOSTED_VLLM_API_BASE/);
  t.match(
    place('model: vertex_ai/x', KEYS),
    /'vertex_ai' is left out: its calls need a token of Google Cloud.*litellm_proxy\/NAME/,
  );
  t.equal(
    place('model: gpt-4o, extra_headers: { Authorization: Bearer x }'),
    'https://api.openai.com/v1 none',
  );
});

t.test('a version of Azure stands in the query', async (t) => {
  const of = (params: string, env: Env = {}): string => {
    const found = loaded(`model: azure/x, api_base: "https://r", api_key: k${params}`, env);
    return typeof found === 'string'
      ? found
      : `${found.pathPrefix}?${found.upstreamQuery} ${found.modelInPath}`;
  };
  t.equal(of(''), '/openai?api-version=2025-02-01-preview true');
  t.equal(of('', { AZURE_API_VERSION: '2024-06-01' }), '/openai?api-version=2024-06-01 true');
  t.equal(
    of(', api_version: "2024-10-21"', { AZURE_API_VERSION: 'x' }),
    '/openai?api-version=2024-10-21 true',
  );
  t.equal(of(', api_version: "a&b=c"'), '/openai?api-version=a%26b%3Dc true');
  t.equal(of(', api_version: v1'), '/openai/v1? false');
  t.equal(of(', api_version: preview'), '/openai/v1?api-version=preview false');
  const byResponses = ', supported_endpoints: [responses]'; // the version that others get came before that API
  t.equal(of(byResponses), '/openai/v1?api-version=preview false');
  t.equal(
    of(byResponses, { AZURE_API_VERSION: '2025-04-01-preview' }),
    '/openai?api-version=2025-04-01-preview true',
  );
  t.equal(of(', supported_endpoints: [responses, chat]'), '/openai?api-version=2025-02-01-preview true');
});

t.test('a runtime model reads no variable unless the operator lets it', async (t) => {
  const runtime = [{ id: 'r', entry: { model_name: 'r', litellm_params: { model: 'anthropic/x' } } }];
  const env = { ...KEYS, ANTHROPIC_BASE_URL: 'https://mine' };
  const under = (general: string): string => {
    writeFileSync(path, `model_list: []\ngeneral_settings: { master_key: sk-m${general} }\n`);
    const file = loadConfig(path, env);
    if (!file.ok) return 'broken';
    const result = overlay(file.source, env, runtime);
    if (!result.ok) return result.issues.map(formatIssue).join('\n');
    const [one] = result.snapshot.deployments;
    return `${one?.origin ?? ''} ${one?.apiKey?.reveal() ?? 'none'}`;
  };
  t.match(under(''), /litellm_params\.api_key: is missing/);
  t.equal(under(', runtime_models: { allow_references: true }'), 'https://mine sk-a');
});

t.test('the price is that of the vendor', async (t) => {
  const priceOf = (model: string): bigint | null | undefined => {
    const found = loaded(`model: ${model}, api_base: "http://h/v1", api_key: k`, {});
    return typeof found === 'string' ? null : found.cataloguePrices?.tokens.input?.base;
  };
  t.type(priceOf('groq/llama-3.3-70b-versatile'), 'bigint');
  t.equal(priceOf('ollama/llama2'), 0n);
  t.equal(priceOf('azure/gpt-4o'), priceOf('openai/gpt-4o'));
});

t.test('the key stands in one header only', async (t) => {
  const found = loaded(
    'model: claude-opus-4-1, api_key: k, extra_headers: { X-Api-Key: other, X-Team: a }',
    {},
  );
  if (typeof found === 'string') return t.fail(found);
  t.strictSame(
    found.staticHeaders.map(([name]) => name),
    ['x-team'],
  );
  return undefined;
});
