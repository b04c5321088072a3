// Asks upstreams whether they are there: `GET {prefix}/models` with the entry's key, one request per pool and key.
import { request, type Dispatcher } from 'undici';
import type { Route } from '../../config/snapshot.ts';
import { failureOf } from './failures.ts';

const PROBE_MS = 5_000;

/** What a probe needs of a target. */
export interface Probed {
  readonly route: Route;
  readonly dispatcher: Dispatcher;
  readonly headers: { readonly fixed: readonly string[] };
}

/** For each target null (answers) or a sentence. Targets that share address and key share one request. */
export async function probe(targets: readonly Probed[]): Promise<(string | null)[]> {
  const asked = new Map<string, Promise<string | null>>();
  return Promise.all(
    targets.map((target) => {
      const { route } = target;
      const key = `${route.origin}${route.pathPrefix} ${route.apiKey?.sha256() ?? ''}`;
      const running = asked.get(key) ?? ask(target);
      asked.set(key, running);
      return running;
    }),
  );
}

async function ask({ route, dispatcher, headers }: Probed): Promise<string | null> {
  try {
    const { statusCode, body } = await request(`${route.origin}${route.pathPrefix}/models`, {
      dispatcher,
      headers: [...headers.fixed],
      signal: AbortSignal.timeout(PROBE_MS),
    });
    await body.dump();
    // A gateway without a model list (404, 405) is there; one that refuses our key or fails is not of use.
    const ok = statusCode < 400 || statusCode === 404 || statusCode === 405;
    return ok ? null : `GET ${route.apiBase} models answered ${statusCode}`;
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${PROBE_MS} ms`;
    return failureOf(error, route.apiBase).message;
  }
}
