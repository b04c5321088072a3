// The keys, teams and users that a command knows: those of the configuration, and those of a data directory where one is named.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { AccessSettings } from '../../config/access-settings.ts';
import { StoredObjects } from '../access/objects/access-objects.ts';
import { DurableObjects } from '../access/objects/durable-objects.ts';
import { fileObjects } from '../access/objects/file-objects.ts';
import { systemClock } from '../base/clock.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { openLog } from '../observability/logger.ts';
import { UsageError, type Terminal } from './terminal.ts';

/** Close it. @throws UsageError where the directory holds none; CannotStart when they cannot be read */
export async function accessFor(
  settings: AccessSettings,
  dataDir: string | undefined,
  { cwd }: Terminal,
): Promise<StoredObjects> {
  const access = dataDir === undefined ? StoredObjects.inMemory() : await storedIn(resolve(cwd, dataDir));
  access.takeFile(fileObjects(settings));
  return access;
}

async function storedIn(dataDir: string): Promise<StoredObjects> {
  if (!existsSync(join(dataDir, 'access.db')))
    throw new UsageError(`--data-dir ${dataDir} has no access.db - nothing was made by API there`);
  const log = openLog('silent').log;
  const store = new DurableObjects({ dataDir, database: null, worker: null, clock: systemClock, log });
  const access = await StoredObjects.open(store);
  if (access.isLoaded) return access;
  await access.close();
  throw new CannotStart(`the keys in ${join(dataDir, 'access.db')} cannot be read`);
}
