// What becomes of a call whose client leaves: the entry's own say, else that of all entries. Pure; seconds in,
// milliseconds out.
import type { EntryParams, GatewayFile } from '../gateway-file.ts';
import type { Deployment } from '../snapshot.ts';

/** For each entry how its answers are read on, and whether. */
export function readingOn({
  general_settings: general,
  router_settings: router,
}: GatewayFile): (params: EntryParams) => Pick<Deployment, 'readOn' | 'readsOn'> {
  const all = router.default_litellm_params;
  const most = Number(general.max_disconnected_answers);
  return (params) => {
    const seconds = params.on_disconnect_seconds ?? all.on_disconnect_seconds;
    return {
      readOn: { ms: Math.round(Number(seconds) * 1000), most },
      readsOn: (params.on_disconnect ?? all.on_disconnect) === 'drain',
    };
  };
}
