// The kinds of upstream by their names, and the headers that take their keys; resolve/kinds/ has the rules of each.

/** Vendors that the files of the dialect name by a prefix of their own. */
export type VendorName =
  | 'anthropic'
  | 'azure'
  | 'gemini'
  | 'openrouter'
  | 'mistral'
  | 'groq'
  | 'deepseek'
  | 'together_ai'
  | 'fireworks_ai'
  | 'xai'
  | 'cerebras'
  | 'perplexity'
  | 'nvidia_nim'
  | 'github'
  | 'moonshot'
  | 'zai'
  | 'dashscope'
  | 'minimax'
  | 'deepinfra'
  | 'sambanova'
  | 'nebius'
  | 'novita'
  | 'volcengine'
  | 'friendliai'
  | 'vercel_ai_gateway'
  | 'hosted_vllm'
  | 'lm_studio'
  | 'ollama'
  | 'ollama_chat';

export type KindName = 'proxy' | 'compat' | VendorName;

/** The header in which an upstream reads its key. */
export type CredentialHeader = 'authorization' | 'x-api-key' | 'api-key' | 'x-goog-api-key';
