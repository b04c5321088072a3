// Tags that somebody has stated: `/tag/new`, `/tag/info`, `/tag/list`, `/tag/update`, `/tag/delete`. A tag that nobody has stated is
// counted as well; stated, it may have a budget and limits. `models` are refused: nothing enforces them, as tags choose no deployment
// here (LiteLLM's `enable_tag_filtering`). Those that were stored before that are shown, and may be emptied.
import { isDeepStrictEqual } from 'node:util';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { NO_BUDGET, NO_LIMITS, type Tag } from '../../access/objects/objects.ts';
import type { Activity } from '../../spend/store/store.ts';
import { readObject } from '../json-body.ts';
import { days, groupsOf } from '../spend-query.ts';
import { createObject, readableDirectory, removeObjects, updateObject } from './admin-objects.ts';
import { anything, id, readFields, text, texts, type Fields } from './fields.ts';
import { BUDGET_FIELDS, LIMIT_FIELDS } from './term-fields.ts';
import { byId } from './order.ts';
import { invalid, notFound, Refusal } from './refusals.ts';
import { budgetTable, isoOf, ownTable, type Row } from './rows.ts';
import { authorOf, newObject, rowContextOf, touched, type Author, type Call } from './management-call.ts';
import { budgetFrom, changed, changedTo, checkShared, limitsFrom } from './terms.ts';

export const TAG_BODY = {
  ...BUDGET_FIELDS,
  ...LIMIT_FIELDS,
  name: id,
  description: text,
  models: texts,
  model_info: anything,
  budget_id: id,
};
type TagFields = Fields<typeof TAG_BODY>;

/** LiteLLM's sentence about tags that calls carry and nobody has stated. */
const DYNAMIC =
  'This is just a spend tag that was passed dynamically in a request. It does not control any LLM models.';

/** `POST /tag/new`. */
export async function newTag(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), TAG_BODY, ['name']);
  const name = nameIn(fields);
  const author = authorOf(call);
  const tag = await createObject(call, 'tag', name, (directory) => {
    if (directory.tag(name) !== null)
      throw new Refusal('object_exists', `Tag ${name} already exists`, { param: 'name' });
    return tagFrom(fields, emptyTag(name, author), directory, author);
  });
  return { message: `Tag ${name} created successfully`, tag: tagRow(call, tag) };
}

/** `POST /tag/update`. What is not sent stays; LiteLLM empties `description` and `models` then. */
export async function updateTag(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), TAG_BODY, ['name']);
  const name = nameIn(fields);
  const author = authorOf(call);
  const tag = await updateObject(
    call,
    (directory) => existing(directory, name),
    (before, directory) => tagFrom(fields, before, directory, author),
  );
  return { message: `Tag ${name} updated successfully`, tag: tagRow(call, tag) };
}

/** `POST /tag/info` with `{names}`: all of them or none. */
export async function tagInfo(call: Call): Promise<Row> {
  const { names } = readFields(await readObject(call.x), { names: texts }, ['names']);
  const directory = readableDirectory(call);
  const wanted = [...new Set(names ?? [])];
  const missing = wanted.filter((name) => directory.tag(name) === null);
  if (missing.length > 0)
    throw notFound(`Tags not found: [${missing.map((name) => `'${name}'`).join(', ')}]`, { param: 'names' });
  const rows = wanted.flatMap((name) => directory.tag(name) ?? []).map((tag) => withBudget(call, tag));
  return Object.fromEntries(rows.map((row) => [row['name'], row]));
}

/** `GET /tag/list`, with `start_date` and `end_date` for the tags that nobody has stated. */
export async function tagList(call: Call): Promise<readonly Row[]> {
  const directory = readableDirectory(call);
  const isPart = call.query.has('start_date') !== call.query.has('end_date');
  if (isPart) throw invalid('start_date and end_date must be provided together', 'start_date');
  const used = Map.groupBy(
    await groupsOf(call.x, days(call.query, false), ['tag', 'day']),
    ({ group }) => group.tag ?? '',
  );
  const stated = [...directory.all('tag')].toSorted(byId);
  const others = [...used.keys()].filter((name) => name !== '' && directory.tag(name) === null).sort();
  return [
    ...stated.map((tag) => withBudget(call, tag)),
    ...others.map((name) => dynamicRow(name, used.get(name) ?? [])),
  ];
}

/** `POST /tag/delete` with `{name}`: it is counted on, as a tag that nobody has stated. */
export async function deleteTag(call: Call): Promise<Row> {
  const name = nameIn(readFields(await readObject(call.x), { name: id }, ['name']));
  await removeObjects(call, (directory) => [existing(directory, name)]);
  return { message: `Tag ${name} deleted successfully` };
}

function nameIn({ name }: Pick<TagFields, 'name'>): string {
  if ((name ?? '') === '') throw invalid('name is empty: it names the tag.', 'name');
  return name ?? '';
}

const emptyTag = (name: string, author: Author): Tag => ({
  ...newObject(author),
  kind: 'tag',
  id: name,
  description: null,
  models: [],
  budgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
});

function tagFrom(fields: TagFields, before: Tag, directory: AccessDirectory, author: Author): Tag {
  const budgetId = changed(fields.budget_id, before.budgetId);
  checkShared(budgetId, before, directory);
  return {
    ...before,
    description: changed(fields.description, before.description),
    models: modelsFrom(fields, before),
    budgetId,
    budget: budgetFrom(fields, before.budget, author.nowMs),
    limits: limitsFrom(fields, before.limits, {}),
    ...touched(author),
  };
}

function modelsFrom(fields: TagFields, before: Tag): readonly string[] {
  const models = changedTo(fields.models, before.models, []);
  if (models.length === 0 || isDeepStrictEqual(models, before.models)) return models;
  throw invalid(
    'models of a tag would limit nothing: tags choose no deployment here, as enable_tag_filtering is not supported. ' +
      'Leave models out, and state them at the key, the team or the user that may call them.',
    'models',
  );
}

function existing(directory: AccessDirectory, name: string): Tag {
  const tag = directory.tag(name);
  if (tag === null) throw notFound(`Tag ${name} not found`, { param: 'name' });
  return tag;
}

function tagRow({ x }: Call, tag: Tag): Row {
  const named = tag.models.flatMap((model) => {
    const name = x.active.deployments.get(model)?.config.group;
    return name === undefined ? [] : [[model, name] as const];
  });
  return {
    name: tag.id,
    description: tag.description,
    models: tag.models,
    model_info: Object.fromEntries(named),
    created_at: isoOf(tag.createdMs),
    updated_at: isoOf(tag.updatedMs),
    created_by: tag.createdBy,
  };
}

function withBudget(call: Call, tag: Tag): Row {
  const context = rowContextOf(call);
  const table = ownTable(tag, context) ?? budgetTable(tag.budgetId, null, context);
  return { ...tagRow(call, tag), ...(table === null ? {} : { [`${context.brand}_budget_table`]: table }) };
}

function dynamicRow(name: string, used: readonly Activity[]): Row {
  const on = used.map(({ group }) => group.day ?? '').sort();
  return {
    name,
    description: DYNAMIC,
    models: null,
    created_at: `${on[0]}T00:00:00+00:00`,
    updated_at: `${on.at(-1)}T00:00:00+00:00`,
  };
}
