// The bench as a command: a short run gives a table with a row for each peer, its page keeps what it did not write,
// and what is wrong ends it. Figures are not judged here.
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { flameGraph } from '../../bench/harness/flame.ts';
import { withSections } from '../../bench/harness/page.ts';
import { MessageReader } from '../../bench/harness/message-reader.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const run = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [join(ROOT, 'bench/run.ts'), ...args], { cwd: ROOT });

t.test('a quick run of small calls gives a row for the bare relay and one for the proxy', async (t) => {
  const sizes = ['--requests', '200', '--connections', '4', '--rounds', '1'];
  const peers = ['--peer', 'bare', '--peer', 'throughline'];
  const { stdout } = await run('--quick', '--scenario', 'small-json', ...sizes, ...peers);
  const cells = stdout
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const named = (start: string): string[] | undefined => cells.find((row) => row[1]?.startsWith(start));
  for (const name of ['bare node:http', 'throughline, everything on']) {
    const row = named(name);
    t.ok(Number(row?.[2]) > 0, `${name} used CPU`);
    t.ok(Number(row?.[5]) > 0, `${name} took time`);
    t.ok(Number(row?.[7]) > 20, `${name} holds memory`);
  }
  t.equal(named('nginx'), undefined, 'a peer that was not asked for is not run');
  t.match(stdout, /Linux .*Node \d+/, 'machine and versions stand below the table');
});

t.test('what a call allocates is counted for the bare relay and for the proxy', async (t) => {
  const { stdout } = await run('--quick', '--scenario', 'allocations');
  for (const name of ['bare node:http', 'throughline']) {
    const row = stdout.split('\n').find((line) => line.startsWith(`| ${name}`));
    t.ok(Number(row?.split('|')[2]) > 1, `${name} allocates`);
  }
});

t.test('what cannot be asked for ends the run with a sentence that says what can', async (t) => {
  await t.rejects(run('--scenario', 'small'), {
    code: 1,
    stderr: /no scenario small; there are small-json, /,
  });
  await t.rejects(run('--quick', '--write'), { code: 1, stderr: /--write takes full figures only/ });
  await t.rejects(run('--requests', '0'), { code: 1, stderr: /--requests takes a whole number above 0/ });
});

t.test('a section replaces its older self and nothing else of the page', (t) => {
  const begin = '<!-- figures: begin (npm run bench -- --write) -->';
  const page = `# P\n\nbefore\n\n${begin}\n\n### a\n\nold a\n\n### b\n\nold b\n\n<!-- figures: end -->\n\nafter\n`;
  const next = withSections(page, [
    { name: 'b', text: 'new b' },
    { name: 'c', text: 'new c' },
  ]);
  t.equal(next, page.replace('old b\n', 'new b\n\n### c\n\nnew c\n'));
  t.throws(() => withSections('# P\n', []), /lost its marks/);
  t.end();
});

t.test('messages are read the same however the bytes are cut', (t) => {
  const wire = Buffer.from(
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc' +
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nt: 1\r\n\r\n' +
      'HTTP/1.1 204 No\r\ncontent-length: 0\r\n\r\n',
  );
  for (let size = 1; size <= wire.length; size += 1) {
    const seen: string[] = [];
    let body = '';
    const reader = new MessageReader({
      onHead: (head) => seen.push(head.slice(9, 12)),
      onBody: (bytes) => (body += bytes.toString()),
      onEnd: () => {
        seen.push(body);
        body = '';
      },
    });
    for (let i = 0; i < wire.length; i += size) reader.push(wire.subarray(i, i + size));
    t.same(
      seen,
      ['200', 'abc', '200', 'helloabcdefghijklmnopqrstuvwxyz', '204', ''],
      `${size} bytes at a time`,
    );
  }
  t.throws(
    () =>
      new MessageReader({ onHead: () => 0, onBody: () => 0, onEnd: () => 0 }).push(
        Buffer.from('HTTP/1.1 200\r\n\r\n'),
      ),
    /without a length/,
  );
  t.end();
});

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
