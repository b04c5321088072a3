// The heap is given back at the start, and when nobody has asked for anything since it grew.
import { mock } from 'node:test';
import t from 'tap';
import { settleHeap } from '../../../proxy/cli/settle-heap.ts';

const LOOK_MS = 5_000;

void t.test('memory goes back when it has grown and no request has come for a while', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const load = { begun: 0, inFlight: 0 };
  let forgotten = 0;
  settleHeap({ load, forgetBodies: () => (forgotten += 1) }, Infinity);
  mock.timers.tick(2 * LOOK_MS);
  t.equal(forgotten, 0, 'nothing has grown');

  const held = Array.from({ length: 900_000 }, (_, i) => ({ text: `entry ${i}` }));
  load.begun += 1;
  mock.timers.tick(LOOK_MS);
  t.equal(forgotten, 0, 'a request has come since the last look');
  load.inFlight = 1;
  mock.timers.tick(2 * LOOK_MS);
  t.equal(forgotten, 0, 'a request is under way');
  load.inFlight = 0;
  mock.timers.tick(LOOK_MS);
  t.equal(forgotten, 1);
  mock.timers.tick(4 * LOOK_MS);
  t.equal(forgotten, 1, 'once for each growth');
  t.equal(held.length, 900_000);
});

void t.test(
  'a heap that is large at the start goes back in the first pause, and keeps no call waiting',
  async (t) => {
    mock.timers.enable({ apis: ['setInterval'] });
    t.teardown(() => mock.timers.reset());
    const load = { begun: 0, inFlight: 0 };
    let forgotten = 0;
    settleHeap({ load, forgetBodies: () => (forgotten += 1) }, 1);
    load.begun = 1;
    mock.timers.tick(LOOK_MS);
    t.equal(forgotten, 0, 'a call has come');
    mock.timers.tick(LOOK_MS);
    t.equal(forgotten, 1);
    mock.timers.tick(4 * LOOK_MS);
    t.equal(forgotten, 1, 'once');
  },
);
