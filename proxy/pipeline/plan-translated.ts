// The failover plan of a call, where some deployments of its name speak another protocol than its caller: one that cannot be told
// all that the call holds does not get it while another one can.
import type { CallerModels } from '../access/model-access.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import { planRequest, type CallPlan } from './plan.ts';
import { translateCall } from './translate-call.ts';
import { otherProtocol } from './upstream-protocol.ts';

/** @throws Fault model_not_found, provider_required. */
export function planTranslated(
  x: Exchange,
  request: ParsedRequest,
  identity: Identity,
  models: CallerModels,
): CallPlan {
  const plan = planRequest(x.active, request, identity, models);
  const { group } = plan;
  if (group.deployments.length === 1) return plan;
  const isUnable = (deployment: LiveDeployment): boolean => {
    const to = otherProtocol(deployment, request.endpoint, x.active.services.clock.mono());
    if (to === null) return false;
    try {
      translateCall(x, request, identity, group.select(deployment), to, []);
      return false;
    } catch (thrown) {
      if (thrown instanceof Fault) return true;
      throw thrown;
    }
  };
  // The usual case costs one look: a call whose first deployment takes it.
  if (!isUnable(plan.deployment)) return plan;
  const unable = new Set(group.deployments.filter(isUnable));
  if (unable.size === group.deployments.length) return plan; // the client is told why
  return planRequest(x.active, request, identity, models, unable);
}
