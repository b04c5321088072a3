// Types of the resolved configuration that say what new keys and users get, and who may make keys. In the dialect's names and
// units: they are what bodies of `/key/generate` and `/user/new` state.

/** null or absent = not stated. */
interface KeyAmounts {
  readonly max_budget?: number;
  readonly budget_duration?: string;
  readonly duration?: string;
  readonly max_parallel_requests?: number;
  readonly tpm_limit?: number;
  readonly rpm_limit?: number;
}

interface KeyDefaults extends KeyAmounts {
  readonly user_id?: string;
  readonly team_id?: string;
  readonly models?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Who may make keys of a kind. */
interface KeyMakers {
  /** null = every role. */
  readonly roles: readonly string[] | null;
  /** Members that the body must have. */
  readonly required: readonly string[];
}

/** What a new user gets, as `/user/new` states it. */
interface UserDefaults {
  readonly user_role?: string;
  readonly max_budget?: number;
  readonly budget_duration?: string;
  readonly models?: readonly string[];
}

export interface KeyGenerationSettings {
  readonly defaults: KeyDefaults;
  readonly bounds: KeyAmounts;
  /** Whether callers may choose the value of a key. */
  readonly customKeys: boolean;
  /** Keys of teams; null = no rule. */
  readonly team: KeyMakers | null;
  /** Other keys; null = no rule. */
  readonly personal: KeyMakers | null;
  readonly users: UserDefaults;
}
