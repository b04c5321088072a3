// The table of contents of the program: one LLM call, from its body to its spend record, step by step. Each step takes
// values and returns one. A call has two exits, an outcome or a fault, and its record is settled once at either.
import type { RequestBody } from '../bodies/request-body.ts';
import { AdmissionPermit, checkLag } from './admission-permit.ts';
import { AttemptLog } from './attempt-log.ts';
import { attempts } from './attempts.ts';
import type { Caller } from './authenticate.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { buildUpstreamRequest } from './build-upstream-request.ts';
import { CallHead } from './call-head.ts';
import type { Exchange } from './exchange.ts';
import { exitWithAnswer, exitWithFault, exitWithRepeat } from './exits.ts';
import { claimKey, type IdempotencyClaim } from './idempotency.ts';
import { identityOf } from './identity.ts';
import { parseRequest } from './parse-request.ts';
import { selectedBy, planCall } from './plan.ts';
import { readBody } from './read-body.ts';
import { SpendRecorder } from './spend-recorder.ts';

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
    const plan = planCall(x.active, request.model, identity); // which deployment gets it, and which next when that fails
    await permit.acquire(plan); // waits for its turn, where limits are set
    const selected = selectedBy(plan);
    recorder.learn({ picked: selected });
    await recorder.begin(); // in the operating system before the first byte goes upstream
    const first = buildUpstreamRequest(x, request, identity, selected, { replaceable: plan.hasMore });
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
