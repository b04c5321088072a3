// Settings of `Idempotency-Key`.

/** How long, and for how many calls, an `Idempotency-Key` is remembered. */
export interface IdempotencySettings {
  readonly windowMs: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** Refuse calls with a key while other servers cannot be asked; else each server knows its own. */
  readonly failClosed: boolean;
}
