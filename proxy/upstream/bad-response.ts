// The errors of ours beside undici's: what a strict reader refuses and undici does not, and a proxy on the way that fails.

/** What came is no response that we take; the text says why. */
export class BadResponse extends Error {
  override readonly name = 'BadResponse';
}

/** The HTTP proxy on the way did not open a tunnel. The request was not sent. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  /** What it answered to CONNECT; null = it could not be reached, or answered nothing of use. */
  readonly status: number | null;

  constructor(cause: Error | null, status: number | null = null) {
    super(
      status === null ? 'the HTTP proxy failed' : `the HTTP proxy answered ${status} to CONNECT`,
      cause === null ? {} : { cause },
    );
    this.status = status;
  }
}

/** What a reader is told when the connection ended under it. */
export function closedEarly(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
}
