// `GET /spend/reconciliations`: what comparisons with the ledgers of gateways have found, the newest first. The command
// `throughline spend reconcile` makes them.
import type { Exchange } from '../pipeline/exchange.ts';
import { historyPage } from './history-page.ts';
import { sendTagged } from './tagged-json.ts';

export async function spendReconciliations(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const { reconciliations, clock } = x.active.services;
  const { entries, next } = await historyPage(reconciliations, query, [{}], clock.now());
  sendTagged(x, {
    reconciliations: entries.map(({ id, atMs, value }) => ({
      id,
      at: new Date(atMs).toISOString(),
      ...value,
    })),
    next,
  });
}
