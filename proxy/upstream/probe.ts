// Health probes: `GET {prefix}/models` with the deployment's key, one request per address and key.
import type { Deployment } from '../../config/snapshot.ts';
import { ownPath } from '../../config/upstream-path.ts';
import { failureOf } from './failures.ts';
import { get, GetTimeout } from './get.ts';
import type { Pool } from './pool.ts';

const PROBE_MS = 5_000;

/** What a probe needs of a deployment. */
interface ProbeTarget {
  readonly config: Deployment;
  readonly pool: Pool;
  readonly headers: { readonly fixed: readonly string[] };
}

/** For each target null (healthy) or an error message. Targets with the same address and key share one request. */
export async function probe(targets: readonly ProbeTarget[]): Promise<(string | null)[]> {
  const asked = new Map<string, Promise<string | null>>();
  return Promise.all(
    targets.map((target) => {
      const { config } = target;
      const key = `${config.origin}${config.pathPrefix} ${config.apiKey?.sha256() ?? ''} ${config.tls?.sha256 ?? ''}`;
      const running = asked.get(key) ?? probeOne(target);
      asked.set(key, running);
      return running;
    }),
  );
}

async function probeOne({ config, pool, headers }: ProbeTarget): Promise<string | null> {
  try {
    const { status } = await get(pool, {
      path: ownPath(config, 'models'),
      headers: headers.fixed,
      timeoutMs: PROBE_MS,
      maxBytes: 0,
    });
    // A gateway without a model list (404, 405) is healthy; one that rejects our key, fails, or sends us elsewhere (a page to sign in
    // at, mostly) is not: calls follow no redirect.
    const ok = status < 300 || status === 404 || status === 405;
    return ok ? null : `GET ${config.apiBase} models answered ${status}`;
  } catch (error) {
    if (error instanceof GetTimeout) return `no answer within ${PROBE_MS} ms`;
    return failureOf(error, config.apiBase).message;
  }
}
