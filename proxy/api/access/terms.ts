// Budgets, limits and metadata of an object, from what it had and what a body says of them.
import { asObject, type Json } from '../../bodies/json.ts';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import { NO_BUDGET, NO_LIMITS, type BudgetTerms, type LimitTerms } from '../../access/objects/objects.ts';
import type { Fields } from './fields.ts';
import type { BUDGET_FIELDS, LIMIT_FIELDS, METADATA_FIELDS } from './term-fields.ts';
import { invalid } from './refusals.ts';

/** Absent = keep, null = clear. */
export const changed = <T>(sent: T | null | undefined, before: T | null): T | null =>
  sent === undefined ? before : sent;

/** The same where nothing is written as an empty list, an empty object or false. */
export const changedTo = <T>(sent: T | null | undefined, before: T, empty: T): T =>
  sent === undefined ? before : (sent ?? empty);

/** Whether objects may be given a shared budget: it is there, and nobody deletes it. */
export const isGiven = (budgetId: string, directory: Pick<AccessDirectory, 'budget'>): boolean =>
  directory.budget(budgetId)?.isBeingDeleted === false;

/** A shared budget that an object is given must be there. @throws Refusal */
export function checkShared(
  budgetId: string | null,
  before: { readonly budgetId: string | null },
  directory: Pick<AccessDirectory, 'budget'>,
): void {
  if (budgetId !== null && budgetId !== before.budgetId && !isGiven(budgetId, directory))
    throw invalid(`Budget not found for budget_id=${budgetId}`, 'budget_id');
}

/** So must an organization that it is moved to. @throws Refusal */
export function checkOrganization(
  organizationId: string | null,
  before: { readonly organizationId: string | null },
  directory: Pick<AccessDirectory, 'organization'>,
): void {
  if (organizationId === null || organizationId === before.organizationId) return;
  if (directory.organization(organizationId) === null)
    throw invalid(`Organization not found for organization_id=${organizationId}`, 'organization_id');
}

/** What an object may spend. @param before `NO_BUDGET` for a new one */
export function budgetFrom(
  fields: Fields<typeof BUDGET_FIELDS>,
  before: BudgetTerms,
  nowMs: number,
): BudgetTerms {
  const budgetDuration = changed(fields.budget_duration, before.budgetDuration);
  // The same duration again does not begin another window.
  const isSet = before.budgetSetMs > 0 && budgetDuration === before.budgetDuration;
  return sharedIfEmpty({
    ...before,
    maxBudget: changed(fields.max_budget, before.maxBudget),
    softBudget: changed(fields.soft_budget, before.softBudget),
    budgetDuration,
    budgetSetMs: isSet ? before.budgetSetMs : nowMs,
    budgetLimits: changedTo(fields.budget_limits, before.budgetLimits, []),
    modelMaxBudget: changedTo(fields.model_max_budget, before.modelMaxBudget, {}),
  });
}

/** What was spent so far counts as `usd` from now on. */
export function withSpend(terms: BudgetTerms, usd: number, nowMs: number): BudgetTerms {
  return { ...terms, countFrom: { atMs: nowMs, usd } };
}

function sharedIfEmpty(terms: BudgetTerms): BudgetTerms {
  return isUnstated(terms) ? withoutTerms(terms) : terms;
}

/** Whether terms say nothing of what may be spent. */
export function isUnstated(terms: BudgetTerms): boolean {
  const { maxBudget, softBudget, budgetDuration, temporaryIncrease, budgetLimits, modelMaxBudget } = terms;
  return (
    [maxBudget, softBudget, budgetDuration, temporaryIncrease].every((one) => one === null) &&
    budgetLimits.length === 0 &&
    Object.keys(modelMaxBudget).length === 0
  );
}

/** Nothing of what may be spent. Where the spend begins stays; windows that a shared budget states are counted from its own time. */
export const withoutTerms = ({ countFrom }: BudgetTerms): BudgetTerms =>
  countFrom === null ? NO_BUDGET : { ...NO_BUDGET, countFrom };

/** How fast an object may call. @param metadata of the object, after the change: limits by model stand there */
export function limitsFrom(
  fields: Fields<typeof LIMIT_FIELDS>,
  before: LimitTerms,
  metadata: Json,
): LimitTerms {
  const terms: LimitTerms = {
    rpm: changed(fields.rpm_limit, before.rpm),
    tpm: changed(fields.tpm_limit, before.tpm),
    maxParallel: changed(fields.max_parallel_requests, before.maxParallel),
    modelRpm: countsIn(metadata['model_rpm_limit']),
    modelTpm: countsIn(metadata['model_tpm_limit']),
  };
  const isEmpty =
    [terms.rpm, terms.tpm, terms.maxParallel].every((one) => one === null) &&
    [terms.modelRpm, terms.modelTpm].every((one) => Object.keys(one).length === 0);
  return isEmpty ? NO_LIMITS : terms;
}

/** Members that LiteLLM keeps among the metadata, where clients read and write them as well. */
const KEPT_IN_METADATA = ['tags', 'model_rpm_limit', 'model_tpm_limit'] as const;

/** Metadata: a new object replaces the old one as a whole; the other members are set in it. */
export function metadataFrom(fields: Fields<typeof METADATA_FIELDS>, before: Json): Json {
  const base = changedTo(fields.metadata, before, {});
  const set = KEPT_IN_METADATA.filter((name) => fields[name] !== undefined);
  if (set.length === 0) return base;
  const rest = Object.entries(base).filter(([name]) => !set.some((one) => one === name));
  const added = set.flatMap((name) => (fields[name] === null ? [] : [[name, fields[name]] as const]));
  return Object.fromEntries([...rest, ...added]);
}

/** The tags that calls of an object get. */
export function tagsIn(metadata: Json): readonly string[] {
  const { tags } = metadata;
  return Array.isArray(tags)
    ? tags.filter((one): one is string => typeof one === 'string' && one !== '')
    : [];
}

function countsIn(value: unknown): Readonly<Record<string, number>> {
  const counts = Object.entries(asObject(value) ?? {}).filter(
    (entry): entry is [string, number] => Number.isSafeInteger(entry[1]) && Number(entry[1]) >= 0,
  );
  return Object.fromEntries(counts);
}

/** Members that are kept as they are and do nothing: what was sent replaces what was kept. */
export function keptFrom(fields: Json, table: Json, before: Json): Json {
  const sent = Object.keys(table).filter((name) => fields[name] !== undefined);
  if (sent.length === 0) return before;
  // Each in its old place: another order would be a change in the audit.
  const all = { ...before, ...Object.fromEntries(sent.map((name) => [name, fields[name]])) };
  return Object.fromEntries(Object.entries(all).filter(([name]) => fields[name] !== null));
}
