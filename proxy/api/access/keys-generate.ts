// `POST /key/generate`, `/key/service-account/generate`: new keys. The value is in the answer and nowhere else.
import { randomUUID } from 'node:crypto';
import type { Json } from '../../bodies/json.ts';
import { demand, isAdmin, isAdminOfTeam } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { VirtualKey } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { misspelt, namesWarnings, warningsOf } from './cap-names.ts';
import { bool, isSet, readFields, text, type Fields } from './fields.ts';
import { emptyKey, KEY_FIELDS, keyFrom, type KeyFields } from './keys-fields.ts';
import { checkBounds, checkGeneration, checkGuarantees, withDefaults } from './keys-policy.ts';
import { checkChosenValue, digestOf, displayName, newKeyValue } from './keys-value.ts';
import { denied, invalid, Refusal } from './refusals.ts';
import { keyRow, type Row } from './rows.ts';
import {
  authorOf,
  directoryOf,
  put,
  rowContextOf,
  store,
  type Call,
  type Prepared,
} from './management-call.ts';
import { checkPermission } from './teams-permissions.ts';
import { withSpend } from './terms.ts';

export const GENERATE_FIELDS = { ...KEY_FIELDS, key: text, send_invite_email: bool };

/** `POST /key/generate`. */
export const generateKey = async (call: Call): Promise<Row> => newKey(call, await readObject(call.x), 'user');

/** `POST /key/service-account/generate`: a key of a team that is no user's. */
export const generateServiceKey = async (call: Call): Promise<Row> =>
  newKey(call, await readObject(call.x), 'team');

async function newKey(call: Call, body: Json, owner: 'user' | 'team'): Promise<Row> {
  const settings = call.x.active.snapshot.keyGeneration;
  const fields = readFields(withDefaults(body, settings), GENERATE_FIELDS);
  const value = fields.key ?? newKeyValue();
  if (isSet(fields.key)) checkChosen(call, value);
  const wanted = (directory: AccessDirectory): VirtualKey => wantedKey(call, fields, value, owner, directory);
  const key = await call.exclusive.run(aliasName(fields), () =>
    store(call, (directory) => prepared(call, wanted(directory), body, directory)),
  );
  return generatedRow(call, key, value, fields, misspelt(body, Object.keys(GENERATE_FIELDS)));
}

/** What calls with the same alias wait for each other by. */
export const aliasName = ({ key_alias: alias }: KeyFields): string | null =>
  !isSet(alias) ? null : `alias/${alias}`;

/** A caller's own value. @throws Refusal */
export function checkChosen(call: Call, value: string): void {
  const { keyGeneration, masterKey, access } = call.x.active.snapshot;
  if (!keyGeneration.customKeys)
    throw denied(
      'Custom API key values are disabled (general_settings.disable_custom_api_keys): leave `key` out.',
      {
        param: 'key',
      },
    );
  checkChosenValue(value);
  if (masterKey?.equals(value) === true || access.inferenceKeys.some(({ key }) => key.equals(value)))
    throw invalid('This value is a key of the configuration. Choose another one.', 'key');
}

function wantedKey(
  call: Call,
  fields: Fields<typeof GENERATE_FIELDS>,
  value: string,
  owner: 'user' | 'team',
  directory: AccessDirectory,
): VirtualKey {
  const author = authorOf(call);
  if (owner === 'team') checkServiceTeam(fields.team_id ?? null, directory);
  const key = keyFrom(fields, emptyKey(digestOf(value), displayName(value), author), directory, author);
  checkBounds(fields, key, call.x.active.snapshot.keyGeneration);
  // Rows of an earlier key of this value are not its own.
  const budget = !isSet(fields.key) ? key.budget : withSpend(key.budget, fields.spend ?? 0, author.nowMs);
  if (owner === 'team') return { ...key, budget, userId: null, metadata: ofService(key) };
  return { ...key, budget, userId: ownerOf(call, fields, directory) };
}

/** What clients of LiteLLM tell keys of services by, as it stands in the metadata there. */
const ofService = ({ alias, metadata }: VirtualKey): Json =>
  isSet(metadata['service_account_id'])
    ? metadata
    : { ...metadata, service_account_id: alias ?? randomUUID() };

/** Whoever is no administrator makes keys for themselves, unless the body names somebody. An admin of a team makes keys of the team alone. */
function ownerOf(
  { caller }: Call,
  { user_id: userId, team_id: teamId }: KeyFields,
  directory: AccessDirectory,
): string | null {
  if (isSet(userId)) return userId;
  if (isAdmin(caller) || caller.role !== 'key' || caller.key.userId === null) return null;
  const team = isSet(teamId) ? directory.team(teamId) : null;
  return team !== null && isAdminOfTeam(caller, team) ? null : caller.key.userId;
}

function prepared(
  call: Call,
  wanted: VirtualKey,
  body: Json,
  directory: AccessDirectory,
): Prepared<VirtualKey> {
  const existing = directory.key(wanted.id);
  call.concerns({ kind: 'key', id: wanted.id, before: existing, after: existing ?? wanted });
  checkGeneration(call.caller, wanted, body, directory, call.x.active.snapshot.keyGeneration);
  demand(call.caller, directory, 'key.create', wanted);
  checkPermission(call, wanted.teamId, ['/key/generate'], directory);
  refuseTakenAlias(wanted, directory);
  if (existing !== null) {
    // LiteLLM leaves the key as it is, and repeats what was asked for.
    demand(call.caller, directory, 'key.read', existing);
    return { changes: [], result: wanted };
  }
  if (directory.keyOfCredential(wanted.id, 0) !== null)
    throw new Refusal('object_exists', 'A key has had this value before. Choose another one.', {
      param: 'key',
    });
  checkGuarantees(wanted, directory);
  return { changes: [put(wanted)], result: wanted };
}

/** @throws Refusal when another key has the alias */
export function refuseTakenAlias({ id, alias }: VirtualKey, directory: AccessDirectory): void {
  const holder = alias === null ? null : directory.keyByAlias(alias);
  if (holder === null || holder.id === id) return;
  throw new Refusal(
    'object_exists',
    `Key with alias '${alias}' already exists. Unique key aliases across all keys are required.`,
    { param: 'key_alias' },
  );
}

/** @param param the member that states the value @throws Refusal when a key has it, or had it before */
export function refuseTakenValue({ id }: VirtualKey, directory: AccessDirectory, param: string): void {
  if (directory.keyOfCredential(id, 0) !== null)
    throw new Refusal('object_exists', 'There is a key of this value already. Choose another one.', {
      param,
    });
}

/** The row of a new key, with its value. */
export function generatedRow(
  call: Call,
  key: VirtualKey,
  value: string,
  fields: KeyFields,
  slips: readonly string[] = [],
): Row {
  return {
    ...keyRow(key, fields.spend ?? 0, rowContextOf(call)),
    key: value,
    token_id: key.id,
    duration: fields.duration ?? null,
    guardrails: key.kept['guardrails'] ?? null,
    tags: key.tags,
    ...keyWarnings(call, fields, key, slips),
  };
}

/** What is said of names that a body has stated for a key. @param slips sentences about members that are nearly one */
export function keyWarnings(
  call: Call,
  fields: KeyFields,
  { aliases, teamId }: VirtualKey,
  slips: readonly string[],
): Row {
  const team = teamId === null ? null : directoryOf(call).team(teamId);
  const unknownTeam =
    isSet(fields.team_id) && team === null
      ? [`team_id: ${fields.team_id} is no team here; its budget, limits and models hold once it is made`]
      : [];
  const names = namesWarnings(call, fields, { aliases: [aliases, team?.modelAliases ?? {}], teamId });
  return warningsOf([...slips, ...unknownTeam, ...names]);
}

/** Checks of `/key/service-account/generate`. */
function checkServiceTeam(teamId: string | null, directory: AccessDirectory): void {
  if (teamId === null)
    throw invalid(
      'team_id is required for service account keys. Please specify `team_id` in the request body.',
      'team_id',
    );
  if (directory.team(teamId) === null)
    throw invalid(
      'team_id does not exist in the database. Please specify a valid `team_id` in the request body.',
      'team_id',
    );
}
