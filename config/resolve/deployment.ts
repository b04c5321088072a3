// One validated model_list entry -> Deployment. Computes at load everything that a request needs; an entry with a
// mistake becomes an issue instead of a deployment.
import type { Dialect } from '../dialect.ts';
import { baseModelOf, catalogueName, tellsApi } from '../catalogue-name.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { EntryParams, ModelEntry } from '../gateway-file.ts';
import { credentialBases } from '../runtime-models.ts';
import { ownText } from '../own-text.ts';
import type { Attribution, Deployment } from '../snapshot.ts';
import { memberOf, type Path, type Tree } from '../tree.ts';
import { addressAt, keyFor, NOWHERE, type Address } from './address.ts';
import { azureTokenAt, refuseSignIns } from './azure-token.ts';
import { baseOf, type Base } from './api-base.ts';
import { clocksOf } from './clocks.ts';
import { allowedParameters } from './gateways/allowed-parameters.ts';
import { steeringParameters } from './gateways/parameters-table.ts';
import { gatewayOf } from './gateways/table.ts';
import { MOST_STARS, starsIn } from './groups.ts';
import { headersAt, joinHeaders, type StaticHeaders } from './headers.ts';
import type { KnownName, LocatedEntry, SharedSettings } from './entry.ts';
import type { Kind } from './kinds/kind.ts';
import { KINDS, NO_NAME, splitModelName, unsupported } from './kinds/table.ts';
import { pricesOf, pricesOver } from './prices.ts';
import { publicOf } from './public.ts';
import { wholeOf } from './routing.ts';
import { isByResponsesAlone, servesOf } from './serves.ts';
import { statedMembersOf } from './stated-members.ts';
/** Not shown in model info: the key, and paths of files of this machine. */
const HIDDEN = ['api_key', 'ssl_verify', 'ssl_certificate', 'ssl_certificate_key'];

/** The deployment, or null when there were issues. */
export function deploymentOf(located: LocatedEntry, shared: SharedSettings): Deployment | null {
  const { entry, path } = located;
  const { dialect, diagnostics } = shared;
  const params = entry.litellm_params;
  const at = [...path, 'litellm_params'];
  const name = nameAt(params, at, dialect, diagnostics);
  if (name === null) return null;
  checkNames(entry.model_name, name.upstream, path, diagnostics);
  const known = knownModel(entry, name, shared);
  const tells = baseModelOf(entry) !== undefined || tellsApi({ kind: name.kind.name }, name.upstream);
  const protocols = servesOf(entry, name, tells ? known?.mode : undefined, path, diagnostics);
  const mock = params.mock_response ?? null;
  const asked = { ...name, byResponses: isByResponsesAlone(protocols) };
  const address = mock === null ? addressAt(params, asked, located, shared) : NOWHERE;
  const base = address?.base ?? null;
  const operators = headersOf(params, at, routerHeaders(located, base, shared), diagnostics, dialect);
  const credential =
    mock === null ? credentialOf(name.kind, address, operators, located, shared) : noCredential(name.kind);
  const { apiKey, credentialHeader, joinedHeaders } = credential;
  const staticHeaders = withoutCredential(operators, apiKey, params, credentialHeader, at, shared);
  const tls = base === null ? null : tlsAt(params, at, base, located.source, shared);
  const statedMembers = statedMembersOf(params, protocols.serves, at, diagnostics);
  if (!diagnostics.isSound(path) || base === null) return null;
  const gateway = gatewayOf(params.gateway, name.kind.name, dialect);
  return {
    id: located.id,
    group: ownText(entry.model_name),
    source: located.source,
    kind: name.kind.name,
    provider: ownText(name.prefix),
    upstreamModel: ownText(name.upstream),
    model: params.model,
    origin: base.origin,
    allowH2: allowH2At(params, base.origin, [...at, 'allow_h2'], diagnostics),
    tls,
    refuseLinkLocal: located.source === 'runtime' && !shared.allowLinkLocal,
    pathPrefix: base.pathPrefix,
    modelInPath: base.modelInPath,
    upstreamQuery: base.query,
    apiBase: ownText(base.shown),
    apiKey,
    credentialHeader,
    vendorHeaders: name.kind.headers,
    joinedHeaders,
    passedHeaders: new Set(name.kind.passedHeaders),
    refusedMembers: new Set(name.kind.refusedMembers),
    namesToolsAlone: name.kind.namesToolsAlone,
    staticHeaders,
    forwardClientHeaders: params.forward_client_headers_to_llm_api ?? shared.forwards(entry.model_name),
    statesForwarding: params.forward_client_headers_to_llm_api !== undefined,
    allowedQuery: new Set([...shared.allowedQuery, ...(params.allowed_query_parameters ?? [])]),
    stripsControlMembers: name.kind.stripsControlMembers,
    ...protocols,
    statedMembers,
    dropParams: params.drop_params ?? shared.dropParams,
    allowedClientParameters: allowedParameters(shared.allowedClientParameters, params),
    clocks: clocksOf(params, shared.clocks),
    ...shared.readOn(params),
    statesAskedModel: (params.answer_model ?? shared.answerModel) === 'asked',
    assistantPrefill: params.assistant_prefill === true,
    maxParallel: shared.maxParallel(params),
    prices: pricesOver(pricesOf(params, entry.model_info), known?.prices ?? null),
    cataloguePrices: known?.prices ?? null,
    attribution: attributionOf(entry),
    gateway,
    steeringParameters: steeringParameters(gateway.name, dialect.brand),
    weight: Number(params.weight ?? params.rpm ?? params.tpm ?? 1),
    order: params.order === undefined ? Infinity : Number(params.order),
    mock,
    discovers: mock === null && discoversAt(params, name.kind, at, diagnostics),
    numRetries: wholeOf(params.num_retries) ?? shared.attempts.numRetries,
    cooldownMs: Math.round(Number(params.cooldown_time ?? shared.attempts.cooldownSeconds) * 1000),
    knownFacts: { key: name.upstream, litellm_provider: name.prefix, ...known?.facts },
    statedInfo: infoOf(located, shared.stored),
    publicParams: publicOf(memberOf(located.tree, 'litellm_params'), HIDDEN),
  };
}

/** What the catalogue says of the model; null = nothing, or the entry stands for many and names none. */
function knownModel(entry: ModelEntry, { kind, prefix, upstream }: KnownName, { catalogue }: SharedSettings) {
  const vendor = { kind: kind.name, provider: prefix };
  const base = baseModelOf(entry);
  if (base !== undefined) return catalogue.lookUpBase(vendor, base);
  return upstream.includes('*') ? null : catalogue.lookUp(catalogueName(vendor, upstream));
}

type Credential = Pick<Deployment, 'apiKey' | 'credentialHeader' | 'joinedHeaders'>;

const noCredential = ({ credentialHeader }: Kind): Credential => ({
  apiKey: null,
  credentialHeader,
  joinedHeaders: [],
});

/** The key that is sent, and in which header. @param operators headers that the operator states, which may hold one */
function credentialOf(
  kind: Kind,
  address: Address | null,
  operators: StaticHeaders,
  located: LocatedEntry,
  shared: SharedSettings,
): Credential {
  const params = located.entry.litellm_params;
  const token = azureTokenAt(params, kind, located, shared);
  const apiKey = token ?? keyFor(params, kind, address, operators, located, shared);
  if (apiKey === null) refuseSignIns(kind, operators, located, shared);
  const { bearerKeys } = kind;
  if (bearerKeys !== null && apiKey?.reveal().startsWith(bearerKeys.begin) === true)
    return { apiKey, credentialHeader: 'authorization', joinedHeaders: [bearerKeys.header] };
  return {
    apiKey,
    credentialHeader: token === null ? kind.credentialHeader : 'authorization',
    joinedHeaders: [],
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
  if (stated && sound('api_base', 'base_url'))
    addressAt(whole, name, { ...located, source: 'config' }, shared);
}

function nameAt(params: EntryParams, at: Path, dialect: Dialect, diagnostics: Diagnostics): KnownName | null {
  const name = splitModelName(params.model, params.custom_llm_provider, dialect);
  if (name.kind !== null) return { ...name, kind: name.kind };
  const where = params.custom_llm_provider === undefined ? 'model' : 'custom_llm_provider';
  const { what, fix } = unsupported(name, dialect);
  diagnostics.errorUnless('skip_unsupported_models', [...at, where], what, fix);
  return null;
}

function checkNames(group: string, upstream: string, path: Path, diagnostics: Diagnostics): void {
  const model = [...path, 'litellm_params', 'model'];
  const stars = starsIn(group);
  if (upstream === '') diagnostics.errorUnless('skip_unsupported_models', model, ...NO_NAME);
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

function allowH2At({ allow_h2 }: EntryParams, origin: string, path: Path, diagnostics: Diagnostics): boolean {
  if (allow_h2 !== true) return false;
  if (origin.startsWith('http:')) {
    const text = 'allow_h2 has no effect: HTTP/2 is agreed on in TLS, and api_base is http://';
    diagnostics.warn(path, text, 'use https:// or remove it', 'key');
  }
  return true;
}

function discoversAt(params: EntryParams, { name }: Kind, at: Path, diagnostics: Diagnostics): boolean {
  if (params.discover_models !== true) return false;
  if (name !== 'azure') return true;
  const text = 'has no effect for azure/: it lists the models of its catalogue, not your deployments';
  diagnostics.warn([...at, 'discover_models'], text, 'remove it', 'key');
  return false;
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
): StaticHeaders {
  const alias = headersAt(params.headers, [...at, 'headers'], dialect, diagnostics);
  const own = headersAt(params.extra_headers, [...at, 'extra_headers'], dialect, diagnostics);
  return joinHeaders(routerWide, joinHeaders(alias, own));
}

/** The key wins over a header of the operator where both would stand in the same one. */
function withoutCredential(
  headers: StaticHeaders,
  apiKey: Deployment['apiKey'],
  params: EntryParams,
  name: Deployment['credentialHeader'],
  at: Path,
  { diagnostics }: SharedSettings,
): Deployment['staticHeaders'] {
  const kept = new Map(headers);
  if (apiKey === null || !kept.delete(name)) return [...kept];
  const spot = ['headers', 'extra_headers'].find((key) => namesIn(params, key).includes(name));
  const what = name === 'authorization' ? 'the bearer of api_key is' : 'api_key stands there';
  if (spot !== undefined)
    diagnostics.warn([...at, spot], `${name} is not sent: ${what}`, 'remove one of the two', 'key');
  return [...kept];
}

const namesIn = (params: EntryParams, key: string): readonly string[] =>
  Object.keys(key === 'headers' ? (params.headers ?? {}) : (params.extra_headers ?? {})).map((name) =>
    name.toLowerCase(),
  );

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
  const base = baseModelOf(located.entry);
  const prices: Record<string, number> = {};
  for (const [key, value] of Object.entries(params))
    if (key.includes('cost') && value !== undefined && typeof value !== 'object') prices[key] = Number(value);
  return {
    ...stated,
    ...prices,
    ...(base === undefined ? {} : { base_model: base }),
    id: located.id,
    db_model: located.source === 'runtime' && stored,
  };
}
