// Bounds what a runtime model gets of the calls of a model name that the file serves too (`runtime_models.allow_join`):
// together the runtime models of a name have at most the weight of the file's own, and none has a lower order. Pure.
import type { Deployment } from '../snapshot.ts';

/** The deployments with their weights and orders within these bounds. */
export function joined(deployments: readonly Deployment[]): readonly Deployment[] {
  if (deployments.every(({ source }) => source === 'config')) return deployments;
  const bounds = boundsByGroup(deployments);
  return deployments.map((deployment) => {
    const bound = bounds.get(deployment.group);
    if (deployment.source === 'config' || bound === undefined) return deployment;
    return {
      ...deployment,
      weight: Math.min(deployment.weight, bound.weight) * bound.share,
      order: Math.max(deployment.order, bound.order),
    };
  });
}

interface Bound {
  /** Of the file's deployments together: the most for one runtime model, and for all. */
  readonly weight: number;
  /** What each runtime model keeps of its own weight, so that all have no more; at most 1. */
  readonly share: number;
  readonly order: number;
}

/** For the groups that have deployments of both kinds. */
function boundsByGroup(deployments: readonly Deployment[]): ReadonlyMap<string, Bound> {
  const groups = Map.groupBy(deployments, ({ group }) => group);
  const bounds = new Map<string, Bound>();
  for (const [group, members] of groups) {
    const own = members.filter(({ source }) => source === 'config');
    if (own.length === 0 || own.length === members.length) continue;
    const weight = sum(own.map((one) => one.weight));
    const added = members.filter(({ source }) => source === 'runtime');
    const wanted = sum(added.map((one) => Math.min(one.weight, weight)));
    const order = Math.min(...own.map((one) => one.order));
    bounds.set(group, { weight, share: wanted > weight ? weight / wanted : 1, order });
  }
  return bounds;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
