// What the rest of the proxy gives to the metrics: the handles of one model group, and figures that a scrape reads.
import type { Failure } from './failure.ts';
import type { SpendRecord } from '../spend/record/record.ts';

/** The handles that requests of one model group write to. */
export interface DeploymentMetrics {
  readonly observe: (record: SpendRecord, overheadMs: number, failure: Failure | null) => void;
  /** A failed attempt was retried within the group. */
  readonly retried: (failure: string) => void;
  /** The retry budget refused an attempt. */
  readonly denied: () => void;
  /** A deployment began to cool down. */
  readonly cooldownStarted: () => void;
  /** Another server found that it fails. */
  readonly cooldownLearned: () => void;
  /** A call waits in the admission queue. */
  readonly queued: () => void;
  /** A call was refused by admission control. */
  readonly refused: (why: string) => void;
  /** A second attempt was made beside a slow one (`hedge_after`); which of the two won. */
  readonly hedged: (end: 'won' | 'lost' | 'failed') => void;
  /** An attempt to continue a broken stream at another deployment ended. */
  readonly continued: (end: 'joined' | 'failed') => void;
  /** Reading a response after its client had left has ended. */
  readonly detachedStreamEnded: (end: string) => void;
}

/** A deployment as the scrape shows it. */
export interface DeploymentFigure {
  readonly model: string;
  readonly modelId: string;
  /** 0 closed, 1 half open, 2 open, 3 failed its background check. */
  readonly state: number;
}

/** How close the process is to its limits; read at every scrape. */
export interface LoadFigures {
  readonly admission: { readonly waiting: number };
  readonly loopLag: { readonly worstMs: number };
  readonly idempotency: { readonly size: number; readonly bytes: number };
  readonly log: { readonly droppedLines: () => number };
}
