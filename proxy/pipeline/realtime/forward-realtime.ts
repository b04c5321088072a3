// One realtime session, from its handshake to its spend record, step by step: as forward.ts does it for a call. Retries and
// fallbacks end with the first upstream that opens the session; from then on it is one upstream's.
import type { Secret } from '../../../config/secret.ts';
import type { ActiveConfig } from '../../active-config/active-config.ts';
import { holderOf, type AuthenticatedCaller } from '../../access/caller.ts';
import { picoOfUsd } from '../../access/budgets/caps.ts';
import { costOfOne } from '../../access/budgets/reservation.ts';
import { authorize } from '../../access/permissions.ts';
import { Fault, toFault } from '../../errors/fault.ts';
import { REALTIME } from '../../protocols/realtime/realtime.ts';
import { concealInReading } from '../../relay/conceal-key.ts';
import type { Outcome } from '../../relay/outcome.ts';
import { RealtimeSession, type SessionEnd, type SessionRules } from '../../relay/realtime/session.ts';
import { NOTHING_READ } from '../../relay/tap.ts';
import { AdmissionPermit, checkLag } from '../admission-permit.ts';
import { AttemptLog } from '../attempt-log.ts';
import { authenticate } from '../authenticate.ts';
import { CallAttempts, type BegunAttempt } from '../call-attempts.ts';
import { CallHead } from '../call-head.ts';
import { checkBlocked } from '../caller-rules.ts';
import { usagePricer } from '../charge.ts';
import type { Ended } from '../classify.ts';
import type { Exchange } from '../exchange.ts';
import { finishWithFault } from '../finish.ts';
import { identityOf, type Identity } from '../identity.ts';
import type { ParsedRequest } from '../parse-request.ts';
import { countSkipped, selectedBy } from '../plan.ts';
import { checkCall, planOf, readCall } from '../read-call.ts';
import { reserveCall } from '../reserve.ts';
import type { SelectedDeployment } from '../select-deployment.ts';
import { SpendRecorder } from '../spend-recorder.ts';
import { dial, NO_SESSION, upgradeRequest, type DialEnd, type OpenedUpgrade } from './dial.ts';
import { readHandshake, requestOf, switchingProtocols, type Handshake } from './handshake.ts';

/** An attempt that has opened a session, and its socket. */
interface OpenAttempt {
  readonly is: 'open';
  readonly attempt: BegunAttempt;
  readonly upgrade: OpenedUpgrade;
  readonly openAt: number;
}

/** How the attempts ended: with an upstream, or with a response that refuses. */
type Opened = OpenAttempt | { readonly is: 'refused'; readonly outcome: Outcome };

/** @param current the configuration that serves now: who may go on is judged by that one */
export async function forwardRealtime(
  x: Exchange,
  caller: AuthenticatedCaller,
  current: () => ActiveConfig,
): Promise<void> {
  const handshake = readHandshake(x);
  const log = new AttemptLog();
  const recorder = new SpendRecorder(x, caller, REALTIME, log, handshake.model ?? '');
  const permit = new AdmissionPermit(x);
  try {
    checkLag(x);
    const call = readCall(x, caller, requestOf(handshake)); // refuses nothing, so that the row of a refused session says whose it is
    const { request, identity } = call;
    recorder.read(request, identity);
    checkCall(x, call);
    const planned = planOf(x, call, null); // sessions are not translated
    const { realtime } = x.active.snapshot;
    const stated = costOfOne({
      pico: picoOfUsd(realtime.reservedUsd) ?? 0n,
      inputPico: () => 0n,
      output: 0,
      reason: '',
    });
    const reserved = await reserveCall(x, { caller, call, stated }, planned);
    if (reserved.cost !== null) recorder.reserved(reserved.cost);
    const { plan } = reserved;
    countSkipped(x.active, plan);
    await permit.acquire(plan); // waits, where limits are set
    await recorder.begin(selectedBy(plan)); // written to the journal before the first byte goes upstream
    const head = new CallHead(x, identity, log, permit, caller.keyHash, [reserved]);
    const attempts = new CallAttempts(x, request, plan, permit, log);
    const opened = await open(attempts, identity, handshake);
    const answered = { call: CALL, billable: request.billable, head };
    if (opened.is === 'refused') {
      const own = head.ownHeaders(opened.outcome.status ?? 502, opened.outcome.upstreamMs);
      await recorder.settle({ ...answered, outcome: opened.outcome });
      return opened.outcome.finish(own);
    }
    const { attempt, openAt } = opened;
    const upstreamMs = openAt - attempt.start.sentAt;
    const openedAs = { request, handshake, selected: attempt.start.selected };
    const { socket } = opened.upgrade;
    const ended = await ownedBy(
      attempts,
      attempt,
      () => {
        const rules = rulesOf(x, openedAs, caller, current, reserved.cost !== null);
        return run(x, handshake, opened, rules, head.ownHeaders(101, upstreamMs));
      },
      () => socket.destroy(),
    );
    const { apiKey } = attempt.start.selected.deployment.config;
    const outcome = outcomeOf(ended, apiKey, openAt, upstreamMs);
    attempts.finish(attempt, { outcome });
    x.active.services.metrics.realtime.ended(ended.fault?.code ?? ended.end);
    await recorder.settle({ ...answered, outcome });
  } catch (thrown) {
    await finishWithFault(x, recorder, thrown);
  } finally {
    permit.release();
    x.active.services.counters.release(x.id);
  }
}

/** No body goes upstream, so nothing of it is counted. */
const CALL = { body: null, protocol: REALTIME.protocol } as const;

/** Asks one deployment after the other, as the plan says. @throws Fault of the last one */
async function open(
  attempts: CallAttempts,
  identity: Identity,
  { subprotocols }: Handshake,
): Promise<Opened> {
  const { x, plan } = attempts;
  const { services, snapshot } = x.active;
  services.retryBudget.earn(snapshot.routing.retryBudget);
  for (;;) {
    const selected = selectedBy(plan);
    const asked = upgradeRequest(x, identity, selected, subprotocols);
    const attempt = attempts.begin(selected);
    const leftMs = attempts.timeLeftMs(selected.deployment.config.clocks.totalMs, attempt.start);
    const end = await ownedBy(attempts, attempt, () => dial(x, selected, asked, leftMs));
    if (end.is === 'open') return { ...end, attempt };
    const ended = endedOf(end);
    const { failure } = attempts.finish(attempt, ended);
    const move = failure === null ? null : await attempts.moveOn(attempt, ended, failure);
    if (move?.is === 'next') {
      if (move.left !== null) throw move.left;
      continue;
    }
    if (ended.fault !== undefined) throw ended.fault;
    return { is: 'refused', outcome: ended.outcome };
  }
}

function endedOf(end: Exclude<DialEnd, { is: 'open' }>): Ended {
  if (end.is === 'refused') return { outcome: end.outcome };
  return { fault: end.is === 'left' ? end.why : end.fault };
}

/** Runs a part of an attempt. Where a bug ends it, neither the attempt nor what it has opened outlives it. */
async function ownedBy<T>(
  attempts: CallAttempts,
  attempt: BegunAttempt,
  part: () => Promise<T>,
  close: () => void = () => undefined,
): Promise<T> {
  try {
    return await part();
  } catch (thrown) {
    close();
    attempts.abandon(attempt);
    throw thrown;
  }
}

/** Answers the handshake and relays the session to its end. @param own headers of ours, flat */
async function run(
  x: Exchange,
  handshake: Handshake,
  { upgrade }: OpenAttempt,
  rules: SessionRules,
  own: readonly string[],
): Promise<SessionEnd> {
  const { clock, deadlines, metrics } = x.active.services;
  if (x.res.destroyed) throw new Fault('client_gone', 'The client left while its session was being opened.');
  let session: RealtimeSession | null = null;
  const client = x.res.upgrade({
    drain: () => session?.drain(),
    interrupt: (fault) => session?.interrupt(fault),
    gone: () => session?.gone(),
  });
  client.write(switchingProtocols(handshake, upgrade.subprotocol, own), 'latin1');
  session = new RealtimeSession(client, upgrade.socket, rules, deadlines, () => clock.mono());
  metrics.realtime.opened();
  session.start(upgrade.early);
  return await session.ended;
}

/** What a session is asked by, and which upstream has it. */
interface OpenedAs {
  readonly handshake: Handshake;
  readonly request: ParsedRequest;
  readonly selected: SelectedDeployment;
}

function rulesOf(
  x: Exchange,
  { handshake, request, selected }: OpenedAs,
  caller: AuthenticatedCaller,
  current: () => ActiveConfig,
  holdsBudget: boolean,
): SessionRules {
  const { realtime, limits } = x.active.snapshot;
  const reserved = realtime.reservedUsd;
  const price = usagePricer(x, REALTIME, selected, request.billable);
  const names = new Set([
    handshake.model,
    request.model,
    selected.upstreamModel,
    selected.deployment.config.group,
  ]);
  return {
    apiBase: selected.deployment.config.apiBase,
    idleMs: realtime.idleMs,
    longestMs: realtime.longestMs,
    mostMessageBytes: limits.requestBytes,
    allowsModel: (model) => names.has(model),
    refusal: () => refusalOf({ ...x, active: current(), startMs: x.active.services.clock.now() }, caller),
    refusalAfter: (usage) => {
      if (!holdsBudget) return null;
      const cost = price(usage, null, {});
      if (cost === null || Number(cost) < reserved) return null;
      const text = `The session has cost $${Number(cost).toFixed(4)}, and it reserved $${reserved} of its budgets. Open another one.`;
      return new Fault('realtime_budget_used', text);
    },
  };
}

/** Why a caller that was let in would not be let in now; null = it would. */
function refusalOf(now: Exchange, before: AuthenticatedCaller): Fault | null {
  try {
    const caller = authenticate(now);
    if (caller instanceof Promise) {
      caller.catch(() => undefined); // the store is asked about a key that is gone here
      return new Fault('invalid_api_key', 'The key of this session is not known any more.');
    }
    if (holderOf(caller) !== holderOf(before))
      return new Fault('invalid_api_key', 'The key of this session is not known any more.');
    authorize(caller, 'inference', { method: now.req.method, path: now.path });
    checkBlocked(now, identityOf(now, caller));
    return null;
  } catch (thrown) {
    return toFault(thrown);
  }
}

function outcomeOf(ended: SessionEnd, apiKey: Secret | null, openAt: number, upstreamMs: number): Outcome {
  const { end, fault, usage, bytes, sessionId, model } = ended;
  return {
    ...NO_SESSION,
    end,
    fault,
    status: 101,
    firstByteAt: openAt,
    upstreamMs,
    responseBytes: bytes,
    isStream: true,
    reading: concealInReading({ ...NOTHING_READ, usage, id: sessionId, model }, apiKey),
  };
}
