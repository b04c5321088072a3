// Bounds of realtime sessions. Pure; minutes and seconds become milliseconds, 0 means no bound.
import type { GatewayFile } from '../gateway-file.ts';
import type { RealtimeSettings } from '../snapshot.ts';

export function realtimeOf({ general_settings: general }: GatewayFile): RealtimeSettings {
  return {
    longestMs: Math.round(Number(general.realtime_max_minutes) * 60_000),
    idleMs: Math.round(Number(general.realtime_idle_seconds) * 1000),
    reservedUsd: Number(general.realtime_reserved_cost),
  };
}
