// Which models a key may call: by its own list, its team's, its user's and its organization's, and of which team it is where
// deployments are of teams. A list holds names, patterns with `*`, names of access groups and the dialect's words for all or none.
// Decided once per distinct list, read per call.
import { Fault } from '../errors/fault.ts';
import { aliasTarget } from './aliases.ts';
import { organizationOf } from './budgets/scopes.ts';
import type { AccessDirectory } from './objects/directory.ts';
import type { AuthenticatedCaller, KeyCaller } from './caller.ts';
import { boundOf, serves, type Attributed, type TeamBound } from './team-deployments.ts';
import { patternTest } from './wildcard.ts';

/** Says whether a list allows a name. */
interface NameList {
  readonly allows: (name: string) => boolean;
  /** Names that it states without a `*`, groups taken apart. */
  readonly stated: readonly string[];
}

type Owner = 'key' | 'team' | 'user' | 'org';

/** A deployment that states an access group. */
export interface Grouped extends Attributed {
  /** Its name, or pattern. */
  readonly group: string;
}

interface OwnedList {
  readonly owner: Owner;
  readonly models: readonly string[];
}

/** What a caller may call. */
export interface CallerModels {
  /** The same text for callers with the same lists; '' = everything. */
  readonly id: string;
  /** Whom deployments of other teams do not serve; null = there are none, or all serve this caller. */
  readonly bound: TeamBound | null;
  /** Whether all lists allow one of these names: the requested one, or the one that it stands for. */
  allows(...names: readonly string[]): boolean;
  /** Names that the lists state; they may be served by a pattern only, and then no listing has them. */
  readonly stated: readonly string[];
  /** Names that the caller's key or team have for others. */
  readonly aliases: readonly string[];
  /** The name that is served for one of them. */
  servedName(alias: string): string;
  /** Whether a list states this text itself: for access groups. */
  lists(entry: string): boolean;
  /** @param names as for `allows`. @throws Fault key_model_access_denied, ... */
  refuse(...names: readonly string[]): never;
}

/** The dialect's words. `all-team-models` is the team's list, which holds anyway. */
const EVERYTHING: ReadonlySet<string> = new Set(['*', 'all-proxy-models', 'all-team-models']);
const statesEverything = (entries: readonly string[]): boolean =>
  entries.some((entry) => EVERYTHING.has(entry));

/** Whether a list allows every model. */
export const allowsEverything = (models: readonly string[]): boolean =>
  models.length === 0 || statesEverything(models);

const NOTHING = 'no-default-models';

/** Whether an entry of a list is a word with a meaning of its own, and no name of a model. */
export const isListWord = (entry: string): boolean => EVERYTHING.has(entry) || entry === NOTHING;
/** Names of a list that a refusal states, and characters of one. */
const MOST_SHOWN = 10;
const MOST_NAME_CHARS = 100;

const DENIED = {
  key: 'key_model_access_denied',
  team: 'team_model_access_denied',
  user: 'user_model_access_denied',
  org: 'org_model_access_denied',
} as const;

/** Of no team, so that nobody learns who has which models. */
const OF_OTHERS =
  'key not allowed to access model. What serves it takes calls of the keys of one team (model_info.team_id), and this key is not of it.';

const NO_NAMES: readonly string[] = Object.freeze([]);

export const ALL_MODELS: CallerModels = {
  id: '',
  bound: null,
  allows: () => true,
  stated: NO_NAMES,
  aliases: NO_NAMES,
  servedName: (alias) => alias,
  lists: () => true,
  refuse: (model = '') => {
    throw new Fault('key_model_access_denied', `The model ${model.slice(0, 100)} is not allowed.`);
  },
};

/** The lists that hold for a key, each of which must allow a model: those that are not empty. */
export function modelListsOf(
  { key, team, user }: KeyCaller,
  directory: Pick<AccessDirectory, 'organization'>,
): readonly OwnedList[] {
  const owned: OwnedList[] = [];
  if (key.models.length > 0) owned.push({ owner: 'key', models: key.models });
  if (team !== null && team.models.length > 0) owned.push({ owner: 'team', models: team.models });
  // As budgets of users: what a user may call by themselves says nothing of what their team may.
  if (team === null && user !== null && user.models.length > 0)
    owned.push({ owner: 'user', models: user.models });
  const organization = organizationOf(team, key);
  const org = organization === null ? null : directory.organization(organization);
  if (org !== null && org.models.length > 0) owned.push({ owner: 'org', models: org.models });
  return owned;
}

/** The lists of one configuration. */
export class ModelAccess {
  /** Access groups that deployments state (`model_info.access_groups`) -> these. */
  readonly #groups: ReadonlyMap<string, readonly Grouped[]>;
  readonly #directory: AccessDirectory;
  readonly #areSomeOfTeams: boolean;
  #lists = new WeakMap<readonly string[], NameList>();
  #groupsVersion = -1;

  /** @param areSomeOfTeams whether some deployments serve one team alone */
  constructor(
    groups: ReadonlyMap<string, readonly Grouped[]>,
    directory: AccessDirectory,
    areSomeOfTeams = false,
  ) {
    this.#groups = groups;
    this.#directory = directory;
    this.#areSomeOfTeams = areSomeOfTeams;
  }

  /** All access groups but those that deployments of other teams alone state. */
  groupsFor(bound: TeamBound | null): readonly string[] {
    const stated = [...this.#groups].flatMap(([name, deployments]) =>
      deployments.some((one) => serves(bound, one)) ? [name] : [],
    );
    const kept = [...this.#directory.all('access_group')].map(({ id }) => id);
    return [...new Set([...stated, ...kept])];
  }

  /** What a group stands for, patterns among it. */
  modelsOf(group: string): readonly string[] {
    return [
      ...(this.#groups.get(group)?.map((one) => one.group) ?? NO_NAMES),
      ...(this.#directory.accessGroup(group)?.models ?? NO_NAMES),
    ];
  }

  of(caller: AuthenticatedCaller): CallerModels {
    if (caller.role !== 'key') return ALL_MODELS;
    const owned = modelListsOf(caller, this.#directory);
    const bound = this.#areSomeOfTeams ? boundOf(caller) : null;
    if (owned.length === 0 && aliasesOf(caller).length === 0 && bound === null) return ALL_MODELS;
    return new ListedModels(owned, (models) => this.#listOf(models), caller, bound);
  }

  #listOf(models: readonly string[]): NameList {
    if (this.#groupsVersion !== this.#directory.groupsVersion) {
      this.#lists = new WeakMap();
      this.#groupsVersion = this.#directory.groupsVersion;
    }
    const known = this.#lists.get(models);
    if (known !== undefined) return known;
    const list = this.#resolve(models);
    this.#lists.set(models, list);
    return list;
  }

  #resolve(models: readonly string[]): NameList {
    const entries = models.flatMap((entry) =>
      entry === NOTHING ? NO_NAMES : [entry, ...this.modelsOf(entry)],
    );
    if (statesEverything(entries)) return { allows: () => true, stated: NO_NAMES };
    const names = new Set(entries.filter((entry) => !entry.includes('*')));
    const patterns = entries.filter((entry) => entry.includes('*')).map(patternTest);
    return {
      allows: (name) => names.has(name) || patterns.some((fits) => fits(name)),
      stated: [...names],
    };
  }
}

class ListedModels implements CallerModels {
  readonly #owned: readonly OwnedList[];
  readonly #listOf: (models: readonly string[]) => NameList;
  readonly #caller: AuthenticatedCaller;
  readonly bound: TeamBound | null;

  constructor(
    owned: readonly OwnedList[],
    listOf: (models: readonly string[]) => NameList,
    caller: AuthenticatedCaller,
    bound: TeamBound | null,
  ) {
    this.bound = bound;
    this.#owned = owned;
    this.#listOf = listOf;
    this.#caller = caller;
  }

  get id(): string {
    const aliases = this.aliases.map((alias) => [alias, this.servedName(alias)]);
    return JSON.stringify([this.#owned, aliases, this.bound]);
  }

  get aliases(): readonly string[] {
    return aliasesOf(this.#caller);
  }

  servedName(alias: string): string {
    return servedName(this.#caller, alias);
  }

  lists(entry: string): boolean {
    return this.#owned.every(({ models }) => models.includes(entry));
  }

  allows(...names: readonly string[]): boolean {
    return this.#refuser(names) === null;
  }

  get stated(): readonly string[] {
    return this.#owned.flatMap(({ models }) => this.#listOf(models).stated);
  }

  refuse(...names: readonly string[]): never {
    const [model = ''] = names;
    const refuser = this.#refuser(names);
    if (refuser === null)
      throw new Fault(DENIED.key, `${OF_OTHERS} Tried to access ${model.slice(0, 100)}`, { param: 'model' });
    const { owner, models } = refuser;
    const left = models.length - MOST_SHOWN;
    const first = models.slice(0, MOST_SHOWN).map((name) => name.slice(0, MOST_NAME_CHARS));
    const shown = `${first.join(', ')}${left > 0 ? `, and ${left} more` : ''}`;
    const text =
      `${owner} not allowed to access model. This ${owner} can only access models=[${shown}]. ` +
      `Tried to access ${model.slice(0, 100)}`;
    throw new Fault(DENIED[owner], text, { param: 'model' });
  }

  #refuser(names: readonly string[]): OwnedList | null {
    const isAllowed = ({ owner, models }: OwnedList): boolean => {
      const { allows } = this.#listOf(models);
      return names.some((name) => allows(name) && (owner === 'key' || !this.#isRenamed(name, names)));
    };
    return this.#owned.find((one) => !isAllowed(one)) ?? null;
  }

  /** Whoever makes a key chooses its aliases: they are no names in the lists of others. */
  #isRenamed(name: string, names: readonly string[]): boolean {
    if (this.#caller.role !== 'key') return false;
    const { key, team } = this.#caller;
    const ofTeam = aliasTarget(name, team, null);
    const served = aliasTarget(name, team, key);
    return served !== ofTeam && names.includes(served);
  }
}

function aliasesOf(caller: AuthenticatedCaller): readonly string[] {
  if (caller.role !== 'key') return NO_NAMES;
  const names = [...Object.keys(caller.team?.modelAliases ?? {}), ...Object.keys(caller.key.aliases)];
  return names.length === 0 ? NO_NAMES : names;
}

/** The name that is served for a requested one. */
export const servedName = (caller: AuthenticatedCaller, requested: string): string =>
  caller.role === 'key' ? aliasTarget(requested, caller.team, caller.key) : requested;
