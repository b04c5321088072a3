// Answers that more than one page reads; the API's own description is `/openapi.json`.

/** `GET /ui/session` */
export interface SessionAnswer {
  readonly signed_in: boolean;
  readonly console: { readonly version: string };
  readonly sign_in: SignIn;
  /** false: plain http off this machine; whoever listens on the way reads the cookie. */
  readonly secure: boolean;
  readonly reason?: 'expired' | 'idle' | 'revoked';
  readonly who?: Who;
  readonly role?: Role;
  readonly may?: Permissions;
  readonly expires_at?: string;
  readonly idle_expires_at?: string;
  readonly has?: Features;
  readonly platform_users?: readonly string[];
}

export interface SignIn {
  readonly key: boolean;
  readonly oidc: { readonly name: string; readonly path: string } | null;
}

export type Role = 'admin' | 'viewer' | 'user' | 'user_viewer' | 'key';

export interface Who {
  readonly name: string;
  /** `open`: no key is configured, so that everybody is an administrator. */
  readonly kind: 'master' | 'key' | 'oidc' | 'open';
  readonly user_id: string | null;
  readonly key_alias: string | null;
  readonly key_hash: string | null;
  readonly team_id: string | null;
  /** Ids of teams. */
  readonly admin_of: readonly string[];
}

/** What the page shows; the server refuses the rest by itself. */
export type Permission =
  | 'see_all'
  | 'change'
  | 'models'
  | 'keys'
  | 'teams'
  | 'users'
  | 'spend'
  | 'rows'
  | 'chain'
  | 'config'
  | 'doctor'
  | 'platform'
  | 'call';
export type Permissions = Readonly<Record<Permission, boolean>>;

export interface Features {
  readonly platform: boolean;
  readonly oidc: boolean;
  readonly metrics: boolean;
  readonly runtime_models: boolean;
  readonly stored_models: boolean;
  readonly brake: boolean;
}

export type DeploymentState = 'ok' | 'cooling_down' | 'half_open' | 'failing';

interface Quantiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

/** Figures of the last minutes. */
export interface Traffic {
  readonly calls_per_minute: number;
  readonly calls: number;
  readonly faults: { readonly client: number; readonly proxy: number; readonly upstream: number };
  readonly first_byte_ms: Quantiles;
  readonly duration_ms: Quantiles;
}

export interface ChainGateway extends Traffic {
  readonly gateway: string;
  readonly deployments: number;
  readonly state: DeploymentState;
  readonly in_flight: number;
}

export interface ChainDeployment extends Traffic {
  readonly id: string;
  readonly model_name: string;
  readonly upstream_model: string;
  readonly gateway: string;
  readonly api_base: string;
  readonly source: string;
  readonly state: DeploymentState;
  readonly reason: string | null;
  readonly ends_in_s: number | null;
  readonly in_flight: number;
  readonly shared_figures?: boolean;
}

export interface ChainFinding {
  readonly level: 'error' | 'warning' | 'info';
  readonly text: string;
  readonly mend: string;
  /** A place of this page. */
  readonly link: string | null;
}

/** A server that shares something with this one. */
export interface ChainReplica {
  readonly name: string;
  readonly version: string | null;
  readonly started_at: string | null;
  readonly last_seen: string;
  readonly state: 'serving' | 'silent';
  readonly this: boolean;
  readonly shared_by: readonly string[];
}

/** `GET /chain` */
export interface Chain {
  readonly at: string;
  readonly window_s: number;
  readonly verdict: { readonly level: 'ok' | 'info' | 'warning' | 'error'; readonly text: string };
  readonly proxy: {
    readonly version: string;
    readonly config_version: string;
    readonly started_at: string;
    readonly uptime_s: number;
    readonly host: string;
    readonly workers: {
      readonly configured: number;
      readonly serving: number;
      readonly silent: readonly number[];
    };
    readonly draining: boolean;
    readonly in_flight: number;
    readonly queued: number;
    readonly event_loop_lag_ms: number;
    readonly memory_bytes: number;
    readonly cpu_share: number;
    readonly refused_per_minute: number;
    readonly overhead_ms: Quantiles;
  };
  readonly traffic: Traffic;
  readonly gateways: readonly ChainGateway[];
  readonly deployments: readonly ChainDeployment[];
  readonly deployments_total: number;
  readonly ledger: {
    readonly writable: boolean;
    readonly reason: string;
    readonly open: number;
    readonly rows_at_risk: number;
    readonly rows_lost: number;
    readonly backlog_bytes: number;
    readonly store_reachable: boolean;
  };
  readonly reload: {
    readonly result: string;
    readonly at: string;
    /** What serves is in force since then, whatever reloads came of nothing. */
    readonly since: string;
    readonly errors: number;
    readonly warnings: number;
  };
  /** null: the store has not answered yet. */
  readonly spend_today: {
    readonly usd: number;
    readonly calls: number;
    readonly unpriced: number;
    readonly day: string;
    readonly as_of: string;
  } | null;
  /** The worst five. */
  readonly findings: readonly ChainFinding[];
  readonly findings_total: number;
  /** This server first. */
  readonly replicas: readonly ChainReplica[];
  /** Of the last 24 hours; those that are acknowledged are counted in `raised` alone. */
  readonly alerts: {
    readonly raised: number;
    readonly open: number;
    readonly failed: number;
    readonly pending: number;
  };
  readonly history: {
    readonly step_s: number;
    readonly end: string;
    readonly calls: readonly number[];
    readonly client: readonly number[];
    readonly proxy: readonly number[];
    readonly upstream: readonly number[];
    readonly first_byte_p95_ms: readonly (number | null)[];
  };
}

/** An error or a warning about the configuration. */
export interface ConfigIssue {
  readonly severity: 'error' | 'warning';
  readonly place: string;
  readonly path: string;
  readonly message: string;
  readonly fix: string;
}
