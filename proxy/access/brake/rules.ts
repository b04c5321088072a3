// The rules of the brake in words: what was seen so often, for rows, errors, alerts and the page of a conversation.
import {
  BRAKE_LEVELS,
  BRAKE_RULES,
  type BrakeLevel,
  type BrakeRule,
  type BrakeSettings,
} from '../../../config/brake-settings.ts';
import { usd } from '../../spend/record/cost.ts';
import type { FastMinute } from './pace.ts';

/** A rule that a request has reached. */
export interface Finding {
  readonly rule: BrakeRule;
  readonly count: number;
  /** The hardest that it leads to. */
  readonly level: BrakeLevel;
  /** From which count on it leads there. */
  readonly from: number;
  /** Of `call_rate` (calls) and `cost_rate` (pico-dollars). */
  readonly fast: FastMinute | null;
}

type What = Pick<Finding, 'rule' | 'count' | 'fast'>;

const figures = (fast: FastMinute | null, show: (amount: number) => string): string =>
  fast === null ? '' : `: ${show(fast.amount)} in the last of them, usual are ${show(fast.usual)}`;

const WORDS: Readonly<Record<BrakeRule, (count: number, fast: FastMinute | null) => string>> = {
  repeated_step: (n) =>
    `the same tool call gave the same result at least ${n} times within its last 20 tool calls`,
  repeated_error: (n) =>
    `the same tool call failed with the same kind of error at least ${n} times within its last 20 tool calls`,
  repeated_call: (n) => `the same tool call was made ${n} times within its last 20 tool calls`,
  alternation: (n) => `its last ${n} tool calls repeat each other in turn, with the same results`,
  repeated_prompt: (n) => `${n} of its last 20 prompts end in the same way`,
  repeated_request: (n) => `the same request came ${n} times in a row without success`,
  repeated_start: (n) => `it has begun ${n} times within an hour with the same request`,
  new_agents: (n) => `${n} agents have begun to work in it within an hour`,
  tool_errors: (n) => `its last ${n} tool calls failed with one kind of error`,
  call_errors: (n) => `its last ${n} LLM calls failed with one kind of error`,
  call_rate: (n, fast) =>
    `it has called far more often than is usual for it, for ${n} minutes in a row${figures(fast, (calls) => `${calls} calls`)}`,
  cost_rate: (n, fast) =>
    `it has cost far more than is usual for it, for ${n} minutes in a row${figures(fast, (pico) => `$${usd(pico)}`)}`,
  compaction: (n) => `its prompt shrank to less than half ${n} times within 15 minutes`,
  context_growth: (n) => `its prompt has grown with each of its last ${n} calls`,
};

const NONE: readonly Finding[] = Object.freeze([]);

/** What was seen, as the end of a sentence. */
export const wordsOf = ({ rule, count, fast }: What): string => WORDS[rule](count, fast);

/** The rules that are reached, in the order of the table. */
export function findingsOf(
  settings: BrakeSettings,
  count: (rule: BrakeRule) => number,
  fastOf: (rule: BrakeRule) => FastMinute | null,
): readonly Finding[] {
  const findings: Finding[] = [];
  for (const rule of BRAKE_RULES) {
    const thresholds = settings.rules[rule];
    const counted = count(rule);
    if (counted === 0) continue;
    const level = BRAKE_LEVELS.findLast((one) => counted >= thresholds[one]);
    if (level === undefined) continue;
    findings.push({ rule, count: counted, level, from: thresholds[level], fast: fastOf(rule) });
  }
  return findings.length === 0 ? NONE : findings;
}
