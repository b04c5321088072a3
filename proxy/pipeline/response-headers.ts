// The response headers about a call: its session, the deployment, the number of attempts, the proxy's overhead and the
// cost. One function makes them all, for upstream responses and for our own.
import { addHeaders } from '../headers/flat-list.ts';
import { modelGroupHeader, type ResponseHeaderNames } from '../headers/response-header-names.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { Identity } from './identity.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import { usd } from '../spend/record/cost.ts';

/** What is known of a call when its head is written. */
interface CallResponse {
  readonly identity: Pick<Identity, 'sessionId'>;
  /** null before a deployment was selected. */
  readonly selected: SelectedDeployment | null;
  readonly attempts: Pick<AttemptLog, 'retries' | 'fallbacks'>;
  /** The proxy's own overhead, ms; absent in a response of our own. */
  readonly overheadMs?: number;
  /** Since the call came, ms; absent in a response of our own. */
  readonly responseMs?: number;
  /** The status of the upstream's response; absent in a response of our own. */
  readonly upstreamStatus?: number;
}

/** A flat name, value list. @param list what stands before them */
export function responseHeaders(
  names: ResponseHeaderNames,
  response: CallResponse,
  list: string[] = [],
): string[] {
  const { identity, selected, attempts, overheadMs, responseMs, upstreamStatus } = response;
  list.push(names.sessionId, identity.sessionId);
  if (selected !== null) {
    addHeaders(list, selected.deployment.responseHeaders);
    if (selected.group !== undefined) addHeaders(list, modelGroupHeader(names, selected.group));
    list.push(names.retries, String(attempts.retries));
    list.push(names.fallbacks, String(attempts.fallbacks));
  }
  if (overheadMs !== undefined) list.push(names.overheadMs, overheadMs.toFixed(3));
  if (responseMs !== undefined) list.push(names.responseMs, responseMs.toFixed(3));
  if (upstreamStatus !== undefined && upstreamStatus >= 400) list.push(names.errorSource, 'upstream');
  return list;
}

/** The cost of a successful call, known once the record is settled. Flat. */
export function costHeaders(names: ResponseHeaderNames, { status, spendPico }: SpendRecord): string[] {
  return spendPico === null || status !== 'success' ? [] : [names.cost, usd(spendPico)];
}
