// Which models a caller may call: the step of a call that asks, and the listings.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { servedName, type CallerModels } from '../access/model-access.ts';
import type { ActiveConfig } from '../active-config/active-config.ts';
import { modelListBytes } from '../active-config/listings.ts';
import type { ParsedRequest } from './parse-request.ts';
import { isOfOtherTeams, isServed } from './select-deployment.ts';

/** The request under the name that is served: everything after this, the row included, has that one. */
export function underServedName(caller: AuthenticatedCaller, request: ParsedRequest): ParsedRequest {
  const model = servedName(caller, request.model);
  return model === request.model ? request : { ...request, model };
}

/**
 * Whether the requested model is among those that the caller may call, and some deployment of it takes their calls.
 * @param request with the name that it stands for. @throws Fault key_model_access_denied, ...
 */
export function checkModel(
  active: ActiveConfig,
  models: CallerModels,
  requested: string,
  { model: served, only }: Pick<ParsedRequest, 'model' | 'only'>,
): void {
  // An id fits no list: what the deployment is called here does.
  if (only !== undefined) requested = served;
  const target = active.snapshot.routing.aliases.get(served) ?? served;
  const isAllowed = models.allows(requested, served, target);
  if (!isAllowed || isOfOtherTeams(active, served, models)) models.refuse(requested, served, target);
}

/** Whether access groups are listed, and whether they are all that is. */
interface ListedGroups {
  readonly areIncluded: boolean;
  readonly isOnly: boolean;
}

/** Distinct lists of models whose listings are kept; one is some 10 KB. */
const MOST_LISTINGS = 500;

/** The body of `GET /v1/models` for a caller: made once for all keys with the same lists, and free of any look-up. */
export function modelListOf(active: ActiveConfig, caller: AuthenticatedCaller, groups: ListedGroups): Buffer {
  const models = active.modelAccess.of(caller);
  if (models.id === '' && !groups.areIncluded) return active.listings.models;
  const { byAccess } = active.listings;
  const { groupsVersion } = active.services.access.directory;
  const id = `${groupsVersion} ${String(groups.areIncluded)} ${String(groups.isOnly)} ${models.id}`;
  const known = byAccess.get(id);
  if (known !== undefined) return known;
  const all = groupNamesOf(active, models).filter((name) => models.id === '' || models.lists(name));
  const names = groups.isOnly ? [] : namesFor(active, models);
  const made = modelListBytes([...names, ...(groups.areIncluded ? all : [])]);
  if (byAccess.size === MOST_LISTINGS) byAccess.clear();
  byAccess.set(id, made);
  return made;
}

/** The same with more names, of test keys alone: made anew for each of them. */
export function modelListWith(
  active: ActiveConfig,
  caller: AuthenticatedCaller,
  more: (names: readonly string[]) => readonly string[],
): Buffer {
  const names = namesFor(active, active.modelAccess.of(caller));
  return modelListBytes([...names, ...more(names.filter((name) => !name.includes('*')))]);
}

/** The names in that listing. */
export function modelNamesOf(active: ActiveConfig, caller: AuthenticatedCaller): readonly string[] {
  const models = active.modelAccess.of(caller);
  return models.id === '' ? active.listings.names : namesFor(active, models);
}

/** Whether a caller's listing has a name. */
export function isListedFor(active: ActiveConfig, caller: AuthenticatedCaller, name: string): boolean {
  const models = active.modelAccess.of(caller);
  if (models.aliases.includes(name)) return namesFor(active, models).includes(name);
  if (isOfOtherTeams(active, name, models)) return false;
  const isKnown =
    active.groups.has(name) ||
    active.namesFor(models.bound).includes(name) ||
    (models.stated.includes(name) && isServed(active, name, models));
  return isKnown && models.allows(name, active.snapshot.routing.aliases.get(name) ?? name);
}

/** Access groups but those that lead to what is of other teams, and nowhere else. */
export function groupNamesOf(active: ActiveConfig, models: Pick<CallerModels, 'bound'>): readonly string[] {
  const { modelAccess } = active;
  return modelAccess.groupsFor(models.bound).filter((group) => {
    const names = modelAccess.modelsOf(group);
    const isOfOthers = names.some((name) => isOfOtherTeams(active, name, models));
    return !isOfOthers || names.some((name) => isServed(active, name, models));
  });
}

/** The names of the configuration that a caller may call, those of its lists that patterns serve, and its aliases. */
function namesFor(active: ActiveConfig, models: CallerModels): readonly string[] {
  const { aliases } = active.snapshot.routing;
  const isAllowed = (name: string): boolean => models.allows(name, aliases.get(name) ?? name);
  const configured = active.namesFor(models.bound);
  const listed = configured.filter((name) => isAllowed(name) && !isOfOtherTeams(active, name, models));
  const stated = models.stated.filter((name) => isAllowed(name) && isServed(active, name, models));
  const own = models.aliases.filter((alias) => {
    const served = models.servedName(alias);
    return models.allows(alias, served, aliases.get(served) ?? served) && isServed(active, served, models);
  });
  return [...new Set([...listed, ...stated, ...own])];
}
