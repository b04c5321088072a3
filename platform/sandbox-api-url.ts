// Where the agent servers in sandboxes reach this interface: to report what becomes of their conversations, and to look up
// secrets. They are started with this address, so it must be one that they reach.
import type { PlatformSettings } from '../config/snapshot.ts';

/** With `/api/v1`. @param ownUrl the listening address. @returns null where no address is known that a sandbox reaches */
export function sandboxApiUrl(settings: PlatformSettings, ownUrl: string): string | null {
  const { sandbox, port, publicBaseUrl } = settings;
  const derived = sandbox.driver === 'process' ? ownUrl : null; // it shares our network
  const base = sandbox.webhookBaseUrl ?? derived ?? (port === null ? publicBaseUrl : null);
  return base === null || base === '' ? null : `${base}/api/v1`;
}
