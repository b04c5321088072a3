// Names for several models, which keys and teams may state in `models`: those of deployments (`model_info.access_groups`), and
// those that are made here: `/access_group/new`, `/access_group/list`, `/access_group/{group}/info`, `/update`, `/delete`.
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { AccessGroup } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { createObject, readableDirectory, removeObjects, updateObject } from './admin-objects.ts';
import { id, readFields, texts, type Fields } from './fields.ts';
import { modelNames } from './model-lists.ts';
import { invalid, notFound, Refusal } from './refusals.ts';
import type { Row } from './rows.ts';
import { authorOf, directoryOf, newObject, touched, type Call } from './management-call.ts';

export const ACCESS_GROUP_BODY = { access_group: id, model_names: modelNames, model_ids: texts };

/** `POST /access_group/new` with `{access_group, model_names or model_ids}`. */
export async function newAccessGroup(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), ACCESS_GROUP_BODY, ['access_group']);
  const name = fields.access_group ?? '';
  if (name === '') throw invalid('access_group is required', 'access_group');
  const { groups, snapshot } = call.x.active;
  if (groups.has(name) || snapshot.routing.aliases.has(name))
    throw invalid(
      `'${name}' is the name of a model: keys that list it would be given the models of the group. Choose another name.`,
      'access_group',
    );
  const author = authorOf(call);
  const made = await createObject<AccessGroup>(call, 'access_group', name, (directory) => {
    if (directory.accessGroup(name) !== null || statedGroups(call).has(name))
      throw new Refusal('object_exists', `Access group '${name}' already exists.`, { param: 'access_group' });
    return { ...newObject(author), kind: 'access_group', id: name, models: modelsOf(call, fields) };
  });
  return changeRow(call, made);
}

/** `GET /access_group/list`. */
export function accessGroupList(call: Call): Row {
  const directory = readableDirectory(call);
  const stored = [...directory.all('access_group')].map(({ id: name }) => name);
  const names = [...new Set([...statedGroups(call).keys(), ...stored])].toSorted();
  return { access_groups: names.map((name) => groupRow(call, name)) };
}

/** `GET /access_group/{group}/info`. */
export function accessGroupInfo(call: Call): Row {
  const directory = readableDirectory(call);
  if (directory.accessGroup(call.param) === null && !statedGroups(call).has(call.param))
    throw unknown(call.param);
  return groupRow(call, call.param);
}

/** `PUT /access_group/{group}/update`: another list in place of the one before. */
export async function updateAccessGroup(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), ACCESS_GROUP_BODY);
  const group = await updateObject(
    call,
    (directory) => existing(call, directory),
    (before) => ({ ...before, models: modelsOf(call, fields), ...touched(authorOf(call)) }),
  );
  return changeRow(call, group);
}

/** `DELETE /access_group/{group}/delete`. Keys that name it may then call what else they name: with nothing else, nothing. */
export async function deleteAccessGroup(call: Call): Promise<Row> {
  const [group] = await removeObjects(call, (directory) => [existing(call, directory)]);
  return {
    access_group: call.param,
    models_updated: group?.models.length ?? 0,
    message: `Access group '${call.param}' deleted successfully`,
  };
}

/** Groups that deployments state, with the requested names of each. */
function statedGroups({ x }: Call): ReadonlyMap<string, ReadonlySet<string>> {
  const groups = new Map<string, Set<string>>();
  for (const { group, statedInfo } of x.active.snapshot.deployments) {
    const stated = statedInfo['access_groups'];
    if (!Array.isArray(stated)) continue;
    for (const name of stated) {
      if (typeof name !== 'string') continue;
      const names = groups.get(name);
      if (names === undefined) groups.set(name, new Set([group]));
      else names.add(group);
    }
  }
  return groups;
}

function modelsOf(
  { x }: Call,
  { model_names, model_ids }: Fields<typeof ACCESS_GROUP_BODY>,
): readonly string[] {
  if ((model_names ?? model_ids ?? []).length === 0)
    throw invalid('model_names or model_ids is required, with at least one model', 'model_names');
  const byId = (model_ids ?? []).map((one) => {
    const group = x.active.deployments.get(one)?.config.group;
    if (group === undefined) throw notFound(`Model id(s) not found: ${one}`, { param: 'model_ids' });
    return group;
  });
  const known = (name: string): boolean =>
    x.active.groups.has(name) || x.active.snapshot.wildcards.some(({ pattern }) => pattern === name);
  const missing = (model_names ?? []).filter((name) => !known(name));
  if (missing.length > 0)
    throw notFound(`Model(s) not found: ${missing.join(', ')}`, { param: 'model_names' });
  return [...new Set([...(model_names ?? []), ...byId])];
}

function existing(call: Call, directory: AccessDirectory): AccessGroup {
  const group = directory.accessGroup(call.param);
  if (group !== null) return group;
  if (statedGroups(call).has(call.param))
    throw invalid(
      `Access group '${call.param}' is stated by deployments (model_info.access_groups); change them instead.`,
      'access_group',
    );
  throw unknown(call.param);
}

const unknown = (name: string): Refusal =>
  notFound(`Access group '${name}' not found`, { param: 'access_group' });

/** A group with all its models, wherever they are stated. */
function groupRow(call: Call, name: string): Row {
  const stored = directoryOf(call).accessGroup(name);
  const names = [...new Set([...(statedGroups(call).get(name) ?? []), ...(stored?.models ?? [])])];
  const { deployments } = call.x.active.snapshot;
  return {
    access_group: name,
    model_names: names,
    deployment_count: deployments.filter(({ group }) => names.includes(group)).length,
  };
}

function changeRow(call: Call, group: AccessGroup): Row {
  const { deployments } = call.x.active.snapshot;
  const ids = deployments.filter((one) => group.models.includes(one.group)).map((one) => one.id);
  return {
    access_group: group.id,
    model_names: group.models,
    model_ids: ids,
    models_updated: ids.length,
  };
}
