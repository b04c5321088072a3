// `GET /spend/budgets`: every budget, in pages: what it has spent, and when it will be used up if calls go on as of late.
import { memberOf, type Scope } from '../access/budgets/scopes.ts';
import type { CountedUse } from '../access/budgets/spending.ts';
import type { AccessDirectory } from '../access/objects/directory.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { sendJson } from '../pipeline/respond.ts';
import { dollarText } from '../spend/record/dollars.ts';
import { pageOf } from './access/query.ts';
import { usageOf } from './access/spent.ts';
import { read, whole } from './spend-query.ts';

const PAGE_SIZE = 100;
/** More ids would be summed without an index. */
const MOST_ON_A_PAGE = 300;

/** A page holds so many keys, teams, ..., each with all of its budgets. */
export async function spendBudgets(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const page = whole(query, 'page', 1, 1_000_000);
  const size = whole(query, 'size', PAGE_SIZE, MOST_ON_A_PAGE);
  const { spending, access } = x.active.services;
  const { shown, total, pages } = pageOf(spending.capped(), page, size);
  const uses = await read(spending.countedUsesOf(shown));
  sendJson(x, {
    budgets: uses.map((use) => ({
      scope: use.scope.kind,
      scope_id: use.scope.id,
      alias: aliasOf(use.scope, access.directory),
      budget: use.name,
      ...usageOf(use),
      counted: use.countedPico === null ? null : dollarText(use.countedPico),
      counted_short: dollarText(countedShort(use)),
      counted_over: dollarText(countedOver(use)),
    })),
    total_count: total,
    current_page: page,
    total_pages: pages,
  });
}

/**
 * What the rows of a budget say beyond what its counter holds: calls could spend so much too often. A row counts or is held before it
 * can be read, so there is none while all is well, whatever runs.
 */
function countedShort({ spentPico, countedPico, reservedPico }: CountedUse): bigint {
  const short = countedPico === null ? 0n : spentPico - countedPico - reservedPico;
  return short > 0n ? short : 0n;
}

/**
 * What a counter holds beyond the rows: calls are refused so much too soon. Rows of other servers come into the store a moment after
 * they are counted.
 */
function countedOver({ spentPico, countedBeforePico }: CountedUse): bigint {
  const over = (countedBeforePico ?? spentPico) - spentPico;
  return over > 0n ? over : 0n;
}

/** How people call it; null = by its id. */
function aliasOf({ kind, id }: Scope, directory: AccessDirectory): string | null {
  switch (kind) {
    case 'key':
      return directory.key(id)?.alias ?? null;
    case 'team':
      return directory.team(id)?.alias ?? null;
    case 'user':
      return directory.user(id)?.email ?? null;
    case 'member': {
      const { teamId, userId } = memberOf(id);
      return `${userId} in ${directory.team(teamId)?.alias ?? teamId}`;
    }
    default:
      return null;
  }
}
