// What a call says beside the name of a model about where it may go: to one deployment alone, by its id or by the name that only
// this one has upstream; and to which names when that fails, where the operator lets clients say so.
import type { CallerModels } from '../access/model-access.ts';
import { serves } from '../access/team-deployments.ts';
import type { ActiveConfig, LiveDeployment } from '../active-config/active-config.ts';
import { isCallableAlone } from '../active-config/upstream-models.ts';
import type { ParsedRequest } from './parse-request.ts';
import { isServed, servedGroup, type SelectedDeployment } from './select-deployment.ts';
import { isObject } from '../bodies/json.ts';

/** The body's member with the names to fall back to. */
const FALLBACKS = 'fallbacks';
const MOST_FALLBACKS = 20;

/**
 * The request to the name of the deployment that it means, if it means one: its row, its limits and what its key may call are
 * those of that name.
 */
export function addressed(
  active: ActiveConfig,
  request: ParsedRequest,
  { bound }: CallerModels,
): ParsedRequest {
  const deployment = deploymentMeant(active, request.model);
  if (deployment === null || !serves(bound, deployment.config)) return request; // its id tells others nothing
  return { ...request, model: deployment.config.group, only: deployment };
}

/** Names that are served come first, then ids, then wildcards, then upstream names of one deployment alone. */
function deploymentMeant(active: ActiveConfig, name: string): LiveDeployment | null {
  if (active.groups.has(name) || active.snapshot.routing.aliases.has(name)) return null;
  const byId = active.deployments.get(name);
  if (byId !== undefined) return isCallableAlone(byId) ? byId : null;
  const byModel = active.byUpstreamModel.get(name) ?? null;
  return byModel === null || isServed(active, name) ? null : byModel;
}

/** The deployment that a call is for alone. */
export const selectedAlone = (deployment: LiveDeployment): SelectedDeployment => ({
  deployment,
  upstreamModel: deployment.config.upstreamModel,
  forwards: deployment.config.forwardClientHeaders,
});

/**
 * The request with the names that its client gives as `fallbacks`, where every deployment of the requested name lets clients
 * state that member, and each name is served here for this caller. Else the member is passed on, or refused, as any other.
 */
export function withOwnFallbacks(
  active: ActiveConfig,
  request: ParsedRequest,
  models: CallerModels,
): ParsedRequest {
  const ownFallbacks = fallbacksOf(active, request, models);
  return ownFallbacks === null ? request : { ...request, ownFallbacks };
}

function fallbacksOf(
  active: ActiveConfig,
  { model, fallbacks, only }: ParsedRequest,
  models: CallerModels,
): readonly string[] | null {
  const names = fallbacks === undefined || only !== undefined ? null : namesIn(fallbacks, model);
  if (names === null) return null;
  const group = servedGroup(active, model, models);
  const isAllowed =
    group?.deployments.every(({ config }) => config.allowedClientParameters.has(FALLBACKS)) === true;
  const { aliases } = active.snapshot.routing;
  const isOurs = (name: string): boolean =>
    models.allows(name, aliases.get(name) ?? name) && isServed(active, name, models);
  return isAllowed && names.every(isOurs) ? names : null;
}

/** `["a", "b"]`, or `[{"requested": ["a", "b"]}]` as the configuration writes it. */
function namesIn(value: unknown, requested: string): readonly string[] | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_FALLBACKS) return null;
  const names = value.flatMap((one: unknown): unknown[] => {
    if (!isObject(one)) return [one];
    const ofModel = one[requested];
    return Object.keys(one).length === 1 && Array.isArray(ofModel) ? ofModel : [one];
  });
  return names.every((name) => typeof name === 'string') ? names : null;
}
