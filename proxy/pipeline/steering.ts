// Refuses calls that would steer the gateway behind the proxy, unless the operator has allowed it: for every deployment that
// the call may reach, the fallbacks included, since nobody knows beforehand which of them will serve it.
import type { CallerModels } from '../access/model-access.ts';
import { Fault } from '../errors/fault.ts';
import type { ActiveConfig } from '../active-config/active-config.ts';
import { isControlMember } from '../active-config/read-members.ts';
import type { Deployment } from '../../config/snapshot.ts';
import type { SteeringMember } from '../bodies/steering.ts';
import type { ParsedRequest } from './parse-request.ts';
import { reachableDeployments } from './plan.ts';

/** @throws Fault parameter_not_allowed, model_not_found, provider_required */
export function refuseSteering(active: ActiveConfig, request: ParsedRequest, allowed: CallerModels): void {
  const { ownFallbacks = null } = request;
  // What counts here goes nowhere else.
  const steering =
    ownFallbacks === null
      ? request.steering
      : request.steering.filter(({ topLevel }) => topLevel !== 'fallbacks');
  if (steering.length === 0) return;
  const { brand } = active.snapshot.dialect;
  for (const { config } of reachableDeployments(active, request, allowed)) {
    const refused = steering.find((member) => isRefused(member, config, brand));
    if (refused !== undefined) throw notAllowed(refused, config);
  }
}

function isRefused({ table, path, topLevel }: SteeringMember, config: Deployment, brand: string): boolean {
  if (config.steeringParameters !== table) return false;
  if (config.stripsControlMembers && isControlMember(topLevel, brand)) return false; // it will not be sent
  return !isAllowed(config.allowedClientParameters, path);
}

/** A name allows the member and all that it holds. */
function isAllowed(allowed: ReadonlySet<string>, path: string): boolean {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    if (allowed.has(path.slice(0, end))) return true;
  }
  return false;
}

function notAllowed({ path }: SteeringMember, { gateway }: Deployment): Fault {
  const behind =
    gateway.name === 'plain' || gateway.name === 'none' ? 'what is' : `the ${gateway.name} gateway`;
  const text =
    `\`${path}\` could steer ${behind} behind this proxy, so it is not taken from a request. Leave it out; ` +
    'the operator can allow it with `allowed_client_parameters`.';
  return new Fault('parameter_not_allowed', text, { param: path });
}
