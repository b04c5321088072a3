// Which member a name finds, and whether its value says anything.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { memberNamed, statesValue, type PeekedBody } from '../../../proxy/bodies/members.ts';
import { peek } from '../../../proxy/bodies/peek.ts';

const NAMES = ['a', 'b', 'c'];

function peeked(body: Buffer): PeekedBody {
  const found = peek(body, { names: new Set(NAMES), prefixes: [] }, Infinity);
  if (!found.ok) throw new Error(found.detail);
  return found;
}

t.test('a member is found by its name as it is read, wherever it stands', (t) => {
  const body = Buffer.from('{"x": {"b": 1}, "a": 2, "\\u0062": 3}');
  const found = NAMES.map((name) => memberNamed(peeked(body), name)?.valueStart);
  t.same(found, [body.indexOf('2'), body.indexOf('3'), undefined]);
  t.end();
});

t.test('only null says nothing', (t) => {
  for (const value of ['0', 'false', '""', '"null"', '[]', '{}', '[null]', 'null', ' null ']) {
    const body = Buffer.from(`{"a":${value}}`);
    const member = memberNamed(peeked(body), 'a');
    t.equal(member !== undefined && statesValue(body, member), value.trim() !== 'null', value);
  }
  t.end();
});
