// One at a time by key, in the order of the calls; other names do not wait, and a failure hinders nobody.
import t from 'tap';
import { KeyedQueue } from '../../../proxy/base/keyed-queue.ts';

t.test('tasks of one key wait for each other', async (t) => {
  const queue = new KeyedQueue();
  const steps: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue.run('a', async () => {
    steps.push('first begins');
    await gate.promise;
    steps.push('first ends');
    throw new Error('refused');
  });
  const second = queue.run('a', async () => {
    steps.push('second');
    return 2;
  });
  const other = queue.run('b', async () => void steps.push('other'));
  const none = queue.run(null, async () => void steps.push('none'));
  await Promise.all([other, none]);
  t.same(steps.toSorted(), ['first begins', 'none', 'other']);
  gate.resolve();
  await t.rejects(first, { message: 'refused' });
  t.equal(await second, 2);
  t.same(steps.slice(-2), ['first ends', 'second']);
  await queue.drained();
});
