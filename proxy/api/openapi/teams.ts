// Teams, customers, budgets and access groups in the description of the API.
import { ACCESS_GROUP_BODY } from '../access/access-groups.ts';
import { BUDGET_BODY } from '../access/budgets.ts';
import { CUSTOMER_BODY } from '../access/customers.ts';
import { id, schemaOf, texts } from '../access/fields.ts';
import { TEAM_FIELDS } from '../access/teams-fields.ts';
import { MODELS_FIELDS } from '../access/teams-change.ts';
import { ADD_FIELDS, DELETE_FIELDS, UPDATE_FIELDS } from '../access/teams-members.ts';
import { PERMISSIONS_FIELDS } from '../access/teams-permissions.ts';
import { changes, CHANGES, FINDS, makes, READS } from './managed-objects.ts';
import {
  ANY_OBJECT,
  COUNT,
  filters,
  json,
  listOf,
  needed,
  object,
  paging,
  parameter,
  ref,
  TEXT,
  TEXTS,
  type Described,
} from './operation.ts';
import { ORGANIZATION_OPERATIONS } from './organizations.ts';

const TEAM_FILTERS = filters('user_id', 'organization_id', 'team_id', 'team_alias');
const TEAM_KEYS = { keys: listOf(ref('KeyWithoutToken')), team_memberships: listOf(ANY_OBJECT) };
const TEAM_ID = schemaOf({ team_id: id }, ['team_id']);

const TEAMS: readonly Described[] = [
  makes('teams', '/team/new', 'Makes a team.', schemaOf(TEAM_FIELDS), ref('Team')),
  {
    route: 'GET /team/info',
    tag: 'teams',
    summary: 'One team with its keys and memberships.',
    query: [needed(parameter('team_id', 'Its id.'))],
    answers: json(object({ team_id: TEXT, team_info: ref('Team'), ...TEAM_KEYS })),
    codes: ['invalid_fields', ...FINDS],
  },
  {
    route: 'GET /team/list',
    tag: 'teams',
    summary: 'All teams that the caller sees, by alias, with keys and memberships.',
    query: TEAM_FILTERS,
    answers: json(listOf({ allOf: [ref('Team'), object(TEAM_KEYS)] })),
    codes: ['invalid_object', ...READS],
  },
  {
    route: 'GET /v2/team/list',
    tag: 'teams',
    summary: 'The same in pages, without keys and memberships.',
    query: [
      ...TEAM_FILTERS,
      parameter('search', 'An id, or a part of the alias.'),
      parameter('status', 'deleted: none are kept.', { type: 'string', enum: ['deleted'] }),
      ...paging('page_size', 100),
      parameter('sort_by', 'Default: team_alias.', {
        type: 'string',
        enum: ['team_alias', 'team_id', 'created_at'],
      }),
      parameter('sort_order', 'Default: asc.', { type: 'string', enum: ['asc', 'desc'] }),
    ],
    answers: json(
      object({ teams: listOf(ref('Team')), total: COUNT, page: COUNT, page_size: COUNT, total_pages: COUNT }),
    ),
    codes: ['invalid_fields', 'invalid_object', ...READS],
  },
  {
    route: 'GET /team/available',
    tag: 'teams',
    summary: 'Teams that users join by themselves: none.',
    answers: json({ type: 'array', maxItems: 0 }),
  },
  changes(
    'teams',
    '/team/update',
    'Changes a team: what is absent stays, null clears.',
    schemaOf(TEAM_FIELDS, ['team_id']),
    object({ team_id: TEXT, data: ref('Team') }),
  ),
  changes(
    'teams',
    '/team/delete',
    'Deletes teams with their keys.',
    schemaOf({ team_ids: texts }, ['team_ids']),
    object({ deleted_teams: TEXTS }),
  ),
  changes('teams', '/team/block', 'Refuses the calls of its keys.', TEAM_ID, ref('Team')),
  changes('teams', '/team/unblock', 'Serves them again.', TEAM_ID, ref('Team')),
  changes(
    'teams',
    '/team/member_add',
    'Adds one member or a list of them; users that do not exist are made.',
    schemaOf(ADD_FIELDS, ['team_id', 'member']),
    {
      allOf: [
        ref('Team'),
        object({ updated_users: listOf(ANY_OBJECT), updated_team_memberships: listOf(ANY_OBJECT) }),
      ],
    },
  ),
  changes(
    'teams',
    '/team/member_update',
    'Changes what a member may spend, or its role.',
    schemaOf(UPDATE_FIELDS, ['team_id']),
    ref('TeamMember'),
  ),
  changes(
    'teams',
    '/team/member_delete',
    'Removes a member with its keys of this team.',
    schemaOf(DELETE_FIELDS, ['team_id']),
    ref('Team'),
  ),
  changes(
    'teams',
    '/team/model/add',
    'Adds models that the team may call.',
    schemaOf(MODELS_FIELDS, ['team_id', 'models']),
    ref('Team'),
  ),
  changes(
    'teams',
    '/team/model/delete',
    'Takes them away.',
    schemaOf(MODELS_FIELDS, ['team_id', 'models']),
    ref('Team'),
  ),
  {
    route: 'GET /team/permissions_list',
    tag: 'teams',
    summary: 'Which calls about keys of the team its members may make; none listed: all.',
    query: [needed(parameter('team_id', 'Its id.'))],
    answers: json(
      object({ team_id: TEXT, team_member_permissions: TEXTS, all_available_permissions: TEXTS }),
    ),
    codes: ['invalid_fields', ...FINDS],
  },
  changes(
    'teams',
    '/team/permissions_update',
    'Sets them.',
    schemaOf(PERMISSIONS_FIELDS, ['team_id', 'team_member_permissions']),
    ref('Team'),
  ),
];

const USER_IDS = schemaOf({ user_ids: texts }, ['user_ids']);
const alsoEndUser = (one: Described): Described => ({
  ...one,
  aliases: [(one.route.split(' ')[1] ?? '').replace('/customer', '/end_user')],
});
const CUSTOMERS: readonly Described[] = [
  makes(
    'customers',
    '/customer/new',
    'States an end user of your product, whom calls name in `user`.',
    schemaOf(CUSTOMER_BODY, ['user_id']),
    ref('Customer'),
  ),
  {
    route: 'GET /customer/info',
    tag: 'customers',
    summary: 'One customer.',
    query: [needed(parameter('end_user_id', 'Its id.'))],
    answers: json(ref('Customer')),
    codes: ['invalid_fields', ...FINDS],
  },
  {
    route: 'GET /customer/list',
    tag: 'customers',
    summary: 'All customers.',
    answers: json(listOf(ref('Customer'))),
    codes: READS,
  },
  changes(
    'customers',
    '/customer/update',
    'Changes a customer.',
    schemaOf(CUSTOMER_BODY, ['user_id']),
    ref('Customer'),
  ),
  changes(
    'customers',
    '/customer/delete',
    'Deletes customers. All of it or nothing.',
    USER_IDS,
    object({ deleted_customers: COUNT, message: TEXT }),
  ),
  changes(
    'customers',
    '/customer/block',
    'Refuses calls in their names.',
    USER_IDS,
    object({ blocked_users: listOf(ref('Customer')) }),
  ),
  changes(
    'customers',
    '/customer/unblock',
    'Serves them again; answers with who is still blocked.',
    USER_IDS,
    object({ blocked_users: TEXTS }),
  ),
];

const BUDGETS: readonly Described[] = [
  makes(
    'budgets',
    '/budget/new',
    'Makes terms that several objects share.',
    schemaOf(BUDGET_BODY),
    ref('Budget'),
  ),
  changes(
    'budgets',
    '/budget/update',
    'Changes them, for all that share them.',
    schemaOf(BUDGET_BODY, ['budget_id']),
    ref('Budget'),
  ),
  changes(
    'budgets',
    '/budget/info',
    'Those of some ids that exist.',
    schemaOf({ budgets: texts }, ['budgets']),
    listOf(ref('Budget')),
  ),
  {
    route: 'GET /budget/list',
    tag: 'budgets',
    summary: 'All budgets, the oldest first.',
    answers: json(listOf(ref('Budget'))),
    codes: READS,
  },
  {
    route: 'GET /budget/settings',
    tag: 'budgets',
    summary: 'What a budget can state, and what this one does.',
    query: [needed(parameter('budget_id', 'Its id.'))],
    answers: json(listOf(ANY_OBJECT)),
    codes: ['invalid_fields', ...FINDS],
  },
  {
    ...changes(
      'budgets',
      '/budget/delete',
      'Deletes one that nothing uses.',
      schemaOf({ id }, ['id']),
      ref('Budget'),
    ),
    codes: [...CHANGES, 'object_in_use'],
  },
];

const GROUPS: readonly Described[] = [
  makes(
    'access groups',
    '/access_group/new',
    'A name for several models, which keys and teams may state.',
    schemaOf(ACCESS_GROUP_BODY, ['access_group']),
    ref('AccessGroupChange'),
  ),
  {
    route: 'GET /access_group/list',
    tag: 'access groups',
    summary: 'All of them, those of deployments too.',
    answers: json(object({ access_groups: listOf(ref('AccessGroup')) })),
    codes: READS,
  },
  {
    route: 'GET /access_group/{group}/info',
    tag: 'access groups',
    summary: 'One of them.',
    answers: json(ref('AccessGroup')),
    codes: FINDS,
  },
  changes(
    'access groups',
    'PUT /access_group/{group}/update',
    'Other models in place of the old.',
    schemaOf(ACCESS_GROUP_BODY),
    ref('AccessGroupChange'),
  ),
  {
    route: 'DELETE /access_group/{group}/delete',
    tag: 'access groups',
    summary: 'Keys that name it may then call what else they name.',
    answers: json(object({ access_group: TEXT, models_updated: COUNT, message: TEXT })),
    codes: ['invalid_object', ...FINDS],
  },
];

export const TEAM_OPERATIONS: readonly Described[] = [
  ...TEAMS,
  ...CUSTOMERS.map(alsoEndUser),
  ...BUDGETS,
  ...ORGANIZATION_OPERATIONS,
  ...GROUPS,
];
