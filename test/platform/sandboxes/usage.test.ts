// Which sandboxes something works with, and when the last of it ended.
import t from 'tap';
import { Usage } from '../../../platform/sandboxes/usage.ts';
import { ManualClock } from '../../support/clock.ts';

t.test('a sandbox is used until the last that works with it ends, then no more', async (t) => {
  const clock = new ManualClock();
  const usage = new Usage(clock);
  t.equal(usage.lastMs('a'), 0);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ends = [first, second].map(({ promise }) => usage.during('a', () => promise));
  clock.advance(10);
  first.resolve();
  await ends[0];
  clock.advance(10);
  t.equal(usage.lastMs('a'), clock.now());
  second.resolve();
  await ends[1];
  const endedMs = clock.now();
  clock.advance(10);
  t.equal(usage.lastMs('a'), endedMs);
});

t.test('of one that was removed while something worked with it nothing is kept', async (t) => {
  const usage = new Usage(new ManualClock());
  const { promise, reject } = Promise.withResolvers<void>();
  const ended = usage.during('a', () => promise);
  usage.forget('a');
  reject(new Error('it is gone'));
  await t.rejects(ended, /it is gone/);
  t.equal(usage.lastMs('a'), 0);
});
