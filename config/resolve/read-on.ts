// What happens to a call when its client disconnects: the deployment's own setting, else the default for all. Pure;
// seconds in, milliseconds out.
import type { EntryParams, GatewayFile } from '../gateway-file.ts';
import type { Deployment } from '../snapshot.ts';

/** Whether, and with which limits, a deployment's responses are read to their end. */
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
