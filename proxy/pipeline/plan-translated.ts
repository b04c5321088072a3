// The failover plan of a call, where some deployments of its name speak another protocol than its caller: one that cannot be told
// all that the call holds does not get it while another one can.
import type { CallerModels } from '../access/model-access.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import { planRequest, type CallPlan } from './plan.ts';
import { translateCall, type Translated } from './translate-call.ts';
import { otherProtocol } from './upstream-protocol.ts';

/** The plan, and what was translated to make it: the body of the first attempt, unless that goes elsewhere in the end. */
interface TranslatedPlan {
  readonly plan: CallPlan;
  /** null: nothing had to be translated yet. */
  readonly translated: Translated | null;
}

/** @throws Fault model_not_found, provider_required. */
export function planTranslated(
  x: Exchange,
  request: ParsedRequest,
  identity: Identity,
  models: CallerModels,
): TranslatedPlan {
  const plan = planRequest(x.active, request, identity, { allowed: models });
  const { group } = plan;
  if (group.deployments.length === 1) return { plan, translated: null };
  const tried = new Map<LiveDeployment, Translated | null>();
  const isUnable = (deployment: LiveDeployment): boolean => {
    if (tried.has(deployment)) return false;
    try {
      const to = otherProtocol(deployment, request.endpoint, x.active.services.clock.mono);
      if (to === null) tried.set(deployment, null);
      else {
        const selected = group.select(deployment);
        const call = translateCall(x, request, identity, { selected, to }, []);
        tried.set(deployment, { deployment, to, call });
      }
      return false;
    } catch (thrown) {
      if (thrown instanceof Fault) return true;
      throw thrown;
    }
  };
  const translatedFor = ({ deployment }: CallPlan): Translated | null => tried.get(deployment) ?? null;
  // The usual case costs one look: a call whose first deployment takes it.
  if (!isUnable(plan.deployment)) return { plan, translated: translatedFor(plan) };
  const unable = new Set(group.deployments.filter(isUnable));
  if (unable.size === group.deployments.length) return { plan, translated: null }; // the client is told why
  const other = planRequest(x.active, request, identity, { allowed: models, excluded: unable });
  return { plan: other, translated: translatedFor(other) };
}
