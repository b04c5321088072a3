// Spend rows and sums as `GET /spend/rows` and `GET /spend/sums` answer them: the members that pages show.

export type EndReason =
  | 'complete'
  | 'upstream_error'
  | 'upstream_broken'
  | 'truncated'
  | 'timeout'
  | 'client_gone'
  | 'replayed'
  | 'stopped'
  | 'refused'
  | 'proxy_error'
  | 'interrupted';

/** One try of a call; listed where there was more than one. */
export interface Attempt {
  readonly model_id: string | null;
  readonly model: string;
  readonly api_base: string | null;
  readonly start: string;
  readonly duration_ms: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly spend: number | null;
  readonly continued?: boolean;
}

export interface Row {
  readonly request_id: string;
  readonly call_type: string;
  /** SHA-256 of the caller's key. */
  readonly api_key: string;
  /** US dollars; null: not known, `cost_reason` says why. */
  readonly spend: number | null;
  readonly total_tokens: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cache_read_tokens: number | null;
  readonly cache_creation_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly startTime: string;
  readonly endTime: string;
  readonly completionStartTime: string | null;
  readonly request_duration_ms: number;
  readonly model: string;
  readonly model_id: string | null;
  readonly model_group: string;
  readonly api_base: string | null;
  readonly user: string;
  readonly end_user: string | null;
  readonly team_id: string | null;
  readonly session_id: string;
  readonly session_source: string;
  readonly request_tags: readonly string[];
  readonly requester_ip_address: string | null;
  readonly status: 'success' | 'failure';
  readonly end_reason: EndReason;
  readonly http_status: number | null;
  readonly error_source: 'client' | 'proxy' | 'upstream' | null;
  readonly attempts: number;
  readonly attempt_log: readonly Attempt[];
  readonly upstream_id: string | null;
  readonly upstream_call_id: string | null;
  readonly client_call_id: string | null;
  readonly request_bytes: number;
  readonly response_bytes: number;
  readonly usage_source: 'upstream' | 'estimate' | 'none';
  readonly cost_source: string;
  readonly cost_reason: string;
  readonly cost_by_source: Readonly<Record<string, number>>;
  readonly stream: boolean;
  readonly user_agent: string | null;
  readonly client: string | null;
  readonly profile: string | null;
  readonly metadata: {
    readonly user_api_key_alias: string | null;
    readonly error_information: { readonly error_class: string; readonly error_message: string } | null;
    readonly warnings: readonly string[];
  };
}

export interface RowsAnswer {
  readonly rows: readonly Row[];
  /** To older rows. */
  readonly next: string | null;
  /** Of the first row: what comes after it is new. */
  readonly newest: string | null;
  readonly whose: 'all' | 'own';
}

/** What a group of calls used and cost. `spend` is an exact decimal text. */
export interface Sum {
  readonly spend: string;
  readonly requests: number;
  readonly failures: number;
  /** Calls whose cost is not known: they are in no amount. */
  readonly unpriced: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** A sum with the values that it is grouped by, under the names asked for. */
export type GroupedSum = Sum & Readonly<Partial<Record<string, string | number | null>>>;

export interface SumsAnswer {
  readonly by: readonly string[];
  readonly start_date: string;
  readonly end_date: string;
  readonly whose: 'all' | 'own';
  readonly rows: readonly GroupedSum[];
  /** There are more groups than were asked for; the total is whole. */
  readonly more: boolean;
  readonly total: Sum;
}
