// The timeouts of a deployment: its own, else the defaults for all, else the schema's. Pure; seconds in,
// milliseconds out.
import type { DefaultParams, EntryParams, GatewayFile } from '../gateway-file.ts';
import type { Clocks } from '../snapshot.ts';

type Seconds = number | string | undefined;

/** The sections' defaults for all deployments; `totalStated`: the operator set a total timeout. */
export interface ClockDefaults {
  readonly firstByte: Seconds;
  readonly streamFirstByte: Seconds;
  readonly firstToken: Seconds;
  readonly hedgeAfter: Seconds;
  readonly params: DefaultParams;
  readonly totalStated: boolean;
}

/** Precedence as in LiteLLM: entry, `default_litellm_params`, `router_settings`, `request_timeout`. */
export function clockDefaults(
  router: GatewayFile['router_settings'],
  litellm: GatewayFile['litellm_settings'],
  totalStated: boolean,
): ClockDefaults {
  const params = router.default_litellm_params;
  return {
    firstByte: params.timeout ?? router.timeout ?? litellm.request_timeout,
    streamFirstByte: params.stream_timeout ?? router.stream_timeout,
    firstToken: params.ttft_timeout ?? router.ttft_timeout,
    hedgeAfter: params.hedge_after ?? router.hedge_after,
    params,
    totalStated,
  };
}

/** A default total timeout is never shorter than the other timeouts: `timeout: 7200` must mean two hours. */
export function clocksOf(entry: EntryParams, dflt: ClockDefaults): Clocks {
  const firstByteMs = ms(entry.timeout ?? dflt.firstByte);
  const streamFirstByteMs = ms(
    entry.stream_timeout ?? dflt.streamFirstByte ?? entry.timeout ?? dflt.firstByte,
  );
  const idleMs = ms(entry.idle_timeout ?? dflt.params.idle_timeout);
  const totalMs = ms(entry.total_timeout ?? dflt.params.total_timeout);
  const stated = entry.total_timeout !== undefined || dflt.totalStated;
  return {
    connectMs: ms(entry.connect_timeout ?? dflt.params.connect_timeout),
    firstByteMs,
    streamFirstByteMs,
    idleMs,
    firstTokenMs: ms(entry.ttft_timeout ?? dflt.firstToken ?? 0),
    hedgeAfterMs: ms(entry.hedge_after ?? dflt.hedgeAfter ?? 0),
    totalMs: stated || totalMs === 0 ? totalMs : Math.max(totalMs, firstByteMs, streamFirstByteMs, idleMs),
  };
}

function ms(seconds: Seconds): number {
  return Math.round(Number(seconds) * 1000);
}
