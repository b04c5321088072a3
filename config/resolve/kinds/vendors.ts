// Vendors and servers with an OpenAI-compatible API: they differ by data alone. Addresses, variables and quirks are those of
// LiteLLM (get_llm_provider_logic.py and llms/), whose files name them.
import { NOWHERE, USUAL, type Kind, type PathCheck } from './kind.ts';
import type { VendorName } from '../../kind-names.ts';

type Address = readonly [
  base: string | null,
  baseVariables: readonly string[],
  keyVariables: readonly string[],
];

interface Differences {
  /** null = not stated. */
  readonly serves: readonly string[] | null;
  /** `as it is`: endpoints are appended to api_base; `with /v1`: /v1 is added where it is missing. */
  readonly path: 'as it is' | 'with /v1';
  readonly needsKey?: false;
  readonly refusedMembers?: readonly string[];
  readonly namesToolsAlone?: boolean;
  readonly upstreamName?: (name: string) => string;
}

/** Appends /v1 unless the path has a version. */
export function withV1(basePath: string): PathCheck {
  return { ok: true, pathPrefix: /\/v\d[a-z0-9]*$/.test(basePath) ? basePath : `${basePath}/v1` };
}

function vendor(
  name: VendorName,
  [base, baseVariables, keyVariables]: Address,
  {
    serves,
    path,
    needsKey,
    refusedMembers = [],
    namesToolsAlone = false,
    upstreamName = USUAL.upstreamName,
  }: Differences,
): Kind {
  return Object.freeze({
    ...USUAL,
    name,
    serves: serves === null ? null : new Set(serves),
    refusedMembers,
    namesToolsAlone,
    upstreamName,
    known: { ...NOWHERE, base, baseVariables, keyVariables, needsKey: needsKey !== false },
    prefix: () => name,
    pathPrefix: (basePath: string): PathCheck =>
      path === 'with /v1' ? withV1(basePath) : { ok: true, pathPrefix: basePath },
    rule: () => `${name}/NAME`,
  });
}

/** What LiteLLM makes of a short name (llms/fireworks_ai/common_utils.py); `#` names a deployment, `FW-` a model in Azure. */
function fireworksName(name: string): string {
  if (/^accounts\/|^FW-|[#*]/.test(name)) return name;
  if (/^(?:routers|models)\//.test(name)) return `accounts/fireworks/${name}`;
  const isRouter = /-fast$|^(?:auto|auto-instant|firerouter)$|^firerouter\//.test(name);
  return `accounts/fireworks/${isRouter ? 'routers' : 'models'}/${name}`;
}

export const VENDORS: readonly Kind[] = Object.freeze([
  vendor(
    'openrouter',
    ['https://openrouter.ai/api/v1', ['OPENROUTER_API_BASE'], ['OPENROUTER_API_KEY', 'OR_API_KEY']],
    { serves: ['chat', 'completions', 'responses', 'embeddings'], path: 'as it is' },
  ),
  vendor('mistral', ['https://api.mistral.ai/v1', ['MISTRAL_API_BASE'], ['MISTRAL_API_KEY']], {
    serves: ['chat', 'embeddings', 'moderations', 'audio'],
    path: 'with /v1',
    refusedMembers: ['stream_options'], // its streams always state the usage
    namesToolsAlone: true,
  }),
  vendor('groq', ['https://api.groq.com/openai/v1', ['GROQ_API_BASE'], ['GROQ_API_KEY']], {
    serves: ['chat', 'responses', 'audio'],
    path: 'as it is',
  }),
  vendor('deepseek', ['https://api.deepseek.com/beta', ['DEEPSEEK_API_BASE'], ['DEEPSEEK_API_KEY']], {
    serves: ['chat', 'completions'],
    path: 'as it is',
  }),
  vendor(
    'together_ai',
    [
      'https://api.together.ai/v1',
      ['TOGETHER_AI_API_BASE'],
      ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY', 'TOGETHERAI_API_KEY', 'TOGETHER_AI_TOKEN'],
    ],
    { serves: ['chat', 'completions', 'embeddings', 'images', 'rerank'], path: 'as it is' },
  ),
  vendor(
    'fireworks_ai',
    [
      'https://api.fireworks.ai/inference/v1',
      ['FIREWORKS_API_BASE'],
      ['FIREWORKS_API_KEY', 'FIREWORKS_AI_API_KEY', 'FIREWORKSAI_API_KEY', 'FIREWORKS_AI_TOKEN'],
    ],
    {
      serves: ['chat', 'completions', 'embeddings', 'rerank'],
      path: 'as it is',
      upstreamName: fireworksName,
    },
  ),
  vendor('xai', ['https://api.x.ai/v1', ['XAI_API_BASE'], ['XAI_API_KEY']], {
    serves: ['chat', 'responses', 'images'],
    path: 'as it is',
  }),
  vendor('cerebras', ['https://api.cerebras.ai/v1', ['CEREBRAS_API_BASE'], ['CEREBRAS_API_KEY']], {
    serves: ['chat', 'completions'],
    path: 'as it is',
  }),
  vendor(
    'perplexity',
    ['https://api.perplexity.ai', ['PERPLEXITY_API_BASE'], ['PERPLEXITYAI_API_KEY', 'PERPLEXITY_API_KEY']],
    { serves: ['chat'], path: 'as it is', refusedMembers: ['stream_options'] }, // likewise
  ),
  vendor(
    'nvidia_nim',
    ['https://integrate.api.nvidia.com/v1', ['NVIDIA_NIM_API_BASE'], ['NVIDIA_NIM_API_KEY']],
    { serves: ['chat', 'embeddings'], path: 'as it is' },
  ),
  vendor('github', ['https://models.inference.ai.azure.com', ['GITHUB_API_BASE'], ['GITHUB_API_KEY']], {
    serves: ['chat', 'embeddings'],
    path: 'as it is',
  }),
  vendor('moonshot', ['https://api.moonshot.ai/v1', ['MOONSHOT_API_BASE'], ['MOONSHOT_API_KEY']], {
    serves: ['chat'],
    path: 'as it is',
  }),
  vendor('zai', ['https://api.z.ai/api/paas/v4', ['ZAI_API_BASE'], ['ZAI_API_KEY']], {
    serves: ['chat'],
    path: 'as it is',
  }),
  vendor(
    'dashscope',
    ['https://dashscope.aliyuncs.com/compatible-mode/v1', ['DASHSCOPE_API_BASE'], ['DASHSCOPE_API_KEY']],
    { serves: ['chat', 'embeddings'], path: 'as it is' },
  ),
  vendor('minimax', ['https://api.minimax.io/v1', ['MINIMAX_API_BASE'], ['MINIMAX_API_KEY']], {
    serves: ['chat'],
    path: 'with /v1',
  }),
  vendor(
    'deepinfra',
    ['https://api.deepinfra.com/v1/openai', ['DEEPINFRA_API_BASE'], ['DEEPINFRA_API_KEY']],
    { serves: ['chat', 'completions', 'embeddings'], path: 'as it is' },
  ),
  vendor('sambanova', ['https://api.sambanova.ai/v1', ['SAMBANOVA_API_BASE'], ['SAMBANOVA_API_KEY']], {
    serves: ['chat', 'embeddings'],
    path: 'as it is',
  }),
  vendor('nebius', ['https://api.studio.nebius.ai/v1', ['NEBIUS_API_BASE'], ['NEBIUS_API_KEY']], {
    serves: ['chat', 'completions', 'embeddings'],
    path: 'as it is',
  }),
  vendor('novita', ['https://api.novita.ai/v3/openai', ['NOVITA_API_BASE'], ['NOVITA_API_KEY']], {
    serves: ['chat'],
    path: 'as it is',
  }),
  vendor(
    'volcengine',
    ['https://ark.cn-beijing.volces.com/api/v3', ['VOLCENGINE_API_BASE'], ['VOLCENGINE_API_KEY']],
    { serves: ['chat', 'responses', 'embeddings'], path: 'as it is' },
  ),
  vendor(
    'friendliai',
    [
      'https://api.friendli.ai/serverless/v1',
      ['FRIENDLI_API_BASE'],
      ['FRIENDLIAI_API_KEY', 'FRIENDLI_TOKEN'],
    ],
    { serves: ['chat'], path: 'as it is' },
  ),
  vendor(
    'vercel_ai_gateway',
    [
      'https://ai-gateway.vercel.sh/v1',
      ['VERCEL_AI_GATEWAY_API_BASE'],
      ['VERCEL_AI_GATEWAY_API_KEY', 'VERCEL_OIDC_TOKEN'],
    ],
    { serves: ['chat', 'embeddings'], path: 'as it is' },
  ),
  vendor('hosted_vllm', [null, ['HOSTED_VLLM_API_BASE'], ['HOSTED_VLLM_API_KEY']], {
    serves: null, // depends on its version and on the model
    path: 'with /v1',
    needsKey: false,
  }),
  vendor('lm_studio', [null, ['LM_STUDIO_API_BASE'], ['LM_STUDIO_API_KEY']], {
    serves: null,
    path: 'with /v1',
    needsKey: false,
  }),
  // By its OpenAI-compatible API (docs.ollama.com/api/openai-compatibility), not by /api/generate.
  vendor('ollama', ['http://localhost:11434', ['OLLAMA_API_BASE'], ['OLLAMA_API_KEY']], {
    serves: null,
    path: 'with /v1',
    needsKey: false,
  }),
  vendor('ollama_chat', ['http://localhost:11434', ['OLLAMA_API_BASE'], ['OLLAMA_API_KEY']], {
    serves: null,
    path: 'with /v1',
    needsKey: false,
  }),
]);
