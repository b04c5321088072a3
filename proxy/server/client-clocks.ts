// How long a client's connection may take for what.

/** Client timeouts, ms. */
export interface Clocks {
  /** To send a request's headers. */
  readonly headersMs: number;
  /** To send a whole request; does not limit the response. */
  readonly requestMs: number;
  /** Idle time between two requests. */
  readonly keepAliveMs: number;
  /** To send the rest of a request whose response has already ended. */
  readonly discardMs: number;
  /** To close its side after ours. Closing with unread bytes would reset the connection and lose the response. */
  readonly lingerMs: number;
  /** Without reading any of the last bytes of a response. */
  readonly stallMs: number;
  /** How often Node checks the first two. */
  readonly checkMs: number;
}

export const CLOCKS: Clocks = {
  headersMs: 30_000,
  requestMs: 300_000,
  /** Longer than the 60 s idle timeout of common load balancers, so that they close first. */
  keepAliveMs: 75_000,
  discardMs: 5_000,
  lingerMs: 1_000,
  stallMs: 60_000,
  checkMs: 1_000,
};
