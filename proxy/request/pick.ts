// Which upstream serves a name: exact names win, then wildcards, most specific first. Pure but for the dice.
import type { Route } from '../../config/snapshot.ts';
import { Fault } from '../errors/fault.ts';
import type { Live, Target } from '../live.ts';
import { nearest } from '../base/nearest.ts';

export interface Picked {
  readonly target: Target;
  /** The model name as it goes upstream. */
  readonly upstreamModel: string;
  /** Whether client headers go upstream with this call. */
  readonly forwards: boolean;
}

/** @throws Fault model_not_found, provider_required. */
export function pick(live: Live, model: string): Picked {
  const group = live.groups.get(model);
  if (group !== undefined) {
    const target = share(group, live.house.random());
    const { upstreamModel, forwardClientHeaders } = target.route;
    return { target, upstreamModel, forwards: forwardClientHeaders };
  }
  for (const { pattern, regex, routes } of live.snapshot.wildcards) {
    const match = regex.exec(model);
    if (match === null) continue;
    const target = share(
      routes.map((route) => live.target(route)),
      live.house.random(),
    );
    if (pattern === '*' && target.route.kind === 'compat' && !model.includes('/')) throw bareName(model);
    const forwards = target.route.forwardClientHeaders || live.snapshot.forwards(model);
    return { target, upstreamModel: fill(target.route, model, match.slice(1)), forwards };
  }
  throw unknownModel(live, model);
}

/** Weighted choice: `dice` in [0, 1) falls into one target's share. */
export function share(targets: readonly Target[], dice: number): Target {
  if (targets.length === 1) return targets[0] as Target;
  let left = dice * targets.reduce((sum, target) => sum + target.route.weight, 0);
  for (const target of targets) {
    left -= target.route.weight;
    if (left < 0) return target;
  }
  return targets[targets.length - 1] as Target;
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
  const near = nearest(model, live.groups.keys(), 3);
  const hint = near.length === 0 ? '' : ` Did you mean ${near.map((name) => `\`${name}\``).join(', ')}?`;
  return new Fault(
    'model_not_found',
    `The model \`${shown(model)}\` does not exist on this proxy.${hint} GET /v1/models lists the names.`,
    { param: 'model' },
  );
}
