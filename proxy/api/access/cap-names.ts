// Names of models that a key or team may call, and that caps and limits are stated for. One that nothing here serves allows and counts
// nothing: it is stored all the same, because models may be added later, and the answer says so. Access groups are no names of
// models: a list has them, a call does not.
import { nearest } from '../../../config/nearest.ts';
import type { Json } from '../../bodies/json.ts';
import { isListWord } from '../../access/model-access.ts';
import { serves } from '../../access/team-deployments.ts';
import { groupNamesOf } from '../../pipeline/models-of-caller.ts';
import { isOfOtherTeams } from '../../pipeline/select-deployment.ts';
import type { Call } from './management-call.ts';
import type { Row } from './rows.ts';
import { servedTest } from './served-names.ts';

const STATED = ['model_max_budget', 'model_rpm_limit', 'model_tpm_limit'] as const;
type StatedCaps = {
  readonly [K in (typeof STATED)[number]]?: Readonly<Record<string, unknown>> | null | undefined;
} & { readonly models?: readonly string[] | null | undefined };
/** An answer warns of no more: each is compared with all names. */
const MOST_WARNINGS = 20;
/** Looking for a near name takes 65 ms among 10,000 models, and other calls wait meanwhile. */
const MOST_NEAR = 3;

/** What is added to an answer; nothing where there is nothing to say. */
export const warningsOf = (warnings: readonly string[]): Row => (warnings.length === 0 ? {} : { warnings });

/** The same of the names that a body states. */
export const capWarnings = (...stated: Parameters<typeof namesWarnings>): Row =>
  warningsOf(namesWarnings(...stated));

/** The object that states names, as far as it says what they mean. */
interface Stating {
  /** Of the object and of its team. */
  readonly aliases: readonly Readonly<Record<string, unknown>>[];
  /** Whose deployments serve it beside those of nobody; null = no team's. */
  readonly teamId: string | null;
}

/** A sentence for each name that does nothing, which tells nobody what only deployments of other teams serve. */
export function namesWarnings(
  call: Call,
  fields: StatedCaps,
  { aliases, teamId }: Stating,
): readonly string[] {
  const capped = STATED.flatMap((member) =>
    Object.keys(fields[member] ?? {}).map((name) => ({ member, name })),
  );
  const allowed = (fields.models ?? []).filter((name) => !isListWord(name));
  const stated = [...allowed.map((name) => ({ member: 'models' as const, name })), ...capped];
  if (stated.length === 0) return [];
  const { active } = call.x;
  const { groups, snapshot, modelAccess } = active;
  const bound = modelAccess.of(call.caller).bound === null ? null : { teamId };
  const isShown = (name: string): boolean => !isOfOtherTeams(active, name, { bound });
  const named = [
    ...[...groups.keys(), ...snapshot.routing.aliases.keys()].filter(isShown),
    ...aliases.flatMap((names) => Object.keys(names)),
  ];
  const wildcards = snapshot.wildcards.filter(({ deployments }) =>
    deployments.some((one) => serves(bound, one)),
  );
  const isServed = servedTest(
    named,
    wildcards.map(({ pattern }) => pattern),
  );
  const accessGroups = new Set(groupNamesOf(active, { bound }));
  const warnings: string[] = [];
  for (const { member, name } of stated) {
    if (warnings.length === MOST_WARNINGS) break;
    const isGroup = accessGroups.has(name);
    if (isServed(name) || (member === 'models' && isGroup)) continue;
    const near = warnings.length < MOST_NEAR ? nearest(name, named) : null;
    const does = member === 'models' ? 'allows' : 'counts';
    const why = isGroup
      ? 'is an access group; state each of its models, or a pattern'
      : `is no model here, and ${does} nothing until there is one${near === null ? '' : `; did you mean ${near}?`}`;
    warnings.push(`${member}: ${name} ${why}`);
  }
  return warnings;
}

/**
 * Members that a call does not have are passed over, as LiteLLM does. One that is nearly a member is a slip of the hand, and the key
 * or budget would go without what it was to state.
 * @param known members of the call
 */
export function misspelt(body: Json, known: readonly string[]): readonly string[] {
  return Object.keys(body)
    .filter((name) => !known.includes(name))
    .slice(0, MOST_WARNINGS)
    .flatMap((name) => {
      const near = nearest(name, known);
      return near === null
        ? []
        : [`${name} is no member of this call and has no effect; did you mean ${near}?`];
    });
}
