// One at a time by name, in the order of the calls; other names do not wait, and a failure hinders nobody.
import t from 'tap';
import { Exclusive } from '../../../../proxy/api/access/exclusive.ts';

t.test('calls with one name wait for each other', async (t) => {
  const exclusive = new Exclusive();
  const steps: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = exclusive.run('a', async () => {
    steps.push('first begins');
    await gate.promise;
    steps.push('first ends');
    throw new Error('refused');
  });
  const second = exclusive.run('a', async () => {
    steps.push('second');
    return 2;
  });
  const other = exclusive.run('b', async () => void steps.push('other'));
  const none = exclusive.run(null, async () => void steps.push('none'));
  await Promise.all([other, none]);
  t.same(steps.toSorted(), ['first begins', 'none', 'other']);
  gate.resolve();
  await t.rejects(first, { message: 'refused' });
  t.equal(await second, 2);
  t.same(steps.slice(-2), ['first ends', 'second']);
});
