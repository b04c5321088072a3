// The directory: what is found by what, after changes of every kind, and how file objects and stored ones stand together.
import t from 'tap';
import { blankKey, blankTeam, blankUser } from '../../../../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../../../../proxy/access/objects/directory.ts';
import {
  NO_BUDGET,
  NO_LIMITS,
  type AccessObject,
  type VirtualKey,
} from '../../../../proxy/access/objects/objects.ts';
import { seededRandom } from '../../../support/seeded-random.ts';

const key = (id: string, more: Partial<VirtualKey> = {}): VirtualKey => ({ ...blankKey(id, '', 1), ...more });
const idsOf = (objects: Iterable<{ readonly id: string }>): string[] =>
  [...objects].map(({ id }) => id).toSorted();

t.test('keys are found by credential, alias, team and user; each change moves them', async (t) => {
  const directory = new AccessDirectory();
  directory.put(key('a', { alias: 'one', teamId: 't1', userId: 'u1' }));
  directory.put(key('b', { alias: 'two', teamId: 't1' }));
  t.equal(directory.keyByAlias('one')?.id, 'a');
  t.same([idsOf(directory.keysOfTeam('t1')), idsOf(directory.keysOfUser('u1'))], [['a', 'b'], ['a']]);
  directory.put(key('a', { alias: 'three', teamId: 't2', userId: 'u2' }));
  t.same(
    [directory.keyByAlias('one'), directory.keyByAlias('three')?.id, idsOf(directory.keysOfTeam('t1'))],
    [null, 'a', ['b']],
  );
  t.same([idsOf(directory.keysOfTeam('t2')), idsOf(directory.keysOfUser('u1'))], [['a'], []]);
  directory.remove({ kind: 'key', id: 'a' });
  directory.remove({ kind: 'key', id: 'a' });
  t.same([directory.key('a'), directory.keyByAlias('three'), directory.count('key')], [null, null, 1]);
});

t.test('a former value is a credential until its grace is over', async (t) => {
  const directory = new AccessDirectory();
  directory.put(key('new', { former: [{ id: 'old', untilMs: 10 }] }));
  t.equal(directory.keyOfCredential('old', 9)?.id, 'new');
  t.equal(directory.keyOfCredential('old', 10), null);
  t.equal(directory.key('old'), null, 'it is no key of its own');
  directory.put(key('new'));
  t.equal(directory.keyOfCredential('old', 9), null);
  directory.put(key('new', { former: [{ id: 'old', untilMs: 10 }] }));
  directory.remove({ kind: 'key', id: 'new' });
  t.equal(directory.keyOfCredential('old', 9), null);
});

t.test('teams by their members, users by their address in any case', async (t) => {
  const directory = new AccessDirectory();
  const member = (userId: string) => ({
    userId,
    role: 'user' as const,
    budgetId: null,
    budget: NO_BUDGET,
    limits: NO_LIMITS,
  });
  directory.put({ ...blankTeam('t1', 1), members: [member('u'), member('v')] });
  directory.put({ ...blankTeam('t2', 1), members: [member('u')] });
  t.same(idsOf(directory.teamsOf('u')), ['t1', 't2']);
  directory.put({ ...blankTeam('t1', 1), members: [member('v')] });
  t.same([idsOf(directory.teamsOf('u')), idsOf(directory.teamsOf('v'))], [['t2'], ['t1']]);
  directory.put({ ...blankUser('u', 1), email: 'Ann@Example.org' });
  t.equal(directory.userByEmail(' ann@example.ORG')?.id, 'u');
  directory.put({ ...blankUser('u', 1), email: null });
  t.equal(directory.userByEmail('ann@example.org'), null);
});

t.test('the file hides what is stored, for as long as it states it', async (t) => {
  const directory = new AccessDirectory();
  const stored = key('a', { models: ['stored'], revision: 3 });
  const file = key('a', { models: ['file'], origin: 'file' });
  directory.put(stored);
  t.same(directory.takeFile([file]), [stored], 'what is hidden is told');
  t.same(directory.key('a')?.models, ['file']);
  t.equal(directory.stored({ kind: 'key', id: 'a' })?.revision, 3);
  directory.put({ ...stored, revision: 4 });
  t.same(directory.key('a')?.models, ['file'], 'a change of the stored one is not seen');
  directory.takeFile([]);
  t.equal(directory.key('a')?.revision, 4);
  directory.takeFile([file]);
  directory.remove({ kind: 'key', id: 'a' });
  t.same(directory.key('a')?.models, ['file']);
  directory.takeFile([]);
  t.equal(directory.key('a'), null);
});

t.test('what the store tells late replaces nothing newer, and is hidden once', async (t) => {
  const directory = new AccessDirectory();
  const told = (revision: number, more: Partial<VirtualKey> = {}): boolean =>
    directory.putNewer(key('a', { revision, alias: `${revision}`, ...more }));
  t.notOk(told(2));
  t.notOk(told(1));
  t.notOk(told(2, { alias: 'again' }));
  t.equal(directory.key('a')?.alias, '2');
  t.notOk(told(1, { createdMs: 9 }));
  t.equal(directory.key('a')?.createdMs, 9, 'an object made anew begins at 1');
  directory.remove({ kind: 'key', id: 'a' });

  directory.takeFile([key('a', { origin: 'file' })]);
  t.ok(told(2), 'the file states it');
  t.notOk(told(3));
  t.notOk(told(1));
  t.match(
    [directory.key('a')?.origin, directory.stored({ kind: 'key', id: 'a' })],
    ['file', { revision: 3 }],
  );
});

t.test('after any changes in any order it holds what a plain table would', async (t) => {
  const random = seededRandom(7);
  const pick = (n: number): number => Math.floor(random() * n);
  const directory = new AccessDirectory();
  const table = new Map<string, VirtualKey>();
  for (let step = 0; step < 5_000; step += 1) {
    const id = `k${pick(50)}`;
    if (pick(4) === 0) {
      directory.remove({ kind: 'key', id });
      table.delete(id);
      continue;
    }
    const some = (name: string): string | null => (pick(3) === 0 ? null : `${name}${pick(7)}`);
    const object: AccessObject = key(id, { alias: `alias of ${id}`, teamId: some('t'), userId: some('u') });
    directory.put(object);
    table.set(id, object);
    if (step % 50 > 0) continue;
    for (let i = 0; i < 7; i += 1) {
      const of = (name: 'teamId' | 'userId', value: string): string[] =>
        idsOf([...table.values()].filter((one) => one[name] === value));
      t.same(idsOf(directory.keysOfTeam(`t${i}`)), of('teamId', `t${i}`));
      t.same(idsOf(directory.keysOfUser(`u${i}`)), of('userId', `u${i}`));
    }
  }
  t.equal(directory.count('key'), table.size);
  t.same(idsOf(directory.all('key')), idsOf(table.values()));
});
