// What a narrowed key hands on, whoever's the objects are.
import t from 'tap';
import {
  whyNotChangeTeam,
  whyNotChangeUser,
  whyNotMake,
  whyNotRevoke,
} from '../../../proxy/access/key-reach.ts';
import { blankKey, blankTeam } from '../../../proxy/access/objects/blank.ts';
import { NO_BUDGET, NO_LIMITS, type Team, type VirtualKey } from '../../../proxy/access/objects/objects.ts';

type Terms = Partial<VirtualKey>;

const key = (terms: Terms = {}): VirtualKey => ({ ...blankKey('id', '', 1), ...terms });
const team = (terms: Partial<Team> = {}): Team => ({ ...blankTeam('red', 1), ...terms });

const LIMITED: readonly Terms[] = [
  { budget: { ...NO_BUDGET, maxBudget: 1 } },
  { budget: { ...NO_BUDGET, budgetLimits: [{ budgetDuration: '1d', maxBudget: 1 }] } },
  { budgetId: 'shared' },
  { limits: { ...NO_LIMITS, tpm: 1 } },
  { limits: { ...NO_LIMITS, maxParallel: 1 } },
  { metadata: { max_iterations: 1 } },
];

/** A term of the key, the narrowest that it hands on, and one that is less narrow. */
const NARROWED: readonly (readonly [own: Terms, same: Terms, wider: Terms])[] = [
  [{ models: ['a', 'b'] }, { models: ['a'] }, { models: ['a', 'c'] }],
  [
    { models: ['x'], aliases: { x: 'm' } },
    { models: ['x'], aliases: { x: 'm' } },
    { models: ['x'], aliases: { x: 'n' } },
  ],
  [{ models: ['m'] }, { models: ['m'], aliases: { x: 'm' } }, { models: ['m'], aliases: { m: 'n' } }],
  [{ teamId: 'red' }, { teamId: 'red' }, { teamId: null }],
  [{ organizationId: 'o' }, { organizationId: 'o' }, { organizationId: 'p' }],
  [{ allowedRoutes: ['/a', '/b'] }, { allowedRoutes: ['/b'] }, { allowedRoutes: [] }],
  [{ type: 'management' }, { type: 'management' }, { type: 'default' }],
];

/** Of these a key makes no others, but revokes any. */
const REVOCABLE: readonly (readonly [own: Terms, same: Terms, wider: Terms])[] = [
  [{ tags: ['ci'] }, { tags: ['ci', 'more'] }, { tags: ['more'] }],
  [{ expiresMs: 10 }, { expiresMs: 9 }, { expiresMs: 11 }],
  [{ expiresMs: 10 }, { expiresMs: 10 }, { expiresMs: null }],
];

t.test('a key that nothing narrows hands on everything', async (t) => {
  for (const wanted of [...LIMITED, ...NARROWED.map(([own]) => own)])
    t.equal(whyNotMake(key(), key(wanted)), null, JSON.stringify(wanted));
  t.equal(whyNotChangeUser(key()), null);
  t.equal(whyNotChangeTeam(key(), team()), null);
});

t.test('what narrows a key narrows what it makes, and what it revokes', async (t) => {
  for (const [own, same, wider] of NARROWED) {
    const name = JSON.stringify(own);
    for (const why of [whyNotMake, whyNotRevoke]) {
      t.equal(why(key(own), key(same)), null, name);
      t.type(why(key(own), key(wider)), 'string', name);
    }
  }
});

t.test('tags and an end narrow what it makes alone', async (t) => {
  for (const [own, same, wider] of REVOCABLE) {
    const name = JSON.stringify([own, wider]);
    t.equal(whyNotMake(key(own), key(same)), null, name);
    t.type(whyNotMake(key(own), key(wider)), 'string', name);
    t.equal(whyNotRevoke(key(own), key(wider)), null, name);
  }
});

t.test('a limited key hands on nothing, not even what is limited as it is', async (t) => {
  for (const own of LIMITED) {
    const limited = key(own);
    const name = JSON.stringify(own);
    t.match(whyNotMake(limited, limited), /makes and changes no keys/, name);
    t.match(whyNotRevoke(limited, limited), /makes and changes no keys/, name);
    t.match(whyNotChangeTeam(limited, team()), /changes no teams/, name);
    t.match(whyNotChangeUser(limited), /changes no users/, name);
  }
});

t.test('it reaches a team that may do no more than the key', async (t) => {
  const models = ['a', 'b'];
  t.equal(whyNotChangeTeam(key({ models }), team({ models: ['a'] })), null);
  t.match(whyNotChangeTeam(key({ models }), team()), /more models/, 'an empty list is all models');
  t.equal(whyNotChangeTeam(key({ teamId: 'red' }), team()), null);
  t.match(whyNotChangeTeam(key({ teamId: 'blue' }), team()), /no other team/);
  t.equal(whyNotChangeTeam(key({ organizationId: 'o' }), team({ organizationId: 'o' })), null);
  t.match(whyNotChangeTeam(key({ organizationId: 'o' }), team()), /outside of it/);
});
