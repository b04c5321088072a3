// Keys and users in the description of the API. The bodies are those that the handlers read by.
import { BLOCK_FIELDS, DELETE_FIELDS, RESET_FIELDS, UPDATE_FIELDS } from '../access/keys-change.ts';
import { GENERATE_FIELDS } from '../access/keys-generate.ts';
import { NAMES } from '../access/keys-read.ts';
import { REGENERATE_FIELDS } from '../access/keys-regenerate.ts';
import {
  DELETE_FIELDS as DELETE_USERS_FIELDS,
  UPDATE_FIELDS as UPDATE_USER_FIELDS,
} from '../access/users-change.ts';
import { NEW_FIELDS as NEW_USER_FIELDS } from '../access/users-new.ts';
import { schemaOf } from '../access/fields.ts';
import {
  ANY_OBJECT,
  COUNT,
  filters,
  FLAG,
  json,
  listOf,
  NUMBER,
  object,
  orNull,
  paging,
  parameter,
  ref,
  TEXT,
  TEXTS,
  type Described,
  type JsonSchema,
  type Parameter,
} from './operation.ts';

const ORDER: JsonSchema = { type: 'string', enum: ['asc', 'desc'] };
const MADE: JsonSchema = { allOf: [ref('Key'), object({ key: TEXT, token_id: TEXT })] };
/** Of `/key/list` and `/key/aliases`. */
const FILTERS: readonly Parameter[] = [
  ...filters(
    'user_id',
    'team_id',
    'organization_id',
    'project_id',
    'agent_id',
    'access_group_id',
    'key_alias',
    'key_hash',
    'budget_id',
  ),
  parameter('substring_matching', 'key_alias and, for administrators, user_id are parts.', FLAG),
  parameter('status', 'Keys in this state.', {
    type: 'string',
    enum: ['active', 'expired', 'revoked', 'deleted'],
  }),
  parameter('include_team_keys', 'Also those of the teams of the caller.', FLAG),
];
const WRONG_BODY = ['invalid_fields', 'invalid_object'] as const;
const tag = 'keys';

const KEYS: readonly Described[] = [
  {
    route: 'POST /key/generate',
    tag,
    summary: 'Makes a key. The answer has its value, which nobody can read again.',
    body: schemaOf(GENERATE_FIELDS),
    answers: json(MADE),
    codes: [...WRONG_BODY, 'object_exists', 'management_denied'],
  },
  {
    route: 'POST /key/service-account/generate',
    tag,
    summary: 'Makes a key of a team and of no user.',
    body: schemaOf(GENERATE_FIELDS),
    answers: json(MADE),
    codes: [...WRONG_BODY, 'object_exists', 'management_denied'],
  },
  {
    route: 'GET /key/info',
    tag,
    summary: 'One key.',
    query: [parameter('key', 'A value or a SHA-256; none = the key of the caller.')],
    answers: json(object({ key: TEXT, info: ref('KeyWithoutToken') })),
    codes: ['object_not_found', 'management_denied'],
  },
  {
    route: 'POST /v2/key/info',
    tag,
    summary: 'Several keys; what is not there, or not for the caller, is left out.',
    body: {
      ...schemaOf(NAMES),
      anyOf: [
        { required: ['keys'], properties: { keys: { type: 'array' } } },
        { required: ['key_aliases'], properties: { key_aliases: { type: 'array' } } },
      ],
    },
    answers: json(object({ key: TEXTS, info: listOf(ref('Key')) })),
    codes: WRONG_BODY,
  },
  {
    route: 'GET /key/list',
    tag,
    summary: 'The keys that the caller may see, in pages.',
    query: [
      ...FILTERS,
      parameter('search', 'A hash, or a part of the alias.'),
      ...paging('size', 100),
      parameter('sort_by', 'A member of keys.'),
      parameter('sort_order', 'Default: desc.', ORDER),
      parameter('return_full_object', 'Rows in place of hashes.', FLAG),
    ],
    answers: json(
      object({
        keys: listOf({ anyOf: [TEXT, ref('Key')] }),
        total_count: COUNT,
        current_page: COUNT,
        total_pages: COUNT,
      }),
    ),
    codes: [...WRONG_BODY, 'management_denied'],
  },
  {
    route: 'GET /key/aliases',
    tag,
    summary: 'The aliases of the keys that the caller may see.',
    query: [...FILTERS, parameter('search', 'A part of the alias.'), ...paging('size', 100)],
    answers: json(object({ aliases: TEXTS, total_count: COUNT, current_page: COUNT, total_pages: COUNT })),
    codes: ['invalid_fields', 'management_denied'],
  },
  {
    route: 'POST /key/update',
    tag,
    summary: 'Changes a key: what is absent stays, null clears.',
    body: schemaOf(UPDATE_FIELDS, ['key']),
    answers: json({ allOf: [ref('Key'), object({ key: TEXT })] }),
    codes: [...WRONG_BODY, 'object_not_found', 'object_exists', 'object_in_config', 'management_denied'],
  },
  {
    route: 'POST /key/delete',
    tag,
    summary: 'Deletes keys, by value, SHA-256 or alias.',
    body: schemaOf(DELETE_FIELDS),
    answers: json(object({ deleted_keys: TEXTS })),
    codes: [...WRONG_BODY, 'object_not_found', 'object_in_config', 'management_denied'],
  },
  ...(['block', 'unblock'] as const).map((what): Described => ({
    route: `POST /key/${what}`,
    tag,
    summary: what === 'block' ? 'Refuses the calls of a key until it is unblocked.' : 'Serves it again.',
    body: schemaOf(BLOCK_FIELDS, ['key']),
    answers: json(ref('Key')),
    codes: [...WRONG_BODY, 'object_not_found', 'object_in_config', 'management_denied'],
  })),
  {
    route: 'POST /key/regenerate',
    tag,
    summary: 'Another value for the key that the body names.',
    body: schemaOf(REGENERATE_FIELDS),
    answers: json(MADE),
    codes: [...WRONG_BODY, 'object_not_found', 'object_exists', 'object_in_config', 'management_denied'],
  },
  {
    route: 'POST /key/{key}/regenerate',
    tag,
    summary: 'Another value for the key; alias, settings and spend stay.',
    body: schemaOf(REGENERATE_FIELDS),
    answers: json(MADE),
    codes: [...WRONG_BODY, 'object_not_found', 'object_exists', 'object_in_config', 'management_denied'],
  },
  {
    route: 'POST /key/{key}/reset_spend',
    tag,
    summary: 'Sets what counts as spent.',
    body: { ...schemaOf(RESET_FIELDS, ['reset_to']), properties: { reset_to: NUMBER } },
    answers: json(object({ key_hash: TEXT, spend: NUMBER, previous_spend: NUMBER })),
    codes: [...WRONG_BODY, 'object_not_found', 'object_in_config', 'management_denied'],
  },
  {
    route: 'POST /key/health',
    tag,
    summary: 'Whether the key of the caller is in order.',
    answers: json(object({ key: TEXT })),
  },
];

const USERS: readonly Described[] = [
  {
    route: 'POST /user/new',
    tag: 'users',
    summary: 'Makes a user, and a key for it unless `auto_create_key` is false.',
    body: schemaOf(NEW_USER_FIELDS),
    answers: json(object({ user_id: TEXT, key: TEXT })),
    codes: [...WRONG_BODY, 'object_taken', 'object_exists', 'object_not_found', 'management_denied'],
  },
  {
    route: 'GET /user/info',
    tag: 'users',
    summary: 'One user with its keys and teams.',
    query: [parameter('user_id', 'None = the user of the key of the caller.')],
    answers: json(
      object({
        user_id: orNull('string'),
        user_info: orNull('object'),
        keys: listOf(ref('Key')),
        teams: listOf(ANY_OBJECT),
      }),
    ),
    codes: ['object_not_found', 'management_denied'],
  },
  {
    route: 'GET /v2/user/info',
    tag: 'users',
    summary: 'One user without its keys and teams.',
    query: [parameter('user_id', 'None = the user of the key of the caller.')],
    answers: json(object({ user_id: TEXT, teams: TEXTS })),
    codes: ['invalid_object', 'object_not_found', 'management_denied'],
  },
  {
    route: 'GET /user/list',
    tag: 'users',
    summary: 'Users in pages, the newest first.',
    aliases: ['/user/get_users'],
    query: [
      parameter('role', 'Users with this role.', {
        type: 'string',
        enum: ['proxy_admin', 'proxy_admin_viewer', 'internal_user', 'internal_user_viewer'],
      }),
      parameter('user_ids', 'Ids, with commas between them.'),
      parameter('team', 'Members of this team.'),
      parameter('user_email', 'A part of the address.'),
      parameter('search', 'A part of the id or of the address.'),
      parameter('sso_user_ids', 'With commas between them.'),
      parameter('organization_ids', 'Members of these, with commas between them.'),
      ...paging('page_size', 100),
      parameter('sort_by', 'A member of users.'),
      parameter('sort_order', 'Default: desc.', ORDER),
    ],
    answers: json(
      object({
        users: listOf({ allOf: [ref('User'), object({ key_count: COUNT })] }),
        total: COUNT,
        page: COUNT,
        page_size: COUNT,
        total_pages: COUNT,
      }),
    ),
    codes: [...WRONG_BODY, 'management_denied'],
  },
  {
    route: 'POST /user/update',
    tag: 'users',
    summary: 'Changes a user that `user_id` or `user_email` names.',
    body: schemaOf(UPDATE_USER_FIELDS),
    answers: json(object({ user_id: TEXT, data: ref('User') })),
    codes: [...WRONG_BODY, 'object_not_found', 'object_taken', 'management_denied'],
  },
  {
    route: 'POST /user/delete',
    tag: 'users',
    summary: 'Deletes users with their keys and memberships. All of it or nothing.',
    body: schemaOf(DELETE_USERS_FIELDS, ['user_ids']),
    answers: json(COUNT),
    codes: [...WRONG_BODY, 'object_not_found', 'management_denied'],
  },
];

export const KEY_OPERATIONS: readonly Described[] = [...KEYS, ...USERS];
