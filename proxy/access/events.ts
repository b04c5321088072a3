// What happens to keys, budgets, limits and conversations that somebody may want to hear of, and the interface that those
// who find it report it through. Who sends it on, and where to, is no concern of theirs.

/** A conversation has reached the `alert` or `stop` level of a rule of the runaway brake. Never holds text of the call. */
export interface BrakeEvent {
  readonly kind: 'brake';
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** The session id, or `first-message:...` for a conversation that states none. */
  readonly conversation: string;
  /** SHA-256 hex of the key that called. */
  readonly keyHash: string;
  readonly rule: string;
  readonly level: 'alert' | 'stop';
  readonly count: number;
  /** One sentence. */
  readonly text: string;
}

export type AccessEvent = BrakeEvent;

export interface AccessEvents {
  /** Never throws, never waits. */
  emit(event: AccessEvent): void;
}
