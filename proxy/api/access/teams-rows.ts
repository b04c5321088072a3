// Teams as the dialect shows them: the row of a team, its members, and what each member may spend in it.
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { Budget, Team, TeamMember } from '../../access/objects/objects.ts';
import {
  budgetMembers,
  budgetTable,
  limitMembers,
  makerMembers,
  originMembers,
  ownTable,
  permissionMembers,
  type Row,
  type RowContext,
} from './rows.ts';

/** Members of teams that are kept and returned and do nothing, as they are when nobody has set them. */
const INERT_TEAM_MEMBERS: Row = {
  team_member_permissions: [],
  router_settings: null,
  object_permission: null,
  object_permission_id: null,
  model_id: null,
  model_spend: {},
};

/** Where a team's shared budget of members is told. */
export const MEMBER_BUDGET_ID = 'team_member_budget_id';

function memberRow({ userId, role }: TeamMember, directory: AccessDirectory): Row {
  return { user_id: userId, user_email: directory.user(userId)?.email ?? null, role };
}

/** @param spend US dollars */
export function teamRow(team: Team, spend: number, context: RowContext, directory: AccessDirectory): Row {
  const aliases = Object.keys(team.modelAliases).length === 0 ? null : team.modelAliases;
  return {
    ...INERT_TEAM_MEMBERS,
    ...team.kept,
    ...permissionMembers(team),
    team_id: team.id,
    team_alias: team.alias,
    organization_id: team.organizationId,
    admins: [],
    members: [],
    members_with_roles: team.members.map((member) => memberRow(member, directory)),
    metadata: metadataOf(team),
    models: team.models,
    blocked: team.blocked,
    spend,
    ...limitMembers(team.limits),
    ...budgetMembers(team.budget, context),
    [`${context.brand}_model_table`]:
      aliases === null ? null : { model_aliases: aliases, ...makerMembers(team) },
    ...originMembers(team),
  };
}

/** The caller's, and where the shared budget of members is. */
function metadataOf({ metadata, memberBudgetId }: Team): Row {
  return memberBudgetId === null ? metadata : { ...metadata, [MEMBER_BUDGET_ID]: memberBudgetId };
}

/**
 * What a member may spend in the team. Every member has one, without a budget too; `litellm_budget_table` is then null.
 * @param spend US dollars
 */
export function membershipRow(team: Team, member: TeamMember, spend: number, context: RowContext): Row {
  const id = memberBudgetIdOf(team, member);
  return {
    user_id: member.userId,
    team_id: team.id,
    budget_id: id,
    budget_source: budgetSourceOf(team, member),
    spend,
    [`${context.brand}_budget_table`]:
      id === null ? ownMemberTable(member, context) : budgetTable(id, null, context),
  };
}

/** Where the budget of a member is from, in LiteLLM's words. */
function budgetSourceOf(team: Team, member: TeamMember): 'custom' | 'team_default' | 'none' {
  if (hasOwnTerms(member) || member.budgetId !== null) return 'custom';
  return team.memberBudgetId === null ? 'none' : 'team_default';
}

/** The shared budget that counts for a member; null = its own terms, or none. */
function memberBudgetIdOf(team: Team, member: TeamMember): string | null {
  return hasOwnTerms(member) ? null : (member.budgetId ?? team.memberBudgetId);
}

/** The shared budget that counts for a member. */
export function sharedBudgetOf(team: Team, member: TeamMember, directory: AccessDirectory): Budget | null {
  const id = memberBudgetIdOf(team, member);
  return id === null ? null : directory.budget(id);
}

const hasOwnTerms = ({ budget, limits }: TeamMember): boolean =>
  budget.maxBudget !== null || budget.budgetDuration !== null || limits.rpm !== null || limits.tpm !== null;

const ownMemberTable = (member: TeamMember, context: RowContext): Row | null =>
  hasOwnTerms(member) ? ownTable(member, context) : null;
