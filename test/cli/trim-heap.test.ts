import { getHeapStatistics } from 'node:v8';
import t from 'tap';
import { trimHeap } from '../../proxy/cli/trim-heap.ts';

t.test('what is garbage goes back to the operating system, and nothing is exposed', async (t) => {
  let garbage: object[] | null = Array.from({ length: 500_000 }, (_, at) => ({ at, text: `entry ${at}` }));
  const before = getHeapStatistics().total_physical_size;
  t.equal(garbage.length, 500_000);
  garbage = null;
  trimHeap();
  t.ok(getHeapStatistics().total_physical_size < before - 20e6, 'over 20 MB less');
  t.notOk('gc' in globalThis);
});
