// Idempotency keys of several processes in one: who has a key, what others are told, and what a process that ends leaves.
import t from 'tap';
import { HostKeys } from '../../../proxy/access/host-keys.ts';

const call = (id: string) => ({ id, digest: 'd', stream: false });
const ENDING = { head: '{}', body: Buffer.from('answer') };

t.test(
  'the first has the key; the others wait for it, then get its answer until its window is over',
  async (t) => {
    let now = 0;
    const keys = new HostKeys(() => now);
    t.same(keys.claim(1, 'k', call('a')), { kind: 'first' });
    t.same(keys.claim(2, 'k', call('b')), { kind: 'running', call: call('a') });
    const over = keys.over('k');
    keys.end(2, 'k', null, 1000);
    t.same(keys.claim(2, 'k', call('b')).kind, 'running', 'another process ends no call of the first');
    keys.end(1, 'k', ENDING, 1000);
    await over;
    await keys.over('k');
    t.same(keys.claim(2, 'k', call('b')), { kind: 'ended', call: call('a'), ending: ENDING });
    now = 1000;
    t.same(keys.claim(2, 'k', call('b')), { kind: 'first' });
  },
);

t.test('what has left nothing, or is forgotten, frees its key', async (t) => {
  const keys = new HostKeys(() => 0);
  keys.claim(1, 'k', call('a'));
  const over = keys.over('k');
  keys.end(1, 'k', null, 1000);
  await over;
  t.same(keys.claim(2, 'k', call('b')), { kind: 'first' });
  keys.end(2, 'k', ENDING, 1000);
  keys.end(1, 'k', null, 0);
  t.equal(keys.claim(1, 'k', call('c')).kind, 'ended', 'it is another one that remembers it');
  keys.end(2, 'k', null, 0);
  t.equal(keys.claim(1, 'k', call('c')).kind, 'first');
});

t.test('the keys of a process that has ended are free, its answers are not lost', async (t) => {
  const keys = new HostKeys(() => 0);
  keys.claim(1, 'running', call('a'));
  keys.claim(1, 'ended', call('b'));
  keys.end(1, 'ended', ENDING, 1000);
  const over = keys.over('running');
  keys.ended(1);
  await over;
  t.equal(keys.claim(2, 'running', call('c')).kind, 'first');
  t.equal(keys.claim(2, 'ended', call('c')).kind, 'ended');
  t.throws(() => keys.claim(1, 'late', call('d')), 'a question that comes after the end of its process');
  t.equal(keys.claim(2, 'late', call('e')).kind, 'first');
});
