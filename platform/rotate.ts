// Replaces the key that encrypts the platform's data: `throughline rotate-platform-key` without its command line. Works on the data of servers that are stopped, and refuses while one of them is not.
import { existsSync } from 'node:fs';
import type { Secret } from '../config/secret.ts';
import type { DatabaseSettings } from '../config/database-settings.ts';
import { lockDirectory } from '../proxy/server/mount.ts';
import { openExtensionTables } from '../proxy/server/mount.ts';
import { runningOn } from '../proxy/server/mount.ts';
import { StoreUnavailable } from '../proxy/server/mount.ts';
import { openPlatformFile, platformFile, platformTables, type PlatformStore } from './store/store.ts';
import { rotate, Vault } from './store/vault.ts';

/** Where the data is. */
interface PlatformPlace {
  readonly dataDir: string;
  /** null = in a file in the data directory. */
  readonly database: DatabaseSettings | null;
}

/**
 * Seals everything anew, all or nothing.
 * @returns how many items; null when there is no platform data
 * @throws DirectoryLocked or PlatformStoreUnavailable while a server runs on it, WrongSecretKey
 */
export function rotateKey(
  { dataDir, database }: PlatformPlace,
  from: Secret,
  to: Secret,
): Promise<number | null> {
  const act = (store: PlatformStore): Promise<number> =>
    rotate(store, new Vault(from), new Vault(to), Date.now());
  return database === null ? inFile(dataDir, act) : inDatabase(database, act);
}

async function inFile(
  dataDir: string,
  act: (store: PlatformStore) => Promise<number>,
): Promise<number | null> {
  const file = platformFile(dataDir);
  if (!existsSync(file)) return null;
  const lock = lockDirectory(dataDir);
  const store = openPlatformFile(file);
  try {
    return await act(store);
  } finally {
    await store.close();
    lock.release();
  }
}

async function inDatabase(
  database: DatabaseSettings,
  act: (store: PlatformStore) => Promise<number>,
): Promise<number | null> {
  const extensionTables = openExtensionTables(database);
  const store = platformTables(extensionTables, database.schema);
  try {
    if ((await store.count({ kind: 'meta' })) === 0) return null;
    const names = await runningOn(store, Date.now());
    if (names.length > 0)
      throw new StoreUnavailable(
        'unavailable',
        `servers run on this database (on ${names.join(', ')}) - stop them; one that was killed counts for a minute`,
      );
    return await act(store);
  } finally {
    await extensionTables.close();
  }
}
