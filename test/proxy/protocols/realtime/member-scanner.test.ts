// Members are found in any spelling and in any pieces, and only where they stand.
import fc from 'fast-check';
import t from 'tap';
import { MemberScanner } from '../../../../proxy/protocols/realtime/member-scanner.ts';

const WANTED = new Set(['type', 'session.model', 'response.usage']);

function found(text: string, pieceBytes = 1_000_000): string[] {
  const all: string[] = [];
  const scanner = new MemberScanner(WANTED, ({ path, kind, text: value }) =>
    all.push(`${path} ${kind} ${value}`),
  );
  scanner.reset();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.push(bytes.subarray(at, at + pieceBytes));
  return all;
}

t.test('what is found, and what is not', async (t) => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['{"type":"a"}', ['type string a']],
    [' {\n"Type" : "\\u0061\\"b\\\\" , "x":1}', ['type string a"b\\']],
    ['{"session":{"model":"m"}}', ['session.model string m']],
    ['{"session":{"x":{"model":"no"},"y":[{"model":"no"}],"model":"m"}}', ['session.model string m']],
    ['{"session":[{"model":"no"}],"model":"no"}', []],
    ['{"x":{"session":{"model":"no"}},"a":"\\"session\\":{\\"model\\":\\"no\\"}"}', []],
    [
      '{"session":{"model":null},"session":{"model":["a","}"]}}',
      ['session.model raw null', 'session.model raw ["a","}"]'],
    ],
    [
      '{"response":{"a":[1,{"b":2}],"usage":{"t":{"u":"}"}, "v":1}},"type":"z"}',
      ['response.usage raw {"t":{"u":"}"}, "v":1}', 'type string z'],
    ],
    ['{"response":{"usage":12},"type":"z"}', ['response.usage raw 12', 'type string z']],
    ['[{"type":"no"}]', []],
    ['"type"', []],
    ['{"ses\\u0073ion":{"mode\\u006c":"m"}}', ['session.model string m']],
  ];
  for (const [text, expected] of cases) {
    for (const bytes of [1, 2, 3, 1_000]) t.same(found(text, bytes), expected, `${text} by ${bytes}`);
  }
  t.same(
    found(`{"response":{"usage":"${'u'.repeat(20_000)}"}}`),
    ['response.usage raw '],
    'too long to keep',
  );
});

t.test('it agrees with a parser on any JSON', async (t) => {
  const key = fc.constantFrom('session', 'type', 'model', 'a', '"', '\\', '{');
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string(),
      fc.integer(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, value, { maxKeys: 5 }), fc.integer({ min: 1, max: 9 }), (json, bytes) => {
      const session = json['session'];
      const isHolder = typeof session === 'object' && session !== null && !Array.isArray(session);
      const model = isHolder && 'model' in session ? session.model : undefined;
      const models = found(JSON.stringify(json), bytes).filter((one) => one.startsWith('session.model'));
      const expected = typeof model === 'string' ? `string ${model}` : `raw ${JSON.stringify(model)}`;
      t.strictSame(models, model === undefined ? [] : [`session.model ${expected}`]);
    }),
    { numRuns: 300 },
  );
});
