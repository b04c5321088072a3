// Keys that expire soon, as events. Who delivers them tells each once.
import type { AccessEvents } from '../events.ts';
import type { AccessDirectory } from '../objects/directory.ts';

/** Emits an event for each key that is valid now and will not be within `withinMs`. */
export function tellExpiringKeys(
  directory: Pick<AccessDirectory, 'all'>,
  events: AccessEvents,
  nowMs: number,
  withinMs: number,
): void {
  if (withinMs <= 0) return;
  for (const { id, expiresMs, blocked } of directory.all('key'))
    if (!blocked && expiresMs !== null && expiresMs > nowMs && expiresMs <= nowMs + withinMs)
      events.emit({ kind: 'key_expiring', atMs: nowMs, keyHash: id, expiresMs });
}
