// A copy of a small response, for replaying it to a request with the same Idempotency-Key.
import { Buffer } from 'node:buffer';

/** A response that was sent in one piece. */
export interface KeptResponse {
  readonly status: number;
  /** Flat name, value list. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** Copies the body: a small Buffer is part of a larger one and would keep it in memory. */
export function keptResponse(status: number, headers: readonly string[], body: Buffer | null): KeptResponse {
  const copy = Buffer.allocUnsafeSlow(body?.length ?? 0);
  body?.copy(copy);
  return { status, headers: [...headers], body: copy };
}
