// Objects of access as items of the store, and back. An item holds only what differs from an object that states nothing, also of
// its budget, so a usual key is some 100 bytes; lists and ids that many objects share are one value in memory. Limits are stored
// whole: servers of 0.1 that share the database, during a rollout or after a rollback, read them as they are.
import type { SharedItem } from '../../items/shared-items.ts';
import { blankKey, blankTeam, blankUser, EMPTY_LIST, EMPTY_RECORD } from './blank.ts';
import {
  NO_BUDGET,
  NO_LIMITS,
  type AccessObject,
  type BudgetTerms,
  type LimitTerms,
  type ObjectKind,
  type VirtualKey,
} from './objects.ts';

const COMMON = { revision: 0, createdMs: 0, updatedMs: 0, metadata: EMPTY_RECORD, kept: EMPTY_RECORD };
const TERMS = { alias: null, budgetId: null, budget: NO_BUDGET, limits: NO_LIMITS };
const BY = { createdBy: null, updatedBy: null, origin: 'store' } as const;

/** An object of each kind that states nothing. */
const BLANK: { readonly [K in ObjectKind]: Extract<AccessObject, { readonly kind: K }> } = {
  key: { ...blankKey('', '', 0), name: '' },
  team: blankTeam('', 0),
  user: blankUser('', 0),
  customer: { kind: 'customer', id: '', blocked: false, ...TERMS, ...COMMON, ...BY },
  budget: {
    kind: 'budget',
    id: '',
    isBeingDeleted: false,
    budget: NO_BUDGET,
    limits: NO_LIMITS,
    ...COMMON,
    ...BY,
  },
  organization: {
    kind: 'organization',
    id: '',
    models: EMPTY_LIST,
    members: [],
    ...TERMS,
    ...COMMON,
    ...BY,
  },
  access_group: { kind: 'access_group', id: '', models: EMPTY_LIST, ...COMMON, ...BY },
  tag: {
    kind: 'tag',
    id: '',
    description: null,
    models: EMPTY_LIST,
    budgetId: null,
    budget: NO_BUDGET,
    limits: NO_LIMITS,
    ...COMMON,
    ...BY,
  },
  sign_out: { kind: 'sign_out', id: '', ...COMMON, ...BY },
};

/** Columns of an item, and what only memory says. */
const OUTSIDE: ReadonlySet<string> = new Set(['kind', 'id', 'origin', 'revision', 'createdMs', 'updatedMs']);

export function itemOf(object: AccessObject): SharedItem<ObjectKind> & { readonly value: object } {
  const { kind, id, revision, createdMs, updatedMs } = object;
  const stated = statedOf(object, BLANK[kind])
    .filter(([name]) => !OUTSIDE.has(name))
    .map(([name, value]) =>
      name === 'budget'
        ? [name, Object.fromEntries(statedOf(value as BudgetTerms, NO_BUDGET))]
        : [name, value],
    );
  return { kind, id, createdMs, updatedMs, value: Object.fromEntries(stated) as object, revision };
}

/** The members that differ from those of what states nothing. */
const statedOf = (object: object, blank: object): (readonly [name: string, value: unknown])[] =>
  Object.entries(object).filter(([name, value]) => !isSame(value, Reflect.get(blank, name)));

const isSame = (value: unknown, blank: unknown): boolean =>
  value === blank ||
  (typeof value === 'object' && value !== null && JSON.stringify(value) === JSON.stringify(blank));

/** Member by member, as keys are read. What is empty is one value for all. */
function budgetWith(stated: Partial<BudgetTerms>): BudgetTerms {
  if (stated === NO_BUDGET) return NO_BUDGET;
  const { budgetLimits = [], modelMaxBudget = {} } = stated;
  return Object.freeze({
    maxBudget: stated.maxBudget ?? null,
    softBudget: stated.softBudget ?? null,
    budgetDuration: stated.budgetDuration ?? null,
    budgetSetMs: stated.budgetSetMs ?? 0,
    budgetLimits: budgetLimits.length === 0 ? NO_BUDGET.budgetLimits : Object.freeze(budgetLimits),
    modelMaxBudget:
      Object.keys(modelMaxBudget).length === 0 ? NO_BUDGET.modelMaxBudget : Object.freeze(modelMaxBudget),
    temporaryIncrease: stated.temporaryIncrease ?? null,
    countFrom: stated.countFrom ?? null,
  });
}

/** Member by member, as keys are read. */
function limitsWith({ rpm, tpm, maxParallel, modelRpm, modelTpm }: Partial<LimitTerms>): LimitTerms {
  return Object.freeze({
    rpm: rpm ?? null,
    tpm: tpm ?? null,
    maxParallel: maxParallel ?? null,
    modelRpm: modelRpm ?? NO_LIMITS.modelRpm,
    modelTpm: modelTpm ?? NO_LIMITS.modelTpm,
  });
}

/** Distinct values that are remembered; a process that sees more begins anew. */
const MOST_SHARED = 200_000;

/** Makes objects of items; equal lists and ids of the objects that one of these makes are one value. */
export class ObjectReader {
  readonly #shared = new Map<string, unknown>();

  /** @throws when there is no such kind */
  read({ kind, id, revision, createdMs, updatedMs, value }: SharedItem<ObjectKind>): AccessObject {
    if (!Object.hasOwn(BLANK, kind)) throw new Error(`there are no objects of the kind ${kind}`);
    const outside = { id, revision, createdMs, updatedMs, origin: 'store' } as const;
    if (kind === 'key') return Object.freeze(this.#key(value as Partial<VirtualKey>, outside));
    const blank: AccessObject = BLANK[kind];
    const known = Object.entries(value as object)
      .filter(([name]) => name in blank)
      .map(([name, stated]): [string, unknown] => [name, this.#valueOf(name, stated)]);
    return Object.freeze({ ...blank, ...Object.fromEntries(known), ...outside } as AccessObject);
  }

  /** Member by member: an object that is spread together takes 32 bytes more, 3 MB for 100,000 keys. */
  #key(
    stated: Partial<VirtualKey>,
    outside: Pick<VirtualKey, 'id' | 'revision' | 'createdMs' | 'updatedMs' | 'origin'>,
  ): VirtualKey {
    const blank = BLANK.key;
    return {
      kind: 'key',
      id: outside.id,
      name: stated.name ?? blank.name,
      alias: stated.alias ?? null,
      type: stated.type ?? blank.type,
      allowedRoutes: this.#sharedOf(stated.allowedRoutes) ?? blank.allowedRoutes,
      models: this.#sharedOf(stated.models) ?? blank.models,
      aliases: this.#sharedOf(stated.aliases) ?? blank.aliases,
      teamId: this.#sharedOf(stated.teamId) ?? null,
      needsTeam: stated.needsTeam ?? false,
      userId: stated.userId ?? null,
      organizationId: this.#sharedOf(stated.organizationId) ?? null,
      budgetId: this.#sharedOf(stated.budgetId) ?? null,
      budget: budgetWith(stated.budget ?? NO_BUDGET),
      limits: this.#limitsOf(stated.limits ?? NO_LIMITS),
      tags: this.#sharedOf(stated.tags) ?? blank.tags,
      blocked: stated.blocked ?? false,
      expiresMs: stated.expiresMs ?? null,
      former: stated.former ?? blank.former,
      origin: outside.origin,
      revision: outside.revision,
      createdMs: outside.createdMs,
      updatedMs: outside.updatedMs,
      createdBy: this.#sharedOf(stated.createdBy) ?? null,
      updatedBy: this.#sharedOf(stated.updatedBy) ?? null,
      metadata: stated.metadata ?? blank.metadata,
      kept: stated.kept ?? blank.kept,
    };
  }

  /** Of another object than a key. */
  #valueOf(name: string, stated: unknown): unknown {
    if (stated === null) return null;
    // Not shared: each has the time that it was set, so hardly two are equal, and a text of each would be kept.
    if (name === 'budget') return budgetWith(stated as Partial<BudgetTerms>);
    if (name === 'limits') return this.#limitsOf(stated as Partial<LimitTerms>);
    return SHARED.has(name) ? this.#sharedOf(stated) : stated;
  }

  #limitsOf(stated: Partial<LimitTerms>): LimitTerms {
    if (stated === NO_LIMITS) return NO_LIMITS;
    const text = `limits ${JSON.stringify(stated)}`;
    return (this.#shared.get(text) as LimitTerms | undefined) ?? this.#remember(text, limitsWith(stated));
  }

  #sharedOf<T>(value: T): T {
    if (value === undefined || value === null) return value;
    const text = typeof value === 'string' ? `=${value}` : JSON.stringify(value);
    return (this.#shared.get(text) as T | undefined) ?? this.#remember(text, Object.freeze(value));
  }

  #remember<T>(text: string, value: T): T {
    if (this.#shared.size === MOST_SHARED) this.#shared.clear();
    this.#shared.set(text, value);
    return value;
  }
}

/** What many objects have in common, beside budgets and limits. Aliases and users of keys are nearly all different. */
const SHARED: ReadonlySet<string> = new Set([
  'models',
  'allowedRoutes',
  'tags',
  'aliases',
  'modelAliases',
  'teamId',
  'organizationId',
  'budgetId',
  'createdBy',
  'updatedBy',
]);
