// A stream is taken apart into the same events however its bytes arrive.
import t from 'tap';
import { EventCuts, garbled } from '../../../proxy/chaos/event-cuts.ts';

const EVENTS = ['data: {"a":1}\n\n', ': ping\n\n', 'event: x\r\ndata: {"b":"é"}\r\n\r\n', 'data: [DONE]\n\n'];

t.test('in pieces of every size', async (t) => {
  const bytes = Buffer.from(EVENTS.join(''));
  for (let size = 1; size <= bytes.length; size += 1) {
    const cuts = new EventCuts();
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size)
      for (const one of cuts.push(bytes.subarray(at, at + size))) found.push(one.bytes.toString());
    t.same([found, cuts.rest()], [EVENTS, []], `${size}`);
  }
});

t.test('comments are no events, and what is not whole is kept', async (t) => {
  const cuts = new EventCuts();
  t.same(
    cuts.push(Buffer.from(`${EVENTS.join('')}data: {"half`)).map(({ hasData }) => hasData),
    [true, false, true, true],
  );
  t.match(cuts.rest(), [{ hasData: true }]);
});

t.test('garbled: as long as before, and no JSON', async (t) => {
  const event = Buffer.from('data: {"a":{"b":1}}\n\n');
  const bad = garbled(event);
  t.equal(bad.length, event.length);
  t.throws(() => void JSON.parse(bad.toString().slice('data: '.length)));
  t.same(garbled(Buffer.from('data: [DONE]\n\n')).toString(), 'data: [DONE]\n\n');
});
