// What can be read of a JSON text of which only the first and the last bytes are kept.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { Edges, membersOfHead, objectInTail } from '../../../proxy/bodies/edges.ts';

const USAGE = { input_tokens: 1 };

t.test('the first 16 KiB and the last 64 KiB are kept, however they came', async (t) => {
  const text = Array.from({ length: 40_000 }, (_, i) => `${i},`).join('');
  for (const size of [1, 777, 70_000, text.length]) {
    const edges = new Edges();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) edges.push(bytes.subarray(at, at + size));
    t.equal(edges.head(), text.slice(0, 16_384), `${size}`);
    t.equal(edges.tail(), text.slice(-65_536), `${size}`);
  }
  const short = new Edges();
  short.push(Buffer.from('short'));
  t.same([short.head(), short.tail()], ['short', ''], 'what is in the head is not in the tail');
});

t.test('of the head only whole members are taken', async (t) => {
  const wanted = { names: new Set(['id', 'model', 'usage']), prefixes: [] };
  t.strictSame(membersOfHead('{"id":"x","usage":{"a":1},"other":[1],"model":"cut', wanted), {
    id: 'x',
    usage: { a: 1 },
  });
  t.strictSame(membersOfHead('[1', wanted), {});
});

t.test('an object is found in the tail at its own level alone', async (t) => {
  const usage = JSON.stringify(USAGE);
  const found = (tail: string, ...path: string[]): unknown => objectInTail(tail, path);
  t.strictSame(found(`text cut"],"usage":${usage},"z":1}`, 'usage'), USAGE);
  t.strictSame(found(`x"}],"usage":${usage}},"n":1}`, 'response', 'usage'), USAGE);
  t.strictSame(found(`x"}],"usageMetadata":${usage}}`, 'usageMetadata'), USAGE, 'whatever its name');
  t.equal(found(`x"}],"usage":${usage}},"n":1}`, 'usage'), null, 'one level too deep');
  t.equal(found(`x"}],"usage":${usage}}`, 'response', 'usage'), null, 'one level too high');
  t.equal(found('"usage":null}', 'usage'), null);
  t.equal(found('{"text":"\\"usage\\":{}"}', 'usage'), null, 'in a text');
  const decoys = JSON.stringify(Array.from({ length: 20 }, () => 'usage'));
  t.equal(found(`"usage":${usage},"x":${decoys}}`, 'usage'), null, 'it is not looked for without end');
});
