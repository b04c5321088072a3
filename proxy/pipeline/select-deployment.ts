// Which deployments serve a name: exact names win, then aliases (`model_group_alias`), then wildcards, most specific first.
// Pure; `plan.ts` decides which of them is tried first.
import type { Deployment } from '../../config/snapshot.ts';
import { ALL_MODELS, type CallerModels } from '../access/model-access.ts';
import { serves } from '../access/team-deployments.ts';
import { Fault } from '../errors/fault.ts';
import type { ActiveConfig, LiveDeployment } from '../active-config/active-config.ts';
import type { ModelGroup } from '../routing/failover-plan.ts';
import { nearestNames } from '../../config/nearest.ts';

/** A deployment, and what of the call depends on the name under which it was asked for. */
export interface SelectedDeployment {
  readonly deployment: LiveDeployment;
  /** The model name as it goes upstream. */
  readonly upstreamModel: string;
  /** Whether client headers go upstream with this call. */
  readonly forwards: boolean;
  /** The name that was asked for, below a wildcard; absent: that of the entry. */
  readonly group?: string;
}

/** The deployments of one name (a `model_name`, or the requested name under a wildcard), and how to select one. */
export interface LiveModelGroup extends ModelGroup<LiveDeployment> {
  readonly select: (deployment: LiveDeployment) => SelectedDeployment;
}

/** As much of what a caller may call as the choice of a deployment asks. */
type Bound = Pick<CallerModels, 'bound'>;

/** @throws Fault model_not_found, provider_required, key_model_access_denied. */
export function groupOf(active: ActiveConfig, model: string, models = ALL_MODELS): LiveModelGroup {
  const found = findGroup(active, model, models);
  if (typeof found !== 'string') return found;
  if (found === 'of other teams') return models.refuse(model);
  throw found === 'bare name' ? bareName(active, model) : unknownModel(active, model, models);
}

/** The group that serves a name; null: it is not served, for whatever reason. */
export function servedGroup(
  active: ActiveConfig,
  model: string,
  models?: CallerModels,
): LiveModelGroup | null {
  const found = findGroup(active, model, models);
  return typeof found === 'string' ? null : found;
}

/** Whether a call with this name would be served. */
export const isServed = (active: ActiveConfig, model: string, models?: Bound): boolean =>
  typeof findGroup(active, model, models) !== 'string';

/** Whether a name is served, and to keys of other teams alone. */
export const isOfOtherTeams = (active: ActiveConfig, model: string, models: Bound): boolean =>
  models.bound !== null && findGroup(active, model, models) === 'of other teams';

/**
 * Why a name is not served: nothing fits it, or only the pattern `*` does, and the gateways behind that want a provider in it,
 * or what serves it takes no calls of this caller.
 * Words, not objects: every call asks.
 */
type Unserved = 'unknown' | 'bare name' | 'of other teams';

/** The group that serves a name to whoever may call `models`, or why there is none. The most specific name decides, whosever it is. */
export function findGroup(
  active: ActiveConfig,
  model: string,
  { bound }: Bound = ALL_MODELS,
): LiveModelGroup | Unserved {
  const name = active.snapshot.routing.aliases.get(model) ?? model;
  const deployments = active.groups.get(name);
  if (deployments !== undefined) {
    const own = bound === null ? deployments : deployments.filter(({ config }) => serves(bound, config));
    return own.length === 0 ? 'of other teams' : { name, deployments: own, select: selectExactly };
  }
  for (const { pattern, regex, deployments: all } of active.snapshot.wildcards) {
    const match = regex.exec(name);
    if (match === null) continue;
    const deployments = bound === null ? all : all.filter((one) => serves(bound, one));
    if (deployments.length === 0) return 'of other teams';
    const isBare = pattern === '*' && !name.includes('/');
    const taking = isBare ? deployments.filter((one) => takesBare(active, one, name)) : deployments;
    if (taking.length === 0) return 'bare name';
    const usable = name.includes('..')
      ? taking.filter((one) => !climbs(fill(one, name, match.slice(1))))
      : taking;
    if (usable.length === 0) continue;
    const forwards = active.snapshot.forwards(name);
    return {
      name,
      deployments: usable.map((deployment) => active.deployment(deployment)),
      select: (deployment) => ({
        deployment,
        upstreamModel: fill(deployment.config, name, match.slice(1)),
        forwards: forwardsTo(deployment.config, forwards),
        group: name,
      }),
    };
  }
  return 'unknown';
}

/** Azure and Gemini have the model in the path: with our key it would lead to another place of the gateway. */
const climbs = (model: string): boolean => model.split('/').includes('..');

/** Its models have no provider in their names, other than those of the gateways that speak its API. */
const OPENAI = 'https://api.openai.com';

/** OpenAI-compatible gateways refuse names without a provider, unless they list this very one. */
function takesBare({ services }: ActiveConfig, deployment: Deployment, name: string): boolean {
  if (deployment.kind !== 'compat' || deployment.origin === OPENAI) return true;
  return deployment.discovers && services.discoveredModels.has(deployment, name);
}

/** Whether a call forwards client headers. @param byName what the settings say of the requested name */
export function forwardsTo(
  { forwardClientHeaders, statesForwarding }: Pick<Deployment, 'forwardClientHeaders' | 'statesForwarding'>,
  byName: boolean,
): boolean {
  return forwardClientHeaders || (byName && !statesForwarding);
}

function selectExactly(deployment: LiveDeployment): SelectedDeployment {
  const { upstreamModel, forwardClientHeaders } = deployment.config;
  return { deployment, upstreamModel, forwards: forwardClientHeaders };
}

/** The dialect's rule: no star = constant, fewer stars than were matched = the requested name, else one by one. */
function fill(deployment: Deployment, model: string, captured: readonly string[]): string {
  const stars = deployment.upstreamModel.split('*').length - 1;
  if (stars === 0) return deployment.upstreamModel;
  if (captured.length > stars) return model;
  let at = 0;
  return deployment.upstreamModel.replace(/\*/g, () => captured[at++] ?? '');
}

const shown = (model: string): string => (model.length > 100 ? `${model.slice(0, 100)}...` : model);

/** The refusal of a name without the provider that its gateways want. */
export function bareName({ snapshot }: ActiveConfig, asked: string): Fault {
  const model = snapshot.routing.aliases.get(asked) ?? asked;
  return new Fault(
    'provider_required',
    `The model \`${shown(model)}\` is not configured here, and the gateway behind this proxy expects the form ` +
      `provider/model: ask for \`<provider>/${shown(model)}\`.`,
    { param: 'model' },
  );
}

function unknownModel(active: ActiveConfig, model: string, models: CallerModels): Fault {
  const shownNames = [...active.groups.keys()].filter((name) => !isOfOtherTeams(active, name, models));
  const near = nearestNames(model, shownNames, 3);
  const hint = near.length === 0 ? '' : ` Did you mean ${near.map((name) => `\`${name}\``).join(', ')}?`;
  const list = model.includes(',')
    ? ' Several names in one call are not served, since each has a budget, a row and an answer of its own: send one call per name.'
    : '';
  return new Fault(
    'model_not_found',
    `The model \`${shown(model)}\` does not exist on this proxy.${list}${hint} GET /v1/models lists the names.`,
    { param: 'model' },
  );
}
