// The door between the proxy and an optional wing that answers a part of the paths with its own shapes. Plain values
// go in and out, so that neither side knows the other's way of speaking HTTP.

/** A request as a wing sees it. */
export interface MountRequest {
  readonly method: string;
  /** As sent, without the query; begins with the wing's prefix. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly query: string;
  /** As sent: name, value, name, value, ... */
  readonly headers: readonly string[];
  /** Reads the whole body, bounded by the server's own limit. @throws Fault */
  readonly readBody: () => Promise<Buffer>;
}

export interface MountResponse {
  readonly status: number;
  /** Beside content-length; flat. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export interface Mount {
  /** Paths that begin with it are the wing's, e.g. `/api/`. */
  readonly prefix: string;
  /** Never rejects: what goes wrong is answered in the wing's own shape. */
  handle(request: MountRequest): Promise<MountResponse>;
}
