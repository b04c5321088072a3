// What the rest of the proxy hands to the metrics: the handles of one deployment, and figures that a scrape reads.
import type { SpendRecord } from '../spend/record/record.ts';

/** The handles that one model entry's requests write to. */
export interface DeploymentMetrics {
  readonly observe: (record: SpendRecord, overheadMs: number) => void;
  /** A failed attempt was followed by another on the same name. */
  readonly retried: (failure: string) => void;
  /** The retry budget refused an attempt. */
  readonly denied: () => void;
  /** An entry rests from now on. */
  readonly rested: () => void;
  /** A call waits for its turn. */
  readonly queued: () => void;
  /** A call was turned away, and why. */
  readonly refused: (why: string) => void;
  /** A second attempt was made beside a slow one (`hedge_after`); who answered. */
  readonly hedged: (end: 'won' | 'lost' | 'failed') => void;
  /** A stream that broke off was to be continued elsewhere; what came of it. */
  readonly continued: (end: 'joined' | 'failed') => void;
  /** An answer was read on after its client had left; how that ended. */
  readonly readOn: (end: string) => void;
}

/** An entry as the scrape shows it. */
export interface EntryFigure {
  readonly model: string;
  readonly modelId: string;
  /** 0 closed, 1 half open, 2 open, 3 found ill by a background check. */
  readonly state: number;
}

/** How near the process is to its limits; read when metrics are scraped. */
export interface LoadFigures {
  readonly admission: { readonly waiting: number };
  readonly loopLag: { readonly worstMs: number };
  readonly idempotency: { readonly size: number; readonly bytes: number };
}
