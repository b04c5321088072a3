// `GET /spend/sums`: sums by up to two of day, model, key, ..., with their total, from the daily sums; no row is read, so a year
// costs as little as a day. Users see their own.
import type { AuthenticatedCaller } from '../access/caller.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { sendJson } from '../pipeline/respond.ts';
import { NOTHING, reportSums } from '../spend/report/spend-report.ts';
import type { ActivityFilter, Facet } from '../spend/store/store.ts';
import { ownPart } from './spend-own.ts';
import { dayOf } from '../spend/store/utc-dates.ts';
import { days, one, read, whole, wrong } from './spend-query.ts';

/** What sums can be by and filtered by, in the words of the answer. */
const BY = {
  day: 'day',
  model: 'model',
  model_group: 'modelGroup',
  provider: 'provider',
  api_key: 'apiKeyHash',
  team: 'team',
  user: 'user',
  end_user: 'endUser',
  tag: 'tag',
  session: 'session',
} as const satisfies Readonly<Record<string, Facet | 'day'>>;
type By = keyof typeof BY;

/** The parameter that picks one; names of ids end in `_id`, as elsewhere. */
const FILTERS: readonly (readonly [parameter: string, facet: Facet])[] = [
  ['model', 'model'],
  ['model_group', 'modelGroup'],
  ['provider', 'provider'],
  ['api_key', 'apiKeyHash'],
  ['team_id', 'team'],
  ['user_id', 'user'],
  ['end_user', 'endUser'],
  ['tag', 'tag'],
  ['session_id', 'session'],
];

const DEFAULT_ROWS = 1_000;
const MOST_ROWS = 10_000;

export async function spendSums(x: Exchange, caller: AuthenticatedCaller): Promise<void> {
  const query = new URLSearchParams(x.query);
  const by = byOf(query);
  const { access, ledger } = x.active.services;
  const [user = null, team = null, apiKeyHash = null] = ['user_id', 'team_id', 'api_key'].map(
    (name) => query.get(name) || null,
  );
  const { whose, ...own } = ownPart(caller, access.directory, { user, team, apiKeyHash });
  const filter: ActivityFilter = {
    ...daysOf(query, x.startMs),
    ...FILTERS.reduce((all, [parameter, facet]) => ({ ...all, ...one(query, parameter, facet) }), {}),
    ...Object.fromEntries(Object.entries(own).map(([facet, value]) => [facet, [value]])),
  };
  const axes = [...by.map((name) => BY[name]), ...Object.keys(filter)];
  if (axes.includes('tag') && axes.includes('session'))
    throw wrong('by', 'may not hold tag and session together: no sums are kept of the two');
  const limit = whole(query, 'limit', DEFAULT_ROWS, MOST_ROWS);
  const facets = by.map((name) => BY[name]);
  const { reader } = ledger;
  const groups = by.length === 0 ? [] : await read(reader.activity(filter, facets, limit + 1));
  const [all] = await read(reader.activity(filter, [], 1));
  const shown = groups.slice(0, limit);
  if (by.length === 1 && by[0] === 'day')
    shown.sort((a, b) => ((a.group.day ?? '') < (b.group.day ?? '') ? -1 : 1));
  sendJson(x, {
    by,
    start_date: filter.startDay,
    end_date: filter.endDay,
    whose,
    rows: shown.map(({ group, sums }) => ({
      ...Object.fromEntries(by.map((name) => [name, group[BY[name]] ?? ''])),
      ...reportSums(sums),
    })),
    more: groups.length > limit,
    total: reportSums(all?.sums ?? NOTHING),
  });
}

function byOf(query: URLSearchParams): readonly By[] {
  const names = (query.get('by') ?? '').split(',').filter((name) => name !== '');
  const isBy = (name: string): name is By => Object.hasOwn(BY, name);
  if (names.length > 2 || new Set(names).size < names.length || !names.every(isBy))
    throw wrong('by', `must be none, one or two of ${Object.keys(BY).join(', ')}`);
  return names.filter(isBy);
}

/** Today, unless days are asked for. */
function daysOf(query: URLSearchParams, nowMs: number): ActivityFilter {
  const today = dayOf(nowMs);
  const { startDay, endDay } = days(query, false);
  return { startDay: startDay ?? endDay ?? today, endDay: endDay ?? today };
}
