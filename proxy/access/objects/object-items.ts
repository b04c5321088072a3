// Objects of access as items of the store, and back. A body holds only what differs from an object that states nothing, so a
// usual key is some 100 bytes; lists and ids that many objects share are one value in memory.
import type { Item } from '../../items/item-store.ts';
import { blankKey, blankTeam, blankUser, EMPTY_LIST, EMPTY_RECORD } from './blank.ts';
import { NO_BUDGET, NO_LIMITS, type AccessObject, type ObjectKind } from './objects.ts';

export type ObjectItem = Item<ObjectKind>;

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
};

/** Columns of an item, and what only memory says. */
const OUTSIDE: ReadonlySet<string> = new Set(['kind', 'id', 'origin', 'revision', 'createdMs', 'updatedMs']);

export function itemOf(object: AccessObject): ObjectItem {
  const { kind, id, revision, createdMs, updatedMs } = object;
  const blank: object = BLANK[kind];
  const stated = Object.entries(object).filter(
    ([name, value]) => !OUTSIDE.has(name) && !isSame(value, Reflect.get(blank, name)),
  );
  return {
    kind,
    id,
    userId: '',
    createdMs,
    updatedMs,
    title: 'alias' in object ? object.alias : null,
    link: kind === 'key' ? object.teamId : null,
    parent: kind === 'key' ? object.userId : null,
    body: JSON.stringify(Object.fromEntries(stated)),
    sealed: null,
    revision,
  };
}

const isSame = (value: unknown, blank: unknown): boolean =>
  value === blank ||
  (typeof value === 'object' && value !== null && JSON.stringify(value) === JSON.stringify(blank));

/** Distinct values that are remembered; a process that sees more begins anew. */
const MOST_SHARED = 200_000;

/** Makes objects of items; equal lists and ids of the objects that one of these makes are one value. */
export class ObjectReader {
  readonly #shared = new Map<string, unknown>();

  /** @throws when a body is not what `itemOf` writes: another program has written to the store */
  read({ kind, id, revision, createdMs, updatedMs, body }: ObjectItem): AccessObject {
    if (!Object.hasOwn(BLANK, kind)) throw new Error(`there are no objects of the kind ${String(kind)}`);
    const stated = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const blank: AccessObject = BLANK[kind];
    const made: Record<string, unknown> = { ...blank, id, revision, createdMs, updatedMs };
    for (const [name, value] of Object.entries(stated))
      if (name in blank) made[name] = this.#sharedValue(name, value);
    if (updatedMs === createdMs) made['updatedMs'] = made['createdMs'];
    return Object.freeze(made) as unknown as AccessObject;
  }

  #sharedValue(name: string, value: unknown): unknown {
    const isShared = SHARED.has(name);
    if (!isShared || value === null) return value;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const known = this.#shared.get(text);
    if (known !== undefined && typeof known === typeof value) return known;
    if (this.#shared.size === MOST_SHARED) this.#shared.clear();
    this.#shared.set(text, value);
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
