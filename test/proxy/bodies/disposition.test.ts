// Header values with parameters, read the strict way.
import t from 'tap';
import { readParameters } from '../../../proxy/bodies/disposition.ts';

const read = (value: string): [string, Record<string, string>] | null => {
  const found = readParameters(value);
  return found === null ? null : [found.type, Object.fromEntries(found.parameters)];
};

t.test('the type is lower case and trimmed, with parameters or without', async (t) => {
  t.same(read('text/plain'), ['text/plain', {}]);
  t.same(read(' Text/Plain '), ['text/plain', {}]);
  t.same(read('form-data;'), ['form-data', {}]);
  t.same(read('form-data; \t'), ['form-data', {}]);
  t.same(read(''), ['', {}]);
});

t.test('parameters are tokens or quoted texts, by lower-case names', async (t) => {
  t.same(read('form-data; Name=a;filename="b c; d=e"'), ['form-data', { name: 'a', filename: 'b c; d=e' }]);
  t.same(read('a; b="";c=d \t;\te=f'), ['a', { b: '', c: 'd', e: 'f' }]);
  t.same(read('a; b="\\\\"'), ['a', { b: '\\\\' }], 'a backslash that stands for itself stays as it is');
  t.same(read('a; b="c\\d"'), ['a', { b: 'c\\d' }]);
});

t.test('what two readers could read differently is no value', async (t) => {
  const odd = [
    'a; b=c; B=d',
    'a; b="c',
    'a; b="c\\"d"',
    'a; b="\\',
    'a; b="c"d',
    'a; b=c d',
    'a; b',
    'a; b=',
    'a; =c',
    'a; ;b=c',
    'a; b =c',
    'a; b= c',
    'a; b=é',
  ];
  for (const value of odd) t.equal(readParameters(value), null, value);
});
