// What waits for the disk is bounded and counted.
import t from 'tap';
import { Backlog } from '../../../../proxy/spend/journal/backlog.ts';
import type { Append } from '../../../../proxy/spend/journal/backlog.ts';

const append = (requestId: string, is: 'begin' | 'settle' | 'refused', json: string = is): Append => ({
  requestId,
  kind: is === 'begin' ? 'B' : 'S',
  json,
  isRefused: is === 'refused',
});

t.test('a settle replaces its begin, and a begin never replaces a settle', async (t) => {
  const backlog = new Backlog();
  backlog.keep(append('a', 'begin'));
  backlog.keep(append('a', 'settle'));
  backlog.keep(append('a', 'begin'));
  t.equal(backlog.size, 1);
  t.same(backlog.head(100), [append('a', 'settle')]);
});

t.test('a begin that was written elsewhere leaves the settle that waits', async (t) => {
  const backlog = new Backlog();
  const begin = append('a', 'begin');
  backlog.keep(append('a', 'settle'));
  backlog.written(begin);
  t.equal(backlog.size, 1);
  backlog.written(append('a', 'settle'));
  t.equal(backlog.size, 0);
  backlog.keep(begin);
  backlog.written(begin);
  t.equal(backlog.size, 0);
});

t.test('the oldest come first, in batches', async (t) => {
  const backlog = new Backlog();
  for (const id of ['a', 'b', 'c', 'd']) backlog.keep(append(id, 'settle', '0123456789'));
  t.same(
    backlog.head(15).map(({ requestId }) => requestId),
    ['a', 'b'],
  );
  backlog.keep(append('e', 'settle', '0123456789'));
  const batches = (areWritten: boolean): string[] =>
    Array.from(backlog.batches(15), (batch) => {
      if (areWritten) for (const one of batch) backlog.written(one);
      return batch.map(({ requestId }) => requestId).join('');
    });
  t.same(batches(false), ['ab', 'cd', 'e']);
  t.same(batches(true), ['ab', 'cd', 'e']);
  t.equal(backlog.size, 0);
  t.same([...backlog.batches(15)], []);
  t.same(backlog.head(15), []);
});

t.test('rows of refused requests are given up first, and counted', async (t) => {
  const backlog = new Backlog();
  const megabyte = 'x'.repeat(1 << 20);
  for (let n = 0; n < 40; n++) backlog.keep(append(`refused-${n}`, 'refused', megabyte));
  t.equal(backlog.size, 32);
  t.equal(backlog.lost, 8);
  t.equal(backlog.keep(append('real', 'settle', megabyte)), true);
  for (let n = 0; n < 300; n++) backlog.keep(append(`real-${n}`, 'settle', megabyte));
  t.equal(backlog.size, 256);
  t.equal(backlog.lost, 8 + 77);
});
