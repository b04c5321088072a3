// Providers of LiteLLM with an OpenAI-compatible API that are no kind of upstream of their own here (resolve/kinds/): their
// entries become openai/ ones, at the addresses that LiteLLM itself uses. Everything else stays behind a gateway.

/** An API that takes OpenAI's requests as they are. */
interface CompatibleApi {
  /** null = every installation has its own. */
  readonly base: string | null;
  /** The environment variable that LiteLLM reads the key from; null = none. */
  readonly key: string | null;
}

/** Prefixes of `litellm_params.model`. */
export const COMPATIBLE: Readonly<Record<string, CompatibleApi>> = Object.freeze({
  custom_openai: { base: null, key: null },
  llamafile: { base: null, key: null },
  openai_like: { base: null, key: null },
  'text-completion-openai': { base: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY' },
  vllm: { base: null, key: null },
});

export const OPENAI: CompatibleApi = { base: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY' };
