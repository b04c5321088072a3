// Whether a configuration can be served in this environment. Its proxies are read at the start, so one whose text is sound may
// still name an upstream that no route leads to.
import type { Loaded } from '../../config/load.ts';
import type { Pools } from '../upstream/pools.ts';

/** The configuration, or why an upstream of it cannot be reached. */
export function reachable(loaded: Loaded, pools: Pick<Pools, 'whyNoRoute'>): Loaded {
  if (!loaded.ok) return loaded;
  const { snapshot, source } = loaded;
  const known = new Set<string>();
  for (const { origin, apiBase, mock } of snapshot.deployments) {
    if (mock !== null || known.has(origin)) continue;
    known.add(origin);
    const why = pools.whyNoRoute(origin);
    if (why === null) continue;
    const [file = ''] = source.files;
    const issue = {
      severity: 'error',
      file,
      line: 0,
      column: 0,
      path: 'model_list',
      message: `${apiBase} cannot be reached: ${why}`,
      fix: 'correct the environment and restart the proxy, which reads it at its start',
    } as const;
    return { ok: false, issues: [issue], read: source.read };
  }
  return loaded;
}
