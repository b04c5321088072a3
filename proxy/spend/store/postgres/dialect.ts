// SQL as PostgreSQL spells it.
import type { SqlDialect } from '../sql/dialect.ts';

/** @param schema its quoted name */
export function postgresDialect(schema: string): SqlDialect {
  return {
    placeholder: '$',
    spend: `${schema}.spend`,
    daily: `${schema}.spend_daily`,
    dailyIndex: () => '',
    positions: `SELECT journal_id, segment, byte_offset FROM ${schema}.journals`,
    hasTag: (placeholder) => `tags::jsonb @> to_jsonb(${placeholder}::text)`,
    tags: 'LATERAL json_array_elements_text(tags) AS one(value)',
    day: `to_char(to_timestamp(start_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
    isAmong: (column, placeholder) =>
      `${column} = ANY (ARRAY(SELECT json_array_elements_text(${placeholder}::json)))`,
    json: (placeholder) => `${placeholder}::json`,
    // As `storable` of spend-columns.ts does with what is written: PostgreSQL refuses NUL in any text.
    storable: (text) => text.toWellFormed().replaceAll('\0', '\ufffd'),
  };
}
