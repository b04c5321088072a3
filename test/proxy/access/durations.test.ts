// Durations of keys and windows of budgets: the dialect's table of resets, calendars, and clocks that are put forward.
import fc from 'fast-check';
import t from 'tap';
import { durationAfter, parseDuration, windowAt, type Calendar } from '../../../proxy/access/durations.ts';
import { runs } from '../../support/runs.ts';

const UTC: Calendar = { timeZone: 'UTC', resetMinute: 0 };
const at = (text: string): number => Date.parse(text);
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
const NOW = at('2026-11-18T10:20:30Z'); // a Wednesday

function windowOf(text: string, nowMs = NOW, calendar = UTC, anchorMs = nowMs): [string, string] {
  const duration = parseDuration(text);
  if (duration === null) throw new Error(`no duration: ${text}`);
  const { startMs, endMs } = windowAt(duration, anchorMs, nowMs, calendar);
  return [iso(startMs), iso(endMs)];
}

t.test('a budget resets when the dialect resets it', (t) => {
  const resets: Readonly<Record<string, string>> = {
    '30s': '2026-11-18T10:21:00Z',
    '90s': '2026-11-18T10:21:30Z',
    '30m': '2026-11-18T10:30:00Z',
    '90m': '2026-11-18T11:30:00Z',
    '1h': '2026-11-18T11:00:00Z',
    hourly: '2026-11-18T11:00:00Z',
    '6h': '2026-11-18T12:00:00Z',
    '24h': '2026-11-19T00:00:00Z',
    '1d': '2026-11-19T00:00:00Z',
    daily: '2026-11-19T00:00:00Z',
    '36h': '2026-11-19T12:00:00Z',
    '2d': '2026-11-20T00:00:00Z',
    '14d': '2026-12-02T00:00:00Z',
    '2w': '2026-12-02T00:00:00Z',
    '7d': '2026-11-23T00:00:00Z',
    '1w': '2026-11-23T00:00:00Z',
    weekly: '2026-11-23T00:00:00Z',
    '30d': '2026-12-01T00:00:00Z',
    '1mo': '2026-12-01T00:00:00Z',
    monthly: '2026-12-01T00:00:00Z',
    '28d': '2026-12-16T00:00:00Z',
    '31d': '2026-12-19T00:00:00Z',
  };
  for (const [text, reset] of Object.entries(resets)) t.equal(windowOf(text)[1], reset, text);
  t.end();
});

t.test('where the dialect fails or surprises, the plain reading holds', (t) => {
  t.equal(windowOf('48h')[1], '2026-11-20T00:00:00Z', 'two days, as 2d');
  t.equal(windowOf('2mo')[1], '2027-01-01T00:00:00Z');
  for (const text of ['1hr', '1y', '1M', '5', '', '0d', '-1d', '1.5h', '1 d', '9999999d'])
    t.equal(parseDuration(text), null, text);
  t.end();
});

t.test('windows follow each other from the day that the budget was set', (t) => {
  const set = at('2026-11-18T23:00:00Z');
  t.same(windowOf('2d', at('2026-11-21T05:00:00Z'), UTC, set), [
    '2026-11-20T00:00:00Z',
    '2026-11-22T00:00:00Z',
  ]);
  t.same(windowOf('90m', at('2026-11-19T01:45:00Z'), UTC, set), [
    '2026-11-19T00:30:00Z',
    '2026-11-19T02:00:00Z',
  ]);
  t.same(windowOf('2mo', at('2027-02-03T00:00:00Z'), UTC, set), [
    '2027-01-01T00:00:00Z',
    '2027-03-01T00:00:00Z',
  ]);
  t.end();
});

t.test('days are those of the time zone and of the hour of the reset', (t) => {
  const berlin: Calendar = { timeZone: 'Europe/Berlin', resetMinute: 0 };
  t.same(windowOf('1d', NOW, berlin), ['2026-11-17T23:00:00Z', '2026-11-18T23:00:00Z']);
  const atNine: Calendar = { timeZone: 'UTC', resetMinute: 9 * 60 + 30 };
  t.same(windowOf('1d', at('2026-11-18T09:29:59Z'), atNine), [
    '2026-11-17T09:30:00Z',
    '2026-11-18T09:30:00Z',
  ]);
  t.same(windowOf('1mo', at('2026-12-01T09:00:00Z'), atNine), [
    '2026-11-01T09:30:00Z',
    '2026-12-01T09:30:00Z',
  ]);
  t.end();
});

t.test('a day of 23 or 25 hours is one day', (t) => {
  const berlin: Calendar = { timeZone: 'Europe/Berlin', resetMinute: 0 };
  t.same(windowOf('1d', at('2027-03-28T12:00:00Z'), berlin), [
    '2027-03-27T23:00:00Z',
    '2027-03-28T22:00:00Z',
  ]);
  t.same(windowOf('1d', at('2027-10-31T12:00:00Z'), berlin), [
    '2027-10-30T22:00:00Z',
    '2027-10-31T23:00:00Z',
  ]);
  const atGap: Calendar = { timeZone: 'Europe/Berlin', resetMinute: 150 }; // 02:30 is not there on that day
  t.same(windowOf('1d', at('2027-03-28T01:10:00Z'), atGap), ['2027-03-27T01:30:00Z', '2027-03-28T01:30:00Z']);
  // In Greenland the last hour of a Saturday is not there: its 23:30 is 00:30 of Sunday, and what is before it is Friday's window.
  const lateInNuuk: Calendar = { timeZone: 'America/Nuuk', resetMinute: 1_410 };
  t.same(windowOf('1d', at('2026-03-29T01:10:00Z'), lateInNuuk), [
    '2026-03-28T01:30:00Z',
    '2026-03-29T01:30:00Z',
  ]);
  t.end();
});

t.test('every time is in one window, and the windows of a budget leave no gap', (t) => {
  const text = fc.constantFrom('30s', '45m', '5h', '36h', '1d', '3d', '7d', '30d', '31d', '1mo', '5mo');
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Asia/Kathmandu');
  const time = fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2035-01-01T00:00:00Z') });
  fc.assert(
    fc.property(text, zone, fc.nat(1_439), time, time, (each, timeZone, resetMinute, one, other) => {
      const duration = parseDuration(each);
      if (duration === null) return false;
      const [anchorMs, nowMs] = [Math.min(one, other), Math.max(one, other)];
      const calendar = { timeZone, resetMinute };
      const now = windowAt(duration, anchorMs, nowMs, calendar);
      const next = windowAt(duration, anchorMs, now.endMs, calendar);
      const last = windowAt(duration, anchorMs, now.endMs - 1, calendar);
      return (
        now.startMs <= nowMs &&
        nowMs < now.endMs &&
        next.startMs === now.endMs &&
        last.startMs === now.startMs
      );
    }),
    { numRuns: runs(500) },
  );
  t.end();
});

t.test('a key expires a duration after it was made', (t) => {
  const after = (text: string, from: string): string => {
    const duration = parseDuration(text);
    return duration === null ? 'none' : iso(durationAfter(duration, at(from)));
  };
  t.equal(after('90s', '2026-11-18T10:20:30Z'), '2026-11-18T10:22:00Z');
  t.equal(after('30d', '2026-11-18T10:20:30Z'), '2026-12-18T10:20:30Z', 'thirty days, no month');
  t.equal(after('1mo', '2027-01-31T10:00:00Z'), '2027-02-28T10:00:00Z');
  t.equal(after('2w', '2026-11-18T10:20:30Z'), '2026-12-02T10:20:30Z');
  t.end();
});
