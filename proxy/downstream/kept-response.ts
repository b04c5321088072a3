// A response that was small enough to be made in one piece, kept to be given again.
import { Buffer } from 'node:buffer';

/** A response of the proxy that was small enough to be made in one piece. */
export interface KeptResponse {
  readonly status: number;
  /** Flat name, value list. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** A copy that holds on to nothing else: small buffers are parts of larger ones. */
export function keptResponse(status: number, headers: readonly string[], body: Buffer | null): KeptResponse {
  const copy = Buffer.allocUnsafeSlow(body?.length ?? 0);
  body?.copy(copy);
  return { status, headers: [...headers], body: copy };
}
