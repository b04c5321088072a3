// Which archive reads which store. Opens nothing itself.
import type { DatabaseSettings } from '../../../config/snapshot.ts';
import type { SpendArchive } from './reader.ts';
import { PostgresArchive } from './postgres/reader.ts';
import { SqliteArchive } from './sqlite/reader.ts';

/** Nothing is opened before the first question. */
export function openArchive(
  place: { readonly file: string } | { readonly database: DatabaseSettings },
): SpendArchive {
  return 'file' in place ? new SqliteArchive(place.file) : new PostgresArchive(place.database);
}
