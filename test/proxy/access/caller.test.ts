// What the calls of a key are tagged with.
import t from 'tap';
import { keyCaller } from '../../../proxy/access/caller.ts';
import { blankKey, blankTeam } from '../../../proxy/access/objects/blank.ts';

t.test('the tags of the team are all there; of a key that has more than 100 the first ones', async (t) => {
  const many = Array.from({ length: 120 }, (_, n) => `t${n}`);
  const key = { ...blankKey('k', 'aaaa', 1), teamId: 'team', tags: ['own'] };
  const team = { ...blankTeam('team', 1), tags: many };
  t.same(keyCaller(key, team, null).tags, ['own', ...many]);
  t.same(keyCaller(key, null, null).tags, ['own']);
  t.same(keyCaller({ ...key, tags: many }, null, null).tags, many.slice(0, 100));
});
