// Names without a prefix: LiteLLM knows whose they are from lists of its registry, and new ones by these beginnings.

/** Whose a name is, as far as it is known. */
type BareVendor = 'openai' | 'anthropic';

const OPENAI =
  /^(?:gpt-\d|gpt-(?:image|audio|realtime|oss)|chatgpt-|o[134](?:-|$)|codex-mini|computer-use-preview|text-embedding-(?:3-|ada-)|dall-e-|tts-1|whisper-1|davinci-002|babbage-002|omni-moderation|text-moderation|ft:(?:gpt-|davinci-|babbage-))/;
const ANTHROPIC = /^claude-(?:\d|opus-|sonnet-|haiku-|instant-)/;

/** For readers of other languages: the same as regular expressions of RE2. */
export const BARE_NAMES: Readonly<Record<BareVendor, string>> = {
  openai: OPENAI.source,
  anthropic: ANTHROPIC.source,
};

/** null = nobody's that is known. */
export function bareVendorOf(model: string): BareVendor | null {
  if (/[/*\s]/.test(model)) return null;
  if (OPENAI.test(model)) return 'openai';
  return ANTHROPIC.test(model) ? 'anthropic' : null;
}
