// The response headers that tell of a call: its session, where it went, after how many attempts, what the proxy took and
// what it cost. One function makes all of them, for the answer of an upstream as for one of our own.
import type { AttemptLog } from './attempt-log.ts';
import type { Identity } from './identity.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import { usd } from '../spend/record/cost.ts';

/** What is known of a call when its head is written. */
export interface CallResponse {
  readonly identity: Pick<Identity, 'sessionId'>;
  /** Where it went; null when it went nowhere. */
  readonly picked: SelectedDeployment | null;
  readonly attempts: Pick<AttemptLog, 'retries' | 'fallbacks'>;
  /** What the proxy took, ms; absent in an answer of our own. */
  readonly overheadMs?: number;
  /** The status of an upstream's answer; absent in an answer of our own. */
  readonly upstreamStatus?: number;
}

/** A flat name, value list. @param prefix `x-<brand>-` */
export function responseHeaders(prefix: string, response: CallResponse): string[] {
  const { identity, picked, attempts, overheadMs, upstreamStatus } = response;
  const list = [`${prefix}session-id`, identity.sessionId];
  if (picked !== null) {
    list.push(...picked.deployment.responseHeaders);
    list.push(`${prefix}attempted-retries`, String(attempts.retries));
    list.push(`${prefix}attempted-fallbacks`, String(attempts.fallbacks));
  }
  if (overheadMs !== undefined) list.push(`${prefix}overhead-duration-ms`, overheadMs.toFixed(3));
  if (upstreamStatus !== undefined && upstreamStatus >= 400) list.push(`${prefix}error-source`, 'upstream');
  return list;
}

/** The cost of a call that served, where it is known: it is not before the record is settled. Flat. */
export function costHeaders(prefix: string, { status, spendPico }: SpendRecord): string[] {
  return spendPico === null || status !== 'success' ? [] : [`${prefix}response-cost`, usd(spendPico)];
}
