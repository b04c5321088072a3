// A collector for each thread: V8's flags belong to the whole process, so threads that start together must not disturb
// each other.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { garbageCollector } from '../../../proxy/base/collect-garbage.ts';

const MODULE = new URL('../../../proxy/base/collect-garbage.ts', import.meta.url).href;
const CODE = `import(${JSON.stringify(MODULE)}).then(({ garbageCollector }) => {
  for (let n = 0; n < 300; n += 1) garbageCollector();
});`;

t.test('threads that make their collectors at the same time all get one', async (t) => {
  const ends = Array.from({ length: 4 }, async () => {
    const worker = new Worker(CODE, { eval: true });
    const [code] = (await once(worker, 'exit')) as [number];
    return code;
  });
  t.same(await Promise.all(ends), [0, 0, 0, 0]);
});

t.test('garbage is gone after a collection', async (t) => {
  const collect = garbageCollector();
  const kept = new WeakRef({ some: 'object' });
  await new Promise(setImmediate); // a WeakRef holds its target until the turn ends
  collect('collect');
  t.equal(kept.deref(), undefined);
});
