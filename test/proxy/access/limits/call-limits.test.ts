// Which limits a call has, whose they are, and what a client is told of them.
import t from 'tap';
import {
  NO_BUDGET,
  NO_LIMITS,
  type AccessObject,
  type LimitTerms,
  type ObjectOf,
} from '../../../../proxy/access/objects/objects.ts';
import type { OwnerDirectory, ScopedRecord } from '../../../../proxy/access/budgets/scopes.ts';
import { CallLimits, needsOfLimits, type ScopedLimit } from '../../../../proxy/access/limits/call-limits.ts';
import { responseHeaderNames } from '../../../../proxy/headers/response-header-names.ts';
import { limitAnswer } from '../../../../proxy/access/limits/limit-refusal.ts';
import { limitHeaders } from '../../../../proxy/access/limits/limit-headers.ts';

const limitsOf = (
  call: ScopedRecord,
  of: OwnerDirectory,
  tokens: (perMinute: number) => number,
): readonly ScopedLimit[] => {
  const scoped = new CallLimits(of).of(call);
  const needs = needsOfLimits(scoped, tokens);
  return scoped.map((limit, i) => ({ ...limit, need: needs[i] ?? limit.need }));
};

const NAMES = responseHeaderNames({ headerPrefix: 'x-litellm-' });

const limits = (terms: Partial<LimitTerms>): LimitTerms => ({ ...NO_LIMITS, ...terms });
const COMMON = {
  origin: 'store' as const,
  revision: 1,
  createdMs: 0,
  updatedMs: 0,
  createdBy: null,
  updatedBy: null,
  metadata: {},
  kept: {},
  alias: null,
  budgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
  models: [],
  blocked: false,
};
const key: ObjectOf<'key'> = {
  ...COMMON,
  kind: 'key',
  id: 'k',
  name: 'sk-...abcd',
  type: 'default',
  allowedRoutes: [],
  aliases: {},
  teamId: 't',
  needsTeam: false,
  userId: 'u',
  organizationId: null,
  tags: [],
  expiresMs: null,
  former: [],
};
const MEMBER = { userId: 'u', role: 'user' as const, budgetId: null, budget: NO_BUDGET, limits: NO_LIMITS };
const team: ObjectOf<'team'> = {
  ...COMMON,
  kind: 'team',
  id: 't',
  organizationId: 'o',
  modelAliases: {},
  members: [MEMBER],
  memberBudgetId: null,
  tags: [],
};
const user: ObjectOf<'user'> = { ...COMMON, kind: 'user', id: 'u', email: null, role: 'internal_user' };
const customer: ObjectOf<'customer'> = { ...COMMON, kind: 'customer', id: 'e' };
const organization: ObjectOf<'organization'> = { ...COMMON, kind: 'organization', id: 'o', members: [] };
const budget: ObjectOf<'budget'> = { ...COMMON, kind: 'budget', id: 'b', isBeingDeleted: false };

const CALL: ScopedRecord = {
  apiKeyHash: 'k',
  teamId: 't',
  userId: 'u',
  endUser: 'e',
  tags: [],
  modelGroup: 'openai/gpt-5',
  modelId: '',
  provider: '',
  profile: null,
  sessionId: 's',
  sessionSource: 'generated',
};

function directory(...objects: readonly AccessObject[]): OwnerDirectory {
  const find = (kind: string, id: string): never | null =>
    (objects.find((one) => one.kind === kind && one.id === id) as never) ?? null;
  return {
    key: (id) => find('key', id),
    keyOfCredential: (id) => find('key', id),
    team: (id) => find('team', id),
    user: (id) => find('user', id),
    customer: (id) => find('customer', id),
    organization: (id) => find('organization', id),
    budget: (id) => find('budget', id),
    tag: (id) => find('tag', id),
    count: (kind) => objects.filter((one) => one.kind === kind).length,
  };
}

const found = (...objects: readonly AccessObject[]) =>
  limitsOf(CALL, directory(...objects), () => 70).map(({ scope, value, need }) => ({
    scope,
    value,
    ...need,
  }));

t.test('a call without limits reserves nothing, and its tokens are not counted', async (t) => {
  const none = limitsOf(
    CALL,
    directory(key, team, user, customer, organization),
    () => t.fail('not asked') as never,
  );
  t.same(none, []);
  t.same(
    limitsOf(CALL, directory(), () => 0),
    [],
    'objects that are not there limit nothing',
  );
});

t.test('each scope states its own, in a fixed order', async (t) => {
  const all = found(
    { ...key, limits: limits({ rpm: 5, tpm: 1000, maxParallel: 2 }) },
    { ...team, limits: limits({ rpm: 50 }), members: [{ ...MEMBER, limits: limits({ tpm: 300 }) }] },
    { ...user, limits: limits({ rpm: 7 }) },
    { ...customer, limits: limits({ rpm: 3 }) },
    { ...organization, limits: limits({ rpm: 500 }) },
  );
  t.same(
    all.map(({ scope, value, kind }) => `${scope} ${value} ${kind}`),
    [
      'team_member 1:t/u tokens',
      'api_key k parallel',
      'api_key k requests',
      'api_key k tokens',
      'team t requests',
      'organization o requests',
      'user u requests',
      'end_user e requests',
    ],
  );
  t.equal(new Set(all.map(({ limit }) => limit)).size, all.length, 'no two limits share a count');
  t.match(all[0], { amount: 70, perMinute: 300 });
});

t.test('no call asks for more tokens than its limit', async (t) => {
  t.match(found({ ...key, limits: limits({ tpm: 50 }) }), [{ kind: 'tokens', perMinute: 50, amount: 50 }]);
});

t.test('limits of one model count for that model only', async (t) => {
  const own = limits({ modelRpm: { 'openai/gpt-5': 2, other: 1 }, modelTpm: { other: 9 } });
  t.match(found({ ...key, limits: own }), [
    { scope: 'model_per_key', value: 'k:openai/gpt-5', perMinute: 2, kind: 'requests' },
  ]);
  t.match(found({ ...team, limits: own }), [{ scope: 'model_per_team', value: 't:openai/gpt-5' }]);
  const inherited = limits({ modelRpm: JSON.parse('{"__proto__": 1}') as Record<string, number> });
  t.same(
    limitsOf({ ...CALL, modelGroup: 'toString' }, directory({ ...key, limits: inherited }), () => 0),
    [],
  );
});

t.test(
  'entries cover the models that those of model_max_budget do: by pattern, and behind the provider',
  async (t) => {
    const limitsBy = (modelRpm: Readonly<Record<string, number>>): unknown =>
      new CallLimits(directory({ ...key, limits: limits({ modelRpm }) }))
        .of(CALL)
        .map(({ need }) => need.limit);
    t.same(limitsBy({ 'gpt-4*': 1, 'openai/*': 2, 'gpt-5': 3, 'gpt-*': 4, '*': 5 }), [
      'key:k:model:openai/*:rpm',
      'key:k:model:gpt-5:rpm',
      'key:k:model:gpt-*:rpm',
      'key:k:model:*:rpm',
    ]);
    const shared = { ...budget, limits: limits({ modelRpm: { 'openai/*': 9, '*': 7 } }) };
    t.match(found({ ...key, budgetId: 'b', limits: limits({ modelRpm: { '*': 1 } }) }, shared), [
      { value: 'k:*', perMinute: 1 },
      { value: 'k:openai/*', perMinute: 9 },
    ]);
  },
);

t.test('an alias is limited as what it stands for, too, and both together count once', async (t) => {
  const own = { ...key, limits: limits({ modelRpm: { 'openai/gpt-5': 2, big: 9 } }) };
  const limitsBy = new CallLimits(directory(own));
  const names = (requested: string, meant?: string): unknown =>
    limitsBy.of({ ...CALL, modelGroup: requested }, meant).map(({ need }) => need.limit);
  t.same(names('gpt', 'openai/gpt-5'), ['key:k:model:openai/gpt-5:rpm']);
  t.same(names('big', 'openai/gpt-5'), ['key:k:model:openai/gpt-5:rpm', 'key:k:model:big:rpm']);
  t.same(names('big'), ['key:k:model:big:rpm']);
  t.same(names('gpt'), []);
});

t.test('a shared budget states what the object leaves open', async (t) => {
  const shared = { ...budget, limits: limits({ rpm: 9, maxParallel: 4 }) };
  t.match(found({ ...key, budgetId: 'b', limits: limits({ rpm: 2 }) }, shared), [
    { kind: 'parallel', most: 4 },
    { kind: 'requests', perMinute: 2 },
  ]);
  t.match(found({ ...team, memberBudgetId: 'b' }, shared), [
    { scope: 'team_member', kind: 'parallel' },
    { scope: 'team_member', kind: 'requests', perMinute: 9 },
  ]);
});

t.test('headers are those of the tightest scope, and of each scope; none without limits', async (t) => {
  const scoped = limitsOf(
    CALL,
    directory(
      { ...key, limits: limits({ rpm: 60, tpm: 1000, modelRpm: { 'openai/gpt-5': 30 } }) },
      { ...team, limits: limits({ rpm: 600 }) },
    ),
    () => 70,
  );
  const flat = limitHeaders(scoped, [59, 930, 15, 599], NAMES);
  const headers = Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]]] : [])));
  t.match(headers, {
    'x-ratelimit-limit-requests': '30',
    'x-ratelimit-remaining-requests': '15',
    'x-ratelimit-reset-requests': '30s',
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '930',
    'x-ratelimit-reset-tokens': '4.2s',
    'x-ratelimit-api_key-remaining-requests': '59',
    'x-ratelimit-team-limit-requests': '600',
    'x-ratelimit-model_per_key-remaining-requests': '15',
    'x-litellm-key-rpm-limit': '60',
    'x-litellm-key-tpm-limit': '1000',
    'x-litellm-key-remaining-requests-openai-gpt-5': '15',
  });
  t.same(limitHeaders([], [], NAMES), []);
  const none = limitsOf(
    CALL,
    directory({ ...key, limits: limits({ rpm: 0 }) }, { ...team, limits: limits({ rpm: 9 }) }),
    () => 0,
  );
  const [name, most, ...others] = limitHeaders(none, [0, 9], NAMES);
  t.same(
    [name, most, ...others.slice(0, 4)],
    [
      'x-ratelimit-limit-requests',
      '0',
      'x-ratelimit-remaining-requests',
      '0',
      'x-ratelimit-reset-requests',
      '1m0s',
    ],
    'a limit that lets nobody in is the tightest',
  );
});

t.test('a refusal has the text of the dialect, and says truly how long to wait', async (t) => {
  const [scoped] = limitsOf(CALL, directory({ ...key, limits: limits({ rpm: 2 }) }), () => 0);
  if (scoped === undefined) throw new Error('no limit');
  const { need } = scoped;
  const now = Date.UTC(2026, 10, 22, 10, 0, 0);
  const { message, headers } = limitAnswer(scoped, { need, waitMs: 29_001, remaining: 0 }, now);
  t.equal(
    message,
    'Rate limit exceeded for api_key: k. Limit type: requests. Current limit: 2, Remaining: 0. ' +
      'Limit resets at: 2026-11-22 10:00:30 UTC.',
  );
  t.same(Object.fromEntries(headers), {
    'retry-after': '30',
    rate_limit_type: 'requests',
    reset_at: '2026-11-22 10:00:30 UTC',
  });
});
