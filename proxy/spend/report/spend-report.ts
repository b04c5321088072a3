// A spend report: one row per session, user, team, tag, model, key or day, from the daily sums. Pure but for the
// question it asks. The command line prints it and `/spend/report` answers it, so that both say the same.
import { dollarText } from '../record/dollars.ts';
import type { Activity, ActivityFilter, ActivitySums, Facet, SpendReader } from '../store/store.ts';

/** What a report can be by, as people write it. `user` and `team` are those of the key or the deployment. */
export const REPORT_BY = {
  session: 'session',
  user: 'user',
  team: 'team',
  tag: 'tag',
  model: 'model',
  key: 'apiKeyHash',
  day: 'day',
  'end-user': 'endUser',
  'model-group': 'modelGroup',
  provider: 'provider',
} as const satisfies Readonly<Record<string, Facet | 'day'>>;

export type ReportBy = keyof typeof REPORT_BY;

/** Whether the word names something that a report can be by. */
export function isReportBy(word: string): word is ReportBy {
  return Object.hasOwn(REPORT_BY, word);
}

export interface ReportRow {
  /** What the row is about; '' = calls without one. A key is its SHA-256, a session that is a UUID has no dashes. */
  readonly key: string;
  readonly requests: number;
  readonly failures: number;
  /** Of `requests`, those of unknown cost: `spend` is without them. */
  readonly unpriced: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_creation_tokens: number;
  readonly reasoning_tokens: number;
  /** US dollars as an exact decimal. */
  readonly spend: string;
}

export interface SpendReport {
  readonly by: ReportBy;
  /** UTC days, both included; null = open. */
  readonly start_date: string | null;
  readonly end_date: string | null;
  /** The dearest first; days in their order. */
  readonly rows: readonly ReportRow[];
  /** Whether there are more rows than the limit; `total` has them all. */
  readonly more: boolean;
  /** All calls, each once: a call with two tags stands in two rows. */
  readonly total: ReportRow;
}

/**
 * Queries the sums and makes the report.
 * @param limit most rows
 */
export async function spendReport(
  reader: Pick<SpendReader, 'activity'>,
  by: ReportBy,
  filter: ActivityFilter,
  limit: number,
): Promise<SpendReport> {
  const facet = REPORT_BY[by];
  const groups = await reader.activity(filter, [facet], limit + 1);
  const [all] = await reader.activity(filter, [], 1);
  const rows = groups.slice(0, limit).map((group) => rowOf(group.group[facet] ?? '', group.sums));
  if (by === 'day') rows.sort((a, b) => (a.key < b.key ? -1 : 1));
  return {
    by,
    start_date: filter.startDay ?? null,
    end_date: filter.endDay ?? null,
    rows,
    more: groups.length > limit,
    total: rowOf('', all?.sums ?? NOTHING),
  };
}

/** Sums of no calls. */
export const NOTHING: Activity['sums'] = {
  requests: 0,
  failures: 0,
  unpriced: 0,
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  spendPico: 0n,
};

function rowOf(key: string, sums: ActivitySums): ReportRow {
  return { key, ...reportSums(sums) };
}

/** Sums in the words of a report. */
export function reportSums(sums: ActivitySums): Omit<ReportRow, 'key'> {
  return {
    requests: sums.requests,
    failures: sums.failures,
    unpriced: sums.unpriced,
    prompt_tokens: sums.promptTokens,
    completion_tokens: sums.completionTokens,
    total_tokens: sums.totalTokens,
    cache_read_tokens: sums.cacheReadTokens,
    cache_creation_tokens: sums.cacheWriteTokens,
    reasoning_tokens: sums.reasoningTokens,
    spend: dollarText(sums.spendPico),
  };
}
