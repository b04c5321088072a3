import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../../config/dialect.ts';
import { baseOf } from '../../../../config/resolve/api-base.ts';
import { compatKind } from '../../../../config/resolve/kinds/compat.ts';
import { proxyKind } from '../../../../config/resolve/kinds/proxy.ts';
import type { Kind } from '../../../../config/resolve/kinds/kind.ts';
import { KINDS, splitModelName } from '../../../../config/resolve/kinds/table.ts';
import { ownPath, upstreamPath } from '../../../../config/upstream-path.ts';

const dialect = dialectOf(DEFAULT_WORDS);

t.test('what follows the prefix goes upstream verbatim', async (t) => {
  const cases: readonly [
    model: string,
    provider: string | undefined,
    kind: string | undefined,
    upstream: string,
  ][] = [
    ['litellm_proxy/a', undefined, 'proxy', 'a'],
    ['litellm_proxy/team/a', undefined, 'proxy', 'team/a'],
    ['openai/anthropic/claude', undefined, 'compat', 'anthropic/claude'],
    ['openai/openai/gpt-4o', undefined, 'compat', 'openai/gpt-4o'],
    ['openai/*', undefined, 'compat', '*'],
    ['anthropic/claude', 'openai', 'compat', 'anthropic/claude'],
    ['openai/gpt-4o', 'openai', 'compat', 'gpt-4o'],
    ['openai/gpt-4o', 'litellm_proxy', 'proxy', 'openai/gpt-4o'],
    ['plain', 'litellm_proxy', 'proxy', 'plain'],
    ['openai', undefined, undefined, 'openai'],
    ['OpenAI/a', undefined, undefined, 'a'],
    ['cohere/a', undefined, undefined, 'a'],
    ['azure/a', undefined, 'azure', 'a'],
    ['openrouter/anthropic/claude', undefined, 'openrouter', 'anthropic/claude'],
    ['a/b', 'groq', 'groq', 'a/b'],
    ['fireworks_ai/llama-v3', undefined, 'fireworks_ai', 'accounts/fireworks/models/llama-v3'],
    ['fireworks_ai/glm-5p2-fast', undefined, 'fireworks_ai', 'accounts/fireworks/routers/glm-5p2-fast'],
    ['fireworks_ai/auto', undefined, 'fireworks_ai', 'accounts/fireworks/routers/auto'],
    ['fireworks_ai/routers/mine', undefined, 'fireworks_ai', 'accounts/fireworks/routers/mine'],
    ['fireworks_ai/models/llama-v3', undefined, 'fireworks_ai', 'accounts/fireworks/models/llama-v3'],
    ['fireworks_ai/FW-x', undefined, 'fireworks_ai', 'FW-x'],
    ['fireworks_ai/accounts/me/models/x', undefined, 'fireworks_ai', 'accounts/me/models/x'],
    ['fireworks_ai/*', undefined, 'fireworks_ai', '*'],
    ['gpt-4o', undefined, 'compat', 'gpt-4o'],
    ['o3', undefined, 'compat', 'o3'],
    ['text-embedding-3-small', undefined, 'compat', 'text-embedding-3-small'],
    ['ft:gpt-4o:acme::id', undefined, 'compat', 'ft:gpt-4o:acme::id'],
    ['claude-opus-4-1', undefined, 'anthropic', 'claude-opus-4-1'],
    ['gpt', undefined, undefined, 'gpt'],
    ['o3x', undefined, undefined, 'o3x'],
    ['GPT-4o', undefined, undefined, 'GPT-4o'],
    ['claudette', undefined, undefined, 'claudette'],
    ['gpt-*', undefined, undefined, 'gpt-*'],
  ];
  for (const [model, provider, kind, upstream] of cases) {
    const name = splitModelName(model, provider, dialect);
    t.strictSame([name.kind?.name, name.upstream], [kind, upstream], `${model} ${provider ?? ''}`);
  }
});

t.test('`responses/` says in which API the model is asked for, where there may be that API', async (t) => {
  const cases = [
    ['azure/responses/gpt-5', undefined, 'gpt-5', true],
    ['openai/responses/gpt-5', undefined, 'gpt-5', true],
    ['responses/gpt-5', 'openai', 'gpt-5', true],
    ['azure/responses/*', undefined, '*', true],
    ['azure/gpt-5', undefined, 'gpt-5', false],
    ['openai/my/responses/gpt-5', undefined, 'my/responses/gpt-5', false],
    ['litellm_proxy/responses/gpt-5', undefined, 'responses/gpt-5', false],
    ['mistral/responses/a', undefined, 'responses/a', false],
  ] as const;
  for (const [model, provider, upstream, byResponses] of cases)
    t.match(splitModelName(model, provider, dialect), { upstream, byResponses }, model);
});

t.test('proxy-type: the path is api_base + /v1, compat-type: api_base as it is', async (t) => {
  const cases = [
    [proxyKind, 'https://h.example.com', 'https://h.example.com', '/v1'],
    [proxyKind, 'https://h.example.com//', 'https://h.example.com', '/v1'],
    [proxyKind, 'http://127.0.0.1:4010/team/', 'http://127.0.0.1:4010', '/team/v1'],
    [proxyKind, 'https://h.example.com/v1beta', 'https://h.example.com', '/v1beta/v1'],
    [proxyKind, 'HTTPS://H.example.com:443/a', 'https://h.example.com', '/a/v1'],
    [compatKind, 'https://h.example.com/v1', 'https://h.example.com', '/v1'],
    [compatKind, 'https://h.example.com/openai/v1/', 'https://h.example.com', '/openai/v1'],
    [compatKind, 'https://h.example.com/v1beta/openai', 'https://h.example.com', '/v1beta/openai'],
    [compatKind, 'http://[::1]:8080/v1', 'http://[::1]:8080', '/v1'],
    [compatKind, 'https://api.z.ai/api/paas/v4/', 'https://api.z.ai', '/api/paas/v4'],
    [compatKind, 'https://ark.cn-beijing.volces.com/api/v3', 'https://ark.cn-beijing.volces.com', '/api/v3'],
    [compatKind, 'https://qianfan.baidubce.com/v2', 'https://qianfan.baidubce.com', '/v2'],
    [compatKind, 'https://models.github.ai/inference', 'https://models.github.ai', '/inference'],
    [
      compatKind,
      'https://models.github.ai/orgs/acme/inference',
      'https://models.github.ai',
      '/orgs/acme/inference',
    ],
    [
      compatKind,
      'https://dbc-1.cloud.databricks.com/serving-endpoints',
      'https://dbc-1.cloud.databricks.com',
      '/serving-endpoints',
    ],
    [
      compatKind,
      'https://adb-1.2.azuredatabricks.net/serving-endpoints/',
      'https://adb-1.2.azuredatabricks.net',
      '/serving-endpoints',
    ],
    [compatKind, 'https://models.inference.ai.azure.com', 'https://models.inference.ai.azure.com', ''],
    [compatKind, 'https://api.githubcopilot.com', 'https://api.githubcopilot.com', ''],
    [compatKind, 'https://api.business.githubcopilot.com/', 'https://api.business.githubcopilot.com', ''],
    [compatKind, 'https://API.deepseek.com:443', 'https://api.deepseek.com', ''],
  ] as const;
  for (const [kind, text, origin, pathPrefix] of cases)
    t.match(baseOf(text, kind), { ok: true, base: { origin, pathPrefix } }, text);
});

t.test('each vendor has its address, its paths and its header', async (t) => {
  const kindOf = (prefix: string): Kind => {
    const found = KINDS.find((kind) => kind.prefix(dialect) === prefix);
    if (found === undefined) throw new Error(prefix);
    return found;
  };
  const cases = [
    ['openai', null, '', 'https://api.openai.com', '/v1', 'authorization'],
    ['anthropic', null, '', 'https://api.anthropic.com', '/v1', 'x-api-key'],
    ['anthropic', 'https://h/anthropic', '', 'https://h', '/anthropic/v1', 'x-api-key'],
    ['gemini', null, '', 'https://generativelanguage.googleapis.com', '/v1beta', 'x-goog-api-key'],
    ['gemini', 'https://h/v1alpha', '', 'https://h', '/v1alpha', 'x-goog-api-key'],
    ['gemini', 'https://h/team', '', 'https://h', '/team/v1beta', 'x-goog-api-key'],
    ['gemini', 'https://h/v1/team/', '', 'https://h', '/v1/team', 'x-goog-api-key'],
    [
      'gemini',
      'https://aiplatform.googleapis.com/v1/publishers/google',
      '',
      'https://aiplatform.googleapis.com',
      '/v1/publishers/google',
      'x-goog-api-key',
    ],
    ['openrouter', null, '', 'https://openrouter.ai', '/api/v1', 'authorization'],
    ['mistral', null, '', 'https://api.mistral.ai', '/v1', 'authorization'],
    ['mistral', 'https://h/', '', 'https://h', '/v1', 'authorization'],
    ['groq', null, '', 'https://api.groq.com', '/openai/v1', 'authorization'],
    ['deepseek', null, '', 'https://api.deepseek.com', '/beta', 'authorization'],
    ['together_ai', null, '', 'https://api.together.ai', '/v1', 'authorization'],
    ['fireworks_ai', null, '', 'https://api.fireworks.ai', '/inference/v1', 'authorization'],
    ['xai', null, '', 'https://api.x.ai', '/v1', 'authorization'],
    ['cerebras', null, '', 'https://api.cerebras.ai', '/v1', 'authorization'],
    ['perplexity', null, '', 'https://api.perplexity.ai', '', 'authorization'],
    ['nvidia_nim', null, '', 'https://integrate.api.nvidia.com', '/v1', 'authorization'],
    ['github', null, '', 'https://models.inference.ai.azure.com', '', 'authorization'],
    ['moonshot', null, '', 'https://api.moonshot.ai', '/v1', 'authorization'],
    ['zai', null, '', 'https://api.z.ai', '/api/paas/v4', 'authorization'],
    ['dashscope', null, '', 'https://dashscope.aliyuncs.com', '/compatible-mode/v1', 'authorization'],
    ['minimax', null, '', 'https://api.minimax.io', '/v1', 'authorization'],
    ['deepinfra', null, '', 'https://api.deepinfra.com', '/v1/openai', 'authorization'],
    ['sambanova', null, '', 'https://api.sambanova.ai', '/v1', 'authorization'],
    ['nebius', null, '', 'https://api.studio.nebius.ai', '/v1', 'authorization'],
    ['novita', null, '', 'https://api.novita.ai', '/v3/openai', 'authorization'],
    ['volcengine', null, '', 'https://ark.cn-beijing.volces.com', '/api/v3', 'authorization'],
    ['friendliai', null, '', 'https://api.friendli.ai', '/serverless/v1', 'authorization'],
    ['vercel_ai_gateway', null, '', 'https://ai-gateway.vercel.sh', '/v1', 'authorization'],
    ['minimax', 'https://h/', '', 'https://h', '/v1', 'authorization'],
    ['hosted_vllm', 'http://h:8000', '', 'http://h:8000', '/v1', 'authorization'],
    ['lm_studio', 'http://h:1234/v1', '', 'http://h:1234', '/v1', 'authorization'],
    ['ollama', null, '', 'http://localhost:11434', '/v1', 'authorization'],
    ['ollama_chat', 'http://h:1/', '', 'http://h:1', '/v1', 'authorization'],
    [
      'azure',
      'https://r.openai.azure.com/',
      '2024-10-21',
      'https://r.openai.azure.com',
      '/openai',
      'api-key',
    ],
    ['azure', 'https://r.openai.azure.com', 'preview', 'https://r.openai.azure.com', '/openai/v1', 'api-key'],
    [
      'azure',
      'https://r.openai.azure.com/openai/v1/',
      '',
      'https://r.openai.azure.com',
      '/openai/v1',
      'api-key',
    ],
  ] as const;
  for (const [prefix, stated, version, origin, pathPrefix, header] of cases) {
    const kind = kindOf(prefix);
    const check = baseOf(stated ?? kind.known.base ?? '', kind, version);
    t.match(check, { ok: true, base: { origin, pathPrefix } }, `${prefix} ${stated ?? ''}`);
    t.equal(kind.credentialHeader, header, prefix);
  }
  t.match(baseOf('https://r.openai.azure.com/openai/deployments/x', kindOf('azure'), ''), {
    ok: false,
    instead: 'https://r.openai.azure.com',
  });
});

t.test('where the model stands in the path', async (t) => {
  const azure = { pathPrefix: '/openai', modelInPath: true };
  t.equal(upstreamPath(azure, 'chat/completions', 'a b/c'), '/openai/deployments/a%20b%2Fc/chat/completions');
  t.equal(upstreamPath(azure, 'responses', 'a'), '/openai/responses');
  t.equal(upstreamPath(azure, 'responses/id/cancel', 'a'), '/openai/responses/id/cancel');
  t.equal(upstreamPath({ pathPrefix: '/v1', modelInPath: false }, 'messages', 'a'), '/v1/messages');
  t.equal(ownPath({ ...azure, upstreamQuery: 'api-version=1' }, 'models'), '/openai/models?api-version=1');
});

t.test('an api_base that does not fit is told the one that does', async (t) => {
  const cases = [
    [proxyKind, 'https://h.example.com/v1', 'https://h.example.com'],
    [proxyKind, 'https://h.example.com/v1/v1///', 'https://h.example.com'],
    [compatKind, 'https://h.example.com', 'https://h.example.com/v1'],
    [compatKind, 'https://h.example.com/v10a/../x', 'https://h.example.com/x/v1'],
    [compatKind, 'https://v1.example.com/', 'https://v1.example.com/v1'],
    [compatKind, 'https://h.example.com/inference', 'https://h.example.com/inference/v1'],
    [compatKind, 'https://h.example.com/vendor/v', 'https://h.example.com/vendor/v/v1'],
    [compatKind, 'https://models.github.ai', 'https://models.github.ai/v1'],
    [compatKind, 'https://api.githubcopilot.com.example.com', 'https://api.githubcopilot.com.example.com/v1'],
    [compatKind, 'https://h.example.com/v1/models', 'https://h.example.com/v1'],
    [proxyKind, 'https://h.example.com/chat/completions', 'https://h.example.com'],
    [proxyKind, 'https://u:sk-p@h.example.com/x', 'https://h.example.com/x'],
    [compatKind, 'https://h.example.com/v1?', 'https://h.example.com/v1'],
    [proxyKind, 'ftp://h.example.com', null],
    [proxyKind, 'h.example.com', null],
    [proxyKind, '', null],
    [proxyKind, 'https://', null],
  ] as const;
  for (const [kind, text, instead] of cases) {
    const check = baseOf(text, kind);
    t.match(check, { ok: false, instead }, text);
    t.notMatch(JSON.stringify(check), /sk-p/);
    if (instead !== null) t.ok(baseOf(instead, kind).ok, `${instead} is right`);
  }
});
