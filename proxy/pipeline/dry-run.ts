// What a call or a session would do, without sending: its steps, as forward.ts and realtime/forward-realtime.ts take them, up to
// the request that would go upstream. Both explanations print what is found here. Left out is what depends on other calls: sums
// of budgets, what limits and the brake have counted, responses that are stored, idempotency keys.
import { ANYBODY, type AuthenticatedCaller } from '../access/caller.ts';
import { RequestBody } from '../bodies/request-body.ts';
import type { Chaos, ChaosName } from '../chaos/faults.ts';
import { Fault } from '../errors/fault.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { REALTIME } from '../protocols/realtime/realtime.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { withOwnFallbacks } from './addressed.ts';
import { buildUpstreamRequest, type Explainer } from './build-upstream-request.ts';
import { checkCallerRules } from './caller-rules.ts';
import { allowedChaos, calledModel, chaosAsked } from './chaos-call.ts';
import { isCountedHere } from './count-tokens.ts';
import type { Exchange } from './exchange.ts';
import { identityOf, type Identity } from './identity.ts';
import { checkModel } from './models-of-caller.ts';
import { checkComplete, parseRequest, type ParsedRequest } from './parse-request.ts';
import { planRequest, planSingle, selectedBy, type CallPlan } from './plan.ts';
import { upgradeRequest } from './realtime/dial.ts';
import { requestOf } from './realtime/handshake.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { refuseSteering } from './steering.ts';
import { Translations } from './translations.ts';

/** What is asked about. */
export type Asked =
  | {
      readonly is: 'call';
      readonly endpoint: Endpoint;
      readonly body: Buffer;
      readonly pathModel: string | null;
    }
  /** @param model of the query; null = none */
  | { readonly is: 'session'; readonly model: string | null };

/** What is known of a call once it is read. */
export interface ReadCall {
  /** The model as it was asked for. */
  readonly named: string;
  /** The same without the fault that it asks for: the name that access is checked for. */
  readonly requested: string;
  readonly request: ParsedRequest;
  readonly identity: Identity;
}

/** What would be sent. */
export type DryRequest = Pick<
  UpstreamRequest,
  'method' | 'origin' | 'path' | 'headers' | 'body' | 'protocol'
>;

/** How far a call would come: not read, refused, or sent - where nothing has to be asked, answered here. */
export type DryRun =
  | { readonly is: 'unread'; readonly fault: Fault }
  | {
      readonly is: 'refused';
      readonly call: ReadCall;
      readonly chaos: Chaos | null;
      readonly fault: Fault;
    }
  | {
      readonly is: 'served';
      readonly call: ReadCall;
      /** The fault that it asks for; null = none. */
      readonly chaos: Chaos | null;
      readonly plan: CallPlan;
      readonly selected: SelectedDeployment;
      /** null: the proxy counts the tokens itself, and sends nothing. */
      readonly request: DryRequest | null;
    };

interface DryRunOptions {
  /** Is told of each decision while the request is built. */
  readonly explainer: Explainer;
  /** Takes a deployment, whichever one the call would go to; absent: the one that it would go to. */
  readonly choose?: (plan: CallPlan) => SelectedDeployment;
}

/** @param caller null = nobody in particular, who may call every model and ask for any fault */
export async function dryRun(
  x: Exchange,
  caller: AuthenticatedCaller | null,
  asked: Asked,
  options: DryRunOptions,
): Promise<DryRun> {
  const by = caller ?? ANYBODY;
  const read = await faultOr(() => readAsked(x, asked));
  if (read instanceof Fault) return { is: 'unread', fault: read };
  const { request, requested, asked: fault } = calledModel(x.active, by, read);
  const identity = identityOf(x, by, request.identityMembers);
  const call: ReadCall = { named: read.model, requested, request, identity };
  const isSession = asked.is === 'session'; // a session asks for no faults
  const chaos = isSession ? null : await faultOr(() => chaosFor(x, caller, fault));
  if (chaos instanceof Fault) return { is: 'refused', call, chaos: null, fault: chaos };
  const served = await faultOr(() => serve(x, by, call, isSession, chaos, options));
  if (served instanceof Fault) return { is: 'refused', call, chaos, fault: served };
  return { is: 'served', call, chaos, ...served };
}

async function faultOr<T>(step: () => T | Promise<T>): Promise<T | Fault> {
  try {
    return await step();
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
}

/** @throws Fault of the body, missing_model */
function readAsked(x: Exchange, asked: Asked): ParsedRequest | Promise<ParsedRequest> {
  return asked.is === 'session'
    ? requestOf({ key: '', subprotocols: [], model: asked.model })
    : parseRequest(x, asked.endpoint, new RequestBody(asked.body), asked.pathModel);
}

/** @throws Fault chaos_denied, unknown_chaos */
function chaosFor(
  { active }: Exchange,
  caller: AuthenticatedCaller | null,
  asked: ChaosName | null,
): Chaos | null {
  if (asked === null) return null;
  return caller === null ? chaosAsked(asked) : allowedChaos(active, caller, asked);
}

type Served = Pick<Extract<DryRun, { readonly is: 'served' }>, 'plan' | 'selected' | 'request'>;

/** @throws Fault of any step */
function serve(
  x: Exchange,
  caller: AuthenticatedCaller,
  { requested, request: named, identity }: ReadCall,
  isSession: boolean,
  chaos: Chaos | null,
  { explainer, choose }: DryRunOptions,
): Served {
  const models = checkModel(x, caller, requested, named);
  const request = isSession ? named : withOwnFallbacks(x.active, named, models);
  checkCallerRules(x, request, identity);
  // Sessions are not translated; and one deployment that is asked about is not left out for another.
  const translations = isSession || choose !== undefined ? null : new Translations(x, request, identity);
  const planned = planRequest(x.active, request, identity, { allowed: models, translations });
  refuseSteering(x.active, request, models);
  checkComplete(request);
  const selected = choose === undefined ? selectedBy(planned) : choose(planned);
  const plan = chaos === null ? planned : planSingle(x.active, selected); // another deployment would hide the fault
  if (isSession) {
    const upgrade = upgradeRequest(x, identity, selected, [], explainer);
    return { plan, selected, request: { ...HANDSHAKE, ...upgrade } };
  }
  if (isCountedHere(x, request, selected)) return { plan, selected, request: null };
  const replaceable = plan.hasMore;
  const translated = translations?.taken(selected) ?? null;
  const built = buildUpstreamRequest(x, request, identity, selected, { replaceable, translated, explainer });
  return { plan, selected, request: built };
}

/** No body, and another protocol than that of any call. */
const HANDSHAKE = { method: 'GET', body: null, protocol: REALTIME.protocol } as const;
