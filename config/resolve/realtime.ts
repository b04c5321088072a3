// Bounds of realtime sessions. Pure; minutes and seconds become milliseconds, 0 means no bound.
import type { GatewayFile } from '../gateway-file.ts';
import type { RealtimeSettings } from '../snapshot.ts';

/** A thousandth of a billionth of a dollar, as all amounts are counted. */
const PICO = 1e12;

export function realtimeOf({ general_settings: general }: GatewayFile): RealtimeSettings {
  return {
    longestMs: Math.round(Number(general.realtime_max_minutes) * 60_000),
    idleMs: Math.round(Number(general.realtime_idle_seconds) * 1000),
    reservedPico: BigInt(Math.round(Number(general.realtime_reserved_cost) * PICO)),
  };
}
