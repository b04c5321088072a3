// Settings of an entry that Anthropic would refuse a call for beside what its client states: a model that thinks takes no sampling, and
// one with a budget of thoughts cannot be forced to call a tool (platform.claude.com/docs/en/build-with-claude/extended-thinking).
import { asObject, type Json } from '../../../bodies/json.ts';

const SAMPLING = ['temperature', 'top_p'] as const;
const THINKING = ['thinking'] as const;
const NONE: readonly string[] = Object.freeze([]);

/** Models that think take a `top_p` from here on. */
const LEAST_TOP_P = 0.95;

/** Names of `settings`, in the words of messages, that give way. @param said the value of a member of the client's */
export function clashing(settings: Json, said: (member: string) => unknown): readonly string[] {
  if (kindOfThought(said('thinking')) !== null) return SAMPLING;
  const kind = kindOfThought(settings['thinking']);
  if (kind === null) return NONE;
  return samples(said) || (kind === 'enabled' && isForced(said('tool_choice'))) ? THINKING : NONE;
}

function kindOfThought(thinking: unknown): 'enabled' | 'adaptive' | null {
  const type = asObject(thinking)?.['type'];
  return type === 'enabled' || type === 'adaptive' ? type : null;
}

/** A temperature of 1 says nothing. */
function samples(said: (member: string) => unknown): boolean {
  const [temperature, topP, topK] = [said('temperature'), said('top_p'), said('top_k')];
  return (
    (typeof temperature === 'number' && temperature !== 1) ||
    (typeof topP === 'number' && topP < LEAST_TOP_P) ||
    typeof topK === 'number'
  );
}

function isForced(choice: unknown): boolean {
  const type = asObject(choice)?.['type'];
  return type === 'any' || type === 'tool';
}
