// Which deployments serve whom: those of one team the keys of that team, and whoever calls for all teams.
import t from 'tap';
import type { DisabledModel } from '../../../config/runtime-models.ts';
import { ANYBODY, keyCaller, type AuthenticatedCaller } from '../../../proxy/access/caller.ts';
import { blankKey, blankUser } from '../../../proxy/access/objects/blank.ts';
import type { KeyType, UserRole } from '../../../proxy/access/objects/objects.ts';
import { areSomeOfTeams, boundOf, serves, wouldServe } from '../../../proxy/access/team-deployments.ts';

const of = (teamId: string | null) => ({ attribution: { teamId } });

const disabled = (...[teamId]: readonly unknown[]): DisabledModel => ({
  id: 'd',
  group: 'later',
  info: teamId === undefined ? {} : { team_id: teamId },
  publicParams: {},
  issues: [],
});

const keyOf = (teamId: string | null, role: UserRole = 'internal_user', type: KeyType = 'default') =>
  keyCaller({ ...blankKey('k', '', 1), teamId, type }, null, { ...blankUser('u', 1), role });

const servedBy = (caller: AuthenticatedCaller): readonly (string | null)[] =>
  ['red', 'blue', null].filter((team) => serves(boundOf(caller), of(team)));

t.test('a key is served by deployments of its team and of none', (t) => {
  t.same(servedBy(keyOf('red')), ['red', null]);
  t.same(servedBy(keyOf('gone')), [null], 'also of a team that does not exist');
  t.same(servedBy(keyOf(null)), [null]);
  t.same(servedBy(keyOf(null, 'proxy_admin_viewer')), [null]);
  t.end();
});

t.test('who calls for all teams is served by each; a key that others may hold does not', (t) => {
  const all = ['red', 'blue', null];
  t.same(servedBy(ANYBODY), all);
  t.same(servedBy({ role: 'inference', keyHash: 'k' }), all);
  t.same(servedBy({ role: 'session', keyHash: 'k' }), all);
  t.same(servedBy(keyOf('red', 'proxy_admin')), all);
  t.same(servedBy(keyOf('red', 'proxy_admin', 'llm_api')), ['red', null]);
  t.end();
});

t.test('an empty id is a team, whose keys nobody has', (t) => {
  t.notOk(serves(boundOf(keyOf(null)), of('')));
  t.ok(areSomeOfTeams({ deployments: [of(null), of('')], disabled: [] }));
  t.notOk(areSomeOfTeams({ deployments: [of(null)], disabled: [disabled(null), disabled()] }));
  t.end();
});

t.test('a model that is not served is of its team all the same', (t) => {
  t.ok(areSomeOfTeams({ deployments: [of(null)], disabled: [disabled('red')] }));
  t.ok(wouldServe(boundOf(keyOf('red')), disabled('red')));
  t.notOk(wouldServe(boundOf(keyOf('blue')), disabled('red')));
  t.notOk(wouldServe(boundOf(keyOf('7')), disabled(7)), 'an id that is no text is nobody’s');
  t.ok(wouldServe(boundOf(keyOf(null)), disabled()));
  t.end();
});
