// Says of a configuration that it asks nobody who he is. An operator who meant something else must not need to guess it from silence.
import type { Snapshot } from './snapshot.ts';

/** Where a key is read that the file does not state; the first one that is set counts. */
export const MASTER_VARIABLES = ['PROXY_MASTER_KEY', 'LITELLM_MASTER_KEY'] as const;

/** One sentence with the fix; null = callers are authenticated. */
export function unauthenticated({ masterKey }: Pick<Snapshot, 'masterKey'>): string | null {
  if (masterKey !== null) return null;
  return (
    'nobody is authenticated: there is no master key, so whoever reaches the port may do everything, read spend included - ' +
    'set general_settings.master_key, PROXY_MASTER_KEY or LITELLM_MASTER_KEY'
  );
}
