import type { TraceContext } from '../../headers/trace-context.ts';
import { NO_TOKENS, type Tokens, type Units } from '../../protocols/usage.ts';

// The spend record: one per request that passed authentication, whatever its end. Pure types and pure builders;
// the journal, the store and the spend API all use this type. Never prompt or answer text.

/** Why a request ended. `complete` is the only success. */
export type EndReason =
  | 'complete'
  | 'upstream_error' // a status >= 400, an error event inside a 200 stream, or a 200 that is no answer (an error, HTML, nothing)
  | 'upstream_broken' // connection refused, reset or cut; a stream cut after its headers is `truncated`
  | 'truncated' // the stream ended without its terminal event
  | 'timeout' // one of the clocks
  | 'client_gone' // the client left before it had the whole answer
  | 'replayed' // the answer of an earlier call with the same idempotency key was given again; cost nothing
  | 'stopped' // the proxy was stopped, and the answer was not complete when its time was over
  | 'refused' // the proxy answered with a fault of its own before anything went upstream
  | 'proxy_error' // a bug of ours
  | 'interrupted'; // the process died; written by recovery

/** `estimate`: counted here, in whole or in part, because the upstream did not state it. */
type UsageSource = 'upstream' | 'estimate' | 'none';
/** `upstream_header`: as the upstream states it, in its cost header or in its usage object. */
export type CostSource = 'entry' | 'upstream_header' | 'catalogue' | 'none';

/** The cost of a request by source, pico-dollars; absent = unknown to that source. */
export type KnownCosts = Readonly<Partial<Record<Exclude<CostSource, 'none'>, number>>>;

/** What is known before the first byte goes upstream: the journal's begin entry. Times are epoch milliseconds. */
export interface SpendBegin {
  /** Our call id (UUIDv7): the key of the row. A client's or an upstream's id is an ordinary column. */
  readonly requestId: string;
  /** The dialect's call type: acompletion, aembedding, aresponses, anthropic_messages, ... */
  readonly callType: string;
  readonly startMs: number;
  /** SHA-256 hex of the caller's key; '' when no key is configured. */
  readonly apiKeyHash: string;
  /** What the configuration calls that key; absent = it has no name. */
  readonly keyName?: string;
  /** Upstream's name of the model; what the client asked for when the request was refused before a deployment was selected. */
  readonly model: string;
  /** What the client asked for. */
  readonly modelGroup: string;
  readonly modelId: string | null;
  readonly provider: string | null;
  readonly apiBase: string | null;
  readonly sessionId: string;
  /** Where the session id came from: `x-litellm-session-id`, `body.metadata.session_id`, `generated`, ... */
  readonly sessionSource: string;
  /** Body `user`, `metadata.trace_user_id` and alike. */
  readonly endUser: string | null;
  /** Of the caller's key, else as the deployment states it; likewise `userId`. */
  readonly teamId: string | null;
  /** Whose the team, else the key was when the call came; null = nobody's. Absent: of a version that did not record it. */
  readonly organizationId?: string | null;
  readonly userId: string | null;
  /** As the deployment states it. */
  readonly profile: string | null;
  readonly tags: readonly string[];
  /** The object of `x-litellm-spend-logs-metadata` (or `metadata.spend_logs_metadata`), as given. */
  readonly spendLogsMetadata: Readonly<Record<string, unknown>> | null;
  readonly clientCallId: string | null;
  readonly clientAddress: string | null;
  readonly userAgent: string | null;
  /** The program that called: the product of its user agent, without the version. */
  readonly client: string | null;
  readonly stream: boolean;
  readonly requestBytes: number;
  /** Sentences on doubtful input (e.g. unreadable metadata header); the call went on. */
  readonly warnings: readonly string[];
  /**
   * Pico-dollars that it reserved of its budgets: what it counts for if the process dies before its end. Absent: it has no
   * budget. Kept in the journal, not in the store.
   */
  readonly reservedPico?: number;
  /** Where the call stands in a trace; absent while tracing is off. Kept in the journal, not in the store. */
  readonly trace?: TraceContext;
}

/** One attempt of a request that took more than one. */
export interface Attempt {
  readonly modelId: string;
  /** Upstream's name of the model. */
  readonly model: string;
  readonly apiBase: string;
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly durationMs: number;
  /** The upstream's status; null when it gave none. */
  readonly status: number | null;
  /**
   * Why the attempt did not serve: `timeout`, `rate_limit`, `server`, ..., a fault's code; `cancelled`: another one was
   * faster. null when it did serve.
   */
  readonly error: string | null;
  readonly usage: Readonly<Record<string, unknown>> | null;
  /** Pico-dollars; null = unknown. */
  readonly spendPico: number | null;
  /** The next attempt went on with the stream that this one had begun. */
  readonly continued?: true;
  /** `id` of its answer, which is what the client of a continued stream saw. */
  readonly upstreamId?: string;
  /** Of attempts that wrote one answer together: its part of the row's tokens, and how they were counted if they were. */
  readonly tokens?: Tokens;
  readonly estimatedBy?: string;
}

/** The journal's settle entry: the whole row, so that it does not need its begin any more. */
export interface SpendRecord extends SpendBegin {
  readonly endMs: number;
  /** First byte of the answer's body (first event of a stream); null when none came. */
  readonly firstByteMs: number | null;
  readonly status: 'success' | 'failure';
  readonly endReason: EndReason;
  /** Status the client got; null when it got none. */
  readonly httpStatus: number | null;
  /** Code of our fault table, when the end was a fault. */
  readonly errorCode: string | null;
  /** The fault's text. Never an upstream's own: that may quote the prompt. */
  readonly errorText: string | null;
  readonly errorSource: 'client' | 'proxy' | 'upstream' | null;
  readonly attempts: number;
  /** All of them when there was more than one, else empty: oldest first, but the one that gave the answer or its end last. */
  readonly attemptLog: readonly Attempt[];
  readonly responseBytes: number;
  /** `id` of the upstream's answer. */
  readonly upstreamId: string | null;
  /** The upstream's own `x-litellm-call-id` or `x-request-id`: joins our ledger with theirs. */
  readonly upstreamCallId: string | null;
  /** Usage exactly as the upstream sent it. */
  readonly usage: Readonly<Record<string, unknown>> | null;
  readonly usageSource: UsageSource;
  readonly tokens: Tokens;
  /** How tokens were estimated: the tokenizer, or `bytes`; null when they were not. */
  readonly estimatedBy: string | null;
  /** What was counted beside tokens; null = nothing. */
  readonly units: Units | null;
  /** Service tier as the answer states it, else as the request asked for it. */
  readonly serviceTier: string | null;
  /** Pico-dollars (1e-12 USD), an integer, known costs of replaced attempts included; null = unknown, `costReason` says why. */
  readonly spendPico: number | null;
  readonly costSource: CostSource;
  /** Why `spendPico` is null, or what it lacks; else ''. */
  readonly costReason: string;
  /** The cost of the last attempt by each source; where they differ, `costSource` names the one that counts. */
  readonly costs: KnownCosts;
  /** Version of the price table that made `spendPico`; null when none did. */
  readonly priceVersion: string | null;
}

/** The columns of a record without a response from an upstream. */
export const NO_ANSWER = {
  firstByteMs: null,
  attemptLog: [],
  upstreamId: null,
  upstreamCallId: null,
  usage: null,
  usageSource: 'none',
  tokens: NO_TOKENS,
  estimatedBy: null,
  units: null,
  serviceTier: null,
} as const;

/** The row that recovery writes for a begin that never settled. */
export function interrupted(begin: SpendBegin, endMs: number): SpendRecord {
  return {
    ...begin,
    endMs: Math.max(begin.startMs, endMs), // the clock may have been set meanwhile
    ...NO_ANSWER,
    status: 'failure',
    endReason: 'interrupted',
    httpStatus: null,
    errorCode: 'interrupted',
    errorText: null,
    errorSource: 'proxy',
    attempts: 1,
    responseBytes: 0,
    // Rows and budgets agree: what the call may have cost at most counts until a reconciliation knows better.
    spendPico: begin.reservedPico ?? null,
    costSource: 'none',
    costReason:
      begin.reservedPico === undefined
        ? 'the process ended before the answer was complete'
        : 'an estimate: the process ended before the answer was complete, so the call counts for what it had reserved of its budgets',
    costs: {},
    priceVersion: null,
  };
}
