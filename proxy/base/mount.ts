// The interface of an optional extension (the platform) that serves a part of the paths with its own formats. Plain values
// go in and out, so that neither side depends on the other's HTTP code.

/** A request as the extension sees it. */
export interface MountRequest {
  readonly method: string;
  /** As sent, without the query; begins with the extension's prefix. */
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
  /** The extension serves all paths that begin with it, e.g. `/api/`. */
  readonly prefix: string;
  /** Never rejects: errors become responses in the extension's own format. */
  handle(request: MountRequest): Promise<MountResponse>;
}
