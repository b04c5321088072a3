// The table of contents of the program: one LLM call, from its body to its spend record, step by step. Each step takes
// values and returns one. A call ends with a response or with a fault, and its record is settled exactly once.
import type { RequestBody } from '../bodies/request-body.ts';
import type { OpenCapsule } from '../capsule/capsules.ts';
import { AdmissionPermit, checkLag } from './admission-permit.ts';
import { buildAttempt } from './attempt.ts';
import { AttemptLog } from './attempt-log.ts';
import { runAttempts } from './attempts.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { checkBrake, obeyBrake } from './brake.ts';
import { CallAttempts } from './call-attempts.ts';
import { CallHead } from './call-head.ts';
import { endCapsule, identifyCapsule, openCapsule } from './capsule-call.ts';
import { couldNotCount, finishWithCount, isCountedHere } from './count-tokens.ts';
import { reserveCall } from './reserve.ts';
import type { Exchange } from './exchange.ts';
import { finishWithResponse, finishWithFault, finishWithReplay } from './finish.ts';
import { claimIdempotencyKey, type IdempotencyClaim, type RepeatedCall } from './idempotency.ts';
import { parseRequest } from './parse-request.ts';
import { countSkipped, planSingle, selectedBy } from './plan.ts';
import { readBody } from './read-body.ts';
import { checkCall, planOf, readCall } from './read-call.ts';
import { SpendRecorder } from './spend-recorder.ts';
import { earlierTokens } from './stored-response.ts';
import { Translations } from './translations.ts';

/** Serves one call that names a model: in its body, or in its path (`/engines/{model}/...`). */
export async function forward(
  x: Exchange,
  caller: AuthenticatedCaller,
  endpoint: Endpoint,
  pathModel: string | null,
): Promise<void> {
  const log = new AttemptLog();
  const recorder = new SpendRecorder(x, caller, endpoint, log, pathModel ?? '');
  const permit = new AdmissionPermit(x);
  let body: RequestBody | null = null;
  let claim: IdempotencyClaim | RepeatedCall | null = null;
  let capsule: OpenCapsule | null = null;
  try {
    capsule = openCapsule(x, caller, endpoint); // null unless an administrator has asked for it
    checkLag(x); // a process that is behind takes nothing more on
    body = await readBody(x); // bounded and inflated: what follows reads it as a whole
    capsule?.recording.requestBody(body.bytes);
    recorder.received(body.bytes.length);
    const parsed = await parseRequest(x, endpoint, body, pathModel); // the members that the proxy acts on; the rest is not built
    const call = readCall(x, caller, parsed); // refuses nothing, so that the row of a refused call says whose it is
    const { request, identity, chaos } = call;
    recorder.read(request, identity);
    if (chaos !== null) recorder.asked(chaos);
    if (capsule !== null) capsule = identifyCapsule(x, capsule, request, identity); // of other conversations nothing is kept
    checkCall(x, call); // before a key is claimed, or a response that is stored asked for
    const { previousResponse } = request;
    const readAgain = previousResponse === null ? 0 : await earlierTokens(x, caller, previousResponse); // the caller's own alone
    const { idempotency } = x.active.snapshot;
    claim = idempotency === null ? null : await claimIdempotencyKey(x, caller, request, idempotency); // before the body is changed
    if (claim?.kind === 'repeated') return await finishWithReplay(x, recorder, identity, claim);
    const translations = new Translations(x, request, identity); // so that the plan passes over whom the call cannot be told
    const planned = planOf(x, call, translations);
    const braked = checkBrake(x, caller, call); // before anything is paid for: the conversation may run away
    if (braked !== null) {
      recorder.braked(braked); // the row of a call that it stops says why
      await obeyBrake(x, braked);
    }
    const reserved = await reserveCall(x, { caller, call, readAgain, translations }, planned); // calls at the same time would spend one budget twice
    if (reserved.cost !== null) recorder.reserved(reserved.cost);
    const plan = chaos === null ? reserved.plan : planSingle(x.active, selectedBy(reserved.plan)); // another deployment would hide the fault
    countSkipped(x.active, plan);
    await permit.acquire(plan); // waits, where limits are set
    const selected = selectedBy(plan);
    await recorder.begin(selected); // in the journal before the first byte goes upstream: a killed process leaves a row
    if (isCountedHere(x, request, selected)) return await finishWithCount(x, recorder, request, identity);
    const head = new CallHead(x, identity, log, permit, caller.keyHash, [braked, reserved]);
    const continuations = reserved.cost?.continuations ?? Infinity; // as many as the budgets have room for
    const attempts = new CallAttempts(x, request, plan, permit, log);
    const outgoing = { x, request, identity, translations, attempts, head, continuations, chaos, capsule };
    const first = buildAttempt(outgoing, selected, plan.hasMore);
    const result = await runAttempts(outgoing, first); // the only owner of retries, fallbacks, hedges and continued streams
    const isUncounted = couldNotCount(request, result.call, result.outcome);
    if (isUncounted) return await finishWithCount(x, recorder, request, identity);
    const { outcome, call: sent } = result;
    await finishWithResponse(x, recorder, { outcome, call: sent, billable: request.billable, head }); // settled before the last byte is sent
  } catch (thrown) {
    await finishWithFault(x, recorder, thrown);
  } finally {
    permit.release(); // what others wait for goes before what is only told
    body?.release();
    x.active.services.counters.release(x.id);
    try {
      if (claim?.kind === 'first') claim.settle(recorder.record);
    } finally {
      if (capsule !== null) endCapsule(x, capsule, recorder.record);
    }
  }
}
