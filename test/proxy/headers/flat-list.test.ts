import t from 'tap';
import {
  hasHeader,
  headerIn,
  joinLines,
  setHeader,
  withoutHeaders,
} from '../../../proxy/headers/flat-list.ts';

t.test('a header that is set replaces each of its name', async (t) => {
  const list = ['cache-control', 'max-age=60', 'x-a', '1', 'cache-control', 'public'];
  setHeader(list, 'cache-control', 'no-cache');
  t.same(list, ['x-a', '1', 'cache-control', 'no-cache']);
});

t.test('a header is found by its name alone, the first of several', async (t) => {
  const list = ['x-a', 'x-b', 'x-c', '1', 'x-c', '2'];
  t.equal(headerIn(list, 'x-c'), '1');
  t.equal(headerIn(list, 'x-b'), null, 'a value is no name');
  t.ok(hasHeader(list, 'x-a'));
  t.notOk(hasHeader(list, '1'));
});

t.test('headers are left out by their names, each of them, and no value is taken for a name', async (t) => {
  const list = ['etag', '"1"', 'x-a', 'etag', 'etag', '"2"', 'age', '5'];
  t.same(withoutHeaders(list, new Set(['etag', 'age'])), ['x-a', 'etag']);
  t.same(withoutHeaders(list, new Set()), list);
  t.equal(list.length, 8, 'the list itself stays as it is');
});

t.test('all lines of a list header become one', async (t) => {
  const list = ['x-a', '1', 'x-b', '0', 'x-a', '2', 'x-a', '3'];
  joinLines(list, 'x-a');
  t.equal(list.filter((one) => one === 'x-a').length, 1);
  t.same(headerIn(list, 'x-a')?.split(',').toSorted(), ['1', '2', '3']);
  t.equal(headerIn(list, 'x-b'), '0');
});
