// What becomes of a call whose client leaves: the entry's own say, else that of all entries. Pure; seconds in,
// milliseconds out.
import type { EntryParams, GatewayFile } from '../gateway-file.ts';
import type { ReadOn } from '../snapshot.ts';

/** For each entry how its answers are read on; null: they are aborted. */
export function readingOn({
  general_settings: general,
  router_settings: router,
}: GatewayFile): (params: EntryParams) => ReadOn | null {
  const all = router.default_litellm_params;
  return (params) => {
    if ((params.on_disconnect ?? all.on_disconnect) === 'abort') return null;
    const seconds = params.on_disconnect_seconds ?? all.on_disconnect_seconds;
    return { ms: Math.round(Number(seconds) * 1000), most: Number(general.max_disconnected_answers) };
  };
}
