// Reading users: `GET /user/info`, `/user/list`.
import { demand, seesAll } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { User } from '../../access/objects/objects.ts';
import { filterInTurns } from '../../base/turns.ts';
import { keyRows } from './keys-read.ts';
import { sortedBy } from './order.ts';
import { isPart, pageOf, parameter, wholeParameter, wordParameter } from './query.ts';
import { denied, invalid, notFound } from './refusals.ts';
import { userRow, type Row } from './rows.ts';
import { memberId, spentUsd } from './spent.ts';
import { directoryOf, rowContextOf, type Call } from './management-call.ts';
import { newUser } from './teams-join.ts';
import { teamRows } from './teams-read.ts';
import { membershipRow } from './teams-rows.ts';
import { USER_ROLES } from './users-fields.ts';

const PAGE_SIZE = 25;
const MOST_ON_A_PAGE = 100;

/** `GET /user/info?user_id=`: without it, the caller's own user. */
export async function userInfo(call: Call): Promise<Row> {
  const { caller } = call;
  const directory = directoryOf(call);
  const named = askedFor(call);
  // The master key is nobody's; lists have what LiteLLM would put here.
  if (named === null) return { user_id: null, user_info: null, keys: [], teams: [] };
  const { brand } = rowContextOf(call);
  if (named === `${brand}-proxy-budget` && seesAll(caller)) return wholeProxy(call, named);
  const user = userNamed(call, named);
  const [row] = await userRows(call, [user]);
  return {
    user_id: user.id,
    user_info: row,
    keys: await keyRows(call, directory.keysOfUser(user.id)),
    teams: await teamsOf(call, user),
  };
}

/** `GET /v2/user/info?user_id=`: the same without keys and teams. */
export async function userAlone(call: Call): Promise<Row> {
  const named = askedFor(call);
  if (named === null) throw invalid('user_id is missing, and your key is of no user.', 'user_id');
  const [row = {}] = await userRows(call, [userNamed(call, named)]);
  return row;
}

/** null = the caller's own, who is the master key, which is nobody's. */
const askedFor = ({ caller, query }: Call): string | null =>
  parameter(query, 'user_id') ?? (caller.role === 'key' ? caller.key.userId : null);

/** @throws Refusal 403, 404 */
function userNamed(call: Call, named: string): User {
  const directory = directoryOf(call);
  const user = directory.user(named) ?? directory.user(named.replaceAll(' ', '+'));
  // Whoever may not see all users is not told which ones there are.
  demand(call.caller, directory, 'user.read', user ?? newUser(named, null, { nowMs: 0, by: null }));
  if (user === null) throw notFound(`User ${named} not found`, { param: 'user_id' });
  return user;
}

/** `litellm-proxy-budget`: the name under which LiteLLM shows what the whole proxy has spent. */
async function wholeProxy(call: Call, name: string): Promise<Row> {
  const user = directoryOf(call).user(name) ?? newUser(name, null, { nowMs: 0, by: null });
  const [spend = 0] = await spentUsd(call.x, [{ kind: 'proxy', id: '' }]);
  return { user_id: name, user_info: userRow(user, spend, [], rowContextOf(call)), keys: [], teams: [] };
}

/** The teams of a user, each with what this user may spend in it. */
async function teamsOf(call: Call, user: User): Promise<readonly Row[]> {
  const context = rowContextOf(call);
  const teams = directoryOf(call).teamsOf(user.id);
  const rows = await teamRows(call, teams);
  const spent = await spentUsd(
    call.x,
    teams.map((team) => ({ kind: 'member', id: memberId(team.id, user.id) })),
  );
  return teams.map((team, index) => {
    const member = team.members.find(({ userId }) => userId === user.id);
    const memberships = member === undefined ? [] : [membershipRow(team, member, spent[index] ?? 0, context)];
    return { ...rows[index], team_memberships: memberships };
  });
}

/** Rows with what each user has spent. */
export async function userRows(call: Call, users: readonly User[]): Promise<Row[]> {
  const context = rowContextOf(call);
  const directory = directoryOf(call);
  const spent = await spentUsd(
    call.x,
    users.map(({ id }) => ({ kind: 'user', id })),
  );
  return users.map((user, index) => {
    const teams = directory.teamsOf(user.id).map(({ id }) => id);
    return userRow(user, spent[index] ?? 0, teams, context);
  });
}

const SORTED_BY: Readonly<Record<string, (user: User) => string | number>> = {
  created_at: ({ createdMs }) => createdMs,
  updated_at: ({ updatedMs }) => updatedMs,
  user_id: ({ id }) => id,
  user_email: ({ email }) => email ?? '',
  user_alias: ({ alias }) => alias ?? '',
  user_role: ({ role }) => role,
};

/** `GET /user/list`, in pages, the newest first. */
export async function listUsers(call: Call): Promise<Row> {
  const { caller, query } = call;
  if (!seesAll(caller))
    throw denied('Only the master key, a proxy_admin or a proxy_admin_viewer lists all users.');
  const page = wholeParameter(query, 'page', 1, 1_000_000);
  const size = wholeParameter(query, 'page_size', PAGE_SIZE, MOST_ON_A_PAGE);
  const directory = directoryOf(call);
  const { shown, total, pages } = pageOf(await sorted(query, await filtered(query, directory)), page, size);
  const rows = await userRows(call, shown);
  return {
    users: rows.map((row, index) => ({
      ...row,
      key_count: directory.keysOfUser(shown[index]?.id ?? '').length,
    })),
    total,
    page,
    page_size: size,
    total_pages: pages,
  };
}

async function filtered(query: URLSearchParams, directory: AccessDirectory): Promise<readonly User[]> {
  const role = wordParameter(query, 'role', USER_ROLES);
  const ids = parameter(query, 'user_ids')?.split(',') ?? null;
  const email = parameter(query, 'user_email');
  const search = parameter(query, 'search');
  const signOns = parameter(query, 'sso_user_ids')?.split(',') ?? null;
  const organizations = parameter(query, 'organization_ids')?.split(',') ?? null;
  const team = parameter(query, 'team');
  const members = team === null ? null : new Set(directory.team(team)?.members.map(({ userId }) => userId));
  const candidates = ids === null ? [...directory.all('user')] : ids.map((id) => directory.user(id.trim()));
  return await filterInTurns(
    [...new Set(candidates)].filter((user) => user !== null),
    (user) =>
      (role === null || user.role === role) &&
      (email === null || isPart(user.email, email)) &&
      (search === null || isPart(user.id, search) || isPart(user.email, search)) &&
      (signOns === null || signOns.some((one) => one.trim() === user.kept['sso_user_id'])) &&
      (organizations === null ||
        directory.organizationsOf(user.id).some(({ id }) => organizations.includes(id))) &&
      (members === null || members.has(user.id)),
  );
}

async function sorted(query: URLSearchParams, users: readonly User[]): Promise<readonly User[]> {
  const by = parameter(query, 'sort_by') ?? 'created_at';
  const member = Object.hasOwn(SORTED_BY, by) ? SORTED_BY[by] : undefined;
  if (member === undefined)
    throw invalid(`Invalid sort column. Must be one of: ${Object.keys(SORTED_BY).join(', ')}`, 'sort_by');
  return sortedBy(users, member, wordParameter(query, 'sort_order', ['asc', 'desc']) ?? 'desc');
}
