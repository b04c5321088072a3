// Days of the calendar, and texts that only look like one.
import t from 'tap';
import { beginsWithDay } from '../../config/calendar-day.ts';

t.test('only days of the calendar are days, also before a time', (t) => {
  for (const text of ['2026-01-31', '2028-02-29T10:00:00Z', '2026-04-30 10:00', '0001-01-01', '9999-12-31'])
    t.equal(beginsWithDay(text), true, text);
  for (const text of [
    '2026-02-31',
    '2026-02-29',
    '2026-04-31T10:00:00Z',
    '2026-13-01',
    '2026-00-10',
    '2026-1-1',
    'soon',
    '',
  ])
    t.equal(beginsWithDay(text), false, text);
  t.end();
});
