// The members of the bodies of calls about keys, and what a key is after one of them.
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { blankKey } from '../../access/objects/blank.ts';
import { endOf } from '../../access/durations.ts';
import { sessionTermsMistake } from '../../access/session-terms.ts';
import { type BudgetTerms, type VirtualKey } from '../../access/objects/objects.ts';
import {
  bool,
  id,
  instant,
  lifetime,
  mapOf,
  money,
  oneOf,
  text,
  texts,
  type Fields,
  isSet,
} from './fields.ts';
import { BUDGET_FIELDS, LIMIT_FIELDS } from './term-fields.ts';
import { modelNames } from './model-lists.ts';
import { KEPT_OF_KEYS } from './kept-fields.ts';
import { invalid, wrongField } from './refusals.ts';
import { newObject, touched, type Author } from './management-call.ts';
import { TAGGED_METADATA_FIELDS } from './tagged-metadata.ts';
import {
  budgetFrom,
  changed,
  changedTo,
  checkOrganization,
  checkShared,
  keptFrom,
  limitsFrom,
  metadataFrom,
  tagsIn,
  withSpend,
} from './terms.ts';

/** What a key may state, whoever makes it. */
export const KEY_FIELDS = {
  ...BUDGET_FIELDS,
  ...LIMIT_FIELDS,
  ...TAGGED_METADATA_FIELDS,
  ...KEPT_OF_KEYS,
  key_alias: id,
  duration: lifetime,
  models: modelNames,
  aliases: mapOf(text),
  user_id: id,
  team_id: id,
  organization_id: id,
  budget_id: id,
  spend: money,
  allowed_routes: texts,
  key_type: oneOf(['default', 'llm_api', 'management', 'read_only']),
  blocked: bool,
  temp_budget_increase: money,
  temp_budget_expiry: instant,
};
export type KeyFields = Fields<typeof KEY_FIELDS>;

/** A key that nobody has stored yet. @param keyId SHA-256 @param name as people see it */
export const emptyKey = (keyId: string, name: string, author: Author): VirtualKey => ({
  ...blankKey(keyId, '', author.nowMs),
  ...newObject(author),
  name,
});

/** A key after a body: absent members stay, null clears. @throws Refusal */
export function keyFrom(
  fields: KeyFields,
  before: VirtualKey,
  directory: AccessDirectory,
  author: Author,
): VirtualKey {
  const metadata = metadataFrom(fields, before.metadata);
  const mistake = metadata === before.metadata ? null : sessionTermsMistake(metadata);
  if (mistake !== null) throw invalid(mistake.message, mistake.param);
  const teamId = changed(fields.team_id, before.teamId);
  const isOfFile = teamId !== null && directory.team(teamId)?.origin === 'file';
  const key: VirtualKey = {
    ...before,
    alias: changed(fields.key_alias, before.alias),
    type: changedTo(fields.key_type, before.type, 'default'),
    allowedRoutes: changedTo(fields.allowed_routes, before.allowedRoutes, []),
    models: changedTo(fields.models, before.models, []),
    aliases: changedTo(fields.aliases, before.aliases, {}),
    teamId,
    needsTeam: isOfFile || (before.needsTeam && teamId === before.teamId),
    userId: changed(fields.user_id, before.userId),
    organizationId: changed(fields.organization_id, before.organizationId),
    budgetId: changed(fields.budget_id, before.budgetId),
    budget: keyBudgetFrom(fields, before.budget, author.nowMs),
    limits: limitsFrom(fields, before.limits, metadata),
    tags: tagsIn(metadata),
    blocked: changedTo(fields.blocked, before.blocked, false),
    expiresMs: fields.duration === undefined ? before.expiresMs : endOf(fields.duration, author.nowMs),
    metadata,
    kept: keptFrom(fields, KEPT_OF_KEYS, before.kept),
    ...touched(author),
  };
  refuseUnknown(key, before, directory);
  return key;
}

function keyBudgetFrom(fields: KeyFields, before: BudgetTerms, nowMs: number): BudgetTerms {
  const terms = withIncrease(fields, budgetFrom(fields, before, nowMs));
  return !isSet(fields.spend) ? terms : withSpend(terms, fields.spend, nowMs);
}

/** More for a while: both members, or neither. */
function withIncrease(fields: KeyFields, terms: BudgetTerms): BudgetTerms {
  const { temp_budget_increase: usd, temp_budget_expiry: untilMs } = fields;
  if (usd === undefined && untilMs === undefined) return terms;
  if (isSet(usd) && isSet(untilMs)) return { ...terms, temporaryIncrease: { usd, untilMs } };
  if (!isSet(usd) && !isSet(untilMs)) return { ...terms, temporaryIncrease: null };
  const missing = !isSet(usd) ? 'temp_budget_increase' : 'temp_budget_expiry';
  throw wrongField(
    ['body', missing],
    'value_error',
    'temp_budget_increase and temp_budget_expiry must be set together',
  );
}

/** What a key refers to must be there; teams and users need not: LiteLLM's admins make keys for those to come. */
function refuseUnknown(key: VirtualKey, before: VirtualKey, directory: AccessDirectory): void {
  checkShared(key.budgetId, before, directory);
  checkOrganization(key.organizationId, before, directory);
}
