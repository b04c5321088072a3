import t from 'tap';
import { forecastOf, LOOK_BACK_MS } from '../../../../proxy/access/budgets/forecast.ts';

t.test('what a day costs is told in whole pico-dollars', async (t) => {
  const recent = [{ ms: LOOK_BACK_MS[0], pico: 3_000_000_000_000n }]; // a quarter of a day; 11.999999999999998 as a fraction
  t.equal(forecastOf({ nowMs: 0, leftPico: null, resetMs: null, recent })?.perDay, 12);
});
