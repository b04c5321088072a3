// A limit of time: whichever comes first decides, and no timer is left over.
import { getActiveResourcesInfo } from 'node:process';
import t from 'tap';
import { atMost, within } from '../../../proxy/base/within.ts';

const LONG_MS = 600_000;
const timers = (): number => getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
const never = new Promise<never>(() => undefined);

t.test('what comes in time is handed on: a value and an error', async (t) => {
  const before = timers();
  const late = (): never => t.fail('it came in time') as never;
  t.equal(await within(LONG_MS, Promise.resolve('value'), late), 'value');
  await t.rejects(within(LONG_MS, Promise.reject(new Error('no')), late), { message: 'no' });
  t.equal(timers(), before, 'no timer is left');
});

t.test('after the time the caller says what comes of it: a value or an error', async (t) => {
  const before = timers();
  t.equal(await within(0, never, () => 'instead'), 'instead');
  const late = (): never => {
    throw new RangeError('too late');
  };
  await t.rejects(within(0, never, late), { name: 'RangeError', message: 'too late' });
  t.equal(timers(), before, 'no timer is left');
});

t.test('a time that is over already still takes what is there', async (t) => {
  const warnings: Error[] = [];
  const keep = (warning: Error): void => void warnings.push(warning);
  process.on('warning', keep);
  t.teardown(() => process.off('warning', keep));
  t.equal(await within(-5, Promise.resolve('value'), () => 'instead'), 'value');
  t.equal(await within(-5, never, () => 'instead'), 'instead');
  await new Promise(setImmediate); // warnings come in a later turn
  t.same(warnings, [], 'Node says nothing of a negative time');
});

t.test('a task that fails later disturbs nobody', async (t) => {
  const task = Promise.withResolvers<string>();
  t.equal(await within(0, task.promise, () => 'instead'), 'instead');
  task.reject(new Error('nobody waits any more'));
  await new Promise(setImmediate); // an unhandled rejection would end the process
});

t.test('a wait for an end alone never rejects', async (t) => {
  const before = timers();
  await atMost(LONG_MS, Promise.resolve());
  await atMost(LONG_MS, Promise.reject(new Error('reported elsewhere')));
  await atMost(0, never);
  t.equal(timers(), before, 'no timer is left');
});
