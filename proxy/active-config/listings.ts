// The model listings: prepared when a configuration is loaded, served as bytes.
import { shownCharges } from '../../config/resolve/prices.ts';
import type { DisabledModel } from '../../config/runtime-models.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import { serves, type TeamBound } from '../access/team-deployments.ts';
import type { ListedModel } from '../base/mount.ts';
import type { Facts } from './gateway-facts.ts';
import { modelNames, type ListOf } from './model-names.ts';

/** The dialect's constant (`DEFAULT_MODEL_CREATED_AT_TIME`); clients cache on it. */
export const CREATED = 1677610602;

export interface Listings {
  /** Every name, in order. */
  readonly names: readonly string[];
  /** The body of `GET /v1/models` for those who may call everything. */
  readonly models: Buffer;
  /** The same for others, as they ask for it, by what they may call. */
  readonly byAccess: Map<string, Buffer>;
  /** Names for keys of a team, or (null) of none, where deployments are of teams. */
  readonly byTeam: Map<string | null, readonly string[]>;
}

/** Prepares the listings of a snapshot. */
export function listingsOf(snapshot: Snapshot, listOf: ListOf): Listings {
  const names = modelNames(snapshot, listOf).listed.map(({ name }) => name);
  return { names, models: modelListBytes(names), byAccess: new Map(), byTeam: new Map() };
}

/**
 * The names as one lists them whom deployments of other teams do not serve. A name or pattern of theirs keeps its calls: no other
 * pattern is asked for them, so none is listed with them.
 */
export function namesFor(snapshot: Snapshot, listOf: ListOf, bound: TeamBound): readonly string[] {
  const serving = (deployments: readonly Deployment[]): readonly Deployment[] =>
    deployments.filter((one) => serves(bound, one));
  const own: Snapshot = {
    ...snapshot,
    deployments: serving(snapshot.deployments),
    groups: new Map([...snapshot.groups].map(([name, all]) => [name, serving(all)])),
    wildcards: snapshot.wildcards.map((one) => ({ ...one, deployments: serving(one.deployments) })),
  };
  return modelNames(own, listOf).listed.map(({ name }) => name);
}

/** One model in `/v1/models`. */
export function modelItem(id: string): { id: string; object: 'model'; created: number; owned_by: 'openai' } {
  return { id, object: 'model', created: CREATED, owned_by: 'openai' };
}

/** The same names with what a mounted API tells of them, patterns among them. */
export function listedModels(snapshot: Snapshot, names: readonly string[]): ListedModel[] {
  const stated = new Map<string, Readonly<Record<string, unknown>>>();
  for (const name of snapshot.routing.listedAliases) stated.set(name, {});
  for (const { group, statedInfo } of snapshot.deployments) stated.set(group, statedInfo);
  return names.map((name) => {
    const info = stated.get(name);
    const isHidden = info?.['openhands_hidden'] === true;
    const canonical = info?.['openhands_canonical'];
    return {
      name,
      isStated: info !== undefined,
      isHidden,
      canonical: isHidden && typeof canonical === 'string' ? canonical : null,
    };
  });
}

/** The body of `GET /v1/models`; key order as the dialect has it. */
export function modelListBytes(names: readonly string[]): Buffer {
  const data = names.map(modelItem);
  return Buffer.from(JSON.stringify({ data, object: 'list' }));
}

/**
 * One deployment in `/model/info`: never an api_key, never the value of a header. What the entry states wins over what its
 * gateway says, and that over the catalogue.
 */
export function modelInfoItem(deployment: Deployment, told: Facts | null = null): Record<string, unknown> {
  return {
    model_name: deployment.group,
    litellm_params: deployment.publicParams,
    model_info: modelFactsOf(deployment, told),
  };
}

/** The facts of a model as they are shown. Where an entry has prices, they are the ones that its calls are charged by. */
export function modelFactsOf(
  { prices, cataloguePrices, knownFacts, statedInfo, publicParams }: Deployment,
  told: Facts | null = null,
): Record<string, unknown> {
  const known = { ...knownFacts, ...told };
  if (prices === null) return { ...known, ...statedInfo };
  const others = Object.entries(known).filter(([name]) => !name.includes('cost'));
  const charges = shownCharges(prices, cataloguePrices, { ...statedInfo, ...publicParams });
  return { ...Object.fromEntries(others), ...statedInfo, ...charges };
}

/** A runtime model that is not served, in `/model/info`. */
export function disabledModelItem({ id, group, info, publicParams, issues }: DisabledModel): unknown {
  const why = issues.map(({ path, message, fix }) => `${path}: ${message} - ${fix}`).join('; ');
  return {
    model_name: group,
    litellm_params: publicParams,
    model_info: { ...info, id, db_model: true, disabled: true, disabled_reason: why },
  };
}
