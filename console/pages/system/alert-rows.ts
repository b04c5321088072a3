// Alerts as `GET /alerts` answers them.

export const STATES = ['pending', 'delivered', 'failed', 'unsent'] as const;
export type State = (typeof STATES)[number];

interface Delivery {
  readonly channel: string;
  readonly state: Exclude<State, 'unsent'>;
  readonly attempts: number;
  readonly reason: string | null;
  readonly changed_at: string;
}

interface Acknowledgement {
  readonly at: string;
  readonly by: string;
  readonly note: string | null;
}

export interface Alert {
  readonly id: string;
  readonly kind: string;
  readonly level: 'warning' | 'error';
  readonly at: string;
  readonly subject: { readonly kind: string; readonly id: string; readonly name: string };
  readonly text: string;
  readonly state: State;
  readonly deliveries: readonly Delivery[];
  /** null: it is open. */
  readonly acknowledged: Acknowledgement | null;
}
