// What a key hands on. Whoever finds a key that is narrowed must not get more out of it than it may do itself: with a budget, limits,
// models, tags, an end, a team or an organization of its own it makes none that has less of them. What it may not make it neither
// changes nor deletes, but itself; nor does a limited key change its user, or teams that may do more. Pure: whose the objects are, and
// what the role of the user allows, may.ts decides before.
//
// Each function gives a sentence that says why not, or null.
import { allowsEverything } from './model-access.ts';
import type { BudgetTerms, LimitTerms, Team, VirtualKey } from './objects/objects.ts';
import { sessionTermsOf } from './session-terms.ts';

/** A key that is limited makes and changes none that is less so: whoever finds it would be free of its limits. */
export function whyNotMake(own: VirtualKey, wanted: VirtualKey): string | null {
  const untagged = own.tags.find((tag) => !wanted.tags.includes(tag));
  if (untagged !== undefined) return `The key does not have the tag ${untagged} of yours.`;
  if (own.expiresMs !== null && (wanted.expiresMs === null || wanted.expiresMs > own.expiresMs))
    return 'The key is valid for longer than yours.';
  return whyNotRevoke(own, wanted);
}

/** Nor deletes it. Tags and the end do not count: a key that has leaked is revoked by any other one of its user. */
export function whyNotRevoke(own: VirtualKey, wanted: VirtualKey): string | null {
  if (isLimitedKey(own)) return `${LIMITED} makes and changes no keys.`;
  if (!areModelsWithin(wanted.models, own.models)) return 'The key allows more models than yours.';
  if (!haveAliasesWithin(wanted, own))
    return 'An alias of the key stands for a model that yours does not allow.';
  if (own.teamId !== null && wanted.teamId !== own.teamId)
    return `Your key is one of the team ${own.teamId}, so it makes and changes no others.`;
  if (own.organizationId !== null && wanted.organizationId !== own.organizationId)
    return `Your key is one of the organization ${own.organizationId}, so it makes and changes no others.`;
  if (own.allowedRoutes.length > 0 && !isWithin(wanted.allowedRoutes, own.allowedRoutes))
    return 'The key allows more routes than yours.';
  return own.type === 'default' || own.type === wanted.type ? null : 'The key is of another type than yours.';
}

/** Members make keys that may do what the team may, so a limited key makes nobody a member of one that may do more. */
export function whyNotChangeTeam(own: VirtualKey, team: Team): string | null {
  if (isLimitedKey(own)) return `${LIMITED} changes no teams.`;
  if (own.teamId !== null && own.teamId !== team.id)
    return `Your key is one of the team ${own.teamId}, so it changes no other team.`;
  if (own.organizationId !== null && own.organizationId !== team.organizationId)
    return `Your key is one of the organization ${own.organizationId}, so it changes no teams outside of it.`;
  return areModelsWithin(team.models, own.models) ? null : 'The team allows more models than your key.';
}

/** A limited key changes not even its own user. */
export const whyNotChangeUser = (own: VirtualKey): string | null =>
  isLimitedKey(own) ? `${LIMITED} changes no users.` : null;

const LIMITED = 'This key has a budget or limits of its own, so it';

/** Whether a key is to spend or to call less than its user may. */
const isLimitedKey = ({ budget, budgetId, limits, metadata }: VirtualKey): boolean =>
  isCapped(budget) || budgetId !== null || isLimited(limits) || sessionTermsOf(metadata) !== null;

/** A list allows what an alias of its key stands for, whatever that is. */
function haveAliasesWithin({ aliases }: VirtualKey, own: VirtualKey): boolean {
  if (allowsEverything(own.models)) return true;
  const isOwn = (alias: string, model: string): boolean =>
    Object.hasOwn(own.aliases, alias) && own.aliases[alias] === model;
  return Object.entries(aliases).every(([alias, model]) => isOwn(alias, model) || own.models.includes(model));
}

const areModelsWithin = (wanted: readonly string[], allowed: readonly string[]): boolean =>
  allowsEverything(allowed) || isWithin(wanted, allowed);

/** An empty list allows everything. */
export function isWithin(wanted: readonly string[], allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  return wanted.length > 0 && wanted.every((one) => allowed.includes(one));
}

const isCapped = ({ maxBudget, budgetLimits, modelMaxBudget }: BudgetTerms): boolean =>
  maxBudget !== null || budgetLimits.length > 0 || Object.keys(modelMaxBudget).length > 0;

const isLimited = ({ rpm, tpm, maxParallel, modelRpm, modelTpm }: LimitTerms): boolean =>
  rpm !== null ||
  tpm !== null ||
  maxParallel !== null ||
  Object.keys(modelRpm).length + Object.keys(modelTpm).length > 0;
