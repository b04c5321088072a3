// Query parameters of lists: what stands twice, and what is no value of its kind, is refused and named.
import t from 'tap';
import {
  isTrue,
  neededParameter,
  parameter,
  wholeParameter,
  wordParameter,
} from '../../../../proxy/api/access/query.ts';

const of = (text: string): URLSearchParams => new URLSearchParams(text);

t.test('a parameter that stands twice is refused, also with one value', (t) => {
  const readers: readonly ((query: URLSearchParams) => unknown)[] = [
    (query) => parameter(query, 'a'),
    (query) => neededParameter(query, 'a'),
    (query) => wholeParameter(query, 'a', 1, 9),
    (query) => wordParameter(query, 'a', ['1', '2']),
    (query) => isTrue(query, 'a'),
  ];
  for (const read of readers)
    for (const query of ['a=1&a=2', 'a=1&b=&a=1', 'a=&a=1'])
      t.throws(() => read(of(query)), {
        status: 400,
        message: 'The query parameter a stands more than once.',
      });
  t.end();
});

t.test('what is needed is there, and not empty', (t) => {
  t.equal(neededParameter(of('a=x%20y'), 'a'), 'x y');
  for (const query of ['', 'a=', 'b=1'])
    t.throws(() => neededParameter(of(query), 'a'), { code: 'invalid_fields' });
  t.end();
});

t.test('numbers are digits', (t) => {
  t.equal(wholeParameter(of('a=007'), 'a', 1, 9), 7);
  t.equal(wholeParameter(of('a='), 'a', 5, 9), 5);
  for (const value of ['0', '10', '1e0', '0x1', '1.0', '%2B1', '%201', '-1', '\u0661'])
    t.throws(() => wholeParameter(of(`a=${value}`), 'a', 1, 9), { code: 'invalid_fields' }, value);
  t.end();
});

t.test('yes and no in the words of FastAPI', (t) => {
  for (const value of ['true', 'True', '1', 'yes', 'on', 't', 'y'])
    t.ok(isTrue(of(`a=${value}`), 'a'), value);
  for (const value of ['', 'false', 'FALSE', '0', 'no', 'off', 'f', 'n'])
    t.notOk(isTrue(of(`a=${value}`), 'a'), value);
  for (const value of ['maybe', '2', 'null'])
    t.throws(() => isTrue(of(`a=${value}`), 'a'), { code: 'invalid_fields' });
  t.end();
});
