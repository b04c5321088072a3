// What strangers send, bounded and fit for any database.
import fc from 'fast-check';
import t from 'tap';
import { cleanObject, cleanText } from '../../../proxy/bodies/text.ts';
import { anyText } from '../../support/any-text.ts';
import { runs } from '../../support/runs.ts';

t.test('a text is cut to its limit, and what no database takes is replaced', async (t) => {
  t.equal(cleanText('abc', 3), 'abc');
  t.equal(cleanText('abcd', 3), 'abc');
  t.equal(cleanText('a\0b\0', 9), 'a\ufffdb\ufffd');
  t.equal(cleanText('a\ud83d', 9), 'a\ufffd');
  t.equal(cleanText('a\ud83d\ude00', 2), 'a\ufffd', 'a character that the limit cuts in two');
  t.equal(cleanText('a\ud83d\ude00', 3), 'a\ud83d\ude00');
});

t.test('an object that is sound is handed back as it is', async (t) => {
  const sound = { a: 'x', b: [1, null, true, { c: 'é' }] };
  t.equal(cleanObject(sound, 200), sound);
});

t.test('names and texts are cleaned wherever they stand', async (t) => {
  t.same(cleanObject({ 'k\0': 1, a: ['\ud800', { b: 'x\0' }], n: 7, o: null }, 200), {
    'k\ufffd': 1,
    a: ['\ufffd', { b: 'x\ufffd' }],
    n: 7,
    o: null,
  });
});

t.test('what is too long or too deep is null', async (t) => {
  t.equal(cleanObject({ a: 'x'.repeat(100) }, 50), null);
  t.equal(cleanObject({ a: Array.from({ length: 100 }, () => 1) }, 500), null, 'numbers count, too');
  t.equal(cleanObject({ a: '1234' }, 12), null);
  t.same(cleanObject({ a: '123' }, 12), { a: '123' }, 'as long as is allowed');
  const deep = (levels: number): Record<string, unknown> => {
    let value: Record<string, unknown> = {};
    for (let n = 1; n < levels; n += 1) value = { a: value };
    return value;
  };
  t.not(cleanObject(deep(32), 10_000), null);
  t.equal(cleanObject(deep(33), 10_000), null);
});

t.test(
  'whatever comes, what is kept can be written as UTF-8 without NUL, and is no longer than it was',
  async () => {
    fc.assert(
      fc.property(fc.dictionary(anyText, fc.jsonValue()), (value) => {
        const kept = cleanObject(value, 100_000);
        if (kept === null) return false;
        const text = JSON.stringify(kept);
        return text.isWellFormed() && !text.includes('\\u0000') && !/\\ud[89a-f]/.test(text);
      }),
      { numRuns: runs(250) },
    );
  },
);
