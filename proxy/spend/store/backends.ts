// Which backend keeps the rows of which place: one line each.
import type { DatabaseSettings } from '../../../config/database-settings.ts';
import type { StoreBackend } from './backend.ts';
import { postgresBackend } from './postgres/backend.ts';
import { sqliteBackend } from './sqlite/backend.ts';

/** The embedded database's path, whose directory must exist, or a PostgreSQL server. */
export type StorePlace = { readonly file: string } | { readonly database: DatabaseSettings };

export function storeBackend(place: StorePlace): StoreBackend {
  return 'file' in place ? sqliteBackend(place.file) : postgresBackend(place.database);
}
