// Exchanging the key under which the wing's data is sealed: the whole of `throughline rotate-platform-key` but its
// command line. Works on the database of a server that is stopped.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Secret } from '../config/secret.ts';
import { lockDirectory } from '../proxy/store/lock.ts';
import { SqlitePlatform } from './store/sqlite-platform.ts';
import { rotate, Vault } from './store/vault.ts';
import { PLATFORM_DB } from './wing.ts';

/**
 * Seals everything anew, all or nothing.
 * @returns how many items; null when there is no platform data in the directory
 * @throws DirectoryLocked while a server runs on the directory, WrongSecretKey, PlatformStoreUnavailable
 */
export async function rotateKey(dataDir: string, from: Secret, to: Secret): Promise<number | null> {
  const file = join(dataDir, PLATFORM_DB);
  if (!existsSync(file)) return null;
  const lock = lockDirectory(dataDir);
  const store = new SqlitePlatform(file);
  try {
    return await rotate(store, new Vault(from), new Vault(to), Date.now());
  } finally {
    await store.close();
    lock.release();
  }
}
