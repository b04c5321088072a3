import { hash } from 'node:crypto';
import t from 'tap';
import { CallerDirectory, scopeOf } from '../../../proxy/access/callers.ts';

const IDENTITY = { sessionId: '0-1', endUser: null, tags: [], headers: [] };

t.test(
  'a key is found by itself, and the time of its last call is noted and kept over a change',
  async (t) => {
    const callers = new CallerDirectory();
    const digest = hash('sha256', 'sk-one', 'hex');
    callers.put(digest, IDENTITY);
    t.equal(callers.lastCallMs(digest), 0);
    t.same(callers.find('sk-one', 42), { keyHash: digest, identity: IDENTITY });
    t.equal(callers.find('sk-two', 43), null);
    callers.put(digest, { ...IDENTITY, tags: ['a:b'] });
    t.equal(callers.lastCallMs(digest), 42);
    t.same(callers.find('sk-one', 44)?.identity.tags, ['a:b']);
    callers.remove(digest);
    t.equal(callers.find('sk-one', 45), null);
    t.equal(callers.size, 0);
  },
);

t.test('only a whole id in front of a path is the scope of a session', async (t) => {
  const id = 'a'.repeat(32);
  t.same(scopeOf(`/c/${id}/v1/models`), { id, rest: '/v1/models' });
  for (const path of [
    '/v1/models',
    `/c/${id}`,
    `/c/${id}a/v1`,
    `/c/${id.toUpperCase()}/v1`,
    '/c/../v1',
    `//c/${id}/v1`,
  ])
    t.equal(scopeOf(path), null, path);
});
