// Which names `GET /v1/models` shows, where each comes from, and which ones it leaves out. Pure.
import { registryNames } from '../../config/catalogue.ts';
import { patternOf, starsIn } from '../../config/resolve/groups.ts';
import type { Deployment, Snapshot, WildcardGroup } from '../../config/snapshot.ts';
import type { GatewayList } from './discovered-models.ts';

/** Where a name comes from. */
type NameSource =
  | { readonly is: 'entry'; readonly deployments: readonly Deployment[] }
  | { readonly is: 'pattern'; readonly deployments: readonly Deployment[] }
  | {
      readonly is: 'discovered';
      readonly pattern: string;
      readonly deployment: Deployment;
      readonly upstream: string;
    }
  | { readonly is: 'alias'; readonly target: string }
  | { readonly is: 'catalogue' };

/** A name as clients see it in `GET /v1/models`. */
export interface ListedName {
  readonly name: string;
  readonly source: NameSource;
}

/** Configured, and not shown: no gateway of it lists it. */
export interface GhostName {
  readonly name: string;
  readonly deployments: readonly Deployment[];
}

/** Both in the order of the listing. */
export interface ModelNames {
  readonly listed: readonly ListedName[];
  readonly ghosts: readonly GhostName[];
}

/** What the gateway of a deployment lists. */
export type ListOf = (deployment: Deployment) => GatewayList;

/**
 * Names in configuration order, then runtime models, no duplicates; a pattern whose gateways say what they serve stands as
 * the names that they list. Then aliases; then, when a bare `*` leads to a compat-type gateway that does not say so, the
 * catalogue's names under the compat prefix.
 * @param registry those names; asked for only then
 */
export function modelNames(
  snapshot: Snapshot,
  listOf: ListOf,
  registry: () => readonly string[] = registryNames,
): ModelNames {
  const listed = new Map<string, NameSource>();
  const ghosts: GhostName[] = [];
  const put = (name: string, source: NameSource): void => {
    if (!listed.has(name)) listed.set(name, source);
  };
  const wildcards = new Map(snapshot.wildcards.map((one) => [one.pattern, one]));
  for (const name of new Set(snapshot.deployments.map(({ group }) => group))) {
    const wildcard = wildcards.get(name);
    const deployments = wildcard?.deployments ?? snapshot.groups.get(name) ?? [];
    if (wildcard !== undefined) putPattern(wildcard, snapshot, listOf, put);
    else if (snapshot.discovery.hideMissing && deployments.every((one) => isMissing(one, listOf(one))))
      ghosts.push({ name, deployments });
    else put(name, { is: 'entry', deployments });
  }
  const hidden = new Set(ghosts.map(({ name }) => name));
  for (const alias of snapshot.routing.listedAliases) {
    const target = snapshot.routing.aliases.get(alias) ?? alias;
    if (!hidden.has(target)) put(alias, { is: 'alias', target });
  }
  const all = wildcards.get('*')?.deployments ?? [];
  if (all.some((one) => one.kind === 'compat' && !isKnown(one, listOf(one))))
    for (const name of registry()) put(`${snapshot.dialect.compatPrefix}/${name}`, { is: 'catalogue' });
  return { listed: [...listed].map(([name, source]) => ({ name, source })), ghosts };
}

/** Its gateway has said what it serves. */
const isKnown = ({ discovers }: Deployment, { ids }: GatewayList): boolean => discovers && ids !== null;

/** Its gateway has said what it serves, and this is not among it. */
export function isMissing(deployment: Deployment, list: GatewayList): boolean {
  const { upstreamModel } = deployment;
  if (!isKnown(deployment, list) || list.left > 0) return false;
  const isListed = list.ids?.has(upstreamModel) === true;
  return !isListed && !list.patterns.some((pattern) => pattern.test(upstreamModel));
}

function putPattern(
  { pattern, deployments }: WildcardGroup,
  snapshot: Snapshot,
  listOf: ListOf,
  put: (name: string, source: NameSource) => void,
): void {
  const served = deployments.map((deployment) => namesUnder(pattern, deployment, listOf(deployment)));
  const isWhole = served.every((names) => names !== null);
  if (!isWhole) put(pattern, { is: 'pattern', deployments });
  served.forEach((names, index) => {
    const deployment = deployments[index];
    for (const [name, upstream] of names ?? [])
      if (deployment !== undefined && leadsTo(pattern, name, snapshot))
        put(name, { is: 'discovered', pattern, deployment, upstream });
  });
}

/** The names of a list as clients ask for them, each with that of the list; null = it cannot be told. */
function namesUnder(
  pattern: string,
  { discovers, upstreamModel }: Deployment,
  { ids, patterns }: GatewayList,
): readonly (readonly [name: string, upstream: string])[] | null {
  if (!discovers || ids === null || patterns.length > 0) return null;
  const stars = starsIn(upstreamModel);
  if (stars === 0 || stars !== starsIn(pattern)) return null;
  const upstream = patternOf(upstreamModel);
  const literals = pattern.split('*');
  return [...ids].flatMap((id) => {
    const found = upstream.exec(id);
    if (found === null) return [];
    const name = literals.map((literal, index) => `${literal}${found[index + 1] ?? ''}`).join('');
    return [[name, id] as const];
  });
}

/** A call with this name comes to this pattern, not to an entry of its own or a more specific pattern. */
function leadsTo(pattern: string, name: string, { groups, wildcards }: Snapshot): boolean {
  return !groups.has(name) && wildcards.find(({ regex }) => regex.test(name))?.pattern === pattern;
}
