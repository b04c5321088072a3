// Names of models that caps and limits are stated for. One that nothing here serves counts nothing: it is stored all the same, because
// models may be added later, and the answer says so. Access groups are no names of models: a list has them, a call does not.
import { nearest } from '../../../config/nearest.ts';
import { bare } from '../../access/budgets/caps.ts';
import { fitsPattern } from '../../access/wildcard.ts';
import type { Call } from './management-call.ts';
import type { Row } from './rows.ts';

const STATED = ['model_max_budget', 'model_rpm_limit', 'model_tpm_limit'] as const;
type StatedCaps = {
  readonly [K in (typeof STATED)[number]]?: Readonly<Record<string, unknown>> | null | undefined;
};
/** An answer warns of no more: each is compared with all names. */
const MOST_WARNINGS = 20;

/** What is added to an answer; nothing where every name counts. @param aliases of the object and of its team */
export function capWarnings(
  call: Call,
  fields: StatedCaps,
  aliases: readonly Readonly<Record<string, unknown>>[],
): Row {
  const stated = STATED.flatMap((member) =>
    Object.keys(fields[member] ?? {}).map((name) => ({ member, name })),
  );
  if (stated.length === 0) return {};
  const { groups, snapshot, modelAccess } = call.x.active;
  const named = [
    ...groups.keys(),
    ...snapshot.routing.aliases.keys(),
    ...aliases.flatMap((names) => Object.keys(names)),
  ];
  const counts = (name: string): boolean =>
    named.some((one) => fitsPattern(name, one) || fitsPattern(name, bare(one))) ||
    snapshot.wildcards.some(({ pattern }) =>
      [pattern, bare(pattern)].some((served) => fitsPattern(served, name) || fitsPattern(name, served)),
    );
  const accessGroups = new Set(modelAccess.groups);
  const warnings = stated
    .filter(({ name }) => !counts(name))
    .slice(0, MOST_WARNINGS)
    .map(({ member, name }) => {
      const near = nearest(name, named);
      const why = accessGroups.has(name)
        ? 'is an access group; state each of its models, or a pattern'
        : `is no model here, and counts nothing until there is one${near === null ? '' : `; did you mean ${near}?`}`;
      return `${member}: ${name} ${why}`;
    });
  return warnings.length === 0 ? {} : { warnings };
}
