// The first steps of a call, of a session, and of what is said of either without making it: one order for all three, so that an
// explanation cannot differ from what happens. Reading refuses nothing, because the row of a refused call says whose it is.
import { ANYBODY, type AuthenticatedCaller } from '../access/caller.ts';
import type { CallerModels } from '../access/model-access.ts';
import type { Chaos } from '../chaos/faults.ts';
import { Fault } from '../errors/fault.ts';
import { REALTIME } from '../protocols/realtime/realtime.ts';
import { withOwnFallbacks } from './addressed.ts';
import { checkCallerRules } from './caller-rules.ts';
import { calledModel, chaosFor } from './chaos-call.ts';
import type { Exchange } from './exchange.ts';
import { identityOf, type Identity } from './identity.ts';
import { checkModel } from './models-of-caller.ts';
import { checkComplete, type ParsedRequest } from './parse-request.ts';
import { planRequest, type CallPlan } from './plan.ts';
import { refuseSteering } from './steering.ts';
import type { Translations } from './translations.ts';

/** What is known of a call once it is read, whether or not it may be made. */
export interface ReadCall {
  /** Under the name that is served, with the fallbacks that count. */
  readonly request: ParsedRequest;
  /** The name that access is checked for: as the caller wrote it, without the fault that it asks for. */
  readonly requested: string;
  readonly identity: Identity;
  /** What the caller may call. */
  readonly models: CallerModels;
  /** The fault that it gets; null = it asks for none, or may not have it. */
  readonly chaos: Chaos | null;
  /** Why it may not have the fault that it asks for. */
  readonly chaosRefusal: Fault | null;
}

/** @param caller null = nobody in particular, who may call every model and ask for any fault */
export function readCall(x: Exchange, caller: AuthenticatedCaller | null, parsed: ParsedRequest): ReadCall {
  const { active } = x;
  const by = caller ?? ANYBODY;
  const models = active.modelAccess.of(by);
  const { request: named, requested, asked } = calledModel(active, by, parsed, models);
  const isSession = named.endpoint === REALTIME; // its frames pass as they are, so it has no faults
  const chaos = asked === null || isSession ? null : chaosFor(active, caller, asked);
  const isRefused = chaos instanceof Fault;
  return {
    request: withOwnFallbacks(active, named, models),
    requested,
    identity: identityOf(x, by, named.identityMembers),
    models,
    chaos: isRefused ? null : chaos,
    chaosRefusal: isRefused ? chaos : null,
  };
}

/**
 * Whether the call may be made: by what its caller may ask for, and by what the operator asks of every call.
 * @throws Fault chaos_denied, unknown_chaos, key_model_access_denied, ..., missing_end_user, blocked_end_user, client_tags_refused
 */
export function checkCall(
  x: Exchange,
  { request, requested, identity, models, chaosRefusal }: ReadCall,
): void {
  if (chaosRefusal !== null) throw chaosRefusal;
  checkModel(x.active, models, requested, request);
  checkCallerRules(x, request, identity);
}

/**
 * The deployment to try first, and the ones after it.
 * @param translations knows which of them can be told what the call holds; null = all can
 * @throws Fault model_not_found, provider_required, parameter_not_allowed, missing_parameter
 */
export function planOf(
  { active }: Exchange,
  { request, identity, models }: ReadCall,
  translations: Translations | null,
): CallPlan {
  const plan = planRequest(active, request, identity, { allowed: models, translations });
  refuseSteering(active, request, models); // after the plan: a name that is not served has no gateways to steer
  checkComplete(request);
  return plan;
}
