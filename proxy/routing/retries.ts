// How often a call is tried again after a failure: the most specific number that the configuration states. Pure.
import type { Deployment, Routing } from '../../config/snapshot.ts';

/** Retries where no number is configured: on other deployments only, so a name with one deployment is tried once. */
export const UNSTATED_RETRIES = 2;

/** Kinds of failure with a number of their own. */
type Kind = 'server' | 'timeout' | 'rateLimit';

/** null = no number is stated. @param group the name whose deployments are tried, where it is not that of the entry */
export function retriesOf(
  { groupRetryPolicy, retryPolicy, numRetries }: Routing,
  deployment: Pick<Deployment, 'group' | 'numRetries'> | undefined,
  kind: Kind = 'server',
  group: string = deployment?.group ?? '',
): number | null {
  return groupRetryPolicy.get(group)?.[kind] ?? retryPolicy[kind] ?? deployment?.numRetries ?? numRetries;
}
