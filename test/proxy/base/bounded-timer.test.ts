// Times beyond what a timer can count.
import t from 'tap';
import { boundedTimer } from '../../../proxy/base/bounded-timer.ts';

t.test('a timer is set to no more than it can count: Node would run it at once, and warn', async (t) => {
  const warnings: string[] = [];
  const heard = ({ name }: Error): unknown => warnings.push(name);
  process.on('warning', heard);
  t.teardown(() => process.off('warning', heard));
  t.equal(boundedTimer(1_500), 1_500);
  for (const ms of [2 ** 31 - 1, 2 ** 31, Infinity]) {
    const timer = setTimeout(() => t.fail('it ran'), boundedTimer(ms));
    await new Promise(setImmediate);
    clearTimeout(timer);
  }
  t.same(warnings, []);
});
