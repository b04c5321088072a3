// The three ways an authenticated call ends: with an upstream's response, with the stored response of an earlier call, or
// with a fault. Each settles the record first and sends the last byte then.
import { sendFault } from './respond.ts';
import type { Exchange } from './exchange.ts';
import { replayResponse, type RepeatedCall } from './idempotency.ts';
import type { Identity } from './identity.ts';
import { costHeaders, responseHeaders } from './response-headers.ts';
import type { AnsweredCall, SpendRecorder } from './spend-recorder.ts';

/** Ends a call with the response of an upstream, error statuses included. */
export async function finishWithResponse(
  x: Exchange,
  recorder: SpendRecorder,
  answered: AnsweredCall,
): Promise<void> {
  const record = await recorder.settle(answered);
  answered.outcome.finish(costHeaders(x.active.headerNames, record));
}

/** Ends a call with the response of an earlier call under the same idempotency key. */
export async function finishWithReplay(
  x: Exchange,
  recorder: SpendRecorder,
  identity: Identity,
  repeated: RepeatedCall,
): Promise<void> {
  const { attempts } = recorder;
  await recorder.settleRepeated(repeated.id, repeated.response);
  replayResponse(x, repeated, responseHeaders(x.active.headerNames, { identity, selected: null, attempts }));
}

/** Ends a call with a fault; any other exception becomes `internal_error`. */
export async function finishWithFault(x: Exchange, recorder: SpendRecorder, thrown: unknown): Promise<void> {
  // A bug while settling must not lose the record: it is settled once more, as failed by that bug.
  const fault = await recorder.fail(thrown).catch((bug: unknown) => recorder.fail(bug));
  const { record, selected, attempts, endpoint } = recorder;
  const own =
    record === null ? [] : responseHeaders(x.active.headerNames, { identity: record, selected, attempts });
  sendFault(x, fault, endpoint.protocol.errors, own);
}
