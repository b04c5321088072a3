import { Buffer } from 'node:buffer';
import t from 'tap';
import { abridged, ElementsFromEnd } from '../../../proxy/bodies/elements.ts';
import { seededRandom } from '../../support/seeded-random.ts';

const walk = (text: string, mostBytes = Infinity): string[] => {
  const body = Buffer.from(text);
  const start = body.indexOf('[');
  const walked = new ElementsFromEnd(body, { start, end: body.lastIndexOf(']') + 1 }, mostBytes);
  const found: string[] = [];
  for (let one = walked.next(); one !== null; one = walked.next()) {
    found.push(body.toString('utf8', one.start, one.end));
  }
  return found.reverse();
};

t.test('the elements of lists of all shapes, read from the end, are those that JSON.parse finds', (t) => {
  const next = seededRandom(7);
  const random = { below: (bound: number): number => Math.floor(next() * bound) };
  const pick = <T>(...of: readonly T[]): T => of[random.below(of.length)] as T;
  const word = (): string =>
    pick('', 'a', '"', '\\', '\\"', '\\\\"', ',', '][', '}{', 'é€😀', 'x'.repeat(90), '\n');
  const text = (): string => Array.from({ length: random.below(6) }, word).join('');
  const value = (depth: number): unknown => {
    const kind = random.below(depth > 3 ? 4 : 6);
    if (kind === 0) return random.below(1_000) - 500;
    if (kind === 1) return pick(true, false, null);
    if (kind < 4) return text();
    const inner = Array.from({ length: random.below(4) }, () => value(depth + 1));
    return kind === 4 ? inner : Object.fromEntries(inner.map((one) => [text(), one]));
  };
  for (let i = 0; i < 2_000; i++) {
    const list = Array.from({ length: random.below(5) }, () => value(0));
    const written = JSON.stringify(list, null, pick<string | number | undefined>(undefined, 1, '\t'));
    const found = walk(`{"a": "[", "list" :${written.replace('[', ' [ ')} ,"z":1}`.slice(16));
    if (JSON.stringify(found.map((one) => JSON.parse(one) as unknown)) !== JSON.stringify(list)) {
      t.fail(written);
      break;
    }
  }
  t.pass('all');
  t.end();
});

t.test('it ends where it was told to', (t) => {
  const list = JSON.stringify(['a'.repeat(100), 'b'.repeat(100), 'c'.repeat(10)]);
  t.same(walk(list, 130).length, 2);
  t.same(walk(list, 60).length, 1, 'an element whose beginning lies farther away is none');
  t.same(walk(JSON.stringify(['a'.repeat(1_000)]), 100), []);
  t.end();
});

t.test('a long string becomes its head and a digest, and the rest stays JSON', (t) => {
  const digested: number[] = [];
  const digest = (...parts: Buffer[]): string => {
    digested.push(...parts.map(({ length }) => length));
    return 'D1GE57';
  };
  const shorten = (value: unknown): unknown => {
    const body = Buffer.from(JSON.stringify(value));
    return JSON.parse(abridged(body, { start: 0, end: body.length }, digest));
  };
  const short = { role: 'tool', content: 'x\n"\\'.repeat(300), n: [1, { a: null }] };
  t.same(shorten(short), short);
  t.same(shorten({ id: 'c', content: `€${'é'.repeat(50_000)}` }), {
    id: 'c',
    content: `€${'é'.repeat(126)}D1GE57 100005`,
  });
  t.ok(digested.every((length) => length <= 16_384));
  const escaped = shorten({ content: `${'\\'.repeat(9_000)}end` }) as { content: string };
  t.equal(escaped.content, 'D1GE57 18005', 'the head ends before an escape');
  t.end();
});
