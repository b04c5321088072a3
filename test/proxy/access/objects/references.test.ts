// What an object refers to from now on: a key to all of its owners together, the others to what is new.
import t from 'tap';
import { blankKey, blankTeam, blankUser } from '../../../../proxy/access/objects/blank.ts';
import type { AccessObject } from '../../../../proxy/access/objects/objects.ts';
import { referencesTaken } from '../../../../proxy/access/objects/references.ts';

const taken = (before: AccessObject | null, after: AccessObject): readonly string[] =>
  referencesTaken(before, after).map(({ kind, id }) => `${kind}/${id}`);

t.test('a key counts on all that it is of, also where one of them is another', async (t) => {
  const key = { ...blankKey('k', 'aaaa', 1), teamId: 't', userId: 'u', organizationId: 'o', budgetId: 'b' };
  t.same(taken(null, key), ['team/t', 'user/u', 'organization/o', 'budget/b']);
  t.same(taken(key, { ...key, blocked: true }), []);
  t.same(taken(key, { ...key, userId: 'v' }), ['team/t', 'user/v', 'organization/o', 'budget/b']);
  t.same(taken(key, { ...key, teamId: null, organizationId: null, budgetId: null }), []);
  t.same(taken(null, blankKey('k', 'aaaa', 1)), []);
});

t.test('a team counts on its organization, the budget of its members, and those who join', async (t) => {
  const { budget, limits } = blankUser('u', 1);
  const member = { role: 'user', budgetId: null, budget, limits } as const;
  const team = {
    ...blankTeam('t', 1),
    organizationId: 'o',
    memberBudgetId: 'b',
    members: [{ ...member, userId: 'u', budgetId: 'c' }],
  };
  t.same(taken(null, team), ['organization/o', 'budget/b', 'user/u', 'budget/c']);
  t.same(taken(team, { ...team, members: [...team.members, { ...member, userId: 'v' }] }), ['user/v']);
  t.same(taken(team, { ...team, members: [] }), []);
});

t.test('a user counts on a budget', async (t) => {
  const user = { ...blankUser('u', 1), budgetId: 'b' };
  t.same(taken(null, user), ['budget/b']);
  t.same(taken(user, { ...user, alias: 'U' }), []);
});
