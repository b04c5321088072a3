// The interface between the proxy and an optional API mounted under a path prefix (the platform's). Both sides exchange
// plain values, so that neither depends on the other's HTTP types.

/** A request as the mounted API gets it. */
export interface MountRequest {
  readonly method: string;
  /** As sent, without the query; one of `Mount.paths`. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly query: string;
  /** Flat name, value list as sent. */
  readonly headers: readonly string[];
  /** Reads the whole body, bounded by the server's own limit. @throws Fault */
  readonly readBody: () => Promise<Buffer>;
}

export interface MountResponse {
  readonly status: number;
  /** Flat name, value list, without content-length. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export interface Mount {
  /** Its paths: all that begin with `/api/`, say, and without a slash at the end that one path alone. */
  readonly paths: readonly string[];
  /** Never rejects: the mounted API formats its own errors. */
  handle(request: MountRequest): Promise<MountResponse>;
}

/** A model as a mounted API may list it. */
export interface ListedModel {
  /** What a request names it by. */
  readonly name: string;
  /** Stated in the configuration or added at runtime; a name that is there because of a wildcard alone is not. */
  readonly isStated: boolean;
  /** Served, and not offered for choice (`model_info.openhands_hidden`). */
  readonly isHidden: boolean;
  /** The name that a hidden one stands for (`model_info.openhands_canonical`); null = none. */
  readonly canonical: string | null;
}
