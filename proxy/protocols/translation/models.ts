// What the name of a model tells about the members that it takes. Protocols differ between generations of models, and a
// request states nothing else.

const GEMINI = /(?:^|\/)gemini-(\d+)/i;
const CLAUDE = /claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?=$|[^\d])/i;
/** `max_tokens` is refused by these (platform.openai.com/docs/guides/reasoning). */
const OPENAI_REASONING = /(?:^|\/)(?:o\d|gpt-[5-9])/i;
const OPENAI = /(?:^|\/)(?:o\d|gpt-|chatgpt-|codex-)/i;

/** Thinks by `thinkingLevel` and wants its signatures back (ai.google.dev/gemini-api/docs/thought-signatures). */
export function isGemini3(model: string): boolean {
  const version = GEMINI.exec(model)?.[1];
  return version !== undefined && Number(version) >= 3;
}

/** Thinks by `effort` instead of a budget: Claude 4.6 and later. */
export function hasAdaptiveThinking(model: string): boolean {
  const found = CLAUDE.exec(model);
  if (found === null) return false;
  const [major, minor] = [Number(found[1]), Number(found[2] ?? 0)];
  return major > 4 || (major === 4 && minor >= 6);
}

/** Writes JSON by a schema: Opus 4.1, Claude 4.5 and later. What is not named Claude is taken to. */
export function hasStructuredOutput(model: string): boolean {
  const found = CLAUDE.exec(model);
  if (found === null) return true;
  const [major, minor] = [Number(found[1]), Number(found[2] ?? 0)];
  return major > 4 || (major === 4 && minor >= (/opus/i.test(model) ? 1 : 5));
}

/** Anthropic's, by whatever name a gateway lists it. */
export function isClaude(model: string): boolean {
  return /claude/i.test(model);
}

/** OpenAI's own, which take members that other servers refuse. */
export function isOpenAi(model: string): boolean {
  return OPENAI.test(model);
}

/** OpenAI's that think: they refuse `max_tokens`. */
export function isOpenAiReasoning(model: string): boolean {
  return OPENAI_REASONING.test(model);
}
