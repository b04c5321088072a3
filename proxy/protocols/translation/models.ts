// What the name of a model tells about the members that it takes. Protocols differ between generations of models, and a
// request states nothing else.

const GEMINI = /(?:^|\/)gemini-(\d+)/i;
const CLAUDE = /claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?=$|[^\d])/i;
/** `max_tokens` is refused by these (platform.openai.com/docs/guides/reasoning). */
const OPENAI_REASONING = /(?:^|\/)(?:o\d|gpt-[5-9])/i;

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

export function isOpenAiReasoning(model: string): boolean {
  return OPENAI_REASONING.test(model);
}
