// Where the agent servers in sandboxes report what becomes of their conversations. They are started with this address, so it
// must be one that they reach.
import type { PlatformSettings } from '../config/snapshot.ts';

/** Below it are `/conversations` and `/events/ID`. */
const WEBHOOKS = '/api/v1/webhooks';

/**
 * @param atStart what a restart alone changes: driver and port. @param now as they were applied last
 * @param ownUrl the listening address of the interface. @returns null where no address is known that a sandbox reaches
 */
export function webhookUrl(atStart: PlatformSettings, now: PlatformSettings, ownUrl: string): string | null {
  const derived = atStart.sandbox.driver === 'process' ? ownUrl : null; // it shares our network
  const shared = atStart.port === null ? now.publicBaseUrl : null;
  const base = now.sandbox.webhookBaseUrl ?? derived ?? shared;
  return base === null || base === '' ? null : `${base}${WEBHOOKS}`;
}
