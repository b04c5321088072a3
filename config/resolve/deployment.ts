// One validated model_list entry -> Deployment. Computes at load everything that a request needs; an entry with a
// mistake becomes an issue instead of a deployment.
import type { Catalogue } from '../catalogue.ts';
import type { Dialect } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { EntryParams, ModelEntry } from '../gateway-file.ts';
import { credentialBases } from '../runtime-models.ts';
import { Secret } from '../secret.ts';
import { shownName } from '../shown.ts';
import type { Attribution, Deployment } from '../snapshot.ts';
import { memberOf, nodeAt } from '../tree.ts';
import type { Path, Tree } from '../tree.ts';
import { baseOf } from './api-base.ts';
import type { Base, BaseCheck } from './api-base.ts';
import { clocksOf } from './clocks.ts';
import type { ClockDefaults } from './clocks.ts';
import type { Forwards } from './forwarding.ts';
import { allowedParameters } from './gateways/allowed-parameters.ts';
import { steeringParameters } from './gateways/parameters-table.ts';
import { gatewayOf } from './gateways/table.ts';
import { MOST_STARS, starsIn } from './groups.ts';
import { headersAt, joinHeaders } from './headers.ts';
import type { StaticHeaders } from './headers.ts';
import type { Kind } from './kinds/kind.ts';
import { kindRules, KINDS, splitModelName } from './kinds/table.ts';
import type { ModelName } from './kinds/table.ts';
import { pricesOf } from './prices.ts';
import { publicOf } from './public.ts';
import { wholeOf, type AttemptDefaults } from './routing.ts';
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
  /** Whether runtime additions are stored (`store_model_in_db`). */
  readonly stored: boolean;
  readonly catalogue: Catalogue;
  readonly diagnostics: Diagnostics;
  readonly tls: TlsResolver;
  /** Results by kind and text: 10,000 entries often name one gateway, and parsing a URL costs 2 us. */
  readonly bases: Map<string, BaseCheck>;
  /** Addresses that the file names; the deployments of the file add theirs. */
  readonly configuredBases: Set<string>;
  readonly allowReferences: boolean;
  readonly allowLinkLocal: boolean;
}

/** One entry with its path, tree and id. */
interface LocatedEntry {
  readonly entry: ModelEntry;
  readonly path: Path;
  readonly tree: Tree;
  readonly id: string;
  readonly source: Deployment['source'];
}

/** Not shown in model info: the key, and paths of files of this machine. */
const HIDDEN = ['api_key', 'ssl_verify', 'ssl_certificate', 'ssl_certificate_key'];

/** A key is sent in a header, so it must be visible ASCII. */
const KEY = /^[\x21-\x7e]+$/;

/** The deployment, or null when there were issues. */
export function deploymentOf(located: LocatedEntry, shared: SharedSettings): Deployment | null {
  const { entry, path } = located;
  const { dialect, diagnostics } = shared;
  const params = entry.litellm_params;
  const at = [...path, 'litellm_params'];
  const name = nameAt(params, at, dialect, diagnostics);
  if (name === null) return null;
  checkNames(entry.model_name, name.upstream, path, diagnostics);
  const base = baseAt(params, name.kind, located, shared);
  const apiKey = keyAt(params.api_key, [...at, 'api_key'], diagnostics);
  const staticHeaders = headersOf(params, at, routerHeaders(located, base, shared), diagnostics, dialect);
  const tls = base === null ? null : tlsAt(params, at, base, located.source, shared);
  if (!diagnostics.isSound(path) || base === null) return null;
  const known = name.upstream.includes('*')
    ? null
    : shared.catalogue.lookUp(entry.model_info?.base_model ?? name.upstream);
  const gateway = gatewayOf(params.gateway, name.kind.name, dialect);
  return {
    id: located.id,
    group: entry.model_name,
    source: located.source,
    kind: name.kind.name,
    provider: name.prefix,
    upstreamModel: name.upstream,
    model: params.model,
    origin: base.origin,
    allowH2: allowH2At(params, base.origin, [...at, 'allow_h2'], diagnostics),
    tls,
    refuseLinkLocal: located.source === 'runtime' && !shared.allowLinkLocal,
    pathPrefix: base.pathPrefix,
    apiBase: base.shown,
    apiKey,
    staticHeaders,
    forwardClientHeaders: params.forward_client_headers_to_llm_api ?? shared.forwards(entry.model_name),
    statesForwarding: params.forward_client_headers_to_llm_api !== undefined,
    allowedQuery: new Set([...shared.allowedQuery, ...(params.allowed_query_parameters ?? [])]),
    stripsControlMembers: name.kind.stripsControlMembers,
    allowedClientParameters: allowedParameters(shared.allowedClientParameters, params),
    clocks: clocksOf(params, shared.clocks),
    ...shared.readOn(params),
    assistantPrefill: params.assistant_prefill === true,
    maxParallel: shared.maxParallel(params),
    prices: pricesOf(params, entry.model_info),
    cataloguePrices: known?.prices ?? null,
    attribution: attributionOf(entry),
    gateway,
    steeringParameters: steeringParameters(gateway.name, dialect.brand),
    weight: Number(params.weight ?? params.rpm ?? params.tpm ?? 1),
    order: params.order === undefined ? Infinity : Number(params.order),
    numRetries: wholeOf(params.num_retries) ?? shared.attempts.numRetries,
    cooldownMs: Math.round(Number(params.cooldown_time ?? shared.attempts.cooldownSeconds) * 1000),
    knownFacts: { key: name.upstream, litellm_provider: name.prefix, ...known?.facts },
    statedInfo: infoOf(located, shared.stored),
    publicParams: publicOf(memberOf(located.tree, 'litellm_params'), HIDDEN),
  };
}

/**
 * Checks the model and the address of an entry that already has other errors, where those parts are sound. Otherwise an
 * operator would fix one error only to see the next one.
 */
export function inspectUnsound(
  entry: Partial<ModelEntry> | null,
  located: Pick<LocatedEntry, 'path' | 'tree'>,
  shared: SharedSettings,
): void {
  const { path } = located;
  const { diagnostics, dialect } = shared;
  const at = [...path, 'litellm_params'];
  const params: Partial<EntryParams> | undefined = entry?.litellm_params;
  const sound = (...keys: string[]): boolean => keys.every((key) => diagnostics.isSound([...at, key]));
  if (typeof params?.model !== 'string' || !sound('model', 'custom_llm_provider')) return;
  const whole = { ...params, model: params.model };
  const name = nameAt(whole, at, dialect, diagnostics);
  if (name === null) return;
  if (typeof entry?.model_name === 'string') checkNames(entry.model_name, name.upstream, path, diagnostics);
  const stated = params.api_base !== undefined || params.base_url !== undefined;
  if (stated && sound('api_base', 'base_url')) baseAt(whole, name.kind, located, shared);
}

type KnownName = ModelName & { readonly kind: Kind };

function nameAt(params: EntryParams, at: Path, dialect: Dialect, diagnostics: Diagnostics): KnownName | null {
  const name = splitModelName(params.model, params.custom_llm_provider, dialect);
  if (name.kind !== null) return { ...name, kind: name.kind };
  const where = params.custom_llm_provider === undefined ? 'model' : 'custom_llm_provider';
  const what =
    name.prefix === ''
      ? 'has no provider prefix'
      : `${shownName(name.prefix)} is not a supported provider prefix`;
  diagnostics.error([...at, where], what, `write ${kindRules(dialect)}`);
  return null;
}

function checkNames(group: string, upstream: string, path: Path, diagnostics: Diagnostics): void {
  const model = [...path, 'litellm_params', 'model'];
  const stars = starsIn(group);
  if (upstream === '')
    diagnostics.error(model, 'has no model name after the prefix', 'write the name that the upstream uses');
  if (stars > MOST_STARS)
    diagnostics.error(
      [...path, 'model_name'],
      `contains ${stars} stars; at most ${MOST_STARS} are allowed`,
      'write fewer',
    );
  if (starsIn(upstream) > stars)
    diagnostics.error(
      model,
      'contains more stars than model_name, so some would have no value',
      'write as many stars in model_name, or none here',
    );
}

function baseAt(
  params: EntryParams,
  kind: Kind,
  located: Pick<LocatedEntry, 'path' | 'tree'>,
  shared: SharedSettings,
) {
  const { diagnostics, dialect } = shared;
  const at = [...located.path, 'litellm_params'];
  const key = params.api_base === undefined && params.base_url !== undefined ? 'base_url' : 'api_base';
  const text = params[key];
  if (text === undefined) {
    diagnostics.error(
      [...at, 'api_base'],
      'is missing',
      `add it: ${kind.rule(dialect)}; there is no default provider`,
    );
    return null;
  }
  if (params.api_base !== undefined && params.base_url !== undefined && params.api_base !== params.base_url)
    diagnostics.warn(
      [...at, 'base_url'],
      'is another name of api_base, which wins',
      'remove one of the two',
      'key',
    );
  const cacheKey = `${kind.name} ${text}`;
  const check = shared.bases.get(cacheKey) ?? baseOf(text, kind);
  shared.bases.set(cacheKey, check);
  if (check.ok) return check.base;
  const node = nodeAt(located.tree, ['litellm_params', key]);
  const variable = node?.kind === 'scalar' ? node.reference : null;
  const verb = variable === null ? 'write' : `set ${variable} to`;
  const fix = check.instead === null ? check.advice : `${verb} ${check.instead} ${check.advice}`.trim();
  diagnostics.error([...at, key], check.message, fix);
  return null;
}

/** A key as a secret, or null for none. A key that cannot be sent in a header is an issue; `origin` says where it came from. */
export function keyAt(
  text: string | undefined,
  path: Path,
  diagnostics: Diagnostics,
  origin = 'the key',
): Secret | null {
  if (text === undefined) return null;
  if (KEY.test(text)) return new Secret(text);
  const tail = /^[\x21-\x7e]+\s+$/.test(text);
  const what = tail
    ? 'ends in a space or a line break'
    : 'contains a space, a line break or a non-ASCII character';
  diagnostics.error(
    path,
    `${origin} ${what}`,
    tail ? 'write the secret without a trailing newline' : 'check the secret',
  );
  return null;
}

function allowH2At({ allow_h2 }: EntryParams, origin: string, path: Path, diagnostics: Diagnostics): boolean {
  if (allow_h2 !== true) return false;
  if (origin.startsWith('http:')) {
    const text = 'allow_h2 has no effect: HTTP/2 is agreed on in TLS, and api_base is http://';
    diagnostics.warn(path, text, 'use https:// or remove it', 'key');
  }
  return true;
}

/** A runtime model shows the client certificate of all only where the file sends something itself. */
function tlsAt(
  params: EntryParams,
  at: Path,
  { origin, pathPrefix }: Base,
  source: Deployment['source'],
  shared: SharedSettings,
): Deployment['tls'] {
  const isKnown = shared.configuredBases.has(`${origin}${pathPrefix}`);
  const isTrusted = source === 'config' || shared.allowReferences || isKnown;
  return shared.tls.upstream({ params, at, origin, isTrusted });
}

/**
 * The router-wide headers that a deployment sends. Their values may be secrets, so with a runtime model they go only
 * where the file sends something itself.
 */
function routerHeaders(located: LocatedEntry, base: Base | null, shared: SharedSettings): StaticHeaders {
  if (base === null) return shared.headers;
  const place = `${base.origin}${base.pathPrefix}`;
  if (located.source === 'config') shared.configuredBases.add(place);
  if (shared.headers.size === 0) return shared.headers;
  if (located.source === 'config' || shared.allowReferences || shared.configuredBases.has(place))
    return shared.headers;
  shared.diagnostics.warn(
    [...located.path, 'litellm_params', 'api_base'],
    'is no address of the configuration file, so the headers of default_litellm_params are not sent to it',
    'state the headers in the model itself, or have the operator set general_settings.runtime_models.allow_references',
  );
  return new Map();
}

/** Where credentials send their keys, as either kind of upstream. @param tree of the file, resolved */
export function placesOfCredentials(tree: Tree): Set<string> {
  const places = new Set<string>();
  for (const text of credentialBases(tree).values()) {
    if (text === null) continue;
    for (const kind of KINDS) {
      const check = baseOf(text, kind);
      if (check.ok) places.add(`${check.base.origin}${check.base.pathPrefix}`);
    }
  }
  return places;
}

/** The entry's headers win over router-wide ones, name by name. Reveals no secrets. */
function headersOf(
  params: EntryParams,
  at: Path,
  routerWide: StaticHeaders,
  diagnostics: Diagnostics,
  dialect: Dialect,
): Deployment['staticHeaders'] {
  const alias = headersAt(params.headers, [...at, 'headers'], dialect, diagnostics);
  const own = joinHeaders(
    alias,
    headersAt(params.extra_headers, [...at, 'extra_headers'], dialect, diagnostics),
  );
  const joined = new Map(joinHeaders(routerWide, own));
  if (params.api_key !== undefined && joined.delete('authorization') && own.has('authorization')) {
    const spot = alias.has('authorization') ? 'headers' : 'extra_headers';
    diagnostics.warn(
      [...at, spot],
      'authorization is not sent: the bearer of api_key is',
      'remove one of the two',
      'key',
    );
  }
  return [...joined];
}

function attributionOf({ model_info: info }: ModelEntry): Attribution {
  return {
    teamId: info?.team_id ?? null,
    userId: info?.user_id ?? null,
    profile: info?.profile ?? null,
    tags: info?.tags ?? [],
  };
}

/** What the entry states of its model; ids and prices are its own. */
function infoOf(located: LocatedEntry, stored: boolean): Record<string, unknown> {
  const stated = publicOf(memberOf(located.tree, 'model_info'));
  const params = located.entry.litellm_params;
  const prices: Record<string, number> = {};
  for (const [key, value] of Object.entries(params))
    if (key.includes('cost') && value !== undefined && typeof value !== 'object') prices[key] = Number(value);
  return {
    ...stated,
    ...prices,
    id: located.id,
    db_model: located.source === 'runtime' && stored,
  };
}
