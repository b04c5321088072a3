// Objects as the dialect shows them: the row of a key, a user, a budget. Never a key's value. Types are what strict clients
// parse: numbers are numbers, what is not set is null, lists and objects are there though empty.
import { asObject } from '../../bodies/json.ts';
import {
  NO_LIMITS,
  type AccessObject,
  type Budget,
  type BudgetTerms,
  type KeyType,
  type LimitTerms,
  type ModelCap,
  type Organization,
  type OrganizationMember,
  type User,
  type VirtualKey,
} from '../../access/objects/objects.ts';
import { isUnstated } from './terms.ts';

export type Row = Readonly<Record<string, unknown>>;

/** What a row is made with, beside its object. */
export interface RowContext {
  /** `litellm`: the first part of names such as `litellm_budget_table`. */
  readonly brand: string;
  /** When the present window of a budget ends, epoch milliseconds; null = it never resets. */
  resetMs(terms: BudgetTerms): number | null;
  budget(id: string): Budget | null;
  /** Those that list a user as a member. */
  organizationsOf(userId: string): readonly Organization[];
}

/** A time as Python's `datetime.fromisoformat` reads it, too (3.7 on). */
export const isoOf = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00');
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));

/** Routes that a type of key opens, in the dialect's words. */
const ROUTES_OF: Readonly<Record<KeyType, readonly string[]>> = {
  default: [],
  llm_api: ['llm_api_routes'],
  management: ['management_routes'],
  read_only: ['info_routes'],
};

/** Members of keys that are kept and returned and do nothing, as they are when nobody has set them. */
const INERT_KEY_MEMBERS: Row = {
  config: {},
  router_settings: {},
  permissions: {},
  allowed_cache_controls: [],
  policies: [],
  access_group_ids: [],
  object_permission: null,
  agent_id: null,
  project_id: null,
  auto_rotate: false,
  rotation_interval: null,
};

/** `max_budget` and what belongs to it. */
export function budgetMembers(terms: BudgetTerms, context: RowContext): Row {
  return {
    max_budget: terms.maxBudget,
    soft_budget: terms.softBudget,
    budget_duration: terms.budgetDuration,
    budget_reset_at: isoOrNull(context.resetMs(terms)),
    budget_limits: terms.budgetLimits.map(({ maxBudget, budgetDuration }) => ({
      max_budget: maxBudget,
      budget_duration: budgetDuration,
    })),
    model_max_budget: Object.fromEntries(
      Object.entries(terms.modelMaxBudget).map(([model, cap]) => [model, modelCapOf(cap)]),
    ),
  };
}

/** In the words in which it was stated: Terraform's providers take another form for another value. */
function modelCapOf({ maxBudget, budgetDuration, words }: ModelCap): unknown {
  if (words === 'amount') return maxBudget;
  if (words === undefined) return { budget_limit: maxBudget, time_period: budgetDuration };
  return { max_budget: maxBudget, ...(budgetDuration === null ? {} : { budget_duration: budgetDuration }) };
}

/**
 * The same in a budget's own table, where LiteLLM has null for no caps by model and by window: clients with fixed types rely on
 * it, and others take what a table says and no table does not for a change of the terms.
 */
export function tableMembers(terms: BudgetTerms, context: RowContext): Row {
  return {
    ...budgetMembers(terms, context),
    ...(terms.budgetLimits.length > 0 ? {} : { budget_limits: null }),
    ...(Object.keys(terms.modelMaxBudget).length > 0 ? {} : { model_max_budget: null }),
  };
}

export function limitMembers(terms: LimitTerms): Row {
  return { tpm_limit: terms.tpm, rpm_limit: terms.rpm, max_parallel_requests: terms.maxParallel };
}

/** LiteLLM's name of whoever has the master key, for clients that ask for a text. */
const MASTER = 'default_user_id';

/** Who made and changed an object, as a text. */
export const makerMembers = ({ createdBy, updatedBy }: AccessObject): Row => ({
  created_by: createdBy ?? MASTER,
  updated_by: updatedBy ?? MASTER,
});

/** `object_permission`, which has a row of its own in LiteLLM: clients of fixed types ask for the row's id. */
export function permissionMembers({ id, kept }: AccessObject): Row {
  const permission = asObject(kept['object_permission']);
  return permission === null ? {} : { object_permission: { object_permission_id: id, ...permission } };
}

/** Who made an object, and when. */
export function originMembers(object: AccessObject): Row {
  return {
    created_at: isoOf(object.createdMs),
    created_by: object.createdBy,
    updated_at: isoOf(object.updatedMs),
    updated_by: object.updatedBy,
  };
}

/** A budget that stands by itself: of `/budget/*`, and `litellm_budget_table` of what shares it. */
export function budgetRow(budget: Budget, context: RowContext): Row {
  return {
    budget_id: budget.id,
    ...tableMembers(budget.budget, context),
    ...limitMembers(budget.limits),
    ...originMembers(budget),
  };
}

/** `litellm_budget_table`: the shared budget, or what would be one in LiteLLM; null = none. */
export function budgetTable(id: string | null, own: BudgetTerms | null, context: RowContext): Row | null {
  const shared = id === null ? null : context.budget(id);
  if (shared !== null) return budgetRow(shared, context);
  if (own === null || (own.maxBudget === null && own.softBudget === null)) return null;
  return { budget_id: id, ...tableMembers(own, context) };
}

/** The terms that stand at an object itself, as the budget that LiteLLM would have made of them. */
export const termsTable = ({ budget, limits }: OwnTerms, context: RowContext): Row => ({
  budget_id: null,
  ...tableMembers(budget, context),
  ...limitMembers(limits),
});

/** The same; null = the object has none. */
export const ownTable = (own: OwnTerms, context: RowContext): Row | null =>
  isUnstated(own.budget) && own.limits === NO_LIMITS ? null : termsTable(own, context);

interface OwnTerms {
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
}

/** A key, its hash included. @param spend US dollars */
export function keyRow(key: VirtualKey, spend: number, context: RowContext): Row {
  const { temporaryIncrease: raised } = key.budget;
  return {
    ...INERT_KEY_MEMBERS,
    ...key.kept,
    ...permissionMembers(key),
    token: key.id,
    key_name: key.name,
    key_alias: key.alias,
    key_type: key.type,
    spend,
    expires: isoOrNull(key.expiresMs),
    models: key.models,
    aliases: key.aliases,
    user_id: key.userId,
    team_id: key.teamId,
    organization_id: key.organizationId,
    metadata: key.metadata,
    blocked: key.blocked,
    ...limitMembers(key.limits),
    ...budgetMembers(key.budget, context),
    ...(raised === null
      ? {}
      : { temp_budget_increase: raised.usd, temp_budget_expiry: isoOf(raised.untilMs) }),
    allowed_routes: key.allowedRoutes.length > 0 ? key.allowedRoutes : ROUTES_OF[key.type],
    model_spend: {},
    soft_budget_cooldown: false,
    rotation_count: key.former.length,
    budget_id: key.budgetId,
    [`${context.brand}_budget_table`]: budgetTable(key.budgetId, softOf(key.budget), context),
    ...originMembers(key),
  };
}

/** LiteLLM makes a shared budget of a key's soft budget alone. */
const softOf = (terms: BudgetTerms): BudgetTerms | null => (terms.softBudget === null ? null : terms);

/** The row of a key without its hash, as `/key/info` shows it. */
export function keyRowWithoutToken(key: VirtualKey, spend: number, context: RowContext): Row {
  const { token: _, ...row } = keyRow(key, spend, context);
  return row;
}

/** What a member spends in an organization is not counted by itself, so there is no `spend`. */
export const organizationMemberRow = (
  { id }: Organization,
  { userId, role, createdMs, updatedMs }: OrganizationMember,
): Row => ({
  user_id: userId,
  organization_id: id,
  user_role: role,
  budget_id: null,
  created_at: isoOf(createdMs),
  updated_at: isoOf(updatedMs),
});

/** Members of users that are kept and returned and do nothing. */
const INERT_USER_MEMBERS: Row = {
  sso_user_id: null,
  allowed_cache_controls: [],
  policies: [],
  object_permission: null,
};

/** @param teams ids of the teams that list the user as a member */
export function userRow(user: User, spend: number, teams: readonly string[], context: RowContext): Row {
  return {
    ...INERT_USER_MEMBERS,
    ...user.kept,
    ...permissionMembers(user),
    user_id: user.id,
    user_alias: user.alias,
    user_email: user.email,
    user_role: user.role,
    teams,
    spend,
    models: user.models,
    metadata: user.metadata,
    ...limitMembers(user.limits),
    ...budgetMembers(user.budget, context),
    model_spend: {},
    budget_id: user.budgetId,
    organization_memberships: context
      .organizationsOf(user.id)
      .flatMap((one) =>
        one.members
          .filter(({ userId }) => userId === user.id)
          .map((member) => organizationMemberRow(one, member)),
      ),
    ...originMembers(user),
  };
}
