// Organizations, which own teams: `/organization/new`, `/organization/info`, `/organization/list`, `/organization/update`,
// `/organization/delete`. Their members stand in organization-members.ts.
import { randomUUID } from 'node:crypto';
import { demand } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { NO_BUDGET, NO_LIMITS, type Organization } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { createObject, readableDirectory, updateObject } from './admin-objects.ts';
import { id, isSet, readFields, text, texts, type Fields } from './fields.ts';
import { BUDGET_FIELDS, LIMIT_FIELDS, METADATA_FIELDS } from './term-fields.ts';
import { modelNames } from './model-lists.ts';
import { byId } from './order.ts';
import { isPart, neededParameter, parameter } from './query.ts';
import { removeLateKeysOfTeams } from './owners.ts';
import { invalid, notFound, Refusal } from './refusals.ts';
import {
  budgetTable,
  isoOf,
  limitMembers,
  makerMembers,
  organizationMemberRow,
  originMembers,
  tableMembers,
  termsTable,
  type Row,
  type RowContext,
} from './rows.ts';
import { spentUsd } from './spent.ts';
import {
  audited,
  authorOf,
  directoryOf,
  newObject,
  remove,
  rowContextOf,
  store,
  storeRest,
  synced,
  touched,
  type Author,
  type Call,
  type Prepared,
} from './management-call.ts';
import { teamRows } from './teams-read.ts';
import { checkShared, budgetFrom, changed, changedTo, limitsFrom, metadataFrom, withSpend } from './terms.ts';

export const ORGANIZATION_BODY = {
  ...BUDGET_FIELDS,
  ...LIMIT_FIELDS,
  ...METADATA_FIELDS,
  organization_id: id,
  organization_alias: text,
  models: modelNames,
  budget_id: id,
};

/** `POST /organization/new`. */
export async function newOrganization(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), ORGANIZATION_BODY, ['organization_alias']);
  const organizationId = fields.organization_id ?? randomUUID();
  const author = authorOf(call);
  const made = await createObject(call, 'organization', organizationId, (directory) => {
    if (directory.organization(organizationId) !== null)
      throw new Refusal('object_exists', `Organization with id=${organizationId} already exists.`, {
        param: 'organization_id',
      });
    const organization = organizationFrom(
      fields,
      emptyOrganization(organizationId, author),
      directory,
      author,
    );
    if (!isSet(fields.organization_id)) return organization;
    // Rows of an earlier organization of this id are not its own.
    return { ...organization, budget: withSpend(organization.budget, 0, author.nowMs) };
  });
  return rowOf(call, made);
}

/** `GET /organization/info?organization_id=`, with its teams. */
export async function organizationInfo(call: Call): Promise<Row> {
  const directory = readableDirectory(call);
  const organizationId = neededParameter(call.query, 'organization_id');
  return rowOf(call, existingOrganization(directory, organizationId));
}

/** `POST /organization/info` with `{organizations: [id]}`, which LiteLLM's own Terraform provider reads them by: those that exist. */
export async function organizationsInfo(call: Call): Promise<readonly Row[]> {
  const { organizations } = readFields(await readObject(call.x), { organizations: texts }, ['organizations']);
  const directory = readableDirectory(call);
  const ids = [...new Set(organizations)];
  if (ids.length === 0) throw invalid('organizations is empty.', 'organizations');
  return rowsOf(
    call,
    ids.flatMap((one) => directory.organization(one) ?? []),
  );
}

/** `GET /organization/list`; `org_id`, or a part of the alias as `org_alias`. */
export async function organizationList(call: Call): Promise<readonly Row[]> {
  const directory = readableDirectory(call);
  const named = parameter(call.query, 'org_id');
  const part = parameter(call.query, 'org_alias');
  const all = [...directory.all('organization')].filter(
    ({ id: organizationId, alias }) =>
      (named === null || organizationId === named) && (part === null || isPart(alias, part)),
  );
  return rowsOf(call, all.toSorted(byId));
}

/** `PATCH /organization/update`. */
export async function updateOrganization(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), ORGANIZATION_BODY, ['organization_id']);
  const author = authorOf(call);
  const updated = await updateObject(
    call,
    (directory) => existingOrganization(directory, fields.organization_id ?? ''),
    (before, directory) => organizationFrom(fields, before, directory, author),
  );
  return rowOf(call, updated);
}

/** `DELETE /organization/delete` with `{organization_ids}`: with its teams and all their keys; all of it or nothing. */
export async function deleteOrganizations(call: Call): Promise<readonly Row[]> {
  const fields = readFields(await readObject(call.x), { organization_ids: texts }, ['organization_ids']);
  const ids = [...new Set(fields.organization_ids ?? [])];
  if (ids.length === 0) throw invalid('organization_ids is empty.', 'organization_ids');
  const before = await rowsOf(
    call,
    ids.flatMap((one) => directoryOf(call).organization(one) ?? []),
  );
  const teamIds = await store(call, (directory) => {
    demand(call.caller, directory, 'other.write', null);
    const organizations = ids.map((one) => existingOrganization(directory, one));
    return leftBy(call, organizations, ids, directory);
  });
  await synced(call); // another process may have given them keys and teams meanwhile
  const lateIds = await storeRest(call, (directory) => {
    const gone = ids.filter((one) => directory.organization(one) === null);
    return leftBy(call, [], gone, directory);
  });
  await removeLateKeysOfTeams(call, [...teamIds, ...lateIds]);
  return before;
}

/** What goes with organizations: their teams, and all keys of both. @param also goes as well @return the teams' ids */
function leftBy(
  call: Call,
  also: readonly Organization[],
  ids: readonly string[],
  directory: AccessDirectory,
): Prepared<readonly string[]> {
  const gone = new Set<string | null>(ids);
  const teams = [...directory.all('team')].filter(({ organizationId }) => gone.has(organizationId));
  const teamIds = new Set<string | null>(teams.map((team) => team.id));
  const keys = [...directory.all('key')].filter(
    ({ organizationId, teamId }) => gone.has(organizationId) || teamIds.has(teamId),
  );
  const changes = [...also, ...teams, ...keys].map(remove);
  return { changes: audited(call, directory, changes), result: teams.map((team) => team.id) };
}

const emptyOrganization = (organizationId: string, author: Author): Organization => ({
  ...newObject(author),
  kind: 'organization',
  id: organizationId,
  alias: null,
  models: [],
  members: [],
  budgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
});

function organizationFrom(
  fields: Fields<typeof ORGANIZATION_BODY>,
  before: Organization,
  directory: AccessDirectory,
  author: Author,
): Organization {
  const budgetId = changed(fields.budget_id, before.budgetId);
  checkShared(budgetId, before, directory);
  const metadata = metadataFrom(fields, before.metadata);
  return {
    ...before,
    alias: changed(fields.organization_alias, before.alias),
    models: changedTo(fields.models, before.models, []),
    budgetId,
    budget: budgetFrom(fields, before.budget, author.nowMs),
    limits: limitsFrom(fields, before.limits, metadata),
    metadata,
    ...touched(author),
  };
}

/** @throws Refusal 404 */
export function existingOrganization(directory: AccessDirectory, organizationId: string): Organization {
  const found = directory.organization(organizationId);
  if (found === null)
    throw notFound(`Organization not found, passed organization_id=${organizationId}`, {
      param: 'organization_id',
    });
  return found;
}

async function rowOf(call: Call, organization: Organization): Promise<Row> {
  const [row] = await rowsOf(call, [organization]);
  return row ?? {};
}

async function rowsOf(call: Call, organizations: readonly Organization[]): Promise<readonly Row[]> {
  const context = rowContextOf(call);
  const spent = await spentUsd(
    call.x,
    organizations.map((one) => ({ kind: 'organization', id: one.id })),
  );
  const all = [...directoryOf(call).all('team')];
  const rows: Row[] = [];
  for (const [at, one] of organizations.entries()) {
    rows.push({
      organization_id: one.id,
      organization_alias: one.alias,
      budget_id: one.budgetId ?? '', // clients of fixed types ask for a text; sent back, it is none
      spend: spent[at] ?? 0,
      metadata: one.metadata,
      models: one.models,
      model_spend: {},
      ...tableMembers(one.budget, context),
      ...limitMembers(one.limits),
      [`${context.brand}_budget_table`]:
        budgetTable(one.budgetId, null, context) ?? termsTableOf(one, context),
      members: one.members.map((member) => ({
        ...organizationMemberRow(one, member),
        user_email: directoryOf(call).user(member.userId)?.email ?? null,
      })),
      teams: await teamRows(
        call,
        all.filter(({ organizationId }) => organizationId === one.id),
      ),
      object_permission: null,
      ...originMembers(one),
      ...makerMembers(one),
    });
  }
  return rows;
}

/** LiteLLM makes a budget with every organization, of nothing too: clients read members of it without asking for one. */
const termsTableOf = (one: Organization, context: RowContext): Row => ({
  ...termsTable(one, context),
  created_at: isoOf(one.createdMs),
});
