// Where the agent servers in sandboxes report what becomes of their conversations. They are started with this address, so it
// must be one that they reach.
import type { PlatformSettings } from '../config/snapshot.ts';

/** Below it are `/conversations` and `/events/ID`. */
const WEBHOOKS = '/api/v1/webhooks';

/** @param ownUrl the listening address of the interface. @returns null where no address is known that a sandbox reaches */
export function webhookUrl(settings: PlatformSettings, ownUrl: string): string | null {
  const { sandbox, port, publicBaseUrl } = settings;
  const derived = sandbox.driver === 'process' ? ownUrl : null; // it shares our network
  const base = sandbox.webhookBaseUrl ?? derived ?? (port === null ? publicBaseUrl : null);
  return base === null || base === '' ? null : `${base}${WEBHOOKS}`;
}
