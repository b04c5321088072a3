// What the operator says of new keys: defaults, upper bounds, who may make which (`litellm_settings.default_key_generate_params`,
// `upperbound_key_generate_params`, `key_generation_settings`, `general_settings.disable_custom_api_keys`).
import type { Json } from '../../bodies/json.ts';
import type { KeyGenerationSettings } from '../../../config/key-generation-settings.ts';
import { durationAfter, parseDuration } from '../../access/durations.ts';
import { isAdmin } from '../../access/may.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { VirtualKey } from '../../access/objects/objects.ts';
import type { AuthenticatedCaller } from '../../access/caller.ts';
import { isSet } from './fields.ts';
import type { KeyFields } from './keys-fields.ts';
import { invalid } from './refusals.ts';

/** Members whose default counts as well where the body says null. */
const DEFAULTED = [
  'max_budget',
  'user_id',
  'team_id',
  'max_parallel_requests',
  'tpm_limit',
  'rpm_limit',
  'budget_duration',
  'duration',
] as const;
const AMOUNTS = ['max_budget', 'max_parallel_requests', 'tpm_limit', 'rpm_limit'] as const;
const TIMES = ['budget_duration', 'duration'] as const;

/** The body of a call that makes a key, with what the operator has keys get. */
export function withDefaults(body: Json, { defaults, bounds }: KeyGenerationSettings): Json {
  const full: Record<string, unknown> = { ...body };
  const given: Json = { ...bounds, ...defaults };
  for (const name of DEFAULTED) full[name] ??= given[name] ?? null;
  if (isEmpty(full['models'], 'list')) full['models'] = defaults.models ?? [];
  if (isEmpty(full['metadata'], 'object')) full['metadata'] = defaults.metadata ?? {};
  return full;
}

/** What is empty and of the other kind is a mistake: no models would mean all of them. */
const isEmpty = (value: unknown, kind: 'list' | 'object'): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'object' &&
    Array.isArray(value) === (kind === 'list') &&
    Object.keys(value).length === 0);

/**
 * Bounds count for what a body states; a key that has more need not be told.
 * @param key with what the body states
 * @throws Refusal where a body asks for more than keys may get; null asks for no end of it
 */
export function checkBounds(
  fields: KeyFields,
  { budget, updatedMs }: Pick<VirtualKey, 'budget' | 'updatedMs'>,
  { bounds }: KeyGenerationSettings,
): void {
  for (const name of AMOUNTS) {
    const value = fields[name];
    const bound = bounds[name] ?? null;
    if (value !== undefined && bound !== null && (value ?? Infinity) > bound)
      throw tooMuch(name, value, bound);
  }
  for (const name of TIMES) {
    const value = fields[name];
    const bound = bounds[name] ?? null;
    if (value !== undefined && bound !== null && lengthOf(value) > lengthOf(bound))
      throw tooMuch(name, value, bound);
  }
  const most = bounds.max_budget ?? null;
  const { maxBudget, temporaryIncrease: increase } = budget;
  const isStated = fields.max_budget !== undefined || fields.temp_budget_increase !== undefined;
  if (most === null || !isStated || increase === null || increase.untilMs <= updatedMs) return;
  const raised = (maxBudget ?? Infinity) + increase.usd;
  if (raised > most) throw tooMuch('max_budget with temp_budget_increase', raised, most);
}

const tooMuch = (name: string, value: unknown, bound: unknown): Error =>
  invalid(
    `${name} is over max limit set in config - user_value=${String(value)}; max_value=${String(bound)}`,
    name,
  );

/** Milliseconds; a month is counted from the beginning of 2026, when it has 31 days. */
function lengthOf(text: string | null): number {
  const duration = text === null ? null : parseDuration(text);
  const from = Date.UTC(2026, 0, 1);
  return duration === null ? Infinity : durationAfter(duration, from) - from;
}

/** Whether this caller may make keys of this kind at all. @param sent names of the members of the body */
export function checkGeneration(
  caller: AuthenticatedCaller,
  wanted: VirtualKey,
  sent: Json,
  directory: AccessDirectory,
  settings: KeyGenerationSettings,
): void {
  if (isAdmin(caller)) return;
  checkMaker(caller, wanted, directory, settings);
  const { required = [] } = (wanted.teamId === null ? settings.personal : settings.team) ?? {};
  const missing = required.find((name) => !Object.hasOwn(sent, name));
  if (missing !== undefined) throw invalid(`Required param ${missing} not in data`, missing);
}

/** Whether this caller may have keys of this kind, which a key also becomes by a change of its terms. @throws Refusal */
export function checkMaker(
  caller: AuthenticatedCaller,
  wanted: VirtualKey,
  directory: AccessDirectory,
  { team: forTeams, personal }: KeyGenerationSettings,
): void {
  if (isAdmin(caller) || caller.role !== 'key') return;
  if (wanted.teamId === null) {
    const role = caller.user?.role ?? 'internal_user';
    if (isSet(personal?.roles) && !personal.roles.includes(role))
      throw invalid(
        `Personal key creation has been restricted by admin. Allowed roles=${personal.roles.join(', ')}. Your role=${role}`,
      );
    return;
  }
  const team = directory.team(wanted.teamId);
  if (team === null)
    throw invalid(`Unable to find team object in database. Team ID: ${wanted.teamId}`, 'team_id');
  const role = team.members.find(({ userId }) => userId === caller.key.userId)?.role;
  if (role !== undefined && isSet(forTeams?.roles) && !forTeams.roles.includes(role))
    throw invalid(
      `Team member role ${role} not in allowed_team_member_roles=${forTeams.roles.join(', ')}`,
      'team_id',
    );
}

/** A key whose limits are guaranteed takes its part of what its team and organization may; the parts must not exceed the whole. */
export function checkGuarantees(key: VirtualKey, directory: AccessDirectory): void {
  const { rpm_limit_type: rpmType, tpm_limit_type: tpmType } = { ...key.metadata, ...key.kept };
  if (rpmType !== 'guaranteed_throughput' && tpmType !== 'guaranteed_throughput') return;
  const team = key.teamId === null ? null : directory.team(key.teamId);
  if (team === null) return;
  const others = directory.keysOfTeam(team.id).filter(({ id }) => id !== key.id);
  for (const name of ['tpm', 'rpm'] as const) {
    const own = key.limits[name];
    const whole = team.limits[name];
    const taken = others.reduce((sum, { limits }) => sum + (limits[name] ?? 0), 0);
    const label = name.toUpperCase();
    if (own !== null && whole !== null && own + taken > whole)
      throw invalid(
        `Allocated ${label} limit=${taken} + Key ${label} limit=${own} is greater than team ${label} limit=${whole}`,
        `${name}_limit`,
      );
  }
}
