// What the sample gives back is the beginning of what was pushed, whatever the chunks look like.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { Sample } from '../../../proxy/relay/sample.ts';

const MOST_BYTES = 16_384;

const sampleOf = (chunks: readonly string[]): Sample => {
  const sample = new Sample();
  for (const one of chunks) {
    const chunk = Buffer.from(one, 'latin1');
    sample.push(chunk);
    chunk.fill(0); // the socket's memory is used again
  }
  return sample;
};

const textOf = (sample: Sample): string => Buffer.from(sample.delivered()?.head ?? []).toString('latin1');

const cases: Readonly<Record<string, readonly string[]>> = {
  'one chunk': ['data: {"a":1}\n\n'],
  'events that differ in a word': [
    'data: "one"\n\n',
    'data: "two"\n\n',
    'data: "eleven"\n\n',
    'data: ""\n\n',
  ],
  'the same event again and again': Array.from({ length: 40 }, () => 'data: "same"\n\n'),
  'a beginning and an end that overlap': ['aaaa', 'aaaaaaaa', 'aa', 'aaa', 'abab', 'ababab', 'ab'],
  'an empty chunk between': ['data: 1\n\n', '', 'data: 2\n\n'],
  'chunks that share nothing': ['abc', 'def', 'g', 'hijklmnop'],
  'a chunk that is longer than the sample': ['x', `${'y'.repeat(70_000)}z`, 'x'],
  'more events than are held': Array.from(
    { length: 300 },
    (_, i) => `data: {"id":"a","n":${i}}${'.'.repeat(80)}\n\n`,
  ),
  'every byte': Array.from({ length: 256 }, (_, i) => String.fromCharCode(i, 255 - i, i)),
};

for (const [name, chunks] of Object.entries(cases)) {
  t.test(name, (t) => {
    const whole = chunks.join('');
    const delivered = sampleOf(chunks).delivered();
    t.equal(delivered?.form, 'events');
    t.equal(delivered?.bytes, whole.length);
    t.equal(textOf(sampleOf(chunks)), whole.slice(0, MOST_BYTES));
    t.end();
  });
}

t.test('chunks cut anywhere', (t) => {
  const event = (i: number): string =>
    `data: {"id":"chatcmpl-1","choices":[{"delta":{"content":" w${i % 7}"}}]}\n\n`;
  const whole = Array.from({ length: 120 }, (_, i) => event(i)).join('');
  for (let step = 1; step < 200; step += 1) {
    const chunks = whole.match(new RegExp(`[^]{1,${step}}`, 'g')) ?? [];
    const head = textOf(sampleOf(chunks));
    t.equal(head, whole.slice(0, head.length), `${step} bytes each`);
    t.ok(head.length > 2_000);
  }
  t.end();
});

t.test('nothing came', (t) => {
  t.equal(new Sample().delivered(), null);
  t.equal(sampleOf(['']).delivered(), null);
  t.end();
});
