// Thinking of Claude models: an effort for newer ones, a budget below `max_tokens` for older ones, and when neither may be
// asked for (platform.claude.com/docs/en/build-with-claude/extended-thinking).
import type { Json } from '../../../bodies/json.ts';
import type { Target } from '../dialect.ts';
import { budgetOfLevel, levelOf } from '../effort.ts';
import type { Effort, Settings } from '../form.ts';
import { hasAdaptiveThinking } from '../models.ts';
import type { MergedTurn } from '../turns.ts';

const LEAST_BUDGET = 1024;

/**
 * null: the model does not think.
 * @param isForced the model must call a tool, which rules thinking out
 */
export function writeThinking(
  { effort }: Settings,
  turns: readonly MergedTurn[],
  maxTokens: number,
  isForced: boolean,
  { model, losses }: Target,
): Json | null {
  if (effort === undefined) return null;
  const written = hasAdaptiveThinking(model)
    ? adaptive(effort.value)
    : budgeted(effort.value, maxTokens, turns);
  if (written === null) {
    if (asksFor(effort.value)) losses.drop(effort.member);
    return null;
  }
  if (!isForced) return written;
  losses.drop(effort.member);
  return null;
}

function asksFor(effort: Effort): boolean {
  return effort.kind !== 'off' && !(effort.kind === 'level' && effort.level === 'none');
}

function adaptive(effort: Effort): Json | null {
  if (!asksFor(effort)) return null;
  const level = levelOf(effort);
  const word = level === 'minimal' ? 'low' : level;
  return { thinking: { type: 'adaptive' }, ...(word === null ? {} : { output_config: { effort: word } }) };
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
