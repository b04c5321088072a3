// SQL as SQLite spells it.
import type { SqlDialect } from '../sql/dialect.ts';

export const SQLITE_DIALECT: SqlDialect = {
  placeholder: '?',
  spend: 'spend',
  daily: 'spend_daily',
  positions: 'SELECT journal_id, segment, offset AS byte_offset FROM cursor',
  hasTag: (placeholder) => `EXISTS (SELECT 1 FROM json_each(spend.tags) WHERE value = ${placeholder})`,
  tags: 'json_each(spend.tags) AS one',
  day: `date(start_ms / 1000, 'unixepoch')`,
  json: (placeholder) => placeholder,
  storable: (text) => text,
};
