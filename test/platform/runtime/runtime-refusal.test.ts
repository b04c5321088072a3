import t from 'tap';
import { reasonOf } from '../../../platform/runtime/runtime-refusal.ts';

t.test("a runtime's refusal as words: place and message, never what was sent", (t) => {
  const cases: readonly (readonly [body: unknown, words: string])[] = [
    [{ detail: 'Not Found' }, ': Not Found'],
    [
      {
        detail: [{ loc: ['body', 'llm', 'temperature'], msg: 'Input should be a number', input: 'sk-key-1' }],
      },
      ': llm.temperature: Input should be a number',
    ],
    [{ detail: [{ loc: ['body'], msg: 'Field required' }, { msg: 'b' }, 'c', null] }, ': Field required; b'],
    [{ detail: 'the key sk-key-1 is bad' }, ': the key [secret] is bad'],
    [{ detail: 'two\r\nlines\u0000' }, ': two lines'],
    [{ detail: 'Internal Server Error', exception: 'too small\n\nfor sk-key-1' }, ': too small for [secret]'],
    [{ detail: 'Internal Server Error', exception: '' }, ': Internal Server Error'],
    [{ detail: '' }, ''],
  ];
  for (const [body, words] of cases) t.equal(reasonOf(JSON.stringify(body), ['sk-key-1'], null), words);
  t.equal(reasonOf(JSON.stringify({ detail: 'x'.repeat(5_000) }), [], null).length, 505, 'a long one is cut');
  t.equal(reasonOf('', [], null), '');
  t.end();
});
