// The platform of a proxy, if it is configured; its code is loaded only then.
import { asError } from '../base/as-error.ts';
import type { Environment } from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { PlatformOptions } from '../../platform/assembly.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WorkerRole } from '../active-config/cluster-peers.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { Log } from '../observability/logger.ts';
import type { ServedModels } from '../pipeline/served-models.ts';
import type { Ledger } from '../spend/ledger.ts';

export type { Platform };

/** Of `ProxyOptions`. */
interface PlatformHost {
  readonly configPath: string;
  readonly dataDir: string;
  readonly env: Environment;
  readonly log: Log;
  readonly worker?: WorkerRole | undefined;
  readonly parts?: { readonly clock?: Clock } | undefined;
}

/** null = it is not configured. @throws CannotStart */
export async function openPlatformMount(
  snapshot: Snapshot,
  options: PlatformHost,
  ledger: Ledger,
  models: ServedModels,
): Promise<Platform | null> {
  if (snapshot.platform === null) return null;
  if (options.worker !== undefined) {
    // A later worker must serve what the others serve; the reload that added the section has logged this.
    if (options.worker.welcome.served !== null) return null;
    throw new CannotStart('the platform interface needs a single process - use --workers 1');
  }
  try {
    const { openPlatform } = await import('../../platform/platform.ts');
    return await openPlatform({
      settings: snapshot.platform,
      dataDir: options.dataDir,
      configPath: options.configPath,
      path: options.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
      cluster: {
        host: options.env['KUBERNETES_SERVICE_HOST'],
        port: options.env['KUBERNETES_SERVICE_PORT'],
      },
      spend: ledger.reader,
      models,
      shared: sharedTables(snapshot, ledger),
      clock: options.parts?.clock ?? systemClock,
      log: options.log,
    });
  } catch (error) {
    throw new CannotStart(`the platform interface cannot start: ${asError(error).message}`);
  }
}

/** Where tables of others than the spend records are; null = in files. */
export function sharedTables({ database }: Snapshot, { extensionTables }: Ledger): PlatformOptions['shared'] {
  return extensionTables === null || database === null ? null : { extensionTables, schema: database.schema };
}
