// Organizations and their members in the description of the API.
import { schemaOf, texts } from '../access/fields.ts';
import {
  ORGANIZATION_ADD_FIELDS,
  ORGANIZATION_REMOVE_FIELDS,
  ORGANIZATION_UPDATE_FIELDS,
} from '../access/organization-members.ts';
import { ORGANIZATION_BODY } from '../access/organizations.ts';
import { changes, CHANGES, FINDS, makes, READS } from './objects.ts';
import {
  ANY_OBJECT,
  json,
  listOf,
  needed,
  object,
  parameter,
  ref,
  TEXT,
  type Described,
} from './operation.ts';

const MEMBERSHIP = object({ user_id: TEXT, organization_id: TEXT, user_role: TEXT });

export const ORGANIZATION_OPERATIONS: readonly Described[] = [
  makes(
    'organizations',
    '/organization/new',
    'Makes an organization.',
    schemaOf(ORGANIZATION_BODY, ['organization_alias']),
    ref('Organization'),
  ),
  {
    route: 'GET /organization/info',
    tag: 'organizations',
    summary: 'One with its teams.',
    query: [needed(parameter('organization_id', 'Its id.'))],
    answers: json(ref('Organization')),
    codes: ['invalid_fields', ...FINDS],
  },
  {
    route: 'POST /organization/info',
    tag: 'organizations',
    summary: 'Those of some ids that exist.',
    body: schemaOf({ organizations: texts }, ['organizations']),
    answers: json(listOf(ref('Organization'))),
    codes: ['invalid_fields', 'invalid_object', 'management_denied'],
  },
  {
    route: 'GET /organization/list',
    tag: 'organizations',
    summary: 'All of them.',
    query: [
      parameter('org_id', 'The one of this id.'),
      parameter('org_alias', 'A part of the alias, in any case of letters.'),
    ],
    answers: json(listOf(ref('Organization'))),
    codes: READS,
  },
  changes(
    'organizations',
    'PATCH /organization/update',
    'Changes one.',
    schemaOf(ORGANIZATION_BODY, ['organization_id']),
    ref('Organization'),
  ),
  changes(
    'organizations',
    'DELETE /organization/delete',
    'Deletes some with their teams and keys. All of it or nothing.',
    schemaOf({ organization_ids: texts }, ['organization_ids']),
    listOf(ref('Organization')),
  ),
  {
    ...changes(
      'organizations',
      '/organization/member_add',
      'Adds one member or several. Users that do not exist are made.',
      schemaOf(ORGANIZATION_ADD_FIELDS, ['organization_id', 'member']),
      object({
        organization_id: TEXT,
        updated_users: listOf(ANY_OBJECT),
        updated_organization_memberships: listOf(MEMBERSHIP),
      }),
    ),
    codes: [...CHANGES, 'object_exists'],
  },
  changes(
    'organizations',
    'PATCH /organization/member_update',
    'Another role for a member; roles in an organization open nothing.',
    schemaOf(ORGANIZATION_UPDATE_FIELDS, ['organization_id']),
    MEMBERSHIP,
  ),
  changes(
    'organizations',
    'DELETE /organization/member_delete',
    'Removes a member; its keys stay.',
    schemaOf(ORGANIZATION_REMOVE_FIELDS, ['organization_id']),
    MEMBERSHIP,
  ),
];
