// The ends of an authenticated call: an answer, an answer that was given before, or a fault. Each one settles the record
// first and sends the last byte then.
import type { AttemptLog } from './attempt-log.ts';
import { answerFault } from './answer.ts';
import type { BillableUnits } from './billable-units.ts';
import type { CallHead } from './call-head.ts';
import type { Answered } from './continue.ts';
import type { Exchange } from './exchange.ts';
import { answerAgain, type RepeatedCall } from './idempotency.ts';
import type { Identity } from './identity.ts';
import { costHeaders, responseHeaders } from './response-headers.ts';
import type { SpendRecorder } from './spend-recorder.ts';
import type { Endpoint } from '../protocols/protocol.ts';

/** An upstream has answered, well or not. */
export async function exitWithAnswer(
  x: Exchange,
  recorder: SpendRecorder,
  head: CallHead,
  billable: BillableUnits,
  { outcome, call }: Answered,
): Promise<void> {
  const record = await recorder.settle({ outcome, body: call.body, billable, head });
  outcome.finish(costHeaders(x.active.snapshot.dialect.headerPrefix, record));
}

/** An earlier call under the same idempotency key has the answer. */
export async function exitWithRepeat(
  x: Exchange,
  recorder: SpendRecorder,
  identity: Identity,
  attempts: AttemptLog,
  repeated: RepeatedCall,
): Promise<void> {
  await recorder.settleRepeated(repeated.id, repeated.answer);
  const { headerPrefix } = x.active.snapshot.dialect;
  answerAgain(x, repeated, responseHeaders(headerPrefix, { identity, picked: null, attempts }));
}

/** A fault, or a bug, which becomes one. */
export async function exitWithFault(
  x: Exchange,
  recorder: SpendRecorder,
  attempts: AttemptLog,
  endpoint: Endpoint,
  thrown: unknown,
): Promise<void> {
  // A bug on the way out must not cost the record: it is tried once more, as the end by that bug.
  const fault = await recorder.fail(thrown).catch((bug: unknown) => recorder.fail(bug));
  const { record, picked } = recorder;
  const { headerPrefix } = x.active.snapshot.dialect;
  const own = record === null ? [] : responseHeaders(headerPrefix, { identity: record, picked, attempts });
  answerFault(x, fault, endpoint.protocol.errors, own);
}
