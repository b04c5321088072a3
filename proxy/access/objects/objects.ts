// The objects that decide who may call what, how fast and for how much: keys, teams with their members, users, end users,
// budgets, organizations, access groups. Plain frozen values: a change makes a new one. Names of fields are ours; the
// dialect's stand in proxy/api/access/.

/** What may be spent on one model, USD. */
export interface ModelCap {
  readonly maxBudget: number;
  readonly budgetDuration: string | null;
  /** How it was stated, and is shown: `5`, or `{max_budget, budget_duration}`; absent = `{budget_limit, time_period}`. */
  readonly words?: 'amount' | 'max_budget';
}

/** What may be spent. Money is in USD as it was stated. */
export interface BudgetTerms {
  /** null = no cap. 0 lets nothing through that costs. */
  readonly maxBudget: number | null;
  /** An alert at this amount, never a refusal; null = none. */
  readonly softBudget: number | null;
  /** `30d`, `1mo`, ... (durations.ts); null = one window that never ends. */
  readonly budgetDuration: string | null;
  /** Epoch milliseconds: the anchor of windows that are not the calendar's. */
  readonly budgetSetMs: number;
  /** Further caps with windows of their own. */
  readonly budgetLimits: readonly { readonly maxBudget: number; readonly budgetDuration: string }[];
  /** Caps by requested model name. */
  readonly modelMaxBudget: Readonly<Record<string, ModelCap>>;
  /** Added to `maxBudget` until then. */
  readonly temporaryIncrease: { readonly usd: number; readonly untilMs: number } | null;
  /** Spend up to this moment counts as `usd`, and rows that start from it on count by themselves; null = all rows count. */
  readonly countFrom: { readonly atMs: number; readonly usd: number } | null;
}

/** How fast; null or absent = no limit. */
export interface LimitTerms {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly maxParallel: number | null;
  /** By requested model name. */
  readonly modelRpm: Readonly<Record<string, number>>;
  readonly modelTpm: Readonly<Record<string, number>>;
}

/** Shared by all objects without a budget: 100,000 keys hold it once. */
export const NO_BUDGET: BudgetTerms = Object.freeze({
  maxBudget: null,
  softBudget: null,
  budgetDuration: null,
  budgetSetMs: 0,
  budgetLimits: Object.freeze([]),
  modelMaxBudget: Object.freeze({}),
  temporaryIncrease: null,
  countFrom: null,
});

/** Shared by all objects without limits, as `NO_BUDGET`. */
export const NO_LIMITS: LimitTerms = Object.freeze({
  rpm: null,
  tpm: null,
  maxParallel: null,
  modelRpm: Object.freeze({}),
  modelTpm: Object.freeze({}),
});

/** What every object has. */
interface Common {
  /** `file`: stated in the configuration, read-only. */
  readonly origin: 'file' | 'store';
  /** Counts the writes of the store; 0 = not stored. */
  readonly revision: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** The user or key (SHA-256) that made it; null = the master key. */
  readonly createdBy: string | null;
  readonly updatedBy: string | null;
  /** The caller's to use; returned as it was given. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /**
   * Fields of the dialect that are kept and returned and do nothing here (`config`, `permissions`, `guardrails`, ...), by
   * their own names.
   */
  readonly kept: Readonly<Record<string, unknown>>;
}

/** `llm_api`: LLM calls and listings. `management`: no LLM calls. `read_only`: reads of management. */
export type KeyType = 'default' | 'llm_api' | 'management' | 'read_only';

/** A key that the proxy has made or the file states; its value is nowhere. */
export interface VirtualKey extends Common {
  readonly kind: 'key';
  /** Lower-case hex SHA-256 of the key: the only trace of its value. */
  readonly id: string;
  /** `sk-...` and the last four characters. */
  readonly name: string;
  readonly alias: string | null;
  readonly type: KeyType;
  /** Paths or groups of paths (`llm_api_routes`); empty = what the type allows. */
  readonly allowedRoutes: readonly string[];
  /** Names, patterns, access groups; empty = its team's, else all. */
  readonly models: readonly string[];
  /** A name that this key asks for -> the one that is served. */
  readonly aliases: Readonly<Record<string, string>>;
  readonly teamId: string | null;
  /** The configuration file has stated its team: without it the key opens nothing, as it is gone with a team that is deleted. */
  readonly needsTeam: boolean;
  readonly userId: string | null;
  readonly organizationId: string | null;
  /** A shared budget; its terms apply where the key states none. */
  readonly budgetId: string | null;
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
  readonly tags: readonly string[];
  readonly blocked: boolean;
  /** null = never. */
  readonly expiresMs: number | null;
  /** Values that it had before it was regenerated; accepted until then. Rows of them count as this key's. */
  readonly former: readonly { readonly id: string; readonly untilMs: number }[];
}

/** A user's place in a team. */
export interface TeamMember {
  readonly userId: string;
  readonly role: 'admin' | 'user';
  readonly budgetId: string | null;
  /** What the member may spend in this team. */
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
}

export interface Team extends Common {
  readonly kind: 'team';
  readonly id: string;
  readonly alias: string | null;
  readonly organizationId: string | null;
  /** Empty = all. */
  readonly models: readonly string[];
  readonly modelAliases: Readonly<Record<string, string>>;
  readonly members: readonly TeamMember[];
  /** The shared budget of members without one of their own; null = none. */
  readonly memberBudgetId: string | null;
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
  readonly tags: readonly string[];
  readonly blocked: boolean;
}

export type UserRole = 'proxy_admin' | 'proxy_admin_viewer' | 'internal_user' | 'internal_user_viewer';

export interface User extends Common {
  readonly kind: 'user';
  readonly id: string;
  readonly alias: string | null;
  /** As given; compared without case. */
  readonly email: string | null;
  /** Outside the dialect's roles: `internal_user`. */
  readonly role: UserRole;
  /** Empty = all. Teams of a user are those that list it as a member: `AccessDirectory.teamsOf`. */
  readonly models: readonly string[];
  readonly budgetId: string | null;
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
}

/** An end user: whom a request names in `user`. Without an object it is served as everybody. */
export interface Customer extends Common {
  readonly kind: 'customer';
  readonly id: string;
  readonly alias: string | null;
  readonly blocked: boolean;
  readonly budgetId: string | null;
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
}

/** Terms that several objects share. What is spent counts for each object by itself. */
export interface Budget extends Common {
  readonly kind: 'budget';
  readonly id: string;
  /** Its caps still hold, and nothing new is given it. */
  readonly isBeingDeleted: boolean;
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
}

/** A user's place in an organization. */
export interface OrganizationMember {
  readonly userId: string;
  /** Shown, and nothing else: what an `org_admin` may in LiteLLM, an administrator may here. */
  readonly role: 'org_admin' | 'internal_user' | 'internal_user_viewer';
  readonly createdMs: number;
  readonly updatedMs: number;
}

export interface Organization extends Common {
  readonly kind: 'organization';
  readonly id: string;
  readonly alias: string | null;
  readonly models: readonly string[];
  readonly members: readonly OrganizationMember[];
  readonly budgetId: string | null;
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
}

/** A name for several models, beside those that deployments state (`model_info.access_groups`). */
export interface AccessGroup extends Common {
  readonly kind: 'access_group';
  readonly id: string;
  /** Requested names. */
  readonly models: readonly string[];
}

/** What is said of a tag that calls carry. A tag without an object is counted as well. */
export interface Tag extends Common {
  readonly kind: 'tag';
  readonly id: string;
  readonly description: string | null;
  /** Names or ids of models; shown, and nothing else. */
  readonly models: readonly string[];
  readonly budgetId: string | null;
  readonly budget: BudgetTerms;
  readonly limits: LimitTerms;
}

/** A session of the console that was ended before its time; the id is the session's. Forgotten when it would have ended. */
export interface SignOut extends Common {
  readonly kind: 'sign_out';
  readonly id: string;
}

export type AccessObject =
  VirtualKey | Team | User | Customer | Budget | Organization | AccessGroup | Tag | SignOut;
export type ObjectKind = AccessObject['kind'];
/** The object of a kind. */
export type ObjectOf<K extends ObjectKind> = Extract<AccessObject, { readonly kind: K }>;

/** One version of an object. */
export interface ObjectRevision {
  readonly kind: ObjectKind;
  readonly id: string;
  readonly revision: number;
}

/** `put` of revision 0 must be new; of another it must still be that one, else the whole change is a conflict. */
export type ObjectChange = { readonly put: AccessObject } | { readonly remove: ObjectRevision };
