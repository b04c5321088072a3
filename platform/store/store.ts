// What the platform keeps, and where: items of these kinds, in a file of their own or beside the spend records.
import { join } from 'node:path';
import {
  openSqliteItems,
  PostgresItems,
  type ChangeListener as ItemChangeListener,
  type ExtensionTables,
  type ItemChange,
  type ItemFilter,
  type ItemStore,
  type StoredItem,
} from '../../proxy/server/mount.ts';

export type Kind =
  'meta' | 'settings' | 'conversation' | 'start_task' | 'sandbox' | 'replica' | 'event_log' | 'event';

/** `link`: a conversation's sandbox, a start task's conversation. `userId` '': the one user of a plain key. */
export type Item = StoredItem<Kind>;
export type Filter = ItemFilter<Kind>;
export type Change = ItemChange<Kind>;
export type ChangeListener = ItemChangeListener<Kind>;
export type PlatformStore = ItemStore<Kind>;

/** What servers remember, and so must hear of. */
const SHARED_KINDS: readonly Kind[] = ['conversation', 'sandbox', 'replica'];

/** Its database in the data directory. */
export const platformFile = (dataDir: string): string => join(dataDir, 'platform.db');

/** @param file path of the database; its directory must exist */
export function openPlatformFile(file: string): PlatformStore {
  return openSqliteItems({ file, sharing: 'own', threadName: 'throughline-platform' });
}

/** @param schema a plain name, as the configuration lets through */
export function platformTables(extensionTables: ExtensionTables, schema: string): PlatformStore {
  return new PostgresItems(extensionTables, { schema, prefix: 'platform', sharedKinds: SHARED_KINDS });
}
