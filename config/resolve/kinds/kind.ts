// What a gateway kind is: one file beside this one and one line in table.ts. A kind is a set of pure rules about
// names and paths; it never sees a request.
import type { Dialect } from '../../dialect.ts';
import type { KindName } from '../../snapshot.ts';

/** Where requests go under an api_base, or why that api_base does not fit, and the path that would. */
export type PathCheck =
  | { readonly ok: true; readonly pathPrefix: string }
  | { readonly ok: false; readonly message: string; readonly fixedPath: string };

export interface Kind {
  readonly name: KindName;
  /** Compat-type upstreams are not of the dialect and would refuse its control members. */
  readonly stripsControlMembers: boolean;
  /** Text before the first slash of `litellm_params.model`. */
  prefix(dialect: Dialect): string;
  /** @param basePath path of api_base without trailing slashes, '' for none */
  pathPrefix(basePath: string): PathCheck;
  /** One clause for messages: how the prefix is written and what api_base looks like. */
  rule(dialect: Dialect): string;
}
