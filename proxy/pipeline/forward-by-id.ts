// Calls on a stored response (`/v1/responses/{id}` and below): they go to the upstream that made it, which the spend
// records know. Same header policy and same settling as every other call.
import type { OpenCapsule } from '../capsule/capsules.ts';
import { Fault } from '../errors/fault.ts';
import { AdmissionPermit, checkLag } from './admission-permit.ts';
import { AttemptLog, type AttemptStart } from './attempt-log.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import { serves } from '../access/team-deployments.ts';
import type { StoredResponseCall } from '../protocols/table.ts';
import { checkBlocked } from './caller-rules.ts';
import { NO_BILLABLE_UNITS } from './billable-units.ts';
import { buildByIdRequest } from './build-upstream-request.ts';
import { CallAttempts } from './call-attempts.ts';
import { CallHead } from './call-head.ts';
import { endCapsule, openCapsule, attemptInCapsule, identifyCapsule } from './capsule-call.ts';
import type { Exchange } from './exchange.ts';
import { finishWithResponse, finishWithFault } from './finish.ts';
import { identityOf } from './identity.ts';
import { forwardsTo, type SelectedDeployment } from './select-deployment.ts';
import { planSingle, selectedBy } from './plan.ts';
import { readBody } from './read-body.ts';
import { SpendRecorder } from './spend-recorder.ts';
import { makerOf } from './stored-response.ts';
import type { MadeBy } from '../spend/store/store.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Outcome } from '../relay/outcome.ts';
import { relay } from '../relay/relay.ts';

/** `id` is decoded; it goes upstream encoded again. */
export async function forwardById(
  x: Exchange,
  caller: AuthenticatedCaller,
  { method, suffix, endpoint }: StoredResponseCall,
  id: string,
): Promise<void> {
  const log = new AttemptLog();
  const recorder = new SpendRecorder(x, caller, endpoint, log);
  const permit = new AdmissionPermit(x);
  let capsule: OpenCapsule | null = null;
  try {
    capsule = openCapsule(x, caller, endpoint); // null unless an administrator has asked for it
    checkLag(x);
    if (method === 'POST') recorder.received(await discardBody(x, capsule));
    const identity = identityOf(x, caller);
    const path = `responses/${encodeURIComponent(id)}${suffix}`;
    if (capsule !== null) capsule = identifyCapsule(x, capsule, { method, path }, identity);
    checkBlocked(x, identity);
    const { selected, made } = await findDeployment(x, caller, id);
    const model = made.modelGroup;
    recorder.read({ model, stream: false, isBackground: false }, identity);
    capsule?.recording.note({ model });
    const plan = planSingle(x.active, selected); // no other upstream has the response
    await permit.acquire(plan); // like a call that names the model of that response
    await recorder.begin(selected);
    const call = buildByIdRequest(x, endpoint, identity, selected, method, path);
    const head = new CallHead(x, identity, log, permit);
    const attempts = new CallAttempts(x, { endpoint, billable: NO_BILLABLE_UNITS }, plan, permit, log);
    const opened = capsule;
    const outcome = await runOnce(attempts, head, (start) =>
      opened === null ? call : attemptInCapsule(opened, call, start, identity),
    );
    const { usage, id: named } = outcome.reading;
    const { recentResponses } = x.active.services;
    if (named !== null) recentResponses.rename(id, made, named);
    // A response in the background states its usage here for the first time, and from then on each time.
    const tokens = usage === null ? null : (endpoint.protocol.readTokens(usage).tokens.total ?? 0);
    const countsStored = tokens !== null && recentResponses.claim(id, tokens);
    const answered = { outcome, call, billable: NO_BILLABLE_UNITS, head, countsStored };
    await finishWithResponse(x, recorder, answered);
  } catch (thrown) {
    await finishWithFault(x, recorder, thrown);
  } finally {
    permit.release();
    if (capsule !== null) endCapsule(x, capsule, recorder.record);
  }
}

/** Sends the request once. What comes of a lookup says little about how the deployment serves models, so its health stays. */
async function runOnce(
  attempts: CallAttempts,
  head: CallHead,
  requestAt: (start: AttemptStart) => UpstreamRequest,
): Promise<Outcome> {
  const { x } = attempts;
  const attempt = attempts.begin(selectedBy(attempts.plan));
  try {
    return await relay(requestAt(attempt.start), x.res, x.active.services, head).ended;
  } finally {
    attempts.abandon(attempt);
  }
}

/** Reads the client's body, which does not go upstream. @returns its size */
async function discardBody(x: Exchange, capsule: OpenCapsule | null): Promise<number> {
  const body = await readBody(x);
  capsule?.recording.requestBody(body.bytes);
  const { length } = body.bytes;
  body.release();
  return length;
}

/** The deployment whose response of this caller had this id. @throws Fault response_not_found, store_unavailable. */
async function findDeployment(
  x: Exchange,
  caller: AuthenticatedCaller,
  id: string,
): Promise<{ selected: SelectedDeployment; made: MadeBy }> {
  const made = await makerOf(x, caller, id, 'id');
  const deployment = x.active.deployments.get(made.modelId ?? '');
  if (deployment === undefined) {
    const text = `The model that made the response ${id.slice(0, 100)} is not configured any more.`;
    throw new Fault('response_not_found', text, { param: 'id' });
  }
  const models = x.active.modelAccess.of(caller);
  if (!serves(models.bound, deployment.config)) models.refuse(made.modelGroup); // since the response was made it became another team's
  const forwards = forwardsTo(deployment.config, x.active.snapshot.forwards(made.modelGroup));
  return { selected: { deployment, upstreamModel: made.model, forwards }, made };
}
