// The settings document of V1 plain members, two parts that patches change, LLM profiles. Pure.
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

/** The LLM of the agent settings; {} when there is none. */
export function agentLlm(settings: SettingsV1): Tree {
  const llm = own(settings.agent, 'llm');
  return isTree(llm) ? llm : {};
}
