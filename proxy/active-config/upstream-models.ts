// Deployments that a call can mean alone: by their ids, or by what they alone have upstream.
import type { Deployment } from '../../config/snapshot.ts';

interface Configured {
  readonly config: Pick<Deployment, 'group' | 'upstreamModel' | 'model'>;
}

/** Where a wildcard stands, the name that is asked for says what goes upstream. */
export const isCallableAlone = ({ config }: Configured): boolean =>
  !config.group.includes('*') && !config.upstreamModel.includes('*');

/** By `litellm_params.model`, where no other entry states the same. */
export function byUpstreamModel<T extends Configured>(deployments: Iterable<T>): ReadonlyMap<string, T> {
  const found = Map.groupBy(deployments, ({ config }) => config.model);
  const alone = [...found].flatMap(([model, [one, ...others]]): [string, T][] =>
    one !== undefined && others.length === 0 && isCallableAlone(one) ? [[model, one]] : [],
  );
  return new Map(alone);
}
