// What a process does before it says that it does not know a key.
import t from 'tap';
import { StoredObjects } from '../../../../proxy/access/objects/access-objects.ts';
import { blankKey } from '../../../../proxy/access/objects/blank.ts';
import { twoProcesses } from './fixture/two-processes.ts';

t.test(
  'all that ask for what others have stored share one question, and the next ones ask again',
  async (t) => {
    const [one, other] = await twoProcesses(t);
    const first = one.catchUp();
    t.equal(one.catchUp(), first, 'the question has not begun');
    await other.change([{ put: blankKey('a', 'aaaa', 1) }]);
    await first;
    const second = one.catchUp();
    t.not(second, first);
    await second;
    t.equal(one.directory.key('a')?.id, 'a');
  },
);

t.test('a process that is alone asks nobody', (t) => {
  t.equal(StoredObjects.inMemory().catchUp(), null);
  t.end();
});
