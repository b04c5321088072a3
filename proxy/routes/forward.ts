// The table of contents of the program: one LLM call, from its body to its spend record, step by step. Each step takes
// values and returns one. A call has two exits, an outcome or a fault, and its record is settled once at either.
import type { RequestBody } from '../bodies/request-body.ts';
import { AdmissionPermit, checkLag } from '../request/admission-permit.ts';
import { AttemptLog } from '../request/attempt-log.ts';
import { attempts } from '../request/attempts.ts';
import type { Caller } from '../request/authenticate.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { buildUpstreamRequest } from '../request/build-upstream-request.ts';
import { CallHead } from '../request/call-head.ts';
import type { Exchange } from '../request/exchange.ts';
import { exitWithAnswer, exitWithFault, exitWithRepeat } from '../request/exits.ts';
import { claimKey, type IdempotencyClaim } from '../request/idempotency.ts';
import { identityOf } from '../request/identity.ts';
import { parseRequest } from '../request/parse-request.ts';
import { pickedBy, planCall } from '../request/plan.ts';
import { readBody } from '../request/read-body.ts';
import { SpendRecorder } from '../request/spend-recorder.ts';

/** Serves one call that names a model: in its body, or in its path (`/engines/{model}/...`). */
export async function forward(
  x: Exchange,
  caller: Caller,
  endpoint: Endpoint,
  pathModel: string | null,
): Promise<void> {
  const log = new AttemptLog();
  const recorder = new SpendRecorder(x, caller, endpoint, log, pathModel ?? '');
  const permit = new AdmissionPermit(x);
  let body: RequestBody | null = null;
  let claim: IdempotencyClaim | null = null;
  try {
    checkLag(x);
    body = await readBody(x); // bounded, inflated; it owns its memory
    recorder.learn({ requestBytes: body.bytes.length });
    const request = parseRequest(x, endpoint, body, pathModel); // the members that steer a call; the rest is only checked
    const identity = identityOf(x, caller, request.identityMembers); // by key, headers and body, once
    recorder.learn({ model: request.model, stream: request.stream, identity });
    const known = await claimKey(x, caller, request); // of a call that was made before, under the same key
    if (known?.kind === 'repeated') return await exitWithRepeat(x, recorder, identity, log, known);
    claim = known;
    const plan = planCall(x.live, request.model, identity); // which deployment gets it, and which next when that fails
    await permit.acquire(plan); // waits for its turn, where limits are set
    const picked = pickedBy(plan);
    recorder.learn({ picked });
    await recorder.begin(); // in the operating system before the first byte goes upstream
    const first = buildUpstreamRequest(x, request, identity, picked, { replaceable: plan.hasMore });
    const head = new CallHead(x, identity, log, permit);
    const answered = await attempts({ x, request, identity, plan, permit, log, head }, first);
    await exitWithAnswer(x, recorder, head, request.billable, answered); // settled before the last byte goes to the client
  } catch (thrown) {
    await exitWithFault(x, recorder, log, endpoint, thrown);
  } finally {
    claim?.settle(recorder.record);
    permit.release();
    body?.release();
  }
}
