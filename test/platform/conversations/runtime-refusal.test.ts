import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { runtimeReason } from '../../../platform/conversations/runtime-refusal.ts';

t.test("a runtime's refusal as words: place and message, never the input", (t) => {
  const cases: readonly (readonly [status: number, body: unknown, words: string])[] = [
    [404, { detail: 'Not Found' }, '404 (Not Found)'],
    [
      422,
      {
        detail: [{ loc: ['body', 'llm', 'temperature'], msg: 'Input should be a number', input: 'sk-key-1' }],
      },
      '422 (llm.temperature: Input should be a number)',
    ],
    [
      422,
      { detail: [{ loc: ['body'], msg: 'Field required' }, { msg: 'b' }, 'c', null] },
      '422 (Field required; b)',
    ],
    [422, { detail: [{ loc: [{}, 1], msg: null }] }, '422 (1:)'],
    [400, { detail: 'the key sk-key-1 is bad' }, '400 (the key [key] is bad)'],
    [400, { detail: 'two\r\nlines\u0000' }, '400 (two lines)'],
    [
      500,
      { detail: 'Internal Server Error', exception: 'too small\n\nfor sk-key-1' },
      '500 (too small for [key])',
    ],
    [500, { detail: 'Internal Server Error', exception: '' }, '500 (Internal Server Error)'],
    [500, 'Internal Server Error', '500'],
    [500, null, '500'],
    [500, [], '500'],
    [500, { detail: { deep: 1 } }, '500'],
    [500, { __proto__: null, error: 'x' }, '500'],
  ];
  for (const [status, body, words] of cases)
    t.equal(runtimeReason({ status, text: JSON.stringify(body) }, [new Secret('sk-key-1')]), words);
  t.equal(runtimeReason({ status: 502, text: '<html>' }, []), '502');
  t.equal(
    runtimeReason({ status: 500, text: JSON.stringify({ detail: 'x'.repeat(5_000) }) }, []).length,
    509,
  );
  t.end();
});
