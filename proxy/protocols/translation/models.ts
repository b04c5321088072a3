// What the name of a model tells about the members that it takes. Protocols differ between generations of models, and a
// request states nothing else.
import type { EffortLevel } from './form.ts';

const GEMINI = /(?:^|\/)gemini-(\d+)/i;
/** Names without a version stand for the newest one, which has been the third generation since 2026. */
const NEWEST_GEMINI = /(?:^|\/)gemini-(?:pro|flash)(?:-lite)?-latest$/i;
/** Some gateways write `claude-35-sonnet`, `claude-opus-41`; a date (`-20250514`) or a window (`-64k`) is no part of the version. */
const CLAUDE = /claude-(?:[a-z]+-)?(\d)(?:[-.]?(\d{1,2})(?![\da-z]))?(?!\d)/i;
/** `max_tokens` is refused by these (platform.openai.com/docs/guides/reasoning). */
const OPENAI_REASONING = /(?:^|\/)(?:o\d|gpt-[5-9])/i;
const GPT = /(?:^|\/)gpt-(\d+)(?:\.(\d+))?(?!\d)(.*)/i;
const OPENAI = /(?:^|\/)(?:o\d|gpt-|chatgpt-|codex-)/i;

/** Google's, by whatever name a gateway lists it. */
export function isGemini(model: string): boolean {
  return /gemini/i.test(model);
}

/** Thinks by `thinkingLevel` and wants its signatures back (ai.google.dev/gemini-api/docs/thought-signatures). */
export function isGemini3(model: string): boolean {
  const version = GEMINI.exec(model)?.[1];
  return version === undefined ? NEWEST_GEMINI.test(model) : Number(version) >= 3;
}

/** Tokens to think that a Gemini takes. `off`: what comes closest to no thought. */
interface ThinkingBudgets {
  readonly off: number;
  readonly least: number;
  readonly most: number;
}

/** Others get 400. 2.5 Pro cannot be stopped from thinking (ai.google.dev/gemini-api/docs/thinking#set-budget). */
export function geminiBudgets(model: string): ThinkingBudgets {
  if (/gemini-2\.5-pro/i.test(model)) return { off: 128, least: 128, most: 32_768 };
  return { off: 0, least: /gemini-2\.5-flash-lite/i.test(model) ? 512 : 0, most: 24_576 };
}

/** Claude of this version or a later one. */
function isClaudeSince(model: string, major: number, minor: number): boolean {
  const found = CLAUDE.exec(model);
  if (found === null) return false;
  const version = Number(found[1]);
  return version > major || (version === major && Number(found[2] ?? 0) >= minor);
}

/** Thinks by `effort` instead of a budget: Claude 4.6 and later. */
export function hasAdaptiveThinking(model: string): boolean {
  return isClaudeSince(model, 4, 6);
}

/**
 * From Claude 4.7 on `temperature`, `top_p` and `top_k` are refused (takesSampling), the effort `xhigh` is known, and thoughts are shown only where they are
 * asked for (platform.claude.com/docs/en/about-claude/models/migration-guide).
 */
export function isClaude47(model: string): boolean {
  return isClaudeSince(model, 4, 7);
}

/** Thinks unless it is told not to: Claude 5. Some of them always do (platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5). */
export function thinksUnasked(model: string): 'may be off' | 'always' | null {
  if (!isClaudeSince(model, 5, 0)) return null;
  return isClaudeSince(model, 5, 1) || /fable|mythos/i.test(model) ? 'always' : 'may be off';
}

/** Refuses a `tool_choice` that forces a call: Fable, Mythos, Opus 5.5, Sonnet 5.5. */
export function refusesForcedTools(model: string): boolean {
  return /claude-(?:fable|mythos)/i.test(model) || (/opus|sonnet/i.test(model) && isClaudeSince(model, 5, 5));
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

/**
 * Takes `temperature`, `top_p` and penalties: neither Claude from 4.7 on nor OpenAI's models while they think. GPT-5.1 to 5.4 do not
 * think unless they are told to, later ones do unless they are told not to (developers.openai.com/api/docs/guides/latest-model).
 * @param effort what goes upstream; null: nothing
 */
export function takesSampling(model: string, effort: EffortLevel | null): boolean {
  if (isClaude47(model)) return false;
  if (!isOpenAiReasoning(model)) return true;
  const [, major = '', minor = '0', rest = ''] = GPT.exec(model) ?? [];
  if (/^-chat\b/i.test(rest)) return true;
  if (major === '' || /codex|pro\b/i.test(rest) || Number(major) * 100 + Number(minor) <= 500) return false;
  return effort === 'none' || (effort === null && major === '5' && Number(minor) <= 4);
}
