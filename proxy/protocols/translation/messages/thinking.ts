// Thinking of Claude models: an effort for newer ones, a budget below `max_tokens` for older ones, and when neither may be
// asked for (platform.claude.com/docs/en/build-with-claude/extended-thinking).
import type { Json } from '../../../bodies/json.ts';
import type { Target } from '../dialect.ts';
import { budgetOfLevel, levelOf } from '../effort.ts';
import type { Conversation, Effort, EffortLevel } from '../form.ts';
import { hasAdaptiveThinking, isClaude47, thinksUnasked } from '../models.ts';
import type { MergedTurn } from '../turns.ts';

/** Tokens that a budget of thoughts has at least. */
export const LEAST_BUDGET = 1024;

/**
 * null: there is nothing to state.
 * @param isForced the model must call a tool, which rules a budget out
 */
export function writeThinking(
  { settings, showThoughts }: Conversation,
  turns: readonly MergedTurn[],
  maxTokens: number,
  isForced: boolean,
  { model, losses }: Target,
): Json | null {
  const { effort } = settings;
  if (effort === undefined) return null;
  const written = hasAdaptiveThinking(model)
    ? adaptive(effort.value, showThoughts, model)
    : budgeted(effort.value, isForced ? 0 : maxTokens, turns);
  if (written === null && asksFor(effort.value)) losses.drop(effort.member);
  return written;
}

function asksFor(effort: Effort): boolean {
  return effort.kind !== 'off' && !(effort.kind === 'level' && effort.level === 'none');
}

function adaptive(effort: Effort, showThoughts: boolean | null, model: string): Json | null {
  if (!asksFor(effort)) return unasked(model);
  const shown = showThoughts !== false && isClaude47(model) ? { display: 'summarized' } : {};
  const word = wordOf(levelOf(effort), model);
  return {
    thinking: { type: 'adaptive', ...shown },
    ...(word === null ? {} : { output_config: { effort: word } }),
  };
}

function wordOf(level: EffortLevel | null, model: string): string | null {
  if (level === 'minimal') return 'low';
  return level === 'xhigh' && !isClaude47(model) ? 'max' : level;
}

/** What comes closest to no thought. */
function unasked(model: string): Json | null {
  switch (thinksUnasked(model)) {
    case 'always':
      return { output_config: { effort: 'low' } };
    case 'may be off':
      return { thinking: { type: 'disabled' } };
    case null:
      return null;
  }
}

function budgeted(effort: Effort, maxTokens: number, turns: readonly MergedTurn[]): Json | null {
  if (!asksFor(effort) || maxTokens <= LEAST_BUDGET || lacksThoughts(turns)) return null;
  const level = levelOf(effort) ?? 'medium';
  const wanted = effort.kind === 'budget' ? effort.tokens : budgetOfLevel(level);
  const budget = Math.min(Math.max(wanted, LEAST_BUDGET), maxTokens - 1);
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

/** A loop of tools that began without thoughts cannot go on with them: "expected thinking, found tool_use". */
function lacksThoughts(turns: readonly MergedTurn[]): boolean {
  const last = turns.findLast(({ role }) => role === 'assistant');
  if (last === undefined || !last.parts.some(({ kind }) => kind === 'call')) return false;
  return last.parts[0]?.kind !== 'thinking';
}
