// The table of contents of the program: one LLM call, from its body to its spend record, step by step. Each step takes
// values and returns one. A call ends with a response or with a fault, and its record is settled exactly once.
import type { RequestBody } from '../bodies/request-body.ts';
import { withOwnFallbacks } from './addressed.ts';
import { AdmissionPermit, checkLag } from './admission-permit.ts';
import { AttemptLog } from './attempt-log.ts';
import { runAttempts } from './attempts.ts';
import type { AuthenticatedCaller } from './authenticate.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { checkBrake, obeyBrake } from './brake.ts';
import { checkCallerRules } from './caller-rules.ts';
import { buildUpstreamRequest } from './build-upstream-request.ts';
import { CallAttempts } from './call-attempts.ts';
import { CallHead } from './call-head.ts';
import { endRecording, openRecording, recordIdentity, type RecordedExchange } from './capsule-call.ts';
import { allowedChaos, calledModel } from './chaos-call.ts';
import { couldNotCount, finishWithCount, isCountedHere } from './count-tokens.ts';
import { reserveCall } from './reserve.ts';
import type { Exchange } from './exchange.ts';
import { finishWithResponse, finishWithFault, finishWithReplay } from './finish.ts';
import { claimIdempotencyKey, type IdempotencyClaim, type RepeatedCall } from './idempotency.ts';
import { identityOf } from './identity.ts';
import { checkModel } from './models-of-caller.ts';
import { checkComplete, parseRequest } from './parse-request.ts';
import { planRequest, planSingle, selectedBy } from './plan.ts';
import { readBody } from './read-body.ts';
import { refuseSteering } from './steering.ts';
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
  let capsule: RecordedExchange | null = null;
  try {
    capsule = openRecording(x, caller, endpoint); // null unless an administrator has asked for it
    checkLag(x);
    body = await readBody(x); // bounded and inflated
    capsule?.recording.requestBody(body.bytes);
    recorder.note({ requestBytes: body.bytes.length });
    const parsed = await parseRequest(x, endpoint, body, pathModel); // the members that the proxy acts on
    const { request: named, requested, asked } = calledModel(x.active, caller, parsed); // what the caller's key or team call differently; ids; `chaos/...`
    const identity = identityOf(x, caller, named.identityMembers); // from key, headers and body, resolved once
    const { model, stream, isBackground } = named;
    recorder.note({ model, stream, isBackground, identity });
    if (capsule !== null) capsule = recordIdentity(x, capsule, { model, stream }, identity);
    const chaos = allowedChaos(x.active, caller, asked); // a fault that a test key asks for
    if (chaos !== null) recorder.note({ chaos });
    const models = checkModel(x, caller, requested, named); // what the key may call
    const request = withOwnFallbacks(x.active, named, models);
    checkCallerRules(x, request, identity); // what the operator asks of every call
    const { previousResponse } = request;
    const readAgain = previousResponse === null ? 0 : await earlierTokens(x, caller, previousResponse); // it is the caller's own
    const { idempotency, brake } = x.active.snapshot;
    claim = idempotency === null ? null : await claimIdempotencyKey(x, caller, request, idempotency);
    if (claim?.kind === 'repeated') return await finishWithReplay(x, recorder, identity, claim);
    const translations = new Translations(x, request, identity); // whom the call can be told
    const planned = planRequest(x.active, request, identity, { allowed: models, translations }); // the deployment to try first, and the ones after it
    refuseSteering(x.active, request, models); // members that would steer one of those gateways
    checkComplete(request); // what the endpoint works on
    const braked = brake === null ? null : checkBrake(x, caller, request, identity, brake); // a conversation that runs away
    if (braked !== null) {
      recorder.note({ braked });
      await obeyBrake(x, braked);
    }
    const reserved = await reserveCall(
      x,
      { caller, request, identity, models, readAgain, translations },
      planned,
    ); // budgets and limits; given back when it is settled
    if (reserved.held !== null) recorder.reserved(reserved.held);
    const plan = chaos === null ? reserved.plan : planSingle(x.active, selectedBy(reserved.plan)); // another deployment would hide the fault
    await permit.acquire(plan); // waits, where limits are set
    const selected = selectedBy(plan);
    await recorder.begin(selected); // written to the journal before the first byte goes upstream
    if (isCountedHere(x, request, selected)) return await finishWithCount(x, recorder, request, identity);
    const first = buildUpstreamRequest(x, request, identity, selected, {
      replaceable: plan.hasMore,
      translated: translations.taken(selected),
    });
    const head = new CallHead(x, identity, log, permit, caller.keyHash, [braked, reserved]);
    const continuations = reserved.held?.continuations ?? Infinity;
    const attempts = new CallAttempts(x, request, plan, permit, log);
    const outgoing = { x, request, identity, translations, attempts, head, continuations, chaos, capsule };
    const result = await runAttempts(outgoing, { selected, request: first }); // retries, fallbacks, hedges, continued streams
    if (couldNotCount(request, result.call, result.outcome))
      return await finishWithCount(x, recorder, request, identity);
    await finishWithResponse(x, recorder, head, request.billable, result); // settled before the last byte is sent
  } catch (thrown) {
    await finishWithFault(x, recorder, thrown);
  } finally {
    permit.release(); // what others wait for goes before what is only told
    body?.release();
    x.active.services.counters.release(x.id);
    try {
      if (claim?.kind === 'first') claim.settle(recorder.record);
    } finally {
      if (capsule !== null) endRecording(x, capsule, recorder.record);
    }
  }
}
