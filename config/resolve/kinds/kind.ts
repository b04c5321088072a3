// A kind of upstream is a set of pure rules: what its prefix is, where it answers, what its paths look like, in which header
// its key goes and which protocols it speaks. A new kind is one row of vendors.ts, or one file beside this one and one line
// in table.ts.
import type { Dialect } from '../../dialect.ts';
import type { CredentialHeader, KindName } from '../../kind-names.ts';

/** The path prefix for an api_base, or why that api_base is wrong and the path to use instead. */
export type PathCheck =
  | ({ readonly ok: true; readonly pathPrefix: string } & Partial<PathExtras>)
  | {
      readonly ok: false;
      readonly message: string;
      readonly fixedPath: string;
      /** The prefix that LiteLLM would use all the same; absent = none. */
      readonly asWritten?: string;
    };

/** What most upstreams do not have. */
export interface PathExtras {
  /** Query of every request, without the question mark; '' = none. */
  readonly query: string;
  /** Most endpoints stand below `deployments/MODEL`, as Azure has it. */
  readonly modelInPath: boolean;
}

export interface Kind {
  readonly name: KindName;
  /** Whether LiteLLM's control members are removed from bodies: only proxies of its dialect know them. */
  readonly stripsControlMembers: boolean;
  /** Names of the protocols that it speaks; null = not stated: whatever stands behind api_base. */
  readonly serves: ReadonlySet<string> | null;
  /** In which header its key goes; with `authorization` as a bearer. */
  readonly credentialHeader: CredentialHeader;
  /** Keys that go as a bearer instead, by how they begin, and the header that such calls carry beside those of others. */
  readonly bearerKeys: BearerKeys | null;
  /** Headers of every call, unless the operator states others. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Headers of clients that belong to the body: they go even while forwarding is off. Lower-case. */
  readonly passedHeaders: readonly string[];
  /** Members of bodies that it refuses and that say nothing to it. */
  readonly refusedMembers: readonly string[];
  /** It takes `name` in messages of the role `tool` alone. */
  readonly namesToolsAlone: boolean;
  readonly known: KnownAddress;
  /** Text before the first slash of `litellm_params.model`. */
  prefix(dialect: Dialect): string;
  /** The name that goes upstream; most send it as it is written. */
  upstreamName(name: string): string;
  /**
   * @param basePath path of api_base without trailing slashes, '' for none @param version `api_version`, '' for none
   * @param host of api_base, without its port
   */
  pathPrefix(basePath: string, version: string, host: string): PathCheck;
  /** One clause for messages: the prefix and the form of api_base. */
  rule(dialect: Dialect): string;
}

interface BearerKeys {
  readonly begin: string;
  /** A header that holds a list: other values of it stay. */
  readonly header: readonly [name: string, value: string];
}

/** Where a kind is reached that states no api_base, by the names that LiteLLM reads. The first variable that is set counts. */
interface KnownAddress {
  /** null = every installation has its own. */
  readonly base: string | null;
  /** Whether `base` serves a model of this name; absent = each one. Another name is a forgotten api_base. */
  readonly isFor?: (upstream: string) => boolean;
  readonly baseVariables: readonly string[];
  readonly keyVariables: readonly string[];
  /** Calls without a key make no sense there. */
  readonly needsKey: boolean;
  /** Hosts to which the key of a variable goes although api_base is written out; null = that of `base` alone. */
  readonly hosts: RegExp | null;
  /** Variable of `api_version`, and what counts where it is not set; `forResponses`: where responses is the only API that is asked. */
  readonly version: {
    readonly variable: string;
    readonly value: string;
    readonly forResponses: string;
  } | null;
}

/** Nothing is known: api_base is the operator's. */
export const NOWHERE: KnownAddress = Object.freeze({
  base: null,
  baseVariables: [],
  keyVariables: [],
  needsKey: false,
  hosts: null,
  version: null,
});

/** What holds for most kinds. */
export const USUAL = Object.freeze({
  stripsControlMembers: true,
  serves: null,
  credentialHeader: 'authorization',
  bearerKeys: null,
  headers: [],
  passedHeaders: [],
  refusedMembers: [],
  namesToolsAlone: false,
  upstreamName: (name: string): string => name,
} as const);
