// Texts that a scan of a body comes by.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { peek, peekInSlices, UNBOUNDED } from '../../../proxy/bodies/peek.ts';
import { TextBeginnings } from '../../../proxy/bodies/text-beginnings.ts';

const wanted = { names: new Set<string>(), prefixes: [], texts: new TextBeginnings(['one.', 'two']) };
const holds = (text: string): boolean | null => {
  const peeked = peek(Buffer.from(text), wanted, 64);
  return peeked.ok ? peeked.hasText : null;
};

t.test('values that begin so are found at any depth, and nothing else is', (t) => {
  for (const text of ['{"a":"one."}', '{"a":[{"b":[1,"two more"]}],"c":"d"}', '{"a" : \n "two"}'])
    t.equal(holds(text), true, text);
  for (const text of [
    '{"one.":1}',
    '{"a":"one"}',
    '{"a":" one."}',
    '{"a":"say \\"one.\\""}',
    '{"a":"on","b":"tw"}',
  ])
    t.equal(holds(text), false, text);
  t.equal(holds('{"a":"one'), null, 'what is no JSON has no answer');
  t.end();
});

t.test('several that begin alike are told apart', (t) => {
  const texts = new TextBeginnings(['one.a', 'one.bc', 'two']);
  const stands = (text: string): boolean => texts.standAt(Buffer.from(`"${text}"`), 1);
  for (const text of ['one.a', 'one.ab', 'one.bc']) t.equal(stands(text), true, text);
  for (const text of ['one.', 'one.b', 'one.c', 'tw', '']) t.equal(stands(text), false, text);
  t.end();
});

t.test('also where the slice of a scan ends within one', async (t) => {
  const turn = (): Promise<void> => Promise.resolve();
  for (let before = 65_526; before < 65_540; before++) {
    const body = Buffer.from(`{"a":"${'x'.repeat(before - 12)}","b":"two"}`);
    const peeked = await peekInSlices(body, wanted, 64, UNBOUNDED, turn);
    t.ok(peeked.ok && peeked.hasText, `${before} bytes before it`);
  }
});
