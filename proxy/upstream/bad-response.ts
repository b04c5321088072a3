// Our own errors in addition to undici's: responses that we reject and undici accepts, and failures of an HTTP proxy.

/** The response is rejected; the message says why. */
export class BadResponse extends Error {
  override readonly name = 'BadResponse';
}

/** TLS failed because of a certificate; the message says which, and what to do. */
export class TlsFailure extends Error {
  override readonly name = 'TlsFailure';
  /** Of Node. */
  readonly code: string;

  constructor(message: string, code: string, cause: Error) {
    super(message, { cause });
    this.code = code;
  }
}

/** A new connection of TLS ended without a byte of a response. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
  readonly code = 'ECONNRESET';
  /** A sentence for the operator. */
  readonly advice: string;

  constructor(advice: string, cause: Error) {
    super('the connection was closed', { cause });
    this.advice = advice;
  }
}

/** The HTTP proxy did not open a tunnel, or refused a request. It did not reach the upstream. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  /** Status of its response; null = it could not be reached, or sent no valid response. */
  readonly status: number | null;

  /** @param to the request that it answered */
  constructor(cause: Error | null, status: number | null = null, to = 'CONNECT') {
    super(
      status === null ? 'the HTTP proxy failed' : `the HTTP proxy answered ${status} to ${to}`,
      cause === null ? {} : { cause },
    );
    this.status = status;
  }
}

/** The error for a connection that ended within an exchange. */
export function closedEarly(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
}
