// The routes of teams, customers, budgets, organizations, access groups and tags.
import {
  accessGroupInfo,
  accessGroupList,
  deleteAccessGroup,
  newAccessGroup,
  updateAccessGroup,
} from './access-groups.ts';
import { budgetInfo, budgetList, budgetSettings, deleteBudget, newBudget, updateBudget } from './budgets.ts';
import { adminChanges, changes, reads, readsBody, type CallRow } from './call-row.ts';
import {
  blockCustomers,
  customerInfo,
  customerList,
  deleteCustomers,
  newCustomer,
  unblockCustomers,
  updateCustomer,
} from './customers.ts';
import {
  addOrganizationMembers,
  removeOrganizationMember,
  updateOrganizationMember,
} from './organization-members.ts';
import {
  deleteOrganizations,
  newOrganization,
  organizationInfo,
  organizationList,
  organizationsInfo,
  updateOrganization,
} from './organizations.ts';
import {
  addTeamModels,
  blockTeam,
  deleteTeams,
  newTeam,
  removeTeamModels,
  updateTeam,
} from './teams-change.ts';
import { deleteTag, newTag, tagInfo, tagList, updateTag } from './tags.ts';
import { addMembers, removeMember, updateMember } from './teams-members.ts';
import { listPermissions, updatePermissions } from './teams-permissions.ts';
import { availableTeams, teamInfo, teamList, teamPage } from './teams-read.ts';

/** Both names of the same thing. */
const customerRoutes = (base: string): readonly CallRow[] => [
  reads(`${base}/info`, customerInfo),
  reads(`${base}/list`, customerList),
  adminChanges('customer_new', `${base}/new`, newCustomer),
  adminChanges('customer_update', `${base}/update`, updateCustomer),
  adminChanges('customer_delete', `${base}/delete`, deleteCustomers),
  adminChanges('customer_block', `${base}/block`, blockCustomers),
  adminChanges('customer_unblock', `${base}/unblock`, unblockCustomers),
];

/** One way in that other clients use. */
const by = (method: CallRow['method'], row: CallRow): CallRow => ({ ...row, method });

const updatesOrganization = adminChanges('organization_update', '/organization/update', updateOrganization);
const deletesOrganizations = adminChanges('organization_delete', '/organization/delete', deleteOrganizations);

export const TEAM_ROUTES: readonly CallRow[] = [
  reads('/team/info', teamInfo),
  reads('/team/list', teamList),
  reads('/v2/team/list', teamPage),
  reads('/team/available', availableTeams),
  adminChanges('team_new', '/team/new', newTeam),
  changes('team_update', '/team/update', updateTeam),
  adminChanges('team_delete', '/team/delete', deleteTeams),
  changes('team_block', '/team/block', blockTeam(true)),
  changes('team_unblock', '/team/unblock', blockTeam(false)),
  changes('team_member_add', '/team/member_add', addMembers),
  changes('team_member_update', '/team/member_update', updateMember),
  changes('team_member_delete', '/team/member_delete', removeMember),
  changes('team_model_add', '/team/model/add', addTeamModels),
  changes('team_model_delete', '/team/model/delete', removeTeamModels),
  reads('/team/permissions_list', listPermissions),
  changes('team_permissions', '/team/permissions_update', updatePermissions),
  ...customerRoutes('/customer'),
  ...customerRoutes('/end_user'),
  adminChanges('budget_new', '/budget/new', newBudget),
  adminChanges('budget_update', '/budget/update', updateBudget),
  adminChanges('budget_delete', '/budget/delete', deleteBudget),
  reads('/budget/list', budgetList),
  reads('/budget/settings', budgetSettings),
  readsBody('/budget/info', budgetInfo, 'view'),
  adminChanges('organization_new', '/organization/new', newOrganization),
  reads('/organization/info', organizationInfo),
  readsBody('/organization/info', organizationsInfo, 'view'),
  reads('/organization/list', organizationList),
  by('PATCH', updatesOrganization),
  by('DELETE', deletesOrganizations),
  adminChanges('organization_member_add', '/organization/member_add', addOrganizationMembers),
  by(
    'PATCH',
    adminChanges('organization_member_update', '/organization/member_update', updateOrganizationMember),
  ),
  by(
    'DELETE',
    adminChanges('organization_member_delete', '/organization/member_delete', removeOrganizationMember),
  ),
  adminChanges('access_group_new', '/access_group/new', newAccessGroup),
  reads('/access_group/list', accessGroupList),
  reads('/access_group/{group}/info', accessGroupInfo),
  by('PUT', adminChanges('access_group_update', '/access_group/{group}/update', updateAccessGroup)),
  adminChanges('tag_new', '/tag/new', newTag),
  adminChanges('tag_update', '/tag/update', updateTag),
  adminChanges('tag_delete', '/tag/delete', deleteTag),
  readsBody('/tag/info', tagInfo, 'view'),
  reads('/tag/list', tagList),
  by('DELETE', adminChanges('access_group_delete', '/access_group/{group}/delete', deleteAccessGroup)),
];
