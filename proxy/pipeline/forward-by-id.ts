// Calls on a response that exists (`/v1/responses/{id}` and below): they go to the upstream that made it, which the
// spend records know. Same header policy and same settling as every other call.
import { Fault } from '../errors/fault.ts';
import { AdmissionPermit, checkLag } from './admission-permit.ts';
import { AttemptLog } from './attempt-log.ts';
import type { Caller } from './authenticate.ts';
import type { StoredAnswerCall } from '../protocols/table.ts';
import { NO_BILLABLE_UNITS } from './billable-units.ts';
import { buildByIdRequest } from './build-upstream-request.ts';
import { CallHead } from './call-head.ts';
import type { Exchange } from './exchange.ts';
import { exitWithAnswer, exitWithFault } from './exits.ts';
import { identityOf } from './identity.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { planSingle } from './plan.ts';
import { readBody } from './read-body.ts';
import { SpendRecorder } from './spend-recorder.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Outcome } from '../relay/outcome.ts';
import { relay } from '../relay/relay.ts';

/** `id` is decoded; it goes upstream encoded again. */
export async function forwardById(
  x: Exchange,
  caller: Caller,
  { method, suffix, endpoint }: StoredAnswerCall,
  id: string,
): Promise<void> {
  const log = new AttemptLog();
  const recorder = new SpendRecorder(x, caller, endpoint, log);
  const permit = new AdmissionPermit(x);
  try {
    checkLag(x);
    if (method === 'POST') recorder.learn({ requestBytes: await discardBody(x) });
    const identity = identityOf(x, caller);
    const { picked, model } = await makerOf(x, id);
    recorder.learn({ identity, model, picked });
    await permit.acquire(planSingle(x.active, picked)); // like a call that names the model of that response
    await recorder.begin();
    const path = `responses/${encodeURIComponent(id)}${suffix}`;
    const call = buildByIdRequest(x, endpoint, identity, picked, method, path);
    const head = new CallHead(x, identity, log, permit);
    const outcome = await once(x, picked, call, log, permit, head);
    await exitWithAnswer(x, recorder, head, NO_BILLABLE_UNITS, { outcome, call });
  } catch (thrown) {
    await exitWithFault(x, recorder, log, endpoint, thrown);
  } finally {
    permit.release();
  }
}

/** Sends a request once: what it says of a response says little of how models are served, and nobody else has it. */
async function once(
  x: Exchange,
  selected: SelectedDeployment,
  call: UpstreamRequest,
  log: AttemptLog,
  permit: AdmissionPermit,
  head: CallHead,
): Promise<Outcome> {
  const { clock } = x.active.services;
  const start = { selected, sentAt: clock.mono(), sentMs: clock.now(), retries: 0, fallbacks: 0 };
  log.begun(start);
  const inFlight = permit.use(selected.deployment, start.sentAt);
  try {
    return await relay(call, x.res, x.active.services, head).ended;
  } finally {
    inFlight.abandoned();
    permit.used();
  }
}

/** The body of the client does not go upstream. @returns its size */
async function discardBody(x: Exchange): Promise<number> {
  const body = await readBody(x);
  const { length } = body.bytes;
  body.release();
  return length;
}

/** The target whose answer had this id. @throws Fault response_not_found, store_unavailable. */
async function makerOf(x: Exchange, id: string): Promise<{ picked: SelectedDeployment; model: string }> {
  const made = await x.active.services.ledger.reader.findByUpstreamId(id).catch((cause: unknown) => {
    throw new Fault('store_unavailable', 'The spend store does not answer, so the upstream is not known.', {
      cause,
    });
  });
  const target = x.active.deployments.get(made?.modelId ?? '');
  if (made === null || target === undefined) {
    const text = `No response ${id.slice(0, 100)} was made through this proxy.`;
    throw new Fault('response_not_found', text, { param: 'id' });
  }
  const forwards = target.config.forwardClientHeaders || x.active.snapshot.forwards(made.modelGroup);
  return { picked: { deployment: target, upstreamModel: made.model, forwards }, model: made.modelGroup };
}
