// A peak at once, an average that forgets at a stated rate, and nothing where nothing was measured.
import t from 'tap';
import { PeakEwma } from '../../../proxy/routing/peak-ewma.ts';

const MINUTE_MS = 60_000;
const near = (value: number, expected: number): boolean => Math.abs(value - expected) < 1e-9;

t.test('what was never measured is unknown', async (t) => {
  t.equal(new PeakEwma().at(0), 0);
  t.equal(new PeakEwma().at(1e9), 0);
});

t.test('the first measurement is the average, and sinks to 37 % in a minute', async (t) => {
  const ewma = new PeakEwma();
  ewma.observe(100, 5);
  t.equal(ewma.at(5), 100);
  t.ok(near(ewma.at(5 + MINUTE_MS), 100 / Math.E));
});

t.test('a peak is taken over at once, a lower value by the share of time that has passed', async (t) => {
  const ewma = new PeakEwma();
  ewma.observe(100, 0);
  ewma.observe(50, MINUTE_MS);
  const share = 1 / Math.E;
  t.ok(near(ewma.at(MINUTE_MS), 100 * share + 50 * (1 - share)));
  ewma.observe(900, MINUTE_MS);
  t.equal(ewma.at(MINUTE_MS), 900);
});

t.test('what is long ago is unknown again, not merely small', async (t) => {
  const ewma = new PeakEwma();
  ewma.observe(100, 0);
  t.ok(ewma.at(11 * MINUTE_MS) > 0);
  t.equal(ewma.at(12 * MINUTE_MS), 0);
});
