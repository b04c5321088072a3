// Keys, teams, users and budgets as the management routes answer them: the members that pages show.

export interface Terms {
  /** US dollars; null = no cap. */
  readonly max_budget: number | null;
  readonly soft_budget: number | null;
  readonly budget_duration: string | null;
  readonly budget_reset_at: string | null;
}

export interface Limits {
  readonly tpm_limit: number | null;
  readonly rpm_limit: number | null;
  readonly max_parallel_requests: number | null;
}

export type KeyType = 'default' | 'llm_api' | 'management' | 'read_only';

/** A row of `GET /key/list?return_full_object=true`; of `/key/info` without `token`. */
export interface KeyRow extends Terms, Limits {
  /** SHA-256 of the key. */
  readonly token: string;
  /** Its last four characters. */
  readonly key_name: string;
  readonly key_alias: string | null;
  readonly key_type: KeyType;
  readonly spend: number;
  readonly expires: string | null;
  readonly models: readonly string[];
  readonly user_id: string | null;
  readonly team_id: string | null;
  readonly blocked: boolean;
  readonly allowed_routes: readonly string[];
  readonly rotation_count: number;
  readonly created_at: string;
  readonly created_by: string | null;
  readonly updated_at: string;
}

/** One budget: how much of it is used, and when it will be used up. */
export interface Usage {
  readonly current_spend: number;
  readonly reserved: number;
  /** null: it only warns, at `soft_budget`. */
  readonly max_budget: number | null;
  readonly soft_budget: number | null;
  readonly budget_duration: string | null;
  readonly budget_reset_at: string | null;
  readonly model: string | null;
  readonly forecast: {
    readonly per_day: number;
    readonly used_up_at: string | null;
    readonly earliest: string | null;
    readonly latest: string | null;
  } | null;
}

/** A row of `GET /spend/budgets`. */
export interface BudgetRow extends Usage {
  readonly scope: string;
  readonly scope_id: string;
  readonly alias: string | null;
  readonly budget: string;
}

export type UserRole = 'proxy_admin' | 'proxy_admin_viewer' | 'internal_user' | 'internal_user_viewer';

export interface UserRow extends Terms, Limits {
  readonly user_id: string;
  readonly user_alias: string | null;
  readonly user_email: string | null;
  readonly user_role: UserRole;
  readonly teams: readonly string[];
  readonly spend: number;
  readonly models: readonly string[];
  readonly created_at: string;
  /** In lists. */
  readonly key_count?: number;
}

export type MemberRole = 'admin' | 'user';

export interface TeamRow extends Terms, Limits {
  readonly team_id: string;
  readonly team_alias: string | null;
  readonly models: readonly string[];
  readonly blocked: boolean;
  readonly spend: number;
  readonly members_with_roles: readonly {
    readonly user_id: string;
    readonly user_email: string | null;
    readonly role: MemberRole;
  }[];
  readonly created_at: string;
}
