// The lag of the event loop, on a clock that is turned by hand.
import t from 'tap';
import { LoopLag } from '../../../proxy/observability/loop-lag.ts';

t.test('a single pause is seen and is not standing; lag that stays is', async (t) => {
  let now = 0;
  const lag = new LoopLag(() => now);
  const tick = (lateMs: number, times = 1): void => {
    for (let i = 0; i < times; i += 1) {
      now += 100 + lateMs;
      lag.tick();
    }
  };
  tick(0, 10);
  t.same([lag.standingMs, lag.worstMs], [0, 0]);
  tick(700);
  t.same([lag.standingMs, lag.worstMs], [0, 700]);
  tick(300, 4);
  t.equal(lag.standingMs, 300, 'five times in a row');
  tick(0);
  t.equal(lag.standingMs, 0, 'one turn in time ends it');
  tick(0, 150);
  t.equal(lag.worstMs, 0, 'forgotten after 15 s');
});
