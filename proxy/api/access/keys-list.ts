// `GET /key/list` and `/key/aliases`: the keys that a caller may see, filtered and in pages.
//
// A page holds 100 keys where the call states no `size`; LiteLLM's default is 10. Clients that read the list without paging, as
// OpenHands does when it moves a user's keys, would forget the eleventh.
import { isAdmin, seesAll, visibleKeys } from '../../access/may.ts';
import type { VirtualKey } from '../../access/objects/objects.ts';
import { filterInTurns, sortInTurns } from '../../base/turns.ts';
import { keyRows, statusOf } from './keys-read.ts';
import { compare, sortedBy } from './order.ts';
import { isPart, isTrue, pageOf, parameter, wholeParameter, wordParameter } from './query.ts';
import { denied, invalid } from './refusals.ts';
import type { Row } from './rows.ts';
import { spentUsd } from './spent.ts';
import { directoryOf, nowOf, type Call } from './management-call.ts';

const PAGE_SIZE = 100;
const MOST_ON_A_PAGE = 100;

/** What a list can be sorted by; by spend it has to be read for every key. */
const SORTED_BY: Readonly<Record<string, (key: VirtualKey) => string | number>> = {
  created_at: ({ createdMs }) => createdMs,
  updated_at: ({ updatedMs }) => updatedMs,
  expires: ({ expiresMs }) => expiresMs ?? Number.MAX_SAFE_INTEGER,
  max_budget: ({ budget }) => budget.maxBudget ?? Number.MAX_VALUE,
  key_alias: ({ alias }) => alias ?? '',
  key_name: ({ name }) => name,
  token: ({ id }) => id,
  user_id: ({ userId }) => userId ?? '',
  team_id: ({ teamId }) => teamId ?? '',
};

/** `GET /key/list`. */
export async function listKeys(call: Call): Promise<Row> {
  const { query } = call;
  const search = parameter(query, 'search')?.toLowerCase() ?? null;
  const page = wholeParameter(query, 'page', 1, 1_000_000);
  const size = wholeParameter(query, 'size', PAGE_SIZE, MOST_ON_A_PAGE);
  const isWhole = isTrue(query, 'return_full_object');
  const sorted = await sortedKeys(call, await filtered(call, search));
  const { shown, total, pages } = pageOf(sorted, page, size);
  return {
    keys: isWhole ? await keyRows(call, shown) : shown.map(({ id }) => id),
    total_count: total,
    current_page: page,
    total_pages: pages,
  };
}

/** `GET /key/aliases`. */
export async function listAliases(call: Call): Promise<Row> {
  const { query } = call;
  const page = wholeParameter(query, 'page', 1, 1_000_000);
  const size = wholeParameter(query, 'size', PAGE_SIZE, MOST_ON_A_PAGE);
  const search = (parameter(query, 'search') ?? '').toLowerCase();
  const aliases = (await filtered(call)).flatMap(({ alias }) =>
    alias !== null && alias.toLowerCase().includes(search) ? [alias] : [],
  );
  const isPaged = query.has('page') || query.has('size');
  const all = await sortInTurns([...new Set(aliases)], compare);
  const { shown, total, pages } = pageOf(all, page, isPaged ? size : Math.max(1, all.length));
  return { aliases: shown, total_count: total, current_page: page, total_pages: pages, size };
}

/** @param search a key's hash, or a part of its alias in lower case; null = any */
async function filtered(call: Call, search: string | null = null): Promise<VirtualKey[]> {
  const { query } = call;
  refuseForeign(call);
  // LiteLLM filters by it: whoever asks must not take all keys for those that match.
  if (query.has('expires'))
    throw invalid(
      'There is no filter expires. There are user_id, team_id, organization_id, project_id, agent_id, access_group_id, key_alias, key_hash, budget_id, search and status.',
      'expires',
    );
  const status = wordParameter(query, 'status', ['active', 'expired', 'revoked', 'deleted']);
  const hash = parameter(query, 'key_hash');
  const wanted: readonly (readonly [string, (key: VirtualKey) => string | null])[] = [
    ['user_id', ({ userId }) => userId],
    ['team_id', ({ teamId }) => teamId],
    ['organization_id', ({ organizationId }) => organizationId],
    ['key_alias', ({ alias }) => alias],
    ['budget_id', ({ budgetId }) => budgetId],
    ['project_id', keptText('project_id')],
    ['agent_id', keptText('agent_id')],
  ];
  const group = parameter(query, 'access_group_id');
  const stated = wanted.flatMap(([name, member]) => {
    const value = parameter(query, name);
    return value === null ? [] : [{ value, member, matches: isPartly(call, name) ? isPart : isWholly }];
  });
  const alsoTeams = isTrue(query, 'include_team_keys');
  const own = ownerOf(call);
  return await filterInTurns(
    candidates(call),
    (key) =>
      (own === null ||
        alsoTeams ||
        key.userId === own.userId ||
        key.id === own.id ||
        stated.length > 0 ||
        group !== null ||
        search !== null) &&
      (group === null || isListed(key.kept['access_group_ids'], group)) &&
      (hash === null || key.id === hash.toLowerCase()) &&
      (status === null || statusOf(key, nowOf(call)) === status) &&
      (search === null || key.id === search || isPart(key.alias, search)) &&
      stated.every(({ value, member, matches }) => matches(member(key), value)),
  );
}

/** Whether a filter asks for a part: with `substring_matching` the alias, and for those who see all keys the user. */
const isPartly = ({ caller, query }: Call, name: string): boolean =>
  (name === 'key_alias' || (name === 'user_id' && seesAll(caller))) && isTrue(query, 'substring_matching');
/** Members that do nothing here are kept as they were sent, and found by. */
const keptText =
  (name: string) =>
  ({ kept }: VirtualKey): string | null => {
    const value = kept[name];
    return typeof value === 'string' ? value : null;
  };
const isListed = (list: unknown, name: string): boolean => Array.isArray(list) && list.includes(name);
const isWholly = (text: string | null, whole: string): boolean => text === whole;

/** Whose keys a caller who does not see all gets when nothing is filtered by; null = everybody's. */
function ownerOf({ caller }: Call): VirtualKey | null {
  return caller.role === 'key' && !seesAll(caller) ? caller.key : null;
}

/** What may be seen; by the directory's index where the filter allows it. */
function candidates(call: Call): VirtualKey[] {
  const directory = directoryOf(call);
  if (!seesAll(call.caller)) return [...visibleKeys(call.caller, directory)];
  const userId = parameter(call.query, 'user_id');
  const teamId = parameter(call.query, 'team_id');
  if (userId !== null && !isPartly(call, 'user_id')) return [...directory.keysOfUser(userId)];
  if (teamId !== null) return [...directory.keysOfTeam(teamId)];
  return [...directory.all('key')];
}

/** Keys of another user, or of a team that one does not administer, are not an empty list but a refusal. */
function refuseForeign(call: Call): void {
  const { caller, query } = call;
  if (isAdmin(caller) || seesAll(caller)) return;
  const userId = parameter(query, 'user_id');
  const own = caller.role === 'key' ? caller.key : null;
  if (own === null) throw denied('This key makes LLM calls and reads listings only.');
  if (userId !== null && userId !== own.userId)
    throw denied("You are not authorized to check another user's keys", { param: 'user_id' });
  const teamId = parameter(query, 'team_id');
  const members = teamId === null ? null : directoryOf(call).team(teamId)?.members;
  const isMember = members?.some((member) => member.userId === own.userId) ?? false;
  if (teamId !== null && teamId !== own.teamId && !isMember)
    throw denied("You are not authorized to check this team's keys", { param: 'team_id' });
}

async function sortedKeys(call: Call, keys: readonly VirtualKey[]): Promise<VirtualKey[]> {
  const { query } = call;
  const by = parameter(query, 'sort_by') ?? 'created_at';
  const order = wordParameter(query, 'sort_order', ['asc', 'desc']) ?? 'desc';
  const member = by === 'spend' ? await spendMember(call, keys) : memberNamed(by);
  return sortedBy(keys, member, order);
}

function memberNamed(name: string): (key: VirtualKey) => string | number {
  const member = Object.hasOwn(SORTED_BY, name) ? SORTED_BY[name] : undefined;
  if (member !== undefined) return member;
  const names = [...Object.keys(SORTED_BY), 'spend'].join(', ');
  throw invalid(`Invalid sort column. Must be one of: ${names}`, 'sort_by');
}

async function spendMember(call: Call, keys: readonly VirtualKey[]): Promise<(key: VirtualKey) => number> {
  const spent = await spentUsd(
    call.x,
    keys.map(({ id }) => ({ kind: 'key', id })),
  );
  const byId = new Map(keys.map(({ id }, index) => [id, spent[index] ?? 0]));
  return ({ id }) => byId.get(id) ?? 0;
}
