// The providers of LiteLLM that a configuration of this proxy can reach: those with an OpenAI-compatible API, at the
// addresses that LiteLLM itself uses. Everything else stays behind a gateway.

/** An API that takes OpenAI's requests as they are. */
interface CompatibleApi {
  /** null = every installation has its own. */
  readonly base: string | null;
  /** The environment variable that LiteLLM reads the key from; null = none. */
  readonly key: string | null;
}

/** Prefixes of `litellm_params.model`. */
export const COMPATIBLE: Readonly<Record<string, CompatibleApi>> = Object.freeze({
  cerebras: { base: 'https://api.cerebras.ai/v1', key: 'CEREBRAS_API_KEY' },
  custom_openai: { base: null, key: null },
  deepinfra: { base: 'https://api.deepinfra.com/v1/openai', key: 'DEEPINFRA_API_KEY' },
  deepseek: { base: 'https://api.deepseek.com/v1', key: 'DEEPSEEK_API_KEY' },
  fireworks_ai: { base: 'https://api.fireworks.ai/inference/v1', key: 'FIREWORKS_AI_API_KEY' },
  gemini: { base: 'https://generativelanguage.googleapis.com/v1beta/openai', key: 'GEMINI_API_KEY' },
  groq: { base: 'https://api.groq.com/openai/v1', key: 'GROQ_API_KEY' },
  hosted_vllm: { base: null, key: null },
  litellm_proxy: { base: null, key: null },
  llamafile: { base: null, key: null },
  lm_studio: { base: null, key: null },
  mistral: { base: 'https://api.mistral.ai/v1', key: 'MISTRAL_API_KEY' },
  nvidia_nim: { base: 'https://integrate.api.nvidia.com/v1', key: 'NVIDIA_NIM_API_KEY' },
  ollama: { base: 'http://localhost:11434/v1', key: null },
  ollama_chat: { base: 'http://localhost:11434/v1', key: null },
  openai_like: { base: null, key: null },
  openrouter: { base: 'https://openrouter.ai/api/v1', key: 'OPENROUTER_API_KEY' },
  sambanova: { base: 'https://api.sambanova.ai/v1', key: 'SAMBANOVA_API_KEY' },
  'text-completion-openai': { base: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY' },
  together_ai: { base: 'https://api.together.xyz/v1', key: 'TOGETHERAI_API_KEY' },
  vllm: { base: null, key: null },
  xai: { base: 'https://api.x.ai/v1', key: 'XAI_API_KEY' },
});

/** Names without a prefix that LiteLLM takes for OpenAI's. */
const OPENAI_NAME =
  /^(?:gpt-|chatgpt-|o[134](?:-|$)|text-embedding-|dall-e|tts-|whisper|davinci|babbage|omni-moderation|text-moderation|ft:)/;

export const OPENAI: CompatibleApi = { base: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY' };
export const isOpenAiName = (model: string): boolean => OPENAI_NAME.test(model);
