// The bounded list: by number, by bytes, with a count that goes on.
import t from 'tap';
import { Recent } from '../../../proxy/demo-gateway/recent.ts';

t.test('the oldest entries go when the number or the bytes exceed their bound', async (t) => {
  const recent = new Recent<string>(3, 100);
  for (const name of ['a', 'b', 'c', 'd']) recent.add(name, 10);
  t.same(recent.items, ['b', 'c', 'd']);
  recent.add('e', 85);
  t.same(recent.items, ['d', 'e']);
  recent.add('f', 1_000);
  t.same(recent.items, ['f'], 'the newest is kept, however large');
  recent.add('g', 10);
  t.same(recent.items, ['g']);
});

t.test('a removed entry gives its bytes back', async (t) => {
  const recent = new Recent<string>(3, 100);
  recent.add('a', 90);
  t.equal(
    recent.remove((name) => name === 'b'),
    undefined,
  );
  t.equal(
    recent.remove((name) => name === 'a'),
    'a',
  );
  recent.add('b', 50);
  recent.add('c', 50);
  t.same(recent.items, ['b', 'c']);
});

t.test('waiting counts every entry that ever came, evicted ones too', async (t) => {
  const recent = new Recent<number>(1, 100);
  const settled: number[] = [];
  const waits = [3, 1, 2].map(async (count) => {
    await recent.waitFor(count);
    settled.push(count);
  });
  for (const entry of [1, 2, 3]) recent.add(entry, 0);
  await Promise.all(waits);
  t.same(settled.sort(), [1, 2, 3]);
  t.same(recent.items, [3]);
  await recent.waitFor(2);
});
