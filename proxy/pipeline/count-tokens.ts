// Calls that only count the tokens of a prompt. A gateway that counts is asked; for one that does not, the answer is an estimate
// of our own, marked as such in a header. Either way they cost nothing.
import { Buffer } from 'node:buffer';
import type { Outcome } from '../relay/outcome.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import { sendResponse } from './respond.ts';
import { responseHeaders } from './response-headers.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import type { SpendRecorder } from './spend-recorder.ts';
import { countsHere, saysNoEndpoint, servingOf } from './upstream-protocol.ts';

/** What is said of such a call before it is made. */
export const COUNTED_HERE =
  'nothing is sent: the gateway does not count tokens, so the proxy answers with an estimate of its own';

/** Whether a call is answered here without asking its gateway. */
export function isCountedHere(
  x: Exchange,
  { endpoint }: ParsedRequest,
  selected: SelectedDeployment,
): boolean {
  if (endpoint.countAnswer === undefined) return false;
  return countsHere(servingOf(x, selected), endpoint, x.active.services.clock.mono());
}

/** Whether the gateway that was asked to count has no such endpoint. */
export function couldNotCount(
  { endpoint }: ParsedRequest,
  call: Pick<UpstreamRequest, 'path'>,
  outcome: Outcome,
): boolean {
  return endpoint.countAnswer !== undefined && saysNoEndpoint(call, outcome);
}

/** Counts, settles the record, and answers. */
export async function finishWithCount(
  x: Exchange,
  recorder: SpendRecorder,
  request: ParsedRequest,
  identity: Identity,
): Promise<void> {
  const { endpoint, body } = request;
  body.restore();
  const { estimator } = x.active.services;
  const { prompt, by } = await estimator.estimate({
    protocol: endpoint.protocol,
    request: body.bytes,
    answer: null,
  });
  const answer = Buffer.from(JSON.stringify(endpoint.countAnswer?.(prompt) ?? {}));
  await recorder.settleCounted(answer.length, by);
  const { headerNames } = x.active;
  const own = responseHeaders(headerNames, {
    identity,
    selected: recorder.selected,
    attempts: recorder.attempts,
  });
  const headers = [
    'content-type',
    'application/json',
    ...own,
    headerNames.countedBy,
    by,
    headerNames.cost,
    '0',
  ];
  sendResponse(x, 200, headers, answer);
}
