// Events out of pieces: however a stream is cut, the same events.
import fc from 'fast-check';
import t from 'tap';
import { EventTexts, type EventText } from '../../../proxy/relay/event-texts.ts';

const STREAM =
  '\ufeffevent: one\ndata: {"a":"ä"}\n\n: comment\n\ndata: x\ndata: y\r\n\r\nid: 7\nevent: lone\n\ndata:z\r\rdatax: no\ndata\n\nevent: last\ndata: 漢';
const EVENTS: readonly EventText[] = [
  { name: 'one', data: '{"a":"ä"}' },
  { name: '', data: 'x\ny' },
  { name: '', data: 'z' },
  { name: '', data: '' },
  { name: 'last', data: '漢' },
];

function read(pieces: readonly Buffer[]): readonly EventText[] {
  const texts = new EventTexts(1_000);
  return [...pieces.flatMap((piece) => texts.push(piece) ?? []), ...texts.rest()];
}

t.test('a stream has the same events however it is cut', async (t) => {
  const bytes = Buffer.from(STREAM);
  t.same(read([bytes]), EVENTS);
  t.same(read([...bytes].map((byte) => Buffer.of(byte))), EVENTS);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(bytes.length - 1)), (cuts) => {
      const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
      const pieces = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
      return JSON.stringify(read(pieces)) === JSON.stringify(EVENTS);
    }),
    { numRuns: 200 },
  );
});

t.test('an event that is too large ends it, and pieces are not kept', async (t) => {
  const texts = new EventTexts(10);
  const piece = Buffer.from('data: 12');
  t.same(texts.push(piece), []);
  piece.fill(0);
  t.equal(texts.push(Buffer.from('345')), null);
  const other = new EventTexts(10);
  other.push(Buffer.from('data: 1'));
  t.same(other.push(Buffer.from('2\n\n')), [{ name: '', data: '12' }]);
});
