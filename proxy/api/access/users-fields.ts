// The members of the bodies of calls about users, and what a user is after one of them.
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { User } from '../../access/objects/objects.ts';
import { id, money, oneOf, type Fields, isSet } from './fields.ts';
import { BUDGET_FIELDS, LIMIT_FIELDS, METADATA_FIELDS } from './term-fields.ts';
import { modelNames } from './model-lists.ts';
import { KEPT_OF_USERS } from './kept-fields.ts';
import { Refusal } from './refusals.ts';
import { touched, type Author } from './management-call.ts';
import { emailLock } from './teams-join.ts';
import {
  budgetFrom,
  changed,
  changedTo,
  checkShared,
  keptFrom,
  limitsFrom,
  metadataFrom,
  withSpend,
} from './terms.ts';

export const USER_ROLES = [
  'proxy_admin',
  'proxy_admin_viewer',
  'internal_user',
  'internal_user_viewer',
] as const;

export const USER_FIELDS = {
  ...BUDGET_FIELDS,
  ...LIMIT_FIELDS,
  ...METADATA_FIELDS,
  ...KEPT_OF_USERS,
  user_id: id,
  user_email: id,
  user_alias: id,
  user_role: oneOf(USER_ROLES),
  models: modelNames,
  budget_id: id,
  spend: money,
};
export type UserFields = Fields<typeof USER_FIELDS>;

/** The lock of the address that a call states. */
export const emailName = ({ user_email: email }: UserFields): string | null =>
  !isSet(email) ? null : emailLock(email);

/** A user after a body: absent members stay, null clears. @throws Refusal */
export function userFrom(fields: UserFields, before: User, directory: AccessDirectory, author: Author): User {
  const metadata = metadataFrom(fields, before.metadata);
  const terms = budgetFrom(fields, before.budget, author.nowMs);
  const user: User = {
    ...before,
    alias: changed(fields.user_alias, before.alias),
    email: changed(fields.user_email, before.email),
    role: changedTo(fields.user_role, before.role, 'internal_user'),
    models: changedTo(fields.models, before.models, []),
    budgetId: changed(fields.budget_id, before.budgetId),
    budget: !isSet(fields.spend) ? terms : withSpend(terms, fields.spend, author.nowMs),
    limits: limitsFrom(fields, before.limits, metadata),
    metadata,
    kept: keptFrom(fields, KEPT_OF_USERS, before.kept),
    ...touched(author),
  };
  checkShared(user.budgetId, before, directory);
  refuseTakenEmail(user, before, directory);
  return user;
}

/** Addresses are compared without case. */
function refuseTakenEmail(user: User, before: User, directory: AccessDirectory): void {
  if (user.email === null || user.email === before.email) return;
  const holder = directory.userByEmail(user.email);
  if (holder === null || holder.id === user.id) return;
  throw new Refusal('object_taken', `User with email ${user.email} already exists`, { param: 'user_email' });
}
