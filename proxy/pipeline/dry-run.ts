// What a call or a session would do, without sending: its steps, as forward.ts and realtime/forward-realtime.ts take them, up to
// the request that would go upstream. Both explanations print what is found here. Left out is what depends on other calls: sums
// of budgets, what limits and the brake have counted, responses that are stored, idempotency keys.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { RequestBody } from '../bodies/request-body.ts';
import { Fault } from '../errors/fault.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { REALTIME } from '../protocols/realtime/realtime.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { buildUpstreamRequest, type Explainer } from './build-upstream-request.ts';
import { isCountedHere } from './count-tokens.ts';
import type { Exchange } from './exchange.ts';
import { parseRequest, type ParsedRequest } from './parse-request.ts';
import { planSingle, selectedBy, type CallPlan } from './plan.ts';
import { checkCall, planOf, readCall, type ReadCall } from './read-call.ts';
import { upgradeRequest } from './realtime/dial.ts';
import { requestOf } from './realtime/handshake.ts';
import type { SelectedDeployment } from './select-deployment.ts';
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

/** What would be sent. */
export type DryRequest = Pick<
  UpstreamRequest,
  'method' | 'origin' | 'path' | 'headers' | 'body' | 'protocol'
>;

/** How far a call would come: not read, refused, or sent - where nothing has to be asked, answered here. */
export type DryRun =
  | { readonly is: 'unread'; readonly fault: Fault }
  | { readonly is: 'refused'; readonly call: ReadCall; readonly fault: Fault }
  | {
      readonly is: 'served';
      readonly call: ReadCall;
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
  const parsed = await faultOr(() => readAsked(x, asked));
  if (parsed instanceof Fault) return { is: 'unread', fault: parsed };
  const call = readCall(x, caller, parsed);
  const served = await faultOr(() => serve(x, call, asked.is === 'session', options));
  return served instanceof Fault ? { is: 'refused', call, fault: served } : { is: 'served', call, ...served };
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

type Served = Pick<Extract<DryRun, { readonly is: 'served' }>, 'plan' | 'selected' | 'request'>;

/** @throws Fault of any step */
function serve(
  x: Exchange,
  call: ReadCall,
  isSession: boolean,
  { explainer, choose }: DryRunOptions,
): Served {
  checkCall(x, call);
  const { request, identity, chaos } = call;
  // Sessions are not translated; and one deployment that is asked about is not left out for another.
  const translations = isSession || choose !== undefined ? null : new Translations(x, request, identity);
  const planned = planOf(x, call, translations);
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
