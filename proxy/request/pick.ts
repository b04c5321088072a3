// Which entries serve a name: exact names win, then further names (`model_group_alias`), then wildcards, most specific
// first. Pure; which of the entries is asked first is `plan.ts`'s.
import type { Route } from '../../config/snapshot.ts';
import { Fault } from '../errors/fault.ts';
import type { Live, Target } from '../live.ts';
import type { ModelGroup } from '../routing/failover-plan.ts';
import { nearestNames } from '../../config/nearest.ts';

export interface Picked {
  readonly target: Target;
  /** The model name as it goes upstream. */
  readonly upstreamModel: string;
  /** Whether client headers go upstream with this call. */
  readonly forwards: boolean;
}

/** The entries of one name (of a `model_name`, or under a wildcard the name as asked), and what a call to one of them is. */
export interface LiveModelGroup extends ModelGroup<Target> {
  readonly picked: (target: Target) => Picked;
}

/** @throws Fault model_not_found, provider_required. */
export function groupOf(live: Live, model: string): LiveModelGroup {
  const group = findGroup(live, model);
  if (group === null) throw unknownModel(live, model);
  return group;
}

/** The group that serves a name, or null. @throws Fault provider_required. */
export function findGroup(live: Live, model: string): LiveModelGroup | null {
  const name = live.snapshot.routing.aliases.get(model) ?? model;
  const entries = live.groups.get(name);
  if (entries !== undefined) return { name, entries, picked: pickedExactly };
  for (const { pattern, regex, routes } of live.snapshot.wildcards) {
    const match = regex.exec(name);
    if (match === null) continue;
    const isBare = pattern === '*' && !name.includes('/');
    const usable = isBare ? routes.filter(({ kind }) => kind !== 'compat') : routes;
    if (usable.length === 0) throw bareName(name);
    const forwards = live.snapshot.forwards(name);
    return {
      name,
      entries: usable.map((route) => live.target(route)),
      picked: (target) => ({
        target,
        upstreamModel: fill(target.route, name, match.slice(1)),
        forwards: target.route.forwardClientHeaders || forwards,
      }),
    };
  }
  return null;
}

function pickedExactly(target: Target): Picked {
  const { upstreamModel, forwardClientHeaders } = target.route;
  return { target, upstreamModel, forwards: forwardClientHeaders };
}

/** The dialect's rule: no star = constant, fewer stars than were matched = the name as asked, else one by one. */
function fill(route: Route, model: string, captured: readonly string[]): string {
  const stars = route.upstreamModel.split('*').length - 1;
  if (stars === 0) return route.upstreamModel;
  if (captured.length > stars) return model;
  let at = 0;
  return route.upstreamModel.replace(/\*/g, () => captured[at++] ?? '');
}

const shown = (model: string): string => (model.length > 100 ? `${model.slice(0, 100)}...` : model);

function bareName(model: string): Fault {
  return new Fault(
    'provider_required',
    `The model \`${shown(model)}\` is not configured here, and the gateway behind this proxy wants the form ` +
      `provider/model: ask for \`<provider>/${shown(model)}\`.`,
    { param: 'model' },
  );
}

function unknownModel(live: Live, model: string): Fault {
  const near = nearestNames(model, live.groups.keys(), 3);
  const hint = near.length === 0 ? '' : ` Did you mean ${near.map((name) => `\`${name}\``).join(', ')}?`;
  return new Fault(
    'model_not_found',
    `The model \`${shown(model)}\` does not exist on this proxy.${hint} GET /v1/models lists the names.`,
    { param: 'model' },
  );
}
