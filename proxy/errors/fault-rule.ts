// A row of the table of faults, and how one is written.

/** Whose fault it is; sent as the `-error-source` response header. */
export type FaultSource = 'client' | 'proxy' | 'upstream';

export interface FaultRule {
  readonly status: number;
  /** The `type` member of the body. Never `invalid_request_error` on a 401: SDKs then read a bad request. */
  readonly type: string;
  readonly source: FaultSource;
  /** What was wrong, for docs/errors.md. */
  readonly means: string;
  /** What to do about it. */
  readonly fix: string;
}

export const client = (
  status: number,
  means: string,
  fix: string,
  type = 'invalid_request_error',
): FaultRule => ({
  status,
  type,
  source: 'client',
  means,
  fix,
});
export const proxy = (status: number, means: string, fix: string, type = 'proxy_error'): FaultRule => ({
  status,
  type,
  source: 'proxy',
  means,
  fix,
});
export const upstream = (status: number, means: string, fix: string, type = 'upstream_error'): FaultRule => ({
  status,
  type,
  source: 'upstream',
  means,
  fix,
});
