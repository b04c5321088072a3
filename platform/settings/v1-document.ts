// The settings document of V1 and how one becomes the next: plain members, two deep-merged parts, LLM profiles. Pure.
import { isTree, own } from './secrets.ts';

type Tree = Readonly<Record<string, unknown>>;

/** What is stored for one user. */
export interface SettingsV1 {
  /** Plain members, as they were set. */
  readonly top: Tree;
  readonly agent: Tree;
  readonly conversation: Tree;
  /** LLM configurations by profile name, in the order in which they were made. */
  readonly profiles: Readonly<Record<string, Tree>>;
  readonly active: string | null;
}

export const NO_SETTINGS: SettingsV1 = { top: {}, agent: {}, conversation: {}, profiles: {}, active: null };

/** Objects are merged member by member; anything else replaces. Only members of the objects themselves count. */
export function deepMerged(old: Tree, diff: Tree): Tree {
  const next = new Map(Object.entries(old));
  for (const [key, value] of Object.entries(diff)) {
    const before = next.get(key);
    next.set(key, isTree(value) && isTree(before) ? deepMerged(before, value) : value);
  }
  return Object.fromEntries(next);
}

/** The LLM of the agent settings; {} when there is none. */
export function agentLlm(settings: SettingsV1): Tree {
  const llm = own(settings.agent, 'llm');
  return isTree(llm) ? llm : {};
}
