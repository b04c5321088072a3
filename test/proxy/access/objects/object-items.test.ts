// Objects as items: nothing is lost on the way, what states nothing is small, and what many share is one value.
import t from 'tap';
import { blankKey, blankTeam, blankUser } from '../../../../proxy/access/objects/blank.ts';
import { itemOf, ObjectReader } from '../../../../proxy/access/objects/object-items.ts';
import {
  NO_BUDGET,
  NO_LIMITS,
  type AccessObject,
  type VirtualKey,
} from '../../../../proxy/access/objects/objects.ts';

const stored = (object: AccessObject, reader = new ObjectReader()): AccessObject => {
  const { value, ...item } = itemOf(object);
  return reader.read({ ...item, value: JSON.parse(JSON.stringify(value)) as unknown });
};

const COMMON = {
  origin: 'store',
  revision: 4,
  createdMs: 5,
  updatedMs: 6,
  createdBy: 'me',
  updatedBy: 'you',
  metadata: { __proto__x: [1, { a: null }], text: 'ü\n"' },
  kept: { config: { a: 1 } },
} as const;
const TERMS = {
  budgetId: 'b',
  budget: {
    ...NO_BUDGET,
    maxBudget: 0.1,
    budgetLimits: [{ maxBudget: 1, budgetDuration: '1h' }],
    temporaryIncrease: { usd: 1, untilMs: 2 },
  },
  limits: { ...NO_LIMITS, rpm: 0, modelRpm: { m: 1 } },
};
const FULL: readonly AccessObject[] = [
  {
    ...blankKey('id', 'last', 1),
    ...COMMON,
    ...TERMS,
    alias: 'a, b',
    type: 'management',
    allowedRoutes: ['/x'],
    models: ['m'],
    aliases: { a: 'm' },
    teamId: 't',
    userId: 'u',
    organizationId: 'o',
    tags: ['x'],
    blocked: true,
    expiresMs: 7,
    former: [{ id: 'old', untilMs: 8 }],
  },
  {
    ...blankTeam('t', 1),
    ...COMMON,
    alias: 'T',
    models: ['m'],
    modelAliases: { a: 'm' },
    members: [{ userId: 'u', role: 'admin', ...TERMS }],
    memberBudgetId: 'b',
    blocked: true,
  },
  { ...blankUser('u', 1), ...COMMON, ...TERMS, alias: 'U', email: 'u@x', role: 'proxy_admin', models: ['m'] },
  { kind: 'customer', id: 'c', alias: null, blocked: true, ...TERMS, ...COMMON },
  { kind: 'budget', id: 'b', isBeingDeleted: true, budget: TERMS.budget, limits: TERMS.limits, ...COMMON },
  {
    kind: 'organization',
    id: 'o',
    alias: 'O',
    models: [],
    members: [{ userId: 'u', role: 'org_admin', createdMs: 7, updatedMs: 8 }],
    ...TERMS,
    ...COMMON,
  },
  { kind: 'access_group', id: 'g', models: ['m', 'n'], ...COMMON },
];

t.test('what is stored is read as it was', async (t) => {
  for (const object of FULL) {
    t.same(stored(object), object, object.kind);
    t.ok(Object.isFrozen(stored(object)));
  }
  for (const blank of [blankKey('i', 'abcd', 1), blankTeam('i', 1), blankUser('i', 1)]) {
    t.same(stored(blank), blank);
    t.ok(JSON.stringify(itemOf(blank).value).length < 30, 'what states nothing is small');
  }
  const { budget, limits } = TERMS;
  const small = itemOf({ ...blankUser('u', 1), budget, limits });
  const { maxBudget, budgetLimits, temporaryIncrease } = budget;
  t.same(
    small.value,
    { budget: { maxBudget, budgetLimits, temporaryIncrease }, limits },
    'of a budget only what it states; limits whole, as older servers read them',
  );
  const whole = { ...small, value: { budget, limits } };
  t.match(new ObjectReader().read(whole), { budget, limits }, 'terms that were stored whole');
});

t.test('equal lists and ids are one value, whatever else is equal to them', async (t) => {
  const reader = new ObjectReader();
  const read = (more: Partial<VirtualKey>): VirtualKey =>
    stored({ ...blankKey('i', '', 1), ...more }, reader) as VirtualKey;
  const [one, two] = [read({ models: ['a', 'b'], teamId: '["a","b"]' }), read({ models: ['a', 'b'] })];
  t.equal(one.models, two.models);
  t.equal(one.teamId, '["a","b"]');
  t.equal(read({}).models, read({}).models);
  t.same(read({ models: ['b', 'a'] }).models, ['b', 'a']);
  const limits = { ...NO_LIMITS, rpm: 1 };
  t.equal(read({ limits }).limits, read({ limits }).limits);
  t.equal(read({}).limits, NO_LIMITS);
  t.equal(read({}).budget, NO_BUDGET);
});

t.test('members that this version does not know are passed over', async (t) => {
  const reader = new ObjectReader();
  const item = { ...itemOf(blankTeam('t', 1)), value: { later: 1, alias: 'T' } };
  t.same(reader.read(item), { ...blankTeam('t', 1), alias: 'T' });
  t.throws(() => reader.read({ ...item, kind: 'planet' as 'team' }), /no objects of the kind planet/);
});
