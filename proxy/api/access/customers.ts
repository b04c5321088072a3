// End users of a caller's own product, whom calls name in `user`: `/customer/*`, and the same as `/end_user/*`.
import { demand } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { NO_BUDGET, NO_LIMITS, type Customer } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { jsonList, type JsonText } from '../json-pieces.ts';
import { sortInTurns } from '../../base/turns.ts';
import { createObject, readableDirectory, removeObjects, updateObject } from './admin-objects.ts';
import { storeNew } from './beginnings.ts';
import { bool, id, isSet, readFields, text, texts, type Fields } from './fields.ts';
import { BUDGET_FIELDS, LIMIT_FIELDS } from './term-fields.ts';
import { KEPT_OF_CUSTOMERS } from './kept-fields.ts';
import { byId } from './order.ts';
import { neededParameter } from './query.ts';
import { invalid, missingField, notFound, Refusal, wrongField } from './refusals.ts';
import { budgetTable, ownTable, type Row } from './rows.ts';
import { spentUsd } from './spent.ts';
import {
  audited,
  authorOf,
  directoryOf,
  newObject,
  put,
  rowContextOf,
  store,
  touched,
  type Author,
  type Call,
} from './management-call.ts';
import { budgetFrom, changed, changedTo, checkShared, keptFrom, limitsFrom, withoutTerms } from './terms.ts';

export const CUSTOMER_BODY = {
  ...BUDGET_FIELDS,
  ...LIMIT_FIELDS,
  user_id: id,
  alias: text,
  blocked: bool,
  budget_id: id,
  ...KEPT_OF_CUSTOMERS,
};
type CustomerFields = Fields<typeof CUSTOMER_BODY>;

/** `POST /customer/new`. */
export async function newCustomer(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), CUSTOMER_BODY, ['user_id']);
  const userId = fields.user_id ?? '';
  if (userId === '') throw missingField(['body', 'user_id']);
  const author = authorOf(call);
  const customer = await createObject(call, 'customer', userId, (directory) => {
    if (directory.customer(userId) !== null)
      throw new Refusal(
        'object_exists',
        `Customer already exists, passed user_id=${userId}. Please pass a new user_id.`,
        { param: 'user_id' },
      );
    return customerFrom(fields, emptyCustomer(userId, author), directory, author);
  });
  return rowOf(call, customer);
}

/** `GET /customer/info?end_user_id=`. */
export async function customerInfo(call: Call): Promise<Row> {
  const directory = readableDirectory(call);
  const userId = neededParameter(call.query, 'end_user_id');
  return rowOf(call, existing(directory, userId, 'end_user_id'));
}

/** `GET /customer/list`. */
export async function customerList(call: Call): Promise<JsonText> {
  const customers = await sortInTurns([...readableDirectory(call).all('customer')], byId);
  return jsonList(customers, await rowsFor(call, customers));
}

/** `POST /customer/update`. */
export async function updateCustomer(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), CUSTOMER_BODY, ['user_id']);
  const author = authorOf(call);
  const customer = await updateObject(
    call,
    (directory) => existing(directory, fields.user_id ?? '', 'user_id'),
    (before, directory) => customerFrom(fields, before, directory, author),
  );
  return rowOf(call, customer);
}

/** `POST /customer/delete` with `{user_ids}`: all of them or none. */
export async function deleteCustomers(call: Call): Promise<Row> {
  const ids = await userIdsOf(call);
  await removeObjects(call, (directory) => ids.map((userId) => existing(directory, userId, 'user_ids')));
  return {
    deleted_customers: ids.length,
    message: `Successfully deleted customers with ids: ${ids.join(', ')}`,
  };
}

/** `POST /customer/block` with `{user_ids}`; those that nobody has stated are made. */
export async function blockCustomers(call: Call): Promise<Row> {
  const ids = await userIdsOf(call);
  const author = authorOf(call);
  const customers = await storeNew(call, (directory) => {
    demand(call.caller, directory, 'other.write', null);
    const after = ids.map((userId) =>
      withBlock(directory.customer(userId) ?? emptyCustomer(userId, author), true, author),
    );
    return { changes: audited(call, directory, after.map(put)), result: after };
  });
  const row = await rowsFor(call, customers);
  return { blocked_users: customers.map(row) };
}

/** `POST /customer/unblock` with `{user_ids}`; answers with those that are still blocked. */
export async function unblockCustomers(call: Call): Promise<Row> {
  const ids = await userIdsOf(call);
  const author = authorOf(call);
  await store(call, (directory) => {
    demand(call.caller, directory, 'other.write', null);
    const blocked = ids.flatMap((userId) => directory.customer(userId) ?? []).filter((one) => one.blocked);
    const changes = blocked.map((one) => put(withBlock(one, false, author)));
    return { changes: audited(call, directory, changes), result: null };
  });
  const blocked = [...directoryOf(call).all('customer')].filter((one) => one.blocked);
  return { blocked_users: blocked.toSorted(byId).map((one) => one.id) };
}

async function userIdsOf(call: Call): Promise<readonly string[]> {
  const { user_ids } = readFields(await readObject(call.x), { user_ids: texts }, ['user_ids']);
  const ids = [...new Set(user_ids ?? [])];
  if (ids.length === 0) throw invalid('user_ids is empty.', 'user_ids');
  return ids;
}

const emptyCustomer = (userId: string, author: Author): Customer => ({
  ...newObject(author),
  kind: 'customer',
  id: userId,
  alias: null,
  blocked: false,
  budgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
});

const withBlock = (customer: Customer, blocked: boolean, author: Author): Customer => ({
  ...customer,
  blocked,
  ...touched(author),
});

/** A shared budget or terms of its own, not both. */
function customerFrom(
  fields: CustomerFields,
  before: Customer,
  directory: AccessDirectory,
  author: Author,
): Customer {
  const { budget_id: named, max_budget: cap } = fields;
  if (isSet(named) && isSet(cap))
    throw wrongField(['body'], 'value_error', 'Set either max_budget or budget_id, not both.');
  const budgetId = changed(named, before.budgetId);
  checkShared(budgetId, before, directory);
  return {
    ...before,
    alias: changed(fields.alias, before.alias),
    blocked: changedTo(fields.blocked, before.blocked, false),
    // Terms of its own take the place of a shared budget, and the other way round.
    budgetId: isSet(cap) ? null : budgetId,
    budget: isSet(named) ? withoutTerms(before.budget) : budgetFrom(fields, before.budget, author.nowMs),
    limits: limitsFrom(fields, before.limits, {}),
    kept: keptFrom(fields, KEPT_OF_CUSTOMERS, before.kept),
    ...touched(author),
  };
}

function existing(directory: AccessDirectory, userId: string, param: string): Customer {
  const customer = directory.customer(userId);
  if (customer === null) throw notFound(`End User Id=${userId} does not exist in db`, { param });
  return customer;
}

async function rowOf(call: Call, customer: Customer): Promise<Row> {
  const row = await rowsFor(call, [customer]);
  return row(customer, 0);
}

/** Makes the rows of these, each by its place among them. */
async function rowsFor(
  call: Call,
  customers: readonly Customer[],
): Promise<(customer: Customer, at: number) => Row> {
  const context = rowContextOf(call);
  const spent = await spentUsd(
    call.x,
    customers.map((one) => ({ kind: 'end_user', id: one.id })),
  );
  return (one, at) => ({
    allowed_model_region: null,
    default_model: null,
    ...one.kept,
    user_id: one.id,
    alias: one.alias,
    blocked: one.blocked,
    spend: spent[at] ?? 0,
    budget_id: one.budgetId,
    [`${context.brand}_budget_table`]:
      one.budgetId === null ? ownTable(one, context) : budgetTable(one.budgetId, null, context),
  });
}
