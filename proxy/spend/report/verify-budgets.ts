// Do budgets agree with the rows? A process that starts asks the store what was spent since the windows of its budgets began;
// the same questions are answered here once more by adding up the rows one by one.
import type { SpendRecord } from '../record/record.ts';
import { dollarText } from '../record/dollars.ts';
import type { StoreReader } from '../store/reader.ts';
import { indexed, sessionKey } from '../store/sql/spend-columns.ts';
import type { SpentColumn, SpentQuery } from '../store/store.ts';

/** What budgets are kept by. */
const GROUPS: readonly (readonly SpentColumn[])[] = [
  [],
  ['apiKeyHash'],
  ['team'],
  ['organization'],
  ['team', 'user'],
  ['user'],
  ['endUser'],
  ['tag'],
  ['modelGroup'],
  ['apiKeyHash', 'modelGroup'],
  ['provider'],
  ['deployment'],
  ['profile'],
  ['session'],
];

const VALUES: Readonly<Record<SpentColumn, (record: SpendRecord) => readonly string[]>> = {
  apiKeyHash: (r) => [r.apiKeyHash],
  team: (r) => [r.teamId ?? ''],
  organization: (r) => [indexed(r.organizationId) ?? ''].filter((id) => id !== ''),
  user: (r) => [r.userId ?? ''],
  endUser: (r) => [indexed(r.endUser) ?? ''],
  tag: (r) => [...new Set(r.tags)].filter((tag) => tag !== ''),
  modelGroup: (r) => [r.modelGroup],
  provider: (r) => [r.provider ?? ''],
  deployment: (r) => [r.modelId ?? ''],
  profile: (r) => [r.profile ?? ''],
  session: (r) => [sessionKey(r.sessionId)],
};

interface VerifiedBudgets {
  /** Sums that were compared. */
  readonly sums: number;
  readonly findings: readonly string[];
}

/** @param startsMs of the windows: each must lie behind what retention removed */
export async function verifyBudgets(
  reader: StoreReader,
  startsMs: readonly number[],
): Promise<VerifiedBudgets> {
  const queries: readonly SpentQuery[] = startsMs.flatMap((sinceMs) =>
    GROUPS.map((by) => ({ by, ids: null, sinceMs })),
  );
  const asked = queries.map((query) => ({ query, sums: new Map<string, bigint>() }));
  for await (const record of reader.rows({ startMs: Math.min(...startsMs, Infinity) }))
    for (const { query, sums } of asked) if (record.startMs >= query.sinceMs) add(sums, query.by, record);
  const findings: string[] = [];
  let count = 0;
  const answers = await reader.spentSince(queries);
  for (const [i, { query, sums }] of asked.entries()) {
    const seen = new Map((answers[i] ?? []).map(({ values, pico }) => [JSON.stringify(values), pico]));
    for (const name of new Set([...seen.keys(), ...sums.keys()])) {
      const [budget, rows] = [seen.get(name) ?? 0n, sums.get(name) ?? 0n];
      count += 1;
      if (budget !== rows) findings.push(finding(query, name, budget, rows));
    }
  }
  return { sums: count, findings };
}

function add(sums: Map<string, bigint>, by: readonly SpentColumn[], record: SpendRecord): void {
  const groups = by.reduce<readonly (readonly string[])[]>(
    (all, column) => all.flatMap((group) => VALUES[column](record).map((value) => [...group, value])),
    [[]],
  );
  const pico = BigInt(record.spendPico ?? 0);
  for (const group of groups) {
    const name = JSON.stringify(group);
    sums.set(name, (sums.get(name) ?? 0n) + pico);
  }
}

const finding = ({ by, sinceMs }: SpentQuery, name: string, budget: bigint, rows: bigint): string =>
  `budgets by ${by.join(' and ') || 'proxy'} ${name} since ${new Date(sinceMs).toISOString()}: ` +
  `${dollarText(budget)} USD counted, the rows add up to ${dollarText(rows)} USD`;
