// Whether a configuration can be served in this environment. Its proxies are read at the start, so one whose text is sound may
// still name an upstream that no route leads to.
import { RUNTIME_FILE } from '../../config/diagnostics.ts';
import type { Loaded } from '../../config/load.ts';
import type { Pools } from '../upstream/pools.ts';

/** The configuration, or why an upstream of it cannot be reached. */
export function reachable(loaded: Loaded, pools: Pick<Pools, 'whyNoRoute'>): Loaded {
  if (!loaded.ok) return loaded;
  const { snapshot, source } = loaded;
  const known = new Set<string>();
  for (const { origin, apiBase, mock, source: from } of snapshot.deployments) {
    if (mock !== null || known.has(origin)) continue;
    known.add(origin);
    const why = pools.whyNoRoute(origin);
    if (why === null) continue;
    const [file = ''] = source.files;
    const place =
      from === 'runtime'
        ? { file: RUNTIME_FILE.name, path: 'litellm_params.api_base' }
        : { file, path: 'model_list' };
    const issue = {
      severity: 'error',
      ...place,
      line: 0,
      column: 0,
      message: `${apiBase} cannot be reached: ${why}`,
      fix: 'correct the environment and restart the proxy, which reads it at its start',
    } as const;
    return { ok: false, issues: [issue], read: source.read };
  }
  return loaded;
}
