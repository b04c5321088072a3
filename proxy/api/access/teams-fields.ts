// The members of the bodies of calls about teams, and what a team is after one of them.
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { blankTeam } from '../../access/objects/blank.ts';
import { NO_BUDGET, NO_LIMITS, type Budget, type Team } from '../../access/objects/objects.ts';
import {
  bool,
  count,
  duration,
  id,
  isSet,
  listOf,
  mapOf,
  money,
  objectOf,
  oneOf,
  oneOrMore,
  text,
  texts,
  type Fields,
} from './fields.ts';
import { BUDGET_FIELDS, LIMIT_FIELDS } from './term-fields.ts';
import { modelNames } from './model-lists.ts';
import { KEPT_OF_TEAMS } from './kept-fields.ts';
import { invalid } from './refusals.ts';
import { newObject, touched, type Author } from './management-call.ts';
import { TAGGED_METADATA_FIELDS } from './tagged-metadata.ts';
import { MEMBER_BUDGET_ID } from './teams-rows.ts';
import {
  budgetFrom,
  changed,
  changedTo,
  checkOrganization,
  isGiven,
  keptFrom,
  limitsFrom,
  metadataFrom,
  tagsIn,
} from './terms.ts';

const MEMBER_FIELDS = { user_id: id, user_email: id, role: oneOf(['admin', 'user']) };
export type MemberFields = Fields<typeof MEMBER_FIELDS>;

const member = objectOf(MEMBER_FIELDS);
export const members = oneOrMore(member);

export const TEAM_FIELDS = {
  ...BUDGET_FIELDS,
  ...LIMIT_FIELDS,
  ...TAGGED_METADATA_FIELDS,
  ...KEPT_OF_TEAMS,
  team_id: id,
  team_alias: text,
  organization_id: id,
  models: modelNames,
  model_aliases: mapOf(text),
  blocked: bool,
  members_with_roles: listOf(member),
  admins: texts,
  members: texts,
  team_member_budget: money,
  team_member_budget_duration: duration,
  team_member_rpm_limit: count,
  team_member_tpm_limit: count,
};
export type TeamFields = Fields<typeof TEAM_FIELDS>;

/** A team that nobody has stored yet. */
export const emptyTeam = (teamId: string, author: Author): Team => ({
  ...blankTeam(teamId, author.nowMs),
  ...newObject(author),
});

/** A team after a body: absent members stay, null clears. Its members are not in it. @throws Refusal */
export function teamFrom(fields: TeamFields, before: Team, directory: AccessDirectory, author: Author): Team {
  const { [MEMBER_BUDGET_ID]: toldBudget, ...metadata } = metadataFrom(fields, before.metadata);
  const organizationId = changed(fields.organization_id, before.organizationId);
  checkOrganization(organizationId, before, directory);
  const budget = budgetFrom(fields, before.budget, author.nowMs);
  // The two as they are: one of them may have been set before.
  if (budget.softBudget !== null && budget.maxBudget !== null && budget.softBudget >= budget.maxBudget)
    throw invalid(
      `soft_budget (${budget.softBudget}) must be strictly lower than max_budget (${budget.maxBudget})`,
      'soft_budget',
    );
  return {
    ...before,
    alias: changed(fields.team_alias, before.alias),
    organizationId,
    models: changedTo(fields.models, before.models, []),
    modelAliases: changedTo(fields.model_aliases, before.modelAliases, {}),
    blocked: changedTo(fields.blocked, before.blocked, false),
    memberBudgetId: memberBudget(toldBudget, before, directory),
    budget,
    limits: limitsFrom(fields, before.limits, metadata),
    tags: tagsIn(metadata),
    metadata,
    kept: keptFrom(fields, KEPT_OF_TEAMS, before.kept),
    ...touched(author),
  };
}

/** Clients send metadata back as they read it, with the id of the budget among it. Leaving it out changes nothing. */
function memberBudget(told: unknown, before: Team, directory: AccessDirectory): string | null {
  if (told === undefined || told === null || told === before.memberBudgetId) return before.memberBudgetId;
  if (typeof told === 'string' && isGiven(told, directory)) return told;
  throw invalid(`metadata.${MEMBER_BUDGET_ID} names no budget.`, 'metadata');
}

/** Members of a body that state the shared budget of the team's members. */
const SHARED = [
  'team_member_budget',
  'team_member_budget_duration',
  'team_member_rpm_limit',
  'team_member_tpm_limit',
] as const;

/** The shared budget of a team's members, after a body; null = the body says nothing of it. */
export function memberBudgetFrom(
  fields: TeamFields,
  before: Budget | null,
  newId: string,
  author: Author,
): Budget | null {
  if (SHARED.every((name) => fields[name] === undefined)) return null;
  // Nothing is cleared where nothing was.
  if (before === null && !SHARED.some((name) => isSet(fields[name]))) return null;
  const base: Budget = before ?? {
    ...newObject(author),
    kind: 'budget',
    id: newId,
    isBeingDeleted: false,
    budget: NO_BUDGET,
    limits: NO_LIMITS,
  };
  const terms = {
    max_budget: fields.team_member_budget,
    budget_duration: fields.team_member_budget_duration,
  };
  const limits = { rpm_limit: fields.team_member_rpm_limit, tpm_limit: fields.team_member_tpm_limit };
  return {
    ...base,
    budget: budgetFrom(terms, base.budget, author.nowMs),
    limits: limitsFrom(limits, base.limits, {}),
    ...touched(author),
  };
}
