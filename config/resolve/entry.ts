// One entry of model_list with its place, and what all entries share while they become deployments.
import type { Catalogue } from '../catalogue.ts';
import type { Dialect } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { Environment } from '../environment.ts';
import type { EntryParams, GatewayFile, ModelEntry } from '../gateway-file.ts';
import type { Deployment } from '../snapshot.ts';
import type { Path, Tree } from '../tree.ts';
import type { BaseCheck } from './api-base.ts';
import type { ClockDefaults } from './clocks.ts';
import type { Forwards } from './forwarding.ts';
import type { StaticHeaders } from './headers.ts';
import type { Kind } from './kinds/kind.ts';
import type { ModelName } from './kinds/table.ts';
import type { AttemptDefaults } from './routing.ts';
import type { TlsResolver } from './tls.ts';

/** What all deployments share. */
export interface SharedSettings {
  readonly dialect: Dialect;
  readonly clocks: ClockDefaults;
  readonly maxParallel: (params: EntryParams) => number;
  readonly readOn: (params: EntryParams) => Pick<Deployment, 'readOn' | 'readsOn'>;
  readonly attempts: AttemptDefaults;
  readonly headers: StaticHeaders;
  readonly forwards: Forwards;
  /** Names that every entry allows. */
  readonly allowedQuery: readonly string[];
  /** For every entry. */
  readonly allowedClientParameters: readonly string[];
  /** Of entries that do not say it themselves. */
  readonly dropParams: boolean;
  /** Likewise. */
  readonly answerModel: GatewayFile['general_settings']['answer_model'];
  /** Whether runtime additions are stored (`store_model_in_db`). */
  readonly stored: boolean;
  readonly catalogue: Catalogue;
  readonly diagnostics: Diagnostics;
  readonly tls: TlsResolver;
  /** Results by kind and text: 10,000 entries often name one gateway, and parsing a URL costs 2 us. */
  readonly bases: Map<string, BaseCheck>;
  /** Where the variables of vendors are read: keys, addresses, versions. */
  readonly env: Environment;
  /** `unknown_keys: warn`: the file is one of LiteLLM, which takes any api_base. */
  readonly isLenient: boolean;
  /** Addresses that the file names; the deployments of the file add theirs. */
  readonly configuredBases: Set<string>;
  readonly allowReferences: boolean;
  readonly allowLinkLocal: boolean;
}

/** One entry with its path, tree and id. */
export interface LocatedEntry {
  readonly entry: ModelEntry;
  readonly path: Path;
  readonly tree: Tree;
  readonly id: string;
  readonly source: Deployment['source'];
}

/** A name whose kind is known. */
export type KnownName = ModelName & { readonly kind: Kind };
