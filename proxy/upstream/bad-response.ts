// Our own errors in addition to undici's: responses that we reject and undici accepts, and failures of an HTTP proxy.

/** The response is rejected; the message says why. */
export class BadResponse extends Error {
  override readonly name = 'BadResponse';
}

/** The HTTP proxy did not open a tunnel. The request was not sent. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  /** Status of its response to CONNECT; null = it could not be reached, or sent no valid response. */
  readonly status: number | null;

  constructor(cause: Error | null, status: number | null = null) {
    super(
      status === null ? 'the HTTP proxy failed' : `the HTTP proxy answered ${status} to CONNECT`,
      cause === null ? {} : { cause },
    );
    this.status = status;
  }
}

/** The error for a connection that ended within an exchange. */
export function closedEarly(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
}
