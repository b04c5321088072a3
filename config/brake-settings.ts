// What the runaway brake is configured with, in the server's units.

/** What a rule leads to, mildest first. */
export const BRAKE_LEVELS = ['note', 'header', 'alert', 'slow', 'stop'] as const;
export type BrakeLevel = (typeof BRAKE_LEVELS)[number];

/** The rules in the order in which they are reported. docs/brake.md explains each. */
export const BRAKE_RULES = [
  'repeated_step',
  'repeated_error',
  'repeated_call',
  'alternation',
  'repeated_prompt',
  'repeated_request',
  'repeated_start',
  'new_agents',
  'tool_errors',
  'call_errors',
  'call_rate',
  'cost_rate',
  'compaction',
  'context_growth',
] as const;
export type BrakeRule = (typeof BRAKE_RULES)[number];

/** From which count on a rule leads to each level; Infinity = never. */
export type BrakeThresholds = Readonly<Record<BrakeLevel, number>>;

export interface BrakeSettings {
  /** Whether `slow` and `stop` are carried out; else they are noted only. */
  readonly enforces: boolean;
  readonly slowMs: number;
  readonly maxConversations: number;
  /** A conversation without calls is forgotten after so long. */
  readonly idleMs: number;
  /** Names of tools, with `*` at the end for any text. */
  readonly exemptTools: readonly string[];
  /** Members of a tool's input that do not tell one call from another. */
  readonly ignoredArguments: ReadonlySet<string>;
  /** What takes so long between an answer and the next request is waiting, and no repetition; Infinity: nothing is. */
  readonly pollingMs: number;
  /** A minute is too fast, or too dear, from so many times the conversation's median minute on. */
  readonly rateFactor: number;
  /** A minute with fewer for each agent at work never is. */
  readonly minCallsPerMinute: number;
  readonly minPicoPerMinute: number;
  readonly rules: Readonly<Record<BrakeRule, BrakeThresholds>>;
}
