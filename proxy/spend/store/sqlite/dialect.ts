// SQL as SQLite spells it.
import type { SqlDialect } from '../sql/dialect.ts';

/** By axis and column; made by the migrations. */
const DAILY_INDEXES: ReadonlyMap<string, string> = new Map([
  [' api_key', 'spend_daily_key'],
  [' team_id', 'spend_daily_team'],
  [' user_id', 'spend_daily_user'],
  [' end_user', 'spend_daily_end_user'],
  ['tag entity', 'spend_daily_tag'],
  ['organization entity', 'spend_daily_organization'],
]);

export const SQLITE_DIALECT: SqlDialect = {
  placeholder: '?',
  spend: 'spend',
  daily: 'spend_daily',
  // Without statistics SQLite takes the primary key, and reads the sums of all: 135 ms of CPU where there are 500,000.
  dailyIndex: (axis, column) => {
    const index = DAILY_INDEXES.get(`${axis} ${column}`);
    return index === undefined ? '' : ` INDEXED BY ${index}`;
  },
  positions: 'SELECT journal_id, segment, offset AS byte_offset FROM cursor',
  hasTag: (placeholder) => `EXISTS (SELECT 1 FROM json_each(spend.tags) WHERE value = ${placeholder})`,
  tags: 'json_each(spend.tags) AS one',
  day: `date(start_ms / 1000, 'unixepoch')`,
  isAmong: (column, placeholder) => `${column} IN (SELECT value FROM json_each(${placeholder}))`,
  json: (placeholder) => placeholder,
  storable: (text) => text,
};
