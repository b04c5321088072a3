// Where the JSON of an event stands, and a member in it.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { jsonSpan, peekMember, valueSpan } from '../../../proxy/protocols/event-span.ts';

const textAt = (event: string, ...path: readonly string[]): string | null => {
  const bytes = Buffer.from(event);
  const json = jsonSpan(bytes.toString('latin1'));
  const span = json === null ? null : valueSpan(bytes, json, path);
  return span === null ? null : bytes.toString('utf8', span.start, span.end);
};

t.test('the object of a data line is found, and a value in it', async (t) => {
  t.equal(textAt('data: {"a":"é","b":{"c": 1.0 }}\n\n', 'b', 'c'), '1.0');
  t.equal(textAt('event: e\r\ndata:{"a":"é"}\r\n\r\n', 'a'), '"é"');
  t.equal(textAt('\ufeffdata: {"a":"é"}\n\n', 'a'), '"é"', 'behind a byte order mark');
  t.equal(textAt('data: {"a":1}', 'a'), '1', 'without the blank line');
  t.equal(textAt('data: {"a":1}\n\n'), '{"a":1}');
});

t.test('any other shape has none', async (t) => {
  for (const event of [
    ': {"a":1}\n\n',
    'data: [DONE]\n\n',
    'data: {"a":\ndata: 1}\n\n',
    'data: {"a":1}\ndata: {"a":2}\n\n',
    'data: {"a":1,"a":2}\n\n',
    'data: {"a":1]}\n\n',
    'data: {"b":{"a":1}}\n\n',
  ])
    t.equal(textAt(event, 'a'), null, event);
  t.equal(textAt('data: {"a":"text"}\n\n', 'a', 'b'), null);
  t.equal(peekMember(Buffer.from('[]'), 'a'), null);
});
