// Changing keys: `POST /key/update`, `/key/delete`, `/key/block`, `/key/unblock`, `/key/{key}/reset_spend`.
import { changesTerms, demand, isAdmin } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { VirtualKey } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { anything, readFields, text, texts, isSet } from './fields.ts';
import { KEY_FIELDS, keyFrom } from './keys-fields.ts';
import { misspelt } from './cap-names.ts';
import { aliasName, keyWarnings, refuseTakenAlias } from './keys-generate.ts';
import { checkBounds, checkGuarantees, checkMaker } from './keys-policy.ts';
import { keyRows, noNames, unknownKey } from './keys-read.ts';
import { isKeyOrDigest, keyNamed } from './keys-value.ts';
import { invalid, notFound, wrongField } from './refusals.ts';
import { isoOrNull, type Row } from './rows.ts';
import { spentUsd } from './spent.ts';
import {
  authorOf,
  directoryOf,
  nowOf,
  put,
  remove,
  rowContextOf,
  store,
  touched,
  type Call,
  type Prepared,
} from './management-call.ts';
import { checkPermission, type Permission } from './teams-permissions.ts';
import { withSpend } from './terms.ts';

export const UPDATE_FIELDS = { ...KEY_FIELDS, key: text };

/** `POST /key/update`: what is absent stays, null clears, metadata is replaced as a whole. */
export async function updateKey(call: Call): Promise<Row> {
  const body = await readObject(call.x);
  const fields = readFields(body, UPDATE_FIELDS, ['key']);
  const named = fields.key ?? '';
  const key = await call.exclusive.run(aliasName(fields), () =>
    store(call, (directory) => {
      const before = keyOrAlias(named, directory, nowOf(call));
      if (before === null) throw notFound('Key not found.', { param: 'key' });
      const after = keyFrom(fields, before, directory, authorOf(call));
      checkBounds(fields, after, call.x.active.snapshot.keyGeneration);
      return changedKey(call, before, after, directory, ['/key/update']);
    }),
  );
  const [row] = await keyRows(call, [key]);
  return {
    key: named,
    ...row,
    ...keyWarnings(call, fields, key, misspelt(body, Object.keys(UPDATE_FIELDS))),
  };
}

function keyOrAlias(named: string, directory: AccessDirectory, nowMs: number): VirtualKey | null {
  return keyNamed(named, directory, nowMs) ?? directory.keyByAlias(named);
}

/** The change of a key, once the caller may make it. @param permissions names of the call, for members of a team */
export function changedKey(
  call: Call,
  before: VirtualKey,
  after: VirtualKey,
  directory: AccessDirectory,
  permissions: readonly Permission[],
): Prepared<VirtualKey> {
  call.concerns({ kind: 'key', id: before.id, before, after });
  demand(call.caller, directory, 'key.update', { is: before, becomes: after });
  checkPermission(call, before.teamId, permissions, directory);
  if (changesTerms(before, after))
    checkMaker(call.caller, after, directory, call.x.active.snapshot.keyGeneration);
  if (after.teamId !== before.teamId) checkPermission(call, after.teamId, ['/key/generate'], directory);
  refuseTakenAlias(after, directory);
  checkGuarantees(after, directory);
  return { changes: [put(after)], result: after };
}

export const BLOCK_FIELDS = { key: text };

/** `POST /key/block`, `/key/unblock`. */
export function blockKey(blocked: boolean): (call: Call) => Promise<Row> {
  return async (call) => {
    const { key: named } = readFields(await readObject(call.x), BLOCK_FIELDS, ['key']);
    const key = await store(call, (directory) => {
      const before = validKey(named ?? '', directory, nowOf(call));
      const after = { ...before, blocked, ...touched(authorOf(call)) };
      return changedKey(call, before, after, directory, [blocked ? '/key/block' : '/key/unblock']);
    });
    const [row = {}] = await keyRows(call, [key]);
    return row;
  };
}

/** @throws Refusal 400 for what cannot be a key, 404 */
function validKey(named: string, directory: AccessDirectory, nowMs: number): VirtualKey {
  if (!isKeyOrDigest(named)) throw invalid('Invalid key format.', 'key');
  const key = keyNamed(named, directory, nowMs);
  if (key === null) throw unknownKey();
  return key;
}

export const DELETE_FIELDS = { keys: texts, key_aliases: texts };

/** `POST /key/delete`: `{keys}` or `{key_aliases}`; an administrator's may name keys that are gone already. */
export async function deleteKeys(call: Call): Promise<Row> {
  const { keys, key_aliases: aliases } = readFields(await readObject(call.x), DELETE_FIELDS);
  const isByAlias = !isSet(keys) || keys.length === 0;
  const names = isByAlias ? aliases : keys;
  if (!isSet(names) || names.length === 0) throw noNames();
  await store(call, (directory) => {
    const found = names.map((name) =>
      isByAlias ? directory.keyByAlias(name) : keyNamed(name, directory, nowOf(call)),
    );
    const there = [...new Set(found.filter((key) => key !== null))];
    for (const key of there) {
      call.concerns({ kind: 'key', id: key.id, before: key, after: null });
      demand(call.caller, directory, 'key.delete', key);
      checkPermission(call, key.teamId, ['/key/delete'], directory);
    }
    const isComplete = found.every((key) => key !== null);
    if (there.length === 0 || (!isComplete && !isAdmin(call.caller)))
      throw notFound('No keys found', { param: 'keys' });
    return { changes: there.map(remove), result: null };
  });
  return { deleted_keys: names };
}

export const RESET_FIELDS = { reset_to: anything };

/** `POST /key/{key}/reset_spend`: what the key has spent counts as less from now on. */
export async function resetSpend(call: Call): Promise<Row> {
  const { reset_to: sent } = readFields(await readObject(call.x), RESET_FIELDS, ['reset_to']);
  if (typeof sent !== 'number')
    throw wrongField(['body', 'reset_to'], 'float_type', 'Input should be a valid number');
  const named = validKey(call.param, directoryOf(call), nowOf(call));
  demand(call.caller, directoryOf(call), 'key.read', named);
  const [spend = 0] = await spentUsd(call.x, [{ kind: 'key', id: named.id }]);
  const { maxBudget } = named.budget;
  if (!Number.isFinite(sent) || sent < 0) throw invalid('reset_to must be >= 0', 'reset_to');
  if (sent > spend) throw invalid(`reset_to (${sent}) must be <= current spend (${spend})`, 'reset_to');
  if (maxBudget !== null && sent > maxBudget)
    throw invalid(`reset_to (${sent}) must be <= budget (${maxBudget})`, 'reset_to');
  const key = await store(call, (directory) => {
    const before = validKey(call.param, directory, nowOf(call));
    const budget = withSpend(before.budget, sent, nowOf(call));
    const after = { ...before, budget, ...touched(authorOf(call)) };
    return changedKey(call, before, after, directory, ['/key/{key_id}/reset_spend']);
  });
  return {
    key_hash: key.id,
    spend: sent,
    previous_spend: spend,
    max_budget: maxBudget,
    budget_reset_at: isoOrNull(rowContextOf(call).resetMs(key.budget)),
  };
}
