// What a process says of itself: reading it changes nothing of it.
import { mock } from 'node:test';
import t from 'tap';
import { processReport } from '../../../proxy/active-config/process-report.ts';
import { systemClock } from '../../../proxy/base/clock.ts';
import { RecentCalls } from '../../../proxy/observability/recent-calls.ts';

t.test('a process that is asked how it is begins nothing', (t) => {
  const timers = mock.method(globalThis, 'setInterval');
  t.teardown(() => timers.mock.restore());
  const recentCalls = new RecentCalls({ callCounts: [], refused: 0 }, systemClock);
  const services = { clock: systemClock, recentCalls, admission: { waiting: 2 }, loopLag: { worstMs: 1.4 } };
  const report = processReport({ deployments: new Map(), services }, 3);
  t.match(report, { worker: 3, queued: 2, lagMs: 1, deployments: [], recent: { pairs: [] } });
  t.equal(timers.mock.callCount(), 0);
  t.end();
});
