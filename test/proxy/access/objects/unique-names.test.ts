// Two processes on one store: of two that want the same alias or e-mail address at the same moment one gets it, and a name that
// nobody has any more is free.
import t from 'tap';
import { blankKey, blankUser } from '../../../../proxy/access/objects/blank.ts';
import type { AccessObject, ObjectChange } from '../../../../proxy/access/objects/objects.ts';
import { NameTaken } from '../../../../proxy/access/objects/unique-names.ts';
import { twoProcesses } from './fixture/two-processes.ts';

const key = (id: string, alias: string | null): AccessObject => ({ ...blankKey(id, 'aaaa', 1), alias });
const user = (id: string, email: string): AccessObject => ({ ...blankUser(id, 1), email });
const put = (object: AccessObject): ObjectChange => ({ put: object });

/** `applied`, or why not. */
const outcome = (done: Promise<void>): Promise<string> =>
  done.then(
    () => 'applied',
    (error: Error) => error.name,
  );

t.test('a name is given once, whoever is first', async (t) => {
  const [one, other] = await twoProcesses(t);
  for (let n = 0; n < 20; n += 1) {
    const ends = await Promise.all([
      outcome(one.change([put(key(`a${n}`, `ci ${n}`))])),
      outcome(other.change([put(key(`b${n}`, `ci ${n}`))])),
    ]);
    t.same(ends.toSorted(), ['NameTaken', 'applied'], `round ${n}`);
  }
  await one.change([put(user('ann', 'Ann@Example.com'))]);
  await t.rejects(other.change([put(user('bob', 'ann@example.COM'))]), NameTaken);
  await other.change([put(key('c', 'ann@example.com'))]); // an alias is no address
});

t.test('a name that was given up is free, in the other process too', async (t) => {
  const [one, other] = await twoProcesses(t);
  await one.change([put(key('a', 'ci'))]);
  await other.sync();
  const known = other.directory.stored({ kind: 'key', id: 'a' });
  await other.change([put({ ...known, alias: 'renamed' } as AccessObject)]);
  await one.change([put(key('b', 'ci'))]);
  await one.sync();
  await one.change([{ remove: { kind: 'key', id: 'b', revision: 1 } }]);
  await other.change([put(key('d', 'ci'))]);
  await t.rejects(one.change([put(key('e', 'renamed'))]), NameTaken);
  await other.sync();
  const swapped = other.directory.stored({ kind: 'key', id: 'd' });
  // All or nothing: an object takes the name that another gives up in the same change.
  await other.change([put({ ...swapped, alias: 'elsewhere' } as AccessObject), put(key('f', 'ci'))]);
  t.equal(other.directory.keyByAlias('ci')?.id, 'f');
});

t.test('changes of anything else need no name', async (t) => {
  const [one] = await twoProcesses(t);
  await one.change([put(key('a', null)), put(key('b', null))]);
  await one.change([put({ ...key('a', null), revision: 1, blocked: true } as AccessObject)]);
  t.equal(one.directory.key('a')?.blocked, true);
});
