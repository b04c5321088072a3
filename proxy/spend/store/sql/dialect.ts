// How SQLite and PostgreSQL spell what they do not share, for every question about spend.
import type { Spelling } from './spend-sql.ts';

export const SQLITE_SPELLING: Spelling = {
  mark: '?',
  spend: 'spend',
  daily: 'spend_daily',
  hasTag: (mark) => `EXISTS (SELECT 1 FROM json_each(spend.tags) WHERE value = ${mark})`,
  day: `date(start_ms / 1000, 'unixepoch')`,
};

/** @param schema its quoted name */
export function postgresSpelling(schema: string): Spelling {
  return {
    mark: '$',
    spend: `${schema}.spend`,
    daily: `${schema}.spend_daily`,
    hasTag: (mark) => `tags::jsonb @> to_jsonb(${mark}::text)`,
    day: `to_char(to_timestamp(start_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
  };
}
