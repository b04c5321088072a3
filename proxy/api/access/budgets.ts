// Budgets that several objects share: `/budget/new`, `/budget/update`, `/budget/info`, `/budget/list`, `/budget/delete` and
// `/budget/settings`.
import { randomUUID } from 'node:crypto';
import { demand } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { NO_BUDGET, NO_LIMITS, type Budget } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { jsonList, type JsonText } from '../json-pieces.ts';
import { createObject, readableDirectory, updateObject } from './admin-objects.ts';
import { id, readFields, texts, type Fields } from './fields.ts';
import { BUDGET_FIELDS, LIMIT_FIELDS, MODEL_LIMIT_FIELDS } from './term-fields.ts';
import { byId } from './order.ts';
import { neededParameter } from './query.ts';
import { notFound, Refusal } from './refusals.ts';
import { budgetRow, type Row } from './rows.ts';
import {
  authorOf,
  newObject,
  put,
  remove,
  rowContextOf,
  store,
  storeRest,
  synced,
  touched,
  type Author,
  type Call,
} from './management-call.ts';
import { budgetFrom, limitsFrom } from './terms.ts';

export const BUDGET_BODY = {
  ...BUDGET_FIELDS,
  ...LIMIT_FIELDS,
  ...MODEL_LIMIT_FIELDS,
  budget_id: id,
};
type BudgetFields = Fields<typeof BUDGET_BODY>;

/** Errors of these routes are `{"detail": {"error": ...}}`. */
const RAW = { raw: true } as const;
/** Names of users of a budget that a refusal lists. */
const MOST_LISTED = 10;

/** `POST /budget/new`. */
export async function newBudget(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), BUDGET_BODY);
  const budgetId = fields.budget_id ?? randomUUID();
  const author = authorOf(call);
  const budget = await createObject(call, 'budget', budgetId, (directory) => {
    if (directory.budget(budgetId) !== null)
      throw new Refusal('object_exists', `Budget with id '${budgetId}' already exists.`, {
        ...RAW,
        param: 'budget_id',
      });
    return withTerms(emptyBudget(budgetId, author), fields, author);
  });
  return budgetRow(budget, rowContextOf(call));
}

/** `POST /budget/update`. It counts at once for all that share it. */
export async function updateBudget(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), BUDGET_BODY, ['budget_id']);
  const author = authorOf(call);
  const budget = await updateObject(
    call,
    (directory) => existing(directory, fields.budget_id ?? ''),
    (before) => withTerms(before, fields, author),
  );
  return budgetRow(budget, rowContextOf(call));
}

/** `POST /budget/info` with `{budgets: [ids]}`; unknown ones are left out. */
export async function budgetInfo(call: Call): Promise<readonly Row[]> {
  const { budgets } = readFields(await readObject(call.x), { budgets: texts }, ['budgets']);
  const directory = readableDirectory(call);
  if ((budgets ?? []).length === 0)
    throw new Refusal('invalid_object', `Specify list of budget id's to query. Passed in=[]`, RAW);
  return (budgets ?? [])
    .flatMap((budgetId) => directory.budget(budgetId) ?? [])
    .map((budget) => budgetRow(budget, rowContextOf(call)));
}

/** `GET /budget/list`. */
export function budgetList(call: Call): Promise<JsonText> {
  const directory = readableDirectory(call);
  const context = rowContextOf(call);
  const inOrder = [...directory.all('budget')].toSorted((a, b) => a.createdMs - b.createdMs || byId(a, b));
  return jsonList(inOrder, (budget) => budgetRow(budget, context));
}

/**
 * `POST /budget/delete` with `{id}`. What is in use stays: its users would be without a cap. So it is marked first, and goes when
 * nothing has been given it until then; a process that ends in between leaves the mark, for the next deletion or change.
 */
export async function deleteBudget(call: Call): Promise<Row> {
  const { id: budgetId } = readFields(await readObject(call.x), { id }, ['id']);
  const found = await store(call, (directory) => {
    const result = deleted(call, budgetId ?? '', directory);
    const isBeingDeleted = result.users.length === 0;
    const isMarked = result.before.isBeingDeleted === isBeingDeleted;
    return { changes: isMarked ? [] : [put({ ...result.before, isBeingDeleted })], result };
  });
  if (found.users.length > 0) throw inUse(found.before.id, found.users);
  await synced(call); // before they were told, other processes may have given it to something
  const { before, users } = await storeRest(call, (directory) => {
    const result = deleted(call, budgetId ?? '', directory);
    const isMarked = result.before.isBeingDeleted;
    if (result.users.length > 0)
      return { changes: isMarked ? [put({ ...result.before, isBeingDeleted: false })] : [], result };
    if (!isMarked) throw changedMeanwhile(result.before.id);
    return { changes: [remove(result.before)], result };
  });
  if (users.length > 0) throw inUse(before.id, users);
  return budgetRow(before, rowContextOf(call));
}

/** A budget that is to be deleted, and what uses it. @throws Fault management_denied, Refusal object_not_found */
function deleted(
  call: Call,
  budgetId: string,
  directory: AccessDirectory,
): { readonly before: Budget; readonly users: readonly string[] } {
  demand(call.caller, directory, 'other.write', null);
  const before = existing(directory, budgetId);
  call.concerns({ kind: 'budget', id: before.id, before, after: null });
  return { before, users: usersOf(before.id, directory) };
}

/** `GET /budget/settings?budget_id=`: what a budget can state, and what this one does. */
export function budgetSettings(call: Call): readonly Row[] {
  const directory = readableDirectory(call);
  const budgetId = neededParameter(call.query, 'budget_id');
  const row = budgetRow(existing(directory, budgetId), rowContextOf(call));
  return SETTINGS.map(([name, type, description]) => ({
    field_name: name,
    field_type: type,
    field_description: description,
    field_value: row[name] ?? null,
    stored_in_db: true,
    field_default_value: null,
    premium_field: false,
  }));
}

const SETTINGS = [
  ['max_budget', 'Float', 'What may be spent, US dollars. Calls are refused above it.'],
  ['soft_budget', 'Float', 'An alert at this amount, US dollars. No call is refused.'],
  ['budget_duration', 'String', 'When it starts again: 30s, 30m, 12h, 7d, 1mo.'],
  ['max_parallel_requests', 'Integer', 'Calls at the same time.'],
  ['tpm_limit', 'Integer', 'Tokens a minute.'],
  ['rpm_limit', 'Integer', 'Calls a minute.'],
  ['model_max_budget', 'Object', 'Caps by model: {model: {budget_limit, time_period}}.'],
] as const;

/** A budget without terms. */
const emptyBudget = (budgetId: string, author: Author): Budget => ({
  ...newObject(author),
  kind: 'budget',
  id: budgetId,
  isBeingDeleted: false,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
});

function withTerms(before: Budget, fields: BudgetFields, author: Author): Budget {
  const { model_rpm_limit, model_tpm_limit } = fields;
  const byModel = {
    model_rpm_limit: model_rpm_limit === undefined ? before.limits.modelRpm : model_rpm_limit,
    model_tpm_limit: model_tpm_limit === undefined ? before.limits.modelTpm : model_tpm_limit,
  };
  return {
    ...before,
    isBeingDeleted: false,
    budget: budgetFrom(fields, before.budget, author.nowMs),
    limits: limitsFrom(fields, before.limits, byModel),
    ...touched(author),
  };
}

function existing(directory: AccessDirectory, budgetId: string): Budget {
  const budget = directory.budget(budgetId);
  if (budget === null)
    throw notFound(`Budget with id '${budgetId}' does not exist.`, { ...RAW, param: 'budget_id' });
  return budget;
}

/** Everything that shares a budget, in words. */
function usersOf(budgetId: string, directory: AccessDirectory): readonly string[] {
  const has = (one: { readonly budgetId: string | null }): boolean => one.budgetId === budgetId;
  return [
    ...[...directory.all('key')].filter(has).map((key) => `key ${key.alias ?? key.name}`),
    ...[...directory.all('user')].filter(has).map((user) => `user ${user.id}`),
    ...[...directory.all('customer')].filter(has).map((customer) => `customer ${customer.id}`),
    ...[...directory.all('organization')].filter(has).map((one) => `organization ${one.id}`),
    ...[...directory.all('tag')].filter(has).map((tag) => `tag ${tag.id}`),
    ...[...directory.all('team')].flatMap((team) => [
      ...(team.memberBudgetId === budgetId ? [`members of team ${team.id}`] : []),
      ...team.members.filter(has).map(({ userId }) => `member ${userId} of team ${team.id}`),
    ]),
  ];
}

const changedMeanwhile = (budgetId: string): Refusal =>
  new Refusal('object_conflict', `Budget with id '${budgetId}' was changed by others at the same time.`, RAW);

function inUse(budgetId: string, users: readonly string[]): Refusal {
  const listed = users.slice(0, MOST_LISTED).join(', ');
  const more = users.length > MOST_LISTED ? ` and ${users.length - MOST_LISTED} more` : '';
  return new Refusal(
    'object_in_use',
    `Budget with id '${budgetId}' is in use by ${listed}${more}; give them another budget first.`,
    RAW,
  );
}
