// Sums of named sessions, as SQL that SQLite and PostgreSQL both understand, and its results as values. Pure. From the
// rows and not from the daily sums: those are not indexed by session, and do not know the last call.
import { MOST_TOKENS, PICO_PER_USD } from './rollup.ts';
import { sessionKey } from './spend-columns.ts';
import type { SqlDialect } from './dialect.ts';
import { Binds, picoOf, wholeOf, type Sql } from './spend-sql.ts';
import type { SessionTotals } from '../store.ts';

type Row = Readonly<Record<string, unknown>>;

const SUMMED = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
] as const;

/** One row for each session that has rows: its newest row's columns, and `sum_` of all its rows. */
export function totalsSql(sessionIds: readonly string[], dialect: SqlDialect): Sql {
  const binds = new Binds(dialect);
  const asked = binds.among('session_key', sessionIds.map(sessionKey));
  const counted = (column: string): string =>
    `CASE WHEN ${column} > ${MOST_TOKENS} THEN ${MOST_TOKENS} ELSE ${column} END`;
  const sums = [
    'COUNT(*) OVER one AS calls',
    `SUM(spend_pico / ${PICO_PER_USD}) OVER one AS usd`,
    `SUM(spend_pico % ${PICO_PER_USD}) OVER one AS pico`,
    ...SUMMED.map((column) => `SUM(${counted(column)}) OVER one AS sum_${column}`),
  ];
  return {
    text:
      `SELECT * FROM (SELECT session_key, model_group, total_tokens, upstream_id, ${sums.join(', ')}, ` +
      `ROW_NUMBER() OVER (PARTITION BY session_key ORDER BY start_ms DESC, request_id DESC) AS place ` +
      `FROM ${dialect.spend} WHERE ${asked} ` +
      `WINDOW one AS (PARTITION BY session_key)) AS summed WHERE place = 1`,
    values: binds.values,
  };
}

/** Results of `totalsSql`, in the order of the ids. */
export function totalsOf(sessionIds: readonly string[], rows: Iterable<Row>): (SessionTotals | null)[] {
  const found = new Map(Array.from(rows, (row) => [row['session_key'], totalOf(row)]));
  return sessionIds.map((id) => found.get(sessionKey(id)) ?? null);
}

function totalOf(row: Row): SessionTotals {
  const count = (name: string): number => Number(wholeOf(row[name]));
  const sum = (name: (typeof SUMMED)[number]): number => count(`sum_${name}`);
  return {
    calls: count('calls'),
    spendPico: picoOf(wholeOf(row['usd']), wholeOf(row['pico'])),
    promptTokens: sum('prompt_tokens'),
    completionTokens: sum('completion_tokens'),
    cacheReadTokens: sum('cache_read_tokens'),
    cacheWriteTokens: sum('cache_write_tokens'),
    reasoningTokens: sum('reasoning_tokens'),
    last: {
      modelGroup: (row['model_group'] as string | null) ?? '',
      tokens: count('total_tokens'),
      upstreamId: row['upstream_id'] as string | null,
    },
  };
}
