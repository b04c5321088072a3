// Who may see and change what: every action by every kind of caller, and what a key cannot give away.
import t from 'tap';
import { keyCaller, type AuthenticatedCaller } from '../../../proxy/access/caller.ts';
import {
  isAdmin,
  seesAll,
  teamsOfAdmin,
  visibleKeys,
  visibleTeams,
  whyNot,
  type ManagementAction,
} from '../../../proxy/access/may.ts';
import { blankKey, blankTeam, blankUser } from '../../../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../../../proxy/access/objects/directory.ts';
import {
  NO_BUDGET,
  NO_LIMITS,
  type Team,
  type TeamMember,
  type User,
  type VirtualKey,
} from '../../../proxy/access/objects/objects.ts';

const key = (id: string, more: Partial<VirtualKey> = {}): VirtualKey => ({ ...blankKey(id, '', 1), ...more });
const member = (userId: string, role: 'admin' | 'user'): TeamMember => ({
  userId,
  role,
  budgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
});
const team = (id: string, more: Partial<Team> = {}): Team => ({ ...blankTeam(id, 1), ...more });
const user = (id: string, more: Partial<User> = {}): User => ({ ...blankUser(id, 1), ...more });

const directory = new AccessDirectory();
const objects = {
  root: user('root', { role: 'proxy_admin' }),
  eye: user('eye', { role: 'proxy_admin_viewer' }),
  ann: user('ann'),
  bob: user('bob'),
  look: user('look', { role: 'internal_user_viewer' }),
  red: team('red', {
    members: [member('ann', 'admin'), member('bob', 'user')],
    models: ['a', 'b'],
    tags: ['red'],
  }),
  blue: team('blue'),
};
const keys = {
  root: key('k-root', { userId: 'root' }),
  'root, llm_api': key('k-root-llm', { userId: 'root', type: 'llm_api' }),
  'root, read_only': key('k-root-ro', { userId: 'root', type: 'read_only' }),
  eye: key('k-eye', { userId: 'eye' }),
  'eye, llm_api': key('k-eye-llm', { userId: 'eye', type: 'llm_api' }),
  ann: key('k-ann', { userId: 'ann' }),
  'ann, llm_api': key('k-ann-llm', { userId: 'ann', type: 'llm_api' }),
  'ann, read_only': key('k-ann-ro', { userId: 'ann', type: 'read_only' }),
  bob: key('k-bob', { userId: 'bob' }),
  look: key('k-look', { userId: 'look' }),
  'of red': key('k-red', { teamId: 'red' }),
  'of nobody': key('k-none'),
};
for (const object of [...Object.values(objects), ...Object.values(keys)]) directory.put(object);

const callerOf = (own: VirtualKey): AuthenticatedCaller => ({
  role: 'key',
  key: own,
  keyHash: own.id,
  team: own.teamId === null ? null : directory.team(own.teamId),
  user: own.userId === null ? null : directory.user(own.userId),
});
const CALLERS: Readonly<Record<string, AuthenticatedCaller>> = {
  master: { role: 'admin', keyHash: 'm' },
  inference: { role: 'inference', keyHash: 'i' },
  ...Object.fromEntries(Object.entries(keys).map(([name, own]) => [name, callerOf(own)])),
};

type Case = {
  readonly [A in ManagementAction]: readonly [A, Parameters<typeof whyNot<A>>[3], readonly string[]];
}[ManagementAction];

const READERS = ['root, read_only', 'eye'];

/** All who may, beside the master key and `root`. */
const CASES: readonly Case[] = [
  ['key.read', keys.bob, [...READERS, 'bob']],
  ['key.read', keys.ann, [...READERS, 'ann', 'ann, read_only']],
  ['key.read', keys['ann, llm_api'], [...READERS, 'ann', 'ann, llm_api', 'ann, read_only']],
  ['key.read', keys['of red'], [...READERS, 'ann', 'ann, read_only', 'of red']],
  ['key.read', keys['of nobody'], [...READERS, 'of nobody']],
  ['key.create', key('new', { userId: 'bob' }), ['bob']],
  ['key.create', key('new', { userId: 'bob', teamId: 'red' }), ['bob']],
  ['key.create', key('new', { userId: 'bob', teamId: 'red', type: 'llm_api' }), ['ann', 'bob']],
  ['key.create', key('new', { userId: 'bob', teamId: 'blue' }), []],
  ['key.create', key('new', { teamId: 'red' }), ['ann']],
  ['key.create', key('new'), []],
  ['key.create', key('new', { userId: 'ann', organizationId: 'o' }), []],
  ['key.update', { is: keys.bob, becomes: { ...keys.bob, alias: 'x' } }, ['bob']],
  ['key.update', { is: keys.bob, becomes: { ...keys.bob, userId: 'ann' } }, []],
  ['key.update', { is: keys['of red'], becomes: { ...keys['of red'], blocked: true } }, ['ann']],
  ['key.update', { is: keys['of nobody'], becomes: { ...keys['of nobody'], userId: 'bob' } }, []],
  ['key.update', { is: keys.bob, becomes: { ...keys.bob, blocked: true } }, ['bob']],
  ['key.update', { is: { ...keys.bob, blocked: true }, becomes: keys.bob }, []],
  ['key.update', { is: { ...keys['of red'], blocked: true }, becomes: keys['of red'] }, ['ann']],
  [
    'key.update',
    { is: { ...keys.ann, blocked: true }, becomes: { ...keys.ann, teamId: 'red', blocked: true } },
    [],
  ],
  ['key.delete', keys.bob, ['bob']],
  ['key.delete', keys['of red'], ['ann']],
  ['key.delete', keys.look, []],
  ['team.read', objects.red, [...READERS, 'ann', 'ann, read_only', 'bob', 'of red']],
  ['team.read', objects.blue, READERS],
  ['team.create', objects.blue, []],
  ['team.update', { is: objects.red, becomes: { ...objects.red, alias: 'x', models: ['a'] } }, ['ann']],
  ['team.update', { is: objects.red, becomes: { ...objects.red, models: [] } }, []],
  ['team.update', { is: objects.red, becomes: { ...objects.red, models: ['a', 'c'] } }, []],
  ['team.update', { is: objects.red, becomes: { ...objects.red, blocked: true } }, []],
  ['team.update', { is: objects.red, becomes: { ...objects.red, tags: ['red', 'more'] } }, ['ann']],
  ['team.update', { is: objects.red, becomes: { ...objects.red, tags: [] } }, []],
  [
    'team.update',
    { is: objects.red, becomes: { ...objects.red, budget: { ...NO_BUDGET, maxBudget: 1 } } },
    [],
  ],
  ['team.members', objects.red, ['ann']],
  ['team.members', objects.blue, []],
  ['team.delete', objects.red, []],
  ['user.read', objects.ann, [...READERS, 'ann', 'ann, read_only']],
  ['user.read', objects.look, [...READERS, 'look']],
  ['user.create', user('new'), []],
  ['user.update', { is: objects.ann, becomes: { ...objects.ann, alias: 'Ann' } }, ['ann']],
  ['user.update', { is: objects.ann, becomes: { ...objects.ann, role: 'proxy_admin' } }, []],
  ['user.update', { is: objects.ann, becomes: { ...objects.ann, models: ['a'] } }, []],
  ['user.update', { is: objects.look, becomes: { ...objects.look, alias: 'x' } }, []],
  ['user.delete', objects.ann, []],
  ['other.read', null, READERS],
  ['other.write', null, []],
];

t.test('each action is open to those who are named, and to nobody else', async (t) => {
  for (const [action, subject, allowed] of CASES) {
    const may = Object.keys(CALLERS).filter(
      (name) => whyNot(CALLERS[name] as AuthenticatedCaller, directory, action, subject) === null,
    );
    const expected = ['master', 'root', ...allowed];
    t.same(may.toSorted(), expected.toSorted(), `${action} ${JSON.stringify(subject).slice(0, 120)}`);
  }
});

t.test('a key that is limited makes none that is less so', async (t) => {
  const make = (own: Partial<VirtualKey>, wanted: Partial<VirtualKey>): string | null =>
    whyNot(
      callerOf(key('own', { userId: 'ann', ...own })),
      directory,
      'key.create',
      key('new', { userId: 'ann', ...wanted }),
    );
  const capped = { budget: { ...NO_BUDGET, maxBudget: 1 } };
  for (const own of [
    capped,
    { budgetId: 'b' },
    { limits: { ...NO_LIMITS, rpm: 1 } },
    { limits: { ...NO_LIMITS, modelTpm: { a: 1 } } },
    { budget: { ...NO_BUDGET, modelMaxBudget: { a: { maxBudget: 1, budgetDuration: null } } } },
  ])
    t.match(make(own, capped), /budget or limits of its own/);
  t.equal(make({ models: ['a', 'b'] }, { models: ['a'] }), null);
  t.match(make({ models: ['a'] }, {}), /more models/, 'an empty list is all models');
  t.match(make({ models: ['a'] }, { models: ['a', 'b'] }), /more models/);
  t.equal(make({ expiresMs: 10 }, { expiresMs: 10 }), null);
  for (const expiresMs of [null, 11]) t.match(make({ expiresMs: 10 }, { expiresMs }), /valid for longer/);
  t.match(make({ allowedRoutes: ['/key/generate'] }, {}), /more routes/);
  for (const metadata of [{ max_iterations: 5 }, { session_rpm_limit: 1 }, { max_budget_per_session: 1 }])
    t.match(make({ metadata }, { metadata }), /budget or limits of its own/, 'of each conversation');
  t.equal(make({ metadata: { setup: 'x' } }, {}), null);
  t.match(
    make({ tags: ['paid', 'ci'] }, { tags: ['ci'] }),
    /tag paid/,
    'budgets of tags count what carries them',
  );
  t.equal(make({ tags: ['ci'] }, { tags: ['more', 'ci'] }), null);
  t.match(make({ type: 'management' }, {}), /another type/);
  t.equal(make({ type: 'management' }, { type: 'management' }), null);
  const own = key('own', { userId: 'ann', ...capped });
  const loosened = { is: own, becomes: { ...own, budget: NO_BUDGET } };
  t.match(whyNot(callerOf(own), directory, 'key.update', loosened), /makes and changes no keys/);
});

t.test('a narrowed key deletes no key that it could not make, but itself', async (t) => {
  const other = key('other', { userId: 'ann' });
  const why = (own: Partial<VirtualKey>, which: VirtualKey | null = other): string | null => {
    const held = key('own', { userId: 'ann', ...own });
    return whyNot(callerOf(held), directory, 'key.delete', which ?? held);
  };
  for (const own of [
    { budget: { ...NO_BUDGET, maxBudget: 1 } },
    { budgetId: 'b' },
    { limits: { ...NO_LIMITS, rpm: 1 } },
    { models: ['a'] },
    { teamId: 'red' },
    { organizationId: 'o' },
    { allowedRoutes: ['/key/delete'] },
    { type: 'management' as const },
    { metadata: { max_iterations: 5 } },
  ]) {
    t.type(why(own), 'string', JSON.stringify(own));
    t.equal(why(own, null), null, `itself: ${JSON.stringify(own)}`);
  }
  t.equal(why({}), null);
  t.equal(why({ expiresMs: 10, tags: ['ci'], models: ['all-team-models'] }), null, 'what leaked is revoked');
  t.equal(why({ models: ['a', 'b'] }, key('other', { userId: 'ann', models: ['a'] })), null, 'narrower');
  t.equal(why({ teamId: 'red' }, key('other', { userId: 'bob', teamId: 'red' })), null, 'of the same team');
});

t.test('a narrowed key changes neither its user nor a team that it does not reach', async (t) => {
  const { red, ann } = objects;
  const renamed = { is: red, becomes: { ...red, alias: 'x' } };
  const renamedUser = { is: ann, becomes: { ...ann, alias: 'x' } };
  for (const [own, changesTeam, changesUser] of [
    [{}, true, true],
    [{ budget: { ...NO_BUDGET, maxBudget: 1 } }, false, false],
    [{ limits: { ...NO_LIMITS, rpm: 1 } }, false, false],
    [{ metadata: { max_iterations: 5 } }, false, false],
    [{ models: ['a'] }, false, true],
    [{ models: ['a', 'b', 'c'] }, true, true],
    [{ teamId: 'blue' }, false, true],
    [{ teamId: 'red' }, true, true],
    [{ organizationId: 'o' }, false, true],
  ] as const) {
    const caller = callerOf(key('own', { userId: 'ann', ...own }));
    const name = JSON.stringify(own);
    t.equal(whyNot(caller, directory, 'team.members', red) === null, changesTeam, `members ${name}`);
    t.equal(whyNot(caller, directory, 'team.update', renamed) === null, changesTeam, `team ${name}`);
    t.equal(whyNot(caller, directory, 'user.update', renamedUser) === null, changesUser, `user ${name}`);
    t.same(
      teamsOfAdmin(caller, directory).map(({ id }) => id),
      ['red'],
      'it sees as before',
    );
  }
  t.same(teamsOfAdmin(CALLERS['master'] as AuthenticatedCaller, directory), [], 'who is no user');
});

t.test('a session of the console makes no key that may do more than it', async (t) => {
  const session = (userId: string): AuthenticatedCaller =>
    keyCaller(key('session', { userId }), null, user(userId, { role: 'internal_user' }));
  const make = (caller: AuthenticatedCaller, more: Partial<VirtualKey> = {}): string | null =>
    whyNot(caller, directory, 'key.create', key('new', { userId: caller.userId ?? null, ...more }));
  for (const userId of ['root', 'eye'])
    t.match(make(session(userId)), /may do more than you may now/, 'the groups of its person are others now');
  t.equal(make(session('root'), { type: 'llm_api' }), null);
  t.equal(make(session('bob')), null);
  t.equal(make(session('nobody is stored')), null);
});

t.test('what a caller sees in lists', async (t) => {
  const keysOf = (name: string): string[] =>
    [...visibleKeys(CALLERS[name] as AuthenticatedCaller, directory)].map(({ id }) => id).toSorted();
  const teamsOf = (name: string): string[] =>
    [...visibleTeams(CALLERS[name] as AuthenticatedCaller, directory)].map(({ id }) => id).toSorted();
  const all = Object.values(keys).map(({ id }) => id);
  for (const name of ['master', 'root', 'eye', 'root, read_only']) {
    t.same(keysOf(name), all.toSorted(), name);
    t.same(teamsOf(name), ['blue', 'red'], name);
    t.equal(seesAll(CALLERS[name] as AuthenticatedCaller), true);
  }
  t.same(keysOf('ann'), ['k-ann', 'k-ann-llm', 'k-ann-ro', 'k-red'], 'an admin of a team sees its keys');
  t.same(keysOf('bob'), ['k-bob']);
  t.same(keysOf('ann, llm_api'), ['k-ann-llm']);
  t.same(keysOf('eye, llm_api'), ['k-eye-llm'], 'whatever its user sees');
  t.same(keysOf('of red'), ['k-red']);
  t.same(keysOf('inference'), []);
  t.same(['bob', 'of red', 'look', 'ann, llm_api', 'eye, llm_api'].map(teamsOf), [
    ['red'],
    ['red'],
    [],
    [],
    [],
  ]);
  const admins = Object.keys(CALLERS).filter((name) => isAdmin(CALLERS[name] as AuthenticatedCaller));
  t.same(admins, ['master', 'root']);
  const seeing = Object.keys(CALLERS).filter((name) => seesAll(CALLERS[name] as AuthenticatedCaller));
  t.same(seeing, ['master', 'root', 'root, read_only', 'eye']);
});
