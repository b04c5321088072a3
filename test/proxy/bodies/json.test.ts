// Numbers that JavaScript would change, in objects that are written out again.
import t from 'tap';
import {
  exactObject,
  numberOf,
  parseJson,
  parseObject,
  withExactNumbers,
} from '../../../proxy/bodies/json.ts';

const LONG = [
  '1234567890123456789',
  '-9223372036854775808',
  '9007199254740993',
  '0.12345678901234567890',
  '1234567.1234567890123',
  '12345678901234567890e3',
];

t.test('numbers are written as they were read, wherever they stand', (t) => {
  for (const number of LONG) {
    for (const text of [`{"a":${number}}`, `{"a":[1,${number}],"b":{"c":${number}}}`]) {
      t.not(JSON.stringify(parseObject(text)), text, 'it would change');
      t.equal(JSON.stringify(exactObject(text)), text);
      t.equal(JSON.stringify(withExactNumbers({ a: 0 }, text)), text);
    }
    t.equal(JSON.stringify(exactObject(`{ "a": ${number} }`)), `{"a":${number}}`, 'behind a blank');
  }
  t.end();
});

t.test('numbers that do not change are numbers', (t) => {
  for (const number of ['1', '0.30000000000000004', '9007199254740991', '1234567890.5']) {
    t.same(exactObject(`{"a":${number},"b":1.0}`), { a: Number(number), b: 1 });
    t.same(exactObject(`{"a":${number},"b":1.0,"c":"1, 1234567890123456789"}`)?.['a'], Number(number));
  }
  const parsed = { a: 1 };
  t.equal(withExactNumbers(parsed, '{"a":1}'), parsed);
  t.equal(withExactNumbers(parsed, '{"a":12345678901234567890'), parsed, 'no JSON');
  t.end();
});

t.test('what is no object is none, however long its numbers are', (t) => {
  for (const text of ['12345678901234567890', ' 12345678901234567890', '[12345678901234567890]', '{"a":']) {
    t.equal(exactObject(text), null, text);
  }
  t.equal(exactObject('{"a":12345678901234567890'), null);
  t.end();
});

t.test('texts stay as they are, whatever they hold, and so do names', (t) => {
  const long = '1234567890123456789';
  for (const text of [
    `{"a":"1, ${long}","b":${long}}`,
    `{"a":"\\\\","b":[${long},"\\" ${long}"]}`,
    `{"__proto__":${long},"${long}":${long}}`,
    `{"a":"${long}"}`,
  ])
    t.equal(JSON.stringify(exactObject(text)), text);
  t.equal(exactObject(`{"a":0${long}}`), null);
  t.equal(exactObject(`{"a":1.2.${long}}`), null);
  t.equal(exactObject(`{"a":"b ${long}`), null);
  const wide = `{"a":[${'0,'.repeat(200_000)}${long}]}`;
  t.ok(JSON.stringify(exactObject(wide)) === wide);
  t.end();
});

t.test('a number that stands as its text can be read', (t) => {
  t.equal(numberOf(exactObject('{"a":0.12345678901234567890}')?.['a']), 0.12345678901234568);
  t.equal(numberOf(3), 3);
  t.equal(numberOf('3'), null);
  t.equal(numberOf({ rawJSON: '3' }), null, 'an object that looks like one');
  t.end();
});

t.test('half a value is no JSON', (t) => {
  for (const text of ['{}', '[1]', 'null', ' "a" ']) t.strictSame(parseJson(text), JSON.parse(text), text);
  for (const text of ['', '{"a"', '{}{}', "{'a':1}"]) t.equal(parseJson(text), undefined, text);
  t.end();
});
