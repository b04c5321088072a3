// What `GET /chain` tells of the last day beside figures: alerts, stopped conversations, the last comparison with a gateway's ledger.
// Asked every ten seconds while somebody looks; a store that is away hinders nobody, and what it said last is kept.
import type { RaisedAlert } from '../../access/alerts/raised-alert.ts';
import type { ActiveConfig } from '../../active-config/active-config.ts';
import type { HistoryEntry } from '../../items/history.ts';
import type { KeptReconciliation } from '../../spend/report/kept-reconciliation.ts';

/** Of the last day. */
export interface ChainNews {
  /** Those that nobody has acknowledged first. */
  readonly alerts: readonly HistoryEntry<RaisedAlert>[];
  /** Of those that nobody has acknowledged. */
  readonly undelivered: readonly HistoryEntry<RaisedAlert>[];
  /** Conversations that the brake holds stopped, and those that it has noticed only. */
  readonly braked: { readonly stopped: number; readonly noticed: number };
  readonly reconciled: HistoryEntry<KeptReconciliation> | null;
}

export const NO_NEWS: ChainNews = {
  alerts: [],
  undelivered: [],
  braked: { stopped: 0, noticed: 0 },
  reconciled: null,
};

const FRESH_MS = 10_000;
const DAY_MS = 86_400_000;
/** Counts say "100" for more. */
const MOST_ALERTS = 100;

export class ChainNewsReader {
  #known = NO_NEWS;
  #readAt = -Infinity;

  /** What was known last. */
  get known(): ChainNews {
    return this.#known;
  }

  /** Asks when it is time to. Settles when the answer is known; never rejects. null: it is not time. */
  read({ services }: ActiveConfig): Promise<void> | null {
    const mono = services.clock.mono();
    if (mono - this.#readAt < FRESH_MS) return null;
    this.#readAt = mono;
    return this.#read(services);
  }

  async #read({ clock, alertHistory, reconciliations, peers }: ActiveConfig['services']): Promise<void> {
    const sinceMs = clock.now() - DAY_MS;
    const open = { sinceMs, isSeen: false };
    try {
      const [alerts, seen, undelivered, reconciled, reports] = await Promise.all([
        alertHistory?.page(null, MOST_ALERTS, open),
        alertHistory?.page(null, MOST_ALERTS, { sinceMs, isSeen: true }),
        alertHistory?.page(null, MOST_ALERTS, { ...open, states: ['failed', 'pending'] }),
        reconciliations?.page(null, 1),
        peers.brake({ conversation: null, resumes: false }),
      ]);
      const [stopped, noticed] = (['stopped', 'noticed'] as const).map(
        (state) => reports.filter((one) => one.state === state).length,
      );
      this.#known = {
        alerts: [...(alerts?.entries ?? []), ...(seen?.entries ?? [])],
        undelivered: undelivered?.entries ?? [],
        braked: { stopped: stopped ?? 0, noticed: noticed ?? 0 },
        reconciled: reconciled?.entries[0] ?? null,
      };
    } catch {
      // that the store is away stands among the findings of the ledger
    }
  }
}
