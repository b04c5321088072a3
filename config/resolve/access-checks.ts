// What `keys`, `teams` and `budgets` state and cannot mean: names of nothing, limits that let nothing through, budgets that count
// nothing. Warnings all: objects may also come by API, and a file that served before goes on serving. Pure.
import type { Diagnostics } from '../diagnostics.ts';
import type * as File from '../gateway-file.ts';
import { nearest } from '../nearest.ts';
import { shownName } from '../shown.ts';
import type { Deployment } from '../snapshot.ts';
import type { Path } from '../tree.ts';
import type { Names } from './routing.ts';

interface Checked {
  readonly file: File.GatewayFile;
  readonly deployments: readonly Deployment[];
  /** With the aliases of `router_settings.model_group_alias`. */
  readonly names: Names;
  readonly aliases: ReadonlyMap<string, string>;
  readonly diagnostics: Diagnostics;
}

type Holder = File.FileKey | File.FileTeam;

/** Words that lists of models hold and that name no model. */
const LIST_WORDS: readonly string[] = ['all-team-models', 'all-proxy-models', 'no-default-models'];

export function checkAccess(checked: Checked): void {
  const { file } = checked;
  const known = knownModels(checked);
  file.keys.forEach((key, index) => {
    const path: Path = ['keys', index];
    if (!checked.diagnostics.isSound(path)) return;
    checkTeamOf(key, path, checked);
    checkModels(key, key.aliases, 'aliases', path, known, checked);
    checkTerms(key, path, checked);
  });
  file.teams.forEach((team, index) => {
    const path: Path = ['teams', index];
    if (!checked.diagnostics.isSound(path)) return;
    checkModels(team, team.model_aliases, 'model_aliases', path, known, checked);
    checkTerms(team, path, checked);
  });
  checkRuleNames(checked, known);
  checkPrices(checked);
}

interface KnownModels {
  /** Exact names: served, aliases, access groups. */
  readonly names: ReadonlySet<string>;
  has(name: string): boolean;
}

function knownModels({ names, aliases, deployments }: Checked): KnownModels {
  const groups = deployments.flatMap(({ statedInfo }) => {
    const stated = statedInfo['access_groups'];
    return Array.isArray(stated) ? stated.filter((one) => typeof one === 'string') : [];
  });
  const exact = new Set([
    ...names.groups.keys(),
    ...aliases.keys(),
    ...groups,
    ...names.leftOut,
    ...names.broken,
  ]);
  return {
    names: exact,
    has: (name) =>
      exact.has(name) || name.includes('*') || names.wildcards.some(({ regex }) => regex.test(name)),
  };
}

/** Keys may belong to teams that the API makes; where the file states teams, it is likely to mean one of them. */
function checkTeamOf({ team_id: id }: File.FileKey, path: Path, { file, diagnostics }: Checked): void {
  const ids = file.teams.map((team) => team.team_id);
  if (id === undefined || ids.length === 0 || ids.includes(id)) return;
  const near = nearest(id, ids);
  diagnostics.warn(
    [...path, 'team_id'],
    `no team of this file has the id ${shownName(id)}, so nothing that a team states holds for the key`,
    near === null ? 'add it to teams, or make it with POST /team/new' : `did you mean ${shownName(near)}?`,
  );
}

function checkModels(
  holder: Holder,
  aliases: Readonly<Record<string, string>>,
  aliasesName: string,
  path: Path,
  known: KnownModels,
  { names, diagnostics }: Checked,
): void {
  const own = new Set(Object.keys(aliases));
  const warn = (name: string, at: Path, of: string, where: 'key' | 'value'): void => {
    if (known.has(name) || own.has(name) || LIST_WORDS.includes(name)) return;
    const near = nearest(name, known.names);
    const later = names.stored ? ', unless it is made with POST /model/new' : '';
    diagnostics.warn(
      at,
      `${of} ${shownName(name)}, which is no model, alias or access group of this file${later}`,
      near === null ? 'write the model_name of an entry of model_list' : `did you mean ${shownName(near)}?`,
      where,
    );
  };
  holder.models.forEach((name, index) => warn(name, [...path, 'models', index], 'allows', 'value'));
  for (const [alias, name] of Object.entries(aliases))
    warn(name, [...path, aliasesName, alias], 'stands for', 'value');
  for (const limits of ['model_rpm_limit', 'model_tpm_limit'] as const)
    for (const name of Object.keys(holder[limits])) warn(name, [...path, limits, name], 'limits', 'key');
}

const LIMITS = ['rpm_limit', 'tpm_limit', 'max_parallel_requests'] as const;

function checkTerms(holder: Holder, path: Path, { diagnostics }: Checked): void {
  const { max_budget: most, soft_budget: soft, budget_duration: duration } = holder;
  const nothing = (at: Path): void =>
    diagnostics.warn(
      at,
      'is 0: no call is let through',
      'leave it out for no limit, or set blocked: true',
      'key',
    );
  for (const limit of LIMITS) if (holder[limit] === 0) nothing([...path, limit]);
  for (const limits of ['model_rpm_limit', 'model_tpm_limit'] as const)
    for (const [model, limit] of Object.entries(holder[limits]))
      if (limit === 0) nothing([...path, limits, model]);
  if (most !== undefined && soft !== undefined && soft >= most)
    diagnostics.warn(
      [...path, 'soft_budget'],
      'alerts when calls are refused already',
      'lower soft_budget below max_budget',
      'key',
    );
  if (duration !== undefined && most === undefined && soft === undefined)
    diagnostics.warn(
      [...path, 'budget_duration'],
      'has no effect without an amount',
      'add max_budget, soft_budget, or both',
      'key',
    );
}

/** Rules of `budgets` about one model, deployment, provider or profile that is not there. */
function checkRuleNames({ file, deployments, names, diagnostics }: Checked, known: KnownModels): void {
  const of: Partial<Record<string, (id: string) => boolean>> = {
    model: (id) => known.has(id),
    deployment: (id) => names.stored || deployments.some((one) => one.id === id),
    provider: (id) => deployments.some((one) => one.provider === id),
    profile: (id) => deployments.some((one) => one.attribution.profile === id),
  };
  file.budgets.forEach(({ scope, id = '*' }, index) => {
    if (id === '*' || of[scope]?.(id) !== false) return;
    diagnostics.warn(
      ['budgets', index, 'id'],
      `no ${scope} of this file is called ${shownName(id)}, so nothing counts for this budget`,
      'correct it, or remove the budget',
    );
  });
}

/** Whether a price is known, or an upstream that is a proxy itself says what calls cost. */
const isPriced = ({ prices, cataloguePrices, kind, group }: Deployment): boolean =>
  prices !== null || cataloguePrices !== null || kind === 'proxy' || group.includes('*');

const MOST_SHOWN = 5;

function checkPrices({ file, deployments, diagnostics }: Checked): void {
  const free = deployments.filter((one) => !isPriced(one));
  if (free.length === 0) return;
  const warn = (path: Path, unpriced: readonly Deployment[]): boolean => {
    const models = [...new Set(unpriced.map(({ group }) => group))];
    if (models.length === 0) return false;
    const shown = models.slice(0, MOST_SHOWN).map(shownName).join(', ');
    diagnostics.warn(
      path,
      `no price is known for ${shown}${models.length > MOST_SHOWN ? ', ...' : ''}: such calls reserve nothing, and count only what their upstream says they cost`,
      'add input_cost_per_token and output_cost_per_token to their litellm_params (0 where they are free)',
      'key',
    );
    return true;
  };
  file.budgets.forEach(({ scope, id = '*' }, index) => {
    const isOf = (one: Deployment): boolean =>
      id !== '*' &&
      ((scope === 'model' && one.group === id) ||
        (scope === 'deployment' && one.id === id) ||
        (scope === 'provider' && one.provider === id) ||
        (scope === 'profile' && one.attribution.profile === id));
    warn(['budgets', index], free.filter(isOf));
  });
  // Of those that all models count for one is enough to be told of.
  for (const [path, models] of generalBudgets(file)) {
    const allowed = models.some((name) => name.includes('*')) ? [] : models;
    const called = allowed.length === 0 ? free : free.filter(({ group }) => allowed.includes(group));
    if (warn(path, called)) return;
  }
}

/** Budgets of whatever model is called, and the names that may be; none = all. */
function* generalBudgets(file: File.GatewayFile): Generator<readonly [Path, readonly string[]]> {
  const specific = ['model', 'deployment', 'provider', 'profile'];
  for (const [index, { scope }] of file.budgets.entries())
    if (!specific.includes(scope)) yield [['budgets', index], []];
  for (const [index, { max_budget: most, models }] of file.teams.entries())
    if (most !== undefined) yield [['teams', index, 'max_budget'], models];
  for (const [index, { max_budget: most, models }] of file.keys.entries())
    if (most !== undefined) yield [['keys', index, 'max_budget'], models];
  if (Number(file.litellm_settings.max_budget ?? 0) > 0) yield [['litellm_settings', 'max_budget'], []];
}
