// `/user/daily/activity`, `/team/daily/activity`, `/tag/daily/activity` in the dialect's shape: a page of UTC days, the
// newest first, each with its sums and how they split. From the daily sums; no row is read. Users see their own days, admins of
// a team those of the team.
import type { Json } from '../bodies/json.ts';
import { dollarsOf } from '../spend/record/cost.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { Activity, ActivityFilter, ActivitySums } from '../spend/store/store.ts';
import { seesAll, teamsOfAdmin } from '../access/may.ts';
import type { AccessDirectory } from '../access/objects/directory.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import { denied } from './spend-own.ts';
import { days, groupsOf, list, one, pages, spent } from './spend-query.ts';

/** Whom the breakdown `entities` is by. */
type Entity = 'user' | 'team' | 'tag';

const FILTERS: Readonly<Record<Entity, string>> = { user: 'user_id', team: 'team_ids', tag: 'tags' };

/** A handler of one of the three. */
export function dailyActivity(entity: Entity): (x: Exchange, caller: AuthenticatedCaller) => Promise<void> {
  return async (x, caller) => {
    const query = new URLSearchParams(x.query);
    const { page, pageSize } = pages(query);
    const filter: ActivityFilter = {
      ...days(query, true),
      ...(entity === 'user' ? one : list)(query, FILTERS[entity], entity),
      ...one(query, 'model', 'model'),
      ...one(query, 'api_key', 'apiKeyHash'),
      ...ownPart(x, caller, entity, query),
    };
    // Tags have sums of their own; without this their days would be those of all calls.
    const axis: readonly Entity[] = entity === 'tag' ? ['tag'] : [];
    const all = await groupsOf(x, filter, ['day', ...axis]);
    const newest = [...new Set(all.map(({ group }) => group.day ?? ''))].sort().reverse();
    const shown = newest.slice((page - 1) * pageSize, page * pageSize);
    const cells = shown.length === 0 ? [] : await cellsOf(x, filter, shown, entity);
    const totalPages = Math.ceil(newest.length / pageSize);
    const { directory } = x.active.services.access;
    const byDay = Map.groupBy(cells, ({ group }) => group.day ?? '');
    sendJson(x, {
      results: shown.map((day) => dayOf(day, byDay.get(day) ?? [], entity, directory)),
      metadata: {
        ...totalsOf(cells),
        page,
        total_pages: totalPages,
        has_more: page < totalPages,
      },
    });
  };
}

/**
 * What a caller who may not see everything is limited to. @throws Fault management_denied
 */
function ownPart(
  x: Exchange,
  caller: AuthenticatedCaller,
  entity: Entity,
  query: URLSearchParams,
): ActivityFilter {
  if (seesAll(caller)) return {};
  const key = caller.role === 'key' ? caller.key : null;
  const userId = key?.userId ?? null;
  const { directory } = x.active.services.access;
  if (entity === 'user' && userId !== null) {
    const asked = query.get('user_id') || userId;
    if (asked !== userId) throw denied('You are not allowed to see the spending of another user.');
    return { user: [userId], ...(key?.type === 'llm_api' ? { apiKeyHash: [key.id] } : {}) };
  }
  if (entity === 'team') {
    const own = teamsOfAdmin(caller, directory);
    const ids = own.map((team) => team.id);
    const { team = ids } = list(query, FILTERS.team, 'team');
    if (team.length > 0 && team.every((id) => ids.includes(id))) return { team };
    throw denied('You are not allowed to see the spending of a team that you are not an admin of.');
  }
  throw denied('This needs the master key, or a key of a proxy_admin.');
}

function cellsOf(
  x: Exchange,
  filter: ActivityFilter,
  shown: readonly string[],
  entity: Entity,
): Promise<readonly Activity[]> {
  const range = { startDay: shown.at(-1) ?? '', endDay: shown[0] ?? '' };
  const facets = ['day', 'apiKeyHash', 'model', 'modelGroup', 'provider', entity] as const;
  return groupsOf(x, { ...filter, ...range }, facets);
}

function dayOf(day: string, cells: readonly Activity[], entity: Entity, names: AccessDirectory): Json {
  const split = (nameOf: (cell: Activity) => string, metadataOf?: (name: string) => Json): Json => {
    const parts = [...Map.groupBy(cells, nameOf)].filter(([name]) => name !== ''); // refused calls have no model
    return Object.fromEntries(
      parts.map(([name, part]) => [
        name,
        {
          metrics: metricsOf(part),
          metadata: metadataOf?.(name) ?? {},
          api_key_breakdown: keys(part, names),
        },
      ]),
    );
  };
  const aliasOf = (team: string): Json => ({ team_alias: names.team(team)?.alias ?? null });
  const unnamed = entity === 'tag' ? '' : 'Unassigned';
  return {
    date: day,
    metrics: metricsOf(cells),
    breakdown: {
      mcp_servers: {},
      models: split(({ group }) => group.model ?? ''),
      model_groups: split(({ group }) => group.modelGroup ?? ''),
      providers: split(({ group }) => group.provider || 'unknown'),
      endpoints: {},
      api_keys: keys(cells, names),
      entities: split(({ group }) => group[entity] || unnamed, entity === 'team' ? aliasOf : undefined),
    },
  };
}

function keys(cells: readonly Activity[], names: AccessDirectory): Json {
  const parts = Map.groupBy(cells, ({ group }) => group.apiKeyHash ?? '');
  return Object.fromEntries(
    Array.from(parts, ([hash, part]) => {
      const key = names.keyOfCredential(hash, 0);
      const metadata = { key_alias: key?.alias ?? null, team_id: key?.teamId ?? null };
      return [hash, { metrics: metricsOf(part), metadata }];
    }),
  );
}

function metricsOf(cells: readonly Activity[]): Json {
  const sum = adder(cells);
  return {
    spend: dollarsOf(spent(cells)),
    prompt_tokens: sum('promptTokens'),
    completion_tokens: sum('completionTokens'),
    cache_read_input_tokens: sum('cacheReadTokens'),
    cache_creation_input_tokens: sum('cacheWriteTokens'),
    total_tokens: sum('totalTokens'),
    successful_requests: sum('requests') - sum('failures'),
    failed_requests: sum('failures'),
    api_requests: sum('requests'),
  };
}

/** The same of all days, as `total_spend`, ... */
const totalsOf = (cells: readonly Activity[]): Json =>
  Object.fromEntries(
    Object.entries(metricsOf(cells)).map(([name, sum]) => [
      name.startsWith('total_') ? name : `total_${name}`,
      sum,
    ]),
  );

function adder(cells: readonly Activity[]): (count: Exclude<keyof ActivitySums, 'spendPico'>) => number {
  return (count) => cells.reduce((sum, { sums }) => sum + sums[count], 0);
}
