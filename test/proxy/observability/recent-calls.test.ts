import { mock } from 'node:test';
import t from 'tap';
import { percentileMs, RecentCalls, type CallCounts } from '../../../proxy/observability/recent-calls.ts';
import { Buckets, Tally } from '../../../proxy/observability/tally.ts';
import { OVERHEAD_SECONDS, SECONDS } from '../../../proxy/observability/time-buckets.ts';
import { ManualClock } from '../../support/clock.ts';

const START = Date.parse('2026-01-31T10:00:30Z');

function counts(model: string): CallCounts & { call(seconds: number): void } {
  const [duration, firstByte, overhead] = [
    new Buckets(SECONDS),
    new Buckets(SECONDS),
    new Buckets(OVERHEAD_SECONDS),
  ];
  const sides = { client: new Tally(), proxy: new Tally(), upstream: new Tally() };
  const call = (seconds: number): void => [duration, firstByte].forEach((one) => one.observe(seconds));
  return { model, gateway: 'gw', duration, firstByte, overhead, sides, call };
}

t.test('calls of the last minute, of the window and of the hour', async (t) => {
  const clock = new ManualClock(START);
  const [a, b] = [counts('a'), counts('b')];
  const source = { callCounts: [a, b], refused: 0 };
  const recent = new RecentCalls(source, clock);
  t.same(recent.figures().pairs, [], 'models without calls are left out');
  a.call(0.2);
  a.call(3);
  a.sides.upstream.add(1);
  source.refused = 4;
  t.match(recent.figures(), {
    pairs: [{ model: 'a', calls: 2, lastMinute: 2, faults: { upstream: 1 } }],
    refusedLastMinute: 4,
  });
  clock.advance(90_000);
  b.call(1);
  t.match(recent.figures(), {
    pairs: [
      { model: 'a', calls: 2, lastMinute: 0 },
      { model: 'b', calls: 1, lastMinute: 1 },
    ],
    refusedLastMinute: 0,
  });
  t.same(
    recent
      .figures()
      .minutes.filter(({ calls }) => calls > 0)
      .map(({ minute, calls }) => [new Date(minute * 60_000).toISOString(), calls]),
    [
      ['2026-01-31T10:00:00.000Z', 2],
      ['2026-01-31T10:02:00.000Z', 1],
    ],
  );
  clock.advance(240_000);
  t.same(
    recent.figures().pairs.map(({ model }) => model),
    ['b'],
    'the first ones are older than the window',
  );
  clock.advance(3_600_000);
  t.same(
    recent.figures().minutes.map(({ calls }) => calls),
    [0],
  );
});

t.test('a wall clock that is set loses minutes, and no call twice', async (t) => {
  const clock = new ManualClock(START);
  const a = counts('a');
  const recent = new RecentCalls({ callCounts: [a], refused: 0 }, clock);
  a.call(1);
  recent.figures();
  clock.advance(-3_600_000);
  a.call(1);
  t.match(recent.figures().pairs, [{ calls: 1 }]);
});

t.test('percentiles lie within their bucket', async (t) => {
  const buckets = new Buckets([0.1, 1, 10]);
  t.equal(percentileMs(buckets.counts, [0.1, 1, 10], 0.5), null);
  for (let n = 0; n < 10; n += 1) buckets.observe(0.5);
  t.equal(percentileMs(buckets.counts, [0.1, 1, 10], 0.5), 550);
  t.equal(percentileMs(buckets.counts, [0.1, 1, 10], 1), 1_000);
  for (let n = 0; n < 90; n += 1) buckets.observe(100);
  t.equal(percentileMs(buckets.counts, [0.1, 1, 10], 0.95), 10_000, 'above all edges no more is known');
});

t.test('after its end nothing reads the counters by itself, whoever asks then', (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const lastMinute = (isStopped: boolean): number | undefined => {
    const clock = new ManualClock(START);
    const model = counts('a');
    const recent = new RecentCalls({ callCounts: [model], refused: 0 }, clock);
    recent.start();
    if (isStopped) recent.stop();
    recent.start();
    model.call(1);
    mock.timers.tick(10_000);
    clock.advance(90_000);
    return recent.figures().pairs[0]?.lastMinute;
  };
  t.equal(lastMinute(false), 0, 'it was counted when it was made');
  t.equal(lastMinute(true), 1, 'it was counted when somebody asked');
  t.end();
});
