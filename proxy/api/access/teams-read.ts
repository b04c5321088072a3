// Reading teams: `GET /team/info`, `/team/list`, `/v2/team/list`, `/team/available`.
import { demand, isAdminOfTeam, seesAll, visibleTeams, whyNot } from '../../access/may.ts';
import type { Team, TeamMember, VirtualKey } from '../../access/objects/objects.ts';
import { filterInTurns, mapInTurns, sortInTurns } from '../../base/turns.ts';
import { jsonList, type JsonText } from '../json-pieces.ts';
import { byId, compare } from './order.ts';
import { isPart, neededParameter, pageOf, parameter, wholeParameter, wordParameter } from './query.ts';
import { invalid, notFound } from './refusals.ts';
import { budgetRow, keyRow, type Row } from './rows.ts';
import { memberId, spentUsd, type SpentScope } from './spent.ts';
import { directoryOf, rowContextOf, type Call } from './management-call.ts';
import { emptyTeam } from './teams-fields.ts';
import { membershipRow, teamRow } from './teams-rows.ts';

const PAGE_SIZE = 10;
const MOST_ON_A_PAGE = 100;

/** `GET /team/info?team_id=`. A platform takes 404, and nothing else, for "create it". */
export async function teamInfo(call: Call): Promise<Row> {
  const id = neededParameter(call.query, 'team_id');
  const directory = directoryOf(call);
  const team = directory.team(id);
  // Whoever may not see all teams is not told which ones there are.
  demand(call.caller, directory, 'team.read', team ?? emptyTeam(id, { nowMs: 0, by: null }));
  if (team === null) throw notFound(`Team not found, passed team id: ${id}.`, { param: 'team_id' });
  const details = (await detailsOf(call, [team]))(team);
  const shared = team.memberBudgetId === null ? null : directory.budget(team.memberBudgetId);
  return {
    team_id: id,
    team_info: {
      ...details.row,
      team_member_budget_table: shared === null ? null : budgetRow(shared, rowContextOf(call)),
    },
    keys: details.keys,
    team_memberships: details.memberships,
  };
}

/** `GET /team/list`: all that the caller sees, by alias, each with its keys and memberships. */
export async function teamList(call: Call): Promise<JsonText> {
  const alias = parameter(call.query, 'team_alias');
  const teams = await listed(call, (team) => alias === null || team.alias === alias);
  const detailsOfTeam = await detailsOf(call, teams);
  return jsonList(teams, (team) => {
    const { row, keys, memberships } = detailsOfTeam(team);
    return { ...row, team_memberships: memberships, keys };
  });
}

/** `GET /v2/team/list`: pages of rows. `team_alias` is a part there; clients that take the first one get that of this very alias. */
export async function teamPage(call: Call): Promise<Row> {
  const alias = parameter(call.query, 'team_alias');
  const search = parameter(call.query, 'search');
  const isDeleted = wordParameter(call.query, 'status', ['deleted']) !== null;
  const isAsked = (team: Team): boolean =>
    !isDeleted &&
    (alias === null || isPart(team.alias, alias)) &&
    (search === null || team.id === search || isPart(team.alias, search));
  const found = await listed(call, isAsked);
  const teams = call.query.has('sort_by')
    ? found
    : found.toSorted((a, b) => Number(b.alias === alias) - Number(a.alias === alias));
  const page = wholeParameter(call.query, 'page', 1, 1_000_000);
  const size = wholeParameter(call.query, 'page_size', PAGE_SIZE, MOST_ON_A_PAGE);
  const { shown, total, pages } = pageOf(teams, page, size);
  return {
    teams: await teamRows(call, shown),
    total,
    page,
    page_size: size,
    total_pages: pages,
  };
}

/** `GET /team/available`: teams that users may join by themselves. There are none: an admin adds members. */
export const availableTeams = (): readonly Row[] => [];

/** Rows with what each team has spent. */
export async function teamRows(call: Call, teams: readonly Team[]): Promise<readonly Row[]> {
  const context = rowContextOf(call);
  const spent = await spentUsd(call.x, teams.map(teamScope));
  return teams.map((team, at) => teamRow(team, spent[at] ?? 0, context, directoryOf(call)));
}

const teamScope = ({ id }: Team): SpentScope => ({ kind: 'team', id });
const keyScope = ({ id }: VirtualKey): SpentScope => ({ kind: 'key', id });
const memberScope = (team: Team, { userId }: TeamMember): SpentScope => ({
  kind: 'member',
  id: memberId(team.id, userId),
});

interface Details {
  readonly row: Row;
  readonly keys: readonly Row[];
  readonly memberships: readonly Row[];
}

/** With one look at the sums for all of them. @return makes the rows of one of the teams */
async function detailsOf(call: Call, teams: readonly Team[]): Promise<(team: Team) => Details> {
  const context = rowContextOf(call);
  const scopes: SpentScope[] = [];
  const parts = await mapInTurns(teams, (team) => {
    const { keys, members } = visibleIn(call, team);
    const from = scopes.push(teamScope(team)) - 1;
    for (const key of keys) scopes.push(keyScope(key));
    for (const member of members) scopes.push(memberScope(team, member));
    return { id: team.id, keys, members, from };
  });
  const byId = new Map(parts.map((part) => [part.id, part]));
  const spent = await spentUsd(call.x, scopes);
  return (team) => {
    const { keys, members, from } = byId.get(team.id) ?? { keys: [], members: [], from: 0 };
    const usd = (place: number): number => spent[from + place] ?? 0;
    return {
      row: teamRow(team, usd(0), context, directoryOf(call)),
      keys: keys.map((key, i) => keyRow(key, usd(1 + i), context)),
      memberships: members.map((member, i) => membershipRow(team, member, usd(1 + keys.length + i), context)),
    };
  };
}

/** Keys that the caller may see, and what members may spend: all for an admin of the team, else one's own. */
function visibleIn(
  call: Call,
  team: Team,
): { readonly keys: readonly VirtualKey[]; readonly members: readonly TeamMember[] } {
  const { caller } = call;
  const directory = directoryOf(call);
  const keys = directory.keysOfTeam(team.id);
  if (seesAll(caller) || isAdminOfTeam(caller, team)) return { keys, members: team.members };
  const own = caller.role === 'key' ? caller.key.userId : null;
  return {
    keys: keys.filter((key) => whyNot(caller, directory, 'key.read', key) === null),
    members: team.members.filter(({ userId }) => userId === own),
  };
}

/** Teams that the caller sees and the query asks for, by alias. */
async function listed(call: Call, isAsked: (team: Team) => boolean): Promise<readonly Team[]> {
  const { query } = call;
  const fits = (name: string, value: string | null): boolean => {
    const asked = parameter(query, name);
    return asked === null || asked === value;
  };
  const member = parameter(query, 'user_id');
  const teams = await filterInTurns(
    [...visibleTeams(call.caller, directoryOf(call))],
    (team) =>
      (member === null || team.members.some(({ userId }) => userId === member)) &&
      fits('organization_id', team.organizationId) &&
      fits('team_id', team.id) &&
      isAsked(team),
  );
  return await sorted(call, teams);
}

const byAlias = (a: Team, b: Team): number => compare(a.alias ?? '', b.alias ?? '') || byId(a, b);

/** `sort_by` of the pages; others come by alias. */
const ORDERS: Readonly<Record<string, (a: Team, b: Team) => number>> = {
  team_alias: byAlias,
  team_id: byId,
  created_at: (a, b) => a.createdMs - b.createdMs || byId(a, b),
};

async function sorted({ query }: Call, teams: readonly Team[]): Promise<readonly Team[]> {
  const by = parameter(query, 'sort_by') ?? 'team_alias';
  const order = Object.hasOwn(ORDERS, by) ? ORDERS[by] : undefined;
  if (order === undefined)
    throw invalid(`Invalid sort_by '${by}'. Must be one of ${Object.keys(ORDERS).join(', ')}.`, 'sort_by');
  const direction = parameter(query, 'sort_order') ?? 'asc';
  if (direction !== 'asc' && direction !== 'desc')
    throw invalid("Invalid sort_order. Must be 'asc' or 'desc'.", 'sort_order');
  const inOrder = await sortInTurns(teams, order);
  return direction === 'asc' ? inOrder : inOrder.toReversed();
}
