// Skipping one value: where it ends, and which sentence says why it does not.
import t from 'tap';
import {
  describeStop,
  openBody,
  skipScalar,
  skipSpace,
  skipString,
  type Stop,
} from '../../../proxy/bodies/json-skip.ts';

/** The offset after the token at the beginning, or the sentence. */
function skipped(text: string): number | string {
  const body = Buffer.from(text);
  const stop: Stop = { at: 0, expected: '', tooDeep: false };
  openBody();
  const end = skipScalar(body, 0, stop);
  return end < 0 ? describeStop(body, stop) : end;
}

t.test('a string, number or word is skipped to its last byte, and no further', async (t) => {
  const values = [
    ...['0', '-0', '12', '1.50', '1e5', '1E+05', '1.5e-3', 'true', 'false', 'null', '""', '"a\\"b"'],
    '"\\u00e9\\/\\b\\f\\n\\r\\t\\\\"',
    `"${'x'.repeat(200)}\\n${'y'.repeat(200)}"`,
  ];
  for (const value of values) {
    for (const rest of ['', ' ', ',', ']', '}', '"']) t.equal(skipped(value + rest), value.length, value);
  }
  t.equal(skipped('01'), 1, 'what follows a leading zero is somebody else’s');
});

t.test('the sentence says what was found, where, and what belongs there', async (t) => {
  const sentences: Readonly<Record<string, string>> = {
    '': 'unexpected end of the body at byte 0, where a value belongs',
    '-': 'unexpected end of the body at byte 1, where a value belongs',
    '}': 'unexpected } at byte 0, where a value belongs',
    '1.': 'unexpected end of the body at byte 2, where a digit after the decimal point belongs',
    '1.x': 'unexpected text at byte 2, where a digit after the decimal point belongs',
    '1e': 'unexpected end of the body at byte 2, where a digit in the exponent belongs',
    '1e+]': 'unexpected ] at byte 3, where a digit in the exponent belongs',
    trux: 'unexpected text at byte 3, where the word true belongs',
    'fals,': 'unexpected , at byte 4, where the word false belongs',
    nul: 'unexpected end of the body at byte 3, where the word null belongs',
    '"a': 'unexpected end of the body at byte 2, where the end of a string belongs',
    '"a\u0001"':
      'unexpected control character 0x01 at byte 2, where an escape in place of the raw control character belongs',
    '"\\x"': 'unexpected \\ at byte 1, where a valid escape belongs',
    '"\\u12g4"': 'unexpected \\ at byte 1, where a valid escape belongs',
    '\u007f': 'unexpected control character 0x7f at byte 0, where a value belongs',
    é: 'unexpected text at byte 0, where a value belongs',
    '@': 'unexpected @ at byte 0, where a value belongs',
  };
  for (const [text, sentence] of Object.entries(sentences)) t.equal(skipped(text), sentence, text);
});

t.test('a string that is cut can be gone on with where the skip stopped, wherever it was cut', async (t) => {
  const text = Buffer.from(`"${'x'.repeat(150)}\\n\\u00e9\\\\é${'y'.repeat(150)}\\""`);
  for (let cut = 1; cut < text.length; cut++) {
    const stop: Stop = { at: 0, expected: '', tooDeep: false };
    openBody();
    t.equal(skipString(text.subarray(0, cut), 1, stop), -1, `cut at ${cut}`);
    openBody();
    t.equal(skipString(text, stop.at, stop), text.length, `cut at ${cut}, on from ${stop.at}`);
  }
});

t.test('white space is what JSON calls so', async (t) => {
  t.equal(skipSpace(Buffer.from(' \t\r\n x'), 0), 5);
  for (const other of ['\f', '\v', '\0', '\u00a0', '\ufeff']) t.equal(skipSpace(Buffer.from(other), 0), 0);
  t.equal(skipSpace(Buffer.from('  '), 1), 2, 'to the end');
});
