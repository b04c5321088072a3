// The keys, teams and users that a command knows: those of the configuration, and those that were made by API: of a data directory
// where one is named, else of the database that the configuration names. The store is read and not changed.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { AccessSettings } from '../../config/access-settings.ts';
import type { DatabaseSettings } from '../../config/database-settings.ts';
import { StoredObjects } from '../access/objects/access-objects.ts';
import { DurableObjects, OBJECT_KINDS } from '../access/objects/durable-objects.ts';
import { fileObjects } from '../access/objects/file-objects.ts';
import { ObjectReader } from '../access/objects/object-items.ts';
import type { AccessObject } from '../access/objects/objects.ts';
import { systemClock } from '../base/clock.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { postgresItems } from '../items/read-postgres.ts';
import { openLog } from '../observability/logger.ts';
import { openExtensionTables } from '../spend/store/postgres/extension-tables.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import { UsageError, type Terminal } from './terminal.ts';

/** Where objects that were made by API are. */
interface AccessPlaces {
  readonly dataDir: string | undefined;
  /** Read where no directory is named; null = there is none, or nobody asks for what it holds. */
  readonly database: DatabaseSettings | null;
}

/** Close it. @throws UsageError where the directory holds none; CannotStart when they cannot be read */
export async function accessFor(
  settings: AccessSettings,
  { dataDir, database }: AccessPlaces,
  { cwd }: Terminal,
): Promise<StoredObjects> {
  const access =
    dataDir === undefined
      ? StoredObjects.inMemory(database === null ? [] : await storedAt(database))
      : await storedIn(resolve(cwd, dataDir));
  access.takeFile(fileObjects(settings));
  return access;
}

async function storedAt(database: DatabaseSettings): Promise<readonly AccessObject[]> {
  const tables = openExtensionTables(database);
  const reader = new ObjectReader();
  const objects: AccessObject[] = [];
  try {
    const place = { schema: database.schema, prefix: 'access' };
    for await (const page of postgresItems(tables, place, OBJECT_KINDS))
      for (const item of page)
        objects.push(reader.read({ ...item, value: JSON.parse(item.body) as unknown }));
    return objects;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new CannotStart(`the keys and teams that were made by API cannot be read: ${error.message}`);
  } finally {
    await tables.close();
  }
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
