// An alert as it is kept: what it says, what became of it at each receiver, and who has acknowledged it.
import type { AlertKind } from '../../../config/alert-settings.ts';
import type { HistoryText } from '../../items/history.ts';
import type { AlertLevel, AlertSubject } from './alert.ts';

/** `unsent`: no receiver is configured for its kind. */
export const ALERT_STATES = ['pending', 'delivered', 'failed', 'unsent'] as const;
type AlertState = (typeof ALERT_STATES)[number];

/** What one receiver has done with an alert. */
export interface AlertDelivery {
  /** Name of the channel. */
  readonly channel: string;
  readonly state: Exclude<AlertState, 'unsent'>;
  /** Requests that were made. */
  readonly attempts: number;
  /** Why the last one failed, or why it was given up; null = nothing went wrong. */
  readonly reason: string | null;
  /** Epoch milliseconds. */
  readonly changedMs: number;
}

/** Somebody has seen an alert. */
export interface Acknowledgement {
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** For people. */
  readonly by: string;
  /** null: the master key, or a key that is nobody's. */
  readonly userId: string | null;
  readonly note: string | null;
}

export interface RaisedAlert {
  readonly kind: AlertKind;
  readonly level: AlertLevel;
  readonly subject: AlertSubject;
  readonly text: string;
  readonly deliveries: readonly AlertDelivery[];
  /** Absent or null: it is open. */
  readonly acknowledged?: Acknowledgement | null;
}

/** An alert as the history keeps it. */
export function alertText(value: RaisedAlert, cause: string | null): HistoryText<RaisedAlert> {
  return { state: stateOf(value.deliveries), cause, isSeen: (value.acknowledged ?? null) !== null, value };
}

/** The worst of its receivers. */
function stateOf(deliveries: readonly AlertDelivery[]): AlertState {
  if (deliveries.length === 0) return 'unsent';
  const has = (state: AlertState): boolean => deliveries.some((one) => one.state === state);
  if (has('failed')) return 'failed';
  return has('pending') ? 'pending' : 'delivered';
}
