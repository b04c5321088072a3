// Which client headers steer what stands behind us, and are therefore forwarded by no prefix. The lists of all kinds hold
// for every entry: an entry may not name its gateway, and a gateway may stand behind a gateway.
import type { Dialect } from '../../dialect.ts';
import { bifrostSteering } from './bifrost.ts';
import { litellmSteering } from './litellm.ts';
import { OTHER_STEERING } from './others.ts';
import { portkeySteering } from './portkey.ts';

/** Why a header is held back. */
export interface SteeringRule {
  readonly kind: string;
  /** The line of the list: a name, or a prefix with a trailing `*`. */
  readonly pattern: string;
}

/** The rule for a lower-case name with dashes; null = it steers nothing that we know. */
export type FindSteering = (plainName: string) => SteeringRule | null;

export function steeringOf(dialect: Dialect): FindSteering {
  const all = [litellmSteering(dialect), portkeySteering, bifrostSteering, ...OTHER_STEERING];
  const steers = patternsOf(
    all.flatMap(({ kind, steers: patterns }) => patterns.map((pattern) => ({ kind, pattern }))),
  );
  const describes = patternsOf(
    all.flatMap(({ kind, describes: patterns }) => patterns.map((pattern) => ({ kind, pattern }))),
  );
  return (plainName) => (describes(plainName) === null ? steers(plainName) : null);
}

function patternsOf(rules: readonly SteeringRule[]): FindSteering {
  const exact = new Map(rules.map((rule) => [rule.pattern, rule]));
  const prefixes = rules
    .filter(({ pattern }) => pattern.endsWith('*'))
    .map((rule) => ({ rule, prefix: rule.pattern.slice(0, -1) }));
  return (plainName) =>
    exact.get(plainName) ?? prefixes.find(({ prefix }) => plainName.startsWith(prefix))?.rule ?? null;
}
