// What is read is written so that every other reader reads the same.
import { parse } from 'node:querystring';
import fc from 'fast-check';
import t from 'tap';
import { readQuery, writeQuery } from '../../../proxy/base/query-string.ts';

t.test('one reading', async (t) => {
  for (const [query, read] of [
    ['', []],
    ['a=1&b=2', [['a', '1'], ['b', '2']]], // prettier-ignore
    ['a', [['a', '']]],
    ['a=1;b=2', [['a', '1;b=2']]],
    ['a+b=c+d', [['a b', 'c d']]],
    ['a%2Bb=%26', [['a+b', '&']]],
    ['%61=1&a=2', [['a', '1'], ['a', '2']]], // prettier-ignore
    ['?a=1', [['?a', '1']]],
    ['a[]=1&a%5B%5D=2', [['a[]', '1'], ['a[]', '2']]], // prettier-ignore
    ['a==', [['a', '=']]],
    ['a=%zz', [['a', '%zz']]],
    ['A=1', [['A', '1']]],
  ] as const)
    t.same(readQuery(query), read, query);
});

t.test('what is written holds no separator of any reader, and reads back the same', async (t) => {
  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { minLength: 1 }), (parameters) => {
      const written = writeQuery(parameters);
      t.notMatch(written, /[;+?#[\]\s]/);
      t.same(readQuery(written), parameters);
      const byNode = Object.entries(parse(written, '&', '=', { maxKeys: 0 })).flatMap(([name, value]) =>
        [value ?? []].flat().map((one) => [name, one]),
      );
      t.same(byNode.map(String).toSorted(), parameters.map(String).toSorted(), 'another reader agrees');
    }),
  );
});
