// Comparisons with the ledgers of gateways, as they are kept: the command writes them, the proxy shows them.
import { History, type HistoryKind } from '../items/history.ts';
import type { ItemStore } from '../items/item-store.ts';
import type { KeptReconciliation } from '../spend/report/kept-reconciliation.ts';

/** One a day for three months, or one a week for two years; some 30 KB each at most. */
const KEPT = { most: 100, keptMs: 730 * 86_400_000 };

/** Opens nothing by itself: `store` is the caller's to close. */
export const openReconciliations = (store: ItemStore<HistoryKind>): History<KeptReconciliation> =>
  new History(store, 'reconciliation', KEPT);
