import t from 'tap';
import { Restarts } from '../../../proxy/cluster/restarts.ts';

t.test(
  'a worker that has served for long is replaced at once, one that fails again after growing pauses',
  async (t) => {
    const restarts = new Restarts();
    const pauses = Array.from({ length: 10 }, () => restarts.pauseAfter(1, null));
    t.same(pauses, [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    t.equal(restarts.pauseAfter(1, 9_999), 30_000, 'too short');
    t.equal(restarts.pauseAfter(2, null), 0, 'each worker for itself');
    t.equal(restarts.pauseAfter(1, 10_000), 0);
    t.equal(restarts.pauseAfter(1, 10), 250);
  },
);

t.test('without a pause it starts at once, with one later, and never once that was cancelled', async (t) => {
  const restarts = new Restarts();
  const started: number[] = [];
  restarts.startIn(0, 1, () => started.push(1));
  t.same(started, [1]);
  const later = new Promise<void>((resolve) => restarts.startIn(1, 2, resolve));
  t.same(started, [1]);
  await later;
  restarts.startIn(1, 3, () => started.push(3));
  restarts.cancel();
  await new Promise<void>((resolve) => new Restarts().startIn(20, 4, resolve));
  t.same(started, [1]);
});
