// Objects of access as items of the store, and back. An item holds only what differs from an object that states nothing, so a
// usual key is some 100 bytes; lists and ids that many objects share are one value in memory.
import type { SharedItem } from '../../items/shared-items.ts';
import { blankKey, blankTeam, blankUser, EMPTY_LIST, EMPTY_RECORD } from './blank.ts';
import {
  NO_BUDGET,
  NO_LIMITS,
  type AccessObject,
  type BudgetTerms,
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
  budget: { kind: 'budget', id: '', budget: NO_BUDGET, limits: NO_LIMITS, ...COMMON, ...BY },
  organization: { kind: 'organization', id: '', models: EMPTY_LIST, ...TERMS, ...COMMON, ...BY },
  access_group: { kind: 'access_group', id: '', models: EMPTY_LIST, ...COMMON, ...BY },
  sign_out: { kind: 'sign_out', id: '', ...COMMON, ...BY },
};

/** Columns of an item, and what only memory says. */
const OUTSIDE: ReadonlySet<string> = new Set(['kind', 'id', 'origin', 'revision', 'createdMs', 'updatedMs']);

export function itemOf(object: AccessObject): SharedItem<ObjectKind> & { readonly value: object } {
  const { kind, id, revision, createdMs, updatedMs } = object;
  const blank: object = BLANK[kind];
  const stated = Object.entries(object).filter(
    ([name, value]) => !OUTSIDE.has(name) && !isSame(value, Reflect.get(blank, name)),
  );
  return { kind, id, createdMs, updatedMs, value: Object.fromEntries(stated), revision };
}

const isSame = (value: unknown, blank: unknown): boolean =>
  value === blank ||
  (typeof value === 'object' && value !== null && JSON.stringify(value) === JSON.stringify(blank));

/** Member by member: an object that is spread together takes 32 bytes more, 3 MB for 100,000 keys. */
function keyWith(
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
    allowedRoutes: stated.allowedRoutes ?? blank.allowedRoutes,
    models: stated.models ?? blank.models,
    aliases: stated.aliases ?? blank.aliases,
    teamId: stated.teamId ?? null,
    userId: stated.userId ?? null,
    organizationId: stated.organizationId ?? null,
    budgetId: stated.budgetId ?? null,
    budget: stated.budget ?? blank.budget,
    limits: stated.limits ?? blank.limits,
    tags: stated.tags ?? blank.tags,
    blocked: stated.blocked ?? false,
    expiresMs: stated.expiresMs ?? null,
    former: stated.former ?? blank.former,
    origin: outside.origin,
    revision: outside.revision,
    createdMs: outside.createdMs,
    updatedMs: outside.updatedMs,
    createdBy: stated.createdBy ?? null,
    updatedBy: stated.updatedBy ?? null,
    metadata: stated.metadata ?? blank.metadata,
    kept: stated.kept ?? blank.kept,
  };
}

/** Member by member, for the same reason; what is empty is one value for all. */
function budgetWith(stated: Partial<BudgetTerms>): BudgetTerms {
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

/** Distinct values that are remembered; a process that sees more begins anew. */
const MOST_SHARED = 200_000;

/** Makes objects of items; equal lists and ids of the objects that one of these makes are one value. */
export class ObjectReader {
  readonly #shared = new Map<string, unknown>();

  /** @throws when there is no such kind */
  read({ kind, id, revision, createdMs, updatedMs, value }: SharedItem<ObjectKind>): AccessObject {
    if (!Object.hasOwn(BLANK, kind)) throw new Error(`there are no objects of the kind ${kind}`);
    const stated = value as Record<string, unknown>;
    for (const name in stated) stated[name] = this.#sharedValue(name, stated[name]);
    const outside = { id, revision, createdMs, updatedMs, origin: 'store' } as const;
    if (kind === 'key') return Object.freeze(keyWith(stated as Partial<VirtualKey>, outside));
    const blank: AccessObject = BLANK[kind];
    const known = Object.entries(stated).filter(([name]) => name in blank);
    return Object.freeze({ ...blank, ...Object.fromEntries(known), ...outside } as AccessObject);
  }

  #sharedValue(name: string, value: unknown): unknown {
    if (!SHARED.has(name) || value === null) return value;
    // Each has the time that it was set, so hardly two are equal, and a text of each would be kept.
    if (name === 'budget') return budgetWith(value as Partial<BudgetTerms>);
    const text = typeof value === 'string' ? `=${value}` : JSON.stringify(value);
    const known = this.#shared.get(text);
    if (known !== undefined) return known;
    if (this.#shared.size === MOST_SHARED) this.#shared.clear();
    this.#shared.set(text, Object.freeze(value));
    return value;
  }
}

/** What many objects have in common. Aliases and users of keys are nearly all different. */
const SHARED: ReadonlySet<string> = new Set([
  'models',
  'allowedRoutes',
  'tags',
  'aliases',
  'modelAliases',
  'teamId',
  'organizationId',
  'budgetId',
  'budget',
  'limits',
  'createdBy',
  'updatedBy',
]);
