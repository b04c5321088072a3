// A gateway kind is a set of pure rules about model names and URL paths. A new kind is one file beside this one and one
// line in table.ts.
import type { Dialect } from '../../dialect.ts';
import type { KindName } from '../../snapshot.ts';

/** The path prefix for an api_base, or why that api_base is wrong and the path to use instead. */
export type PathCheck =
  | { readonly ok: true; readonly pathPrefix: string }
  | { readonly ok: false; readonly message: string; readonly fixedPath: string };

export interface Kind {
  readonly name: KindName;
  /** Whether LiteLLM's control members are removed from bodies: compat-type upstreams would reject them. */
  readonly stripsControlMembers: boolean;
  /** Names of the protocols that it speaks; absent or null = not known. */
  readonly serves?: ReadonlySet<string> | null;
  /** Text before the first slash of `litellm_params.model`. */
  prefix(dialect: Dialect): string;
  /** @param basePath path of api_base without trailing slashes, '' for none */
  pathPrefix(basePath: string): PathCheck;
  /** One clause for messages: the prefix and the form of api_base. */
  rule(dialect: Dialect): string;
}
