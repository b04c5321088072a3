// Long lists: the same result as at once, and the event loop runs in between.
import t from 'tap';
import { filterInTurns, mapInTurns, sortInTurns } from '../../../proxy/base/turns.ts';
import { countTurns } from '../../support/turns.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => (i * 7919) % 1009);

t.test('the results are those of the array methods', async (t) => {
  for (const count of [0, 1, 2, 9, 10, 11, 20, 35, 101]) {
    const items = numbers(count).map((value, place) => ({ value: value % 13, place }));
    t.strictSame(
      await filterInTurns(items, ({ value }) => value > 5, 10),
      items.filter(({ value }) => value > 5),
    );
    t.strictSame(
      await mapInTurns(items, ({ value }, i) => value + i, 10),
      items.map(({ value }, i) => value + i),
    );
    const compare = (a: { value: number }, b: { value: number }): number => a.value - b.value;
    t.strictSame(
      await sortInTurns(items, compare, 10),
      items.toSorted(compare),
      'equal ones keep their order',
    );
  }
});

t.test('no turn of the event loop takes more than its share', async (t) => {
  const items = numbers(1_000);
  for (const act of [
    (seen: () => void) => mapInTurns(items, seen, 50),
    (seen: () => void) => filterInTurns(items, () => (seen(), true), 50),
  ]) {
    const turns = countTurns(t);
    await act(turns.step);
    t.equal(turns.most(), 50);
  }
  const turns = countTurns(t);
  await sortInTurns(items, (a, b) => (turns.step(), a - b), 50);
  t.ok(turns.most() < 1_000, `${turns.most()} comparisons in one turn`);
});
