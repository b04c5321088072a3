// The rows against what happened: each call that the gateway saw has exactly one, and each answer that its client got
// whole is a success.
import { send, type Row } from '../../support/rig.ts';
import type { ResultRow } from './result-row.ts';

/** `/spend/logs` gives no more at once, so rows are compared before there are more. */
export const MOST_ROWS = 10_000;

/** All rows, once everything that was journalled so far is in the store. @throws Error when they cannot be read */
export async function rowsOf(url: string): Promise<Row[]> {
  const answer = await send(url, 'GET', '/spend/logs');
  if (answer.status !== 200) throw new Error(`the rows cannot be read: ${answer.status} ${answer.text}`);
  const rows = JSON.parse(answer.text) as Row[];
  if (rows.length >= MOST_ROWS) throw new Error('there are too many rows to compare');
  return rows;
}

/** What happened, by session. */
export interface ObservedCalls {
  /** Calls that the gateway saw; each has a session of its own. */
  readonly seen: readonly string[];
  /** Calls whose answer reached the client whole. */
  readonly whole: ReadonlySet<string>;
}

/** Counts lost and doubled rows in the result; returns their sessions. */
export function compareRows(
  result: ResultRow,
  rows: readonly Row[],
  calls: ObservedCalls,
): ReadonlySet<string> {
  const bySession = Map.groupBy(rows, (row) => String(row['session_id']));
  const byId = Map.groupBy(rows, (row) => String(row['request_id']));
  const missing = calls.seen.filter((session) => !bySession.has(session));
  const unlike = [...calls.whole].filter(
    (session) => bySession.has(session) && bySession.get(session)?.[0]?.['status'] !== 'success',
  );
  const twice = [...bySession].filter(([, of]) => of.length > 1).map(([session]) => session);
  const twins = [...byId].filter(([, of]) => of.length > 1).map(([, [row]]) => String(row?.['session_id']));
  result.violations('lost', [...missing, ...unlike]);
  result.violations('doubled', [...new Set([...twice, ...twins])]);
  return new Set([...missing, ...unlike, ...twice, ...twins]);
}
