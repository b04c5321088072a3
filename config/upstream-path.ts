// The path of a request at an upstream, without the client's query. One place, because Azure puts the model into it. Pure.
import type { Deployment } from './snapshot.ts';

/** Endpoints of Azure that stand beside the deployments. */
const BESIDE = /^(?:responses|models|files|batches|realtime)(?:\/|$)/;

/** @param path below the prefix, e.g. `chat/completions` @param model the name that goes upstream */
export function upstreamPath(
  { pathPrefix, modelInPath }: Pick<Deployment, 'pathPrefix' | 'modelInPath'>,
  path: string,
  model: string,
): string {
  if (!modelInPath || BESIDE.test(path)) return `${pathPrefix}/${path}`;
  return `${pathPrefix}/deployments/${encodeURIComponent(model)}/${path}`;
}

/** The same for requests of our own, with the upstream's query. */
export function ownPath(
  deployment: Pick<Deployment, 'pathPrefix' | 'modelInPath' | 'upstreamQuery'>,
  path: string,
): string {
  const { upstreamQuery: query } = deployment;
  return `${upstreamPath({ ...deployment, modelInPath: false }, path, '')}${query === '' ? '' : `?${query}`}`;
}
