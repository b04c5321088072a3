// Reads items of PostgreSQL and changes nothing: for commands that look at the store of running servers. No table is made, and the
// reader is no server of theirs.
import type { ExtensionTables } from '../spend/store/extension-tables.ts';
import { COLUMNS, itemOf } from './item-row.ts';
import type { Item } from './item-store.ts';

const PAGE = 1_000;

/** Where the tables are. */
interface ItemTables {
  /** A plain name, as the configuration lets through. */
  readonly schema: string;
  /** `access`: the table is `access_items`. */
  readonly prefix: string;
}

/** Items of these kinds, page by page; nothing where the table was never made. @throws StoreUnavailable */
export async function* postgresItems<K extends string>(
  tables: Pick<ExtensionTables, 'transact'>,
  { schema, prefix }: ItemTables,
  kinds: readonly K[],
): AsyncGenerator<readonly Item<K>[]> {
  const table = `"${schema}".${prefix}_items`;
  const [[made] = []] =
    (await tables.transact([{ text: 'SELECT to_regclass($1) IS NOT NULL AS made', values: [table] }])) ?? [];
  if (made?.['made'] !== true) return;
  const text = `SELECT ${COLUMNS} FROM ${table} WHERE kind = $1 AND id > $2 ORDER BY id LIMIT ${PAGE}`;
  for (const kind of kinds) {
    for (let after = ''; ;) {
      const [rows = []] = (await tables.transact([{ text, values: [kind, after] }])) ?? [];
      const page = rows.map(itemOf<K>);
      yield page;
      if (page.length < PAGE) break;
      after = page.at(-1)?.id ?? '';
    }
  }
}
