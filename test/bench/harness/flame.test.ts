// The picture of a CPU profile.
import t from 'tap';
import { flameGraph } from '../../../bench/harness/flame.ts';

t.test('a flame graph is as wide as the busy time from its begin on', (t) => {
  const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
    id,
    callFrame: { functionName, url, lineNumber: 9 },
    children,
  });
  const profile = {
    startTime: 1000,
    nodes: [
      node(1, '(root)', '', [2, 3]),
      node(2, '(idle)', ''),
      node(3, 'relay<T>', 'file:///app/proxy/relay/relay.ts', [4, 5]),
      node(4, 'dispatch', 'file:///app/node_modules/undici/lib/x.js'),
      node(5, 'write', 'node:net'),
    ],
    samples: [4, 4, 2, 4, 5, 5, 5],
    timeDeltas: [100, 100, 800, 100, 100, 100, 100],
  };
  const svg = flameGraph(profile, 'a & b', 1300);
  const boxes = [...svg.matchAll(/<title>(.*?)<\/title><rect x="([\d.]+)" y="\d+" width="([\d.]+)"/g)];
  t.same(
    boxes.map(([, title, x, width]) => [title, Number(x), Number(width)]),
    [
      ['all  100.0 %', 0, 1200],
      ['relay&lt;T&gt; proxy/relay/relay.ts:10 100.0 %', 0, 1200],
      ['write node:net:10 75.0 %', 0, 900],
      ['dispatch undici/lib/x.js:10 25.0 %', 900, 300],
    ],
  );
  t.match(svg, />a &amp; b</);
  t.throws(() => flameGraph({ ...profile, samples: [2], timeDeltas: [5] }, ''), /no busy time/);
  t.end();
});
