// What is usual for a conversation, and how long a change takes to become it.
import t from 'tap';
import { Pace } from '../../../../proxy/access/brake/pace.ts';
import { wordsOf } from '../../../../proxy/access/brake/rules.ts';

const MINUTE = 60_000;
const BOUNDS = { factor: 5, least: 0 };

/** Minutes in a row that were too fast, at the end of each. */
function minutes(pace: Pace, amounts: readonly number[], fromMinute: number, bounds = BOUNDS): number[] {
  return amounts.map((amount, n) => {
    const atMs = (fromMinute + n) * MINUTE;
    pace.add(amount, atMs, bounds);
    return pace.minutesOver(atMs, bounds);
  });
}

const times = (count: number, value: number): number[] => Array<number>(count).fill(value);

t.test('a change that lasts becomes usual before it stops anything, up to the square of the factor', (t) => {
  for (const history of [5, 6, 10, 15, 100]) {
    const pace = new Pace();
    t.same(minutes(pace, times(history, 2), 0), times(history, 0));
    const over = minutes(pace, times(60, 40), history);
    t.ok(Math.max(...over) < 10, `${history} minutes before: ${Math.max(...over)}`);
    t.ok(over.includes(5), 'somebody is told');
    t.same(over.slice(-40), times(40, 0));
  }
  t.end();
});

t.test('one that is larger still goes on counting', (t) => {
  const pace = new Pace();
  minutes(pace, times(15, 2), 0);
  t.equal(minutes(pace, times(10, 1_000), 15).at(-1), 10);
  t.same(pace.fast, { amount: 1_000, usual: 2 }, 'as it was before these minutes');
  t.end();
});

t.test('below the least amount nothing is too fast', (t) => {
  const pace = new Pace();
  const bounds = { factor: 5, least: 60 };
  minutes(pace, times(6, 1), 0, bounds);
  t.same(minutes(pace, times(20, 59), 6, bounds), times(20, 0));
  t.equal(pace.fast, null);
  t.end();
});

t.test('one minute changes nothing, nor does what is taken back', (t) => {
  const pace = new Pace();
  minutes(pace, times(9, 2), 0);
  t.same(minutes(pace, [500, 2, 500, 2], 9), [1, 1, 1, 1], 'a row begins anew');
  t.equal(pace.median, 2);
  pace.add(100, 20 * MINUTE, BOUNDS);
  pace.takeBack(99);
  t.equal(pace.minutesOver(20 * MINUTE, BOUNDS), 0);
  t.end();
});

t.test('what is usual stays whole, whatever the factor', (t) => {
  for (const factor of [1.5, 3.3]) {
    const pace = new Pace();
    const bounds = { factor, least: 0 };
    const amounts = [
      ...times(8, 20_000_123_457),
      ...times(12, 200_000_000_003),
      ...times(12, 3_900_000_000_001),
    ];
    for (const [minute, amount] of amounts.entries()) {
      minutes(pace, [amount], minute, bounds);
      for (const one of [pace.median, pace.fast?.usual])
        t.ok(Number.isInteger(one ?? 0), `${factor}: ${one}`);
      const words = wordsOf({ rule: 'cost_rate', count: 3, fast: pace.fast });
      t.match(words, 'it has cost far more than is usual for it', 'as it is told');
    }
  }
  t.end();
});
