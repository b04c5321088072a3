// The members of bodies that say what keys, teams, users, customers and budgets may spend, how fast, and what is kept with them.
import { isObject, type Json } from '../../bodies/json.ts';
import type { BudgetTerms } from '../../access/objects/objects.ts';
import {
  anything,
  count,
  described,
  dict,
  duration,
  isSet,
  listOf,
  mapOf,
  money,
  nameOf,
  note,
  objectOf,
  refuse,
  sizeOf,
  texts,
  type Reader,
} from './fields.ts';

const MOST_PATTERNS = 100; // each call is compared with all of them

const WINDOW = objectOf({ max_budget: money, budget_duration: duration });
const MODEL_BUDGET = objectOf({
  max_budget: money,
  budget_limit: money,
  budget_duration: duration,
  time_period: duration,
});

const windows: Reader<BudgetTerms['budgetLimits']> = described<BudgetTerms['budgetLimits']>(
  { type: 'array', items: { ...WINDOW.schema, required: ['max_budget', 'budget_duration'] } },
  (value, at, mistakes) => {
    const before = sizeOf(mistakes);
    const read = listOf(WINDOW)(value, at, mistakes) ?? [];
    if (sizeOf(mistakes) > before) return []; // what is wrong is not also missing
    return read.flatMap(({ max_budget, budget_duration }, index) => {
      if (isSet(max_budget) && isSet(budget_duration))
        return [{ maxBudget: max_budget, budgetDuration: budget_duration }];
      note(mistakes, [...at, index], 'missing', 'max_budget and budget_duration are both required');
      return [];
    });
  },
);

/** By name or pattern, of which there may be so many. */
const fewPatterns = <T>(reader: Reader<T>): Reader<T> =>
  described(reader.schema, (value, at, mistakes) => {
    const patterns = isObject(value) ? Object.keys(value).filter((name) => name.includes('*')).length : 0;
    if (patterns <= MOST_PATTERNS) return reader(value, at, mistakes);
    const text = `${nameOf(at)} has ${patterns} names with *, and may have ${MOST_PATTERNS}.`;
    return refuse(mistakes, at, text);
  });

const BARE_AMOUNT = { budgetDuration: null, words: 'amount' } as const;
/** `{model: {budget_limit, time_period}}`; also in the names of other budgets, and `{model: usd}`. */
const modelBudgets: Reader<BudgetTerms['modelMaxBudget']> = described<BudgetTerms['modelMaxBudget']>(
  {
    type: 'object',
    // Not additionalProperties: schemathesis takes a member that it makes up for those as one that is required.
    patternProperties: { '': { anyOf: [{ type: 'number', minimum: 0 }, MODEL_BUDGET.schema] } },
  },
  (value, at, mistakes) => {
    const one = described<BudgetTerms['modelMaxBudget'][string]>({}, (terms, place) => {
      if (typeof terms === 'number') return { ...BARE_AMOUNT, maxBudget: money(terms, place, mistakes) ?? 0 };
      const before = sizeOf(mistakes);
      const { max_budget, budget_limit, budget_duration, time_period } =
        MODEL_BUDGET(terms, place, mistakes) ?? {};
      const maxBudget = budget_limit ?? max_budget ?? null;
      if (sizeOf(mistakes) > before) return null;
      if (maxBudget === null) return note(mistakes, place, 'missing', 'budget_limit is required');
      const cap = { maxBudget, budgetDuration: time_period ?? budget_duration ?? null };
      return isSet(budget_limit) ? cap : { ...cap, words: 'max_budget' as const };
    });
    return fewPatterns(mapOf(one))(value, at, mistakes);
  },
);

/** What may be spent: of keys, teams, users, customers, budgets. */
export const BUDGET_FIELDS = {
  max_budget: money,
  soft_budget: money,
  budget_duration: duration,
  budget_limits: windows,
  model_max_budget: modelBudgets,
};

/** How fast. */
export const LIMIT_FIELDS = {
  rpm_limit: count,
  tpm_limit: count,
  max_parallel_requests: count,
};

/** How fast models may be called. */
export const MODEL_LIMIT_FIELDS = {
  model_rpm_limit: fewPatterns(mapOf(count)),
  model_tpm_limit: fewPatterns(mapOf(count)),
};

/** Limits by model hold as members of the metadata, too; such as are none are kept and do nothing. */
const metadata: Reader<Json> = described<Json>(dict.schema, (value, at, mistakes) => {
  const before = sizeOf(mistakes);
  const read = dict(value, at, mistakes);
  for (const name of Object.keys(MODEL_LIMIT_FIELDS))
    if (isObject(read?.[name])) fewPatterns(anything)(read[name], [...at, name], mistakes);
  return sizeOf(mistakes) > before ? null : read;
});

/** Free members, and what LiteLLM keeps among them. */
export const METADATA_FIELDS = {
  metadata,
  tags: texts,
  ...MODEL_LIMIT_FIELDS,
};
