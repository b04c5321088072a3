// What must never be printed, however a gateway writes it.
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { Redactor } from '../../../proxy/doctor/redact.ts';

const redactor = new Redactor([new Secret('Bearer plain/word+key='), new Secret('p&ss word')]);

for (const text of [
  'got plain/word+key= instead',
  'got plain%2Fword%2Bkey%3D instead',
  'Received API Key = sk-...9f2A, Key Hash (Token) =88dc28d0f030c55ed4ab77ed8faf098196cb1c05df778539800c9f1243fe6b4b',
  'Incorrect API key provided: sk-proj-abcdefgh12345.',
  'authorization: Bearer abc.def.ghi',
  'api_key="hunter22hunter22"',
  'https://user:hunter22@gateway.example.com/v1',
  'https://gateway.example.com/v1?key=hunter22&x=1',
  'GET /v1/models?token=hunter22 answered 401',
  'Basic dXNlcjpodW50ZXIyMg==',
  'p&ss word',
]) {
  t.test(`hides what is in: ${text}`, (t) => {
    const clean = redactor.text(text);
    t.notMatch(clean, /hunter22|plain|9f2A|88dc28|abcdefgh|abc\.def|dXNlcj|p&ss|\?/);
    t.end();
  });
}

t.test('hides a key in whatever spelling a gateway repeats it', (t) => {
  const key = 'plain/word+key=';
  const bytes = Buffer.from(key);
  const around = (before: string): string => Buffer.from(`${before}${key}:x`).toString('base64');
  const percent = [...bytes].map((byte) => `%${byte.toString(16)}`).join('');
  const escaped = [...key].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('');
  for (const text of [
    key.toUpperCase(),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    around(''),
    around('a'),
    around('ab'),
    around('user:').replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''),
    around('').toUpperCase(),
    percent,
    percent.replaceAll('%', '%25'),
    escaped,
    [...bytes].map((byte) => `&#${byte};`).join(''),
    '\uff50\uff4c\uff41\uff49\uff4e/word+key=',
  ])
    t.equal(
      redactor.text(`the gateway says ${text} and no more`),
      'the gateway says [secret] and no more',
      text,
    );
  t.end();
});

t.test('leaves what people need to read', (t) => {
  for (const text of [
    'write api_key: os.environ/GATEWAY_KEY there',
    'GET https://gateway.example.com/v1/models answered 404: "Not Found"',
    'skipped, because there is no key for the proxy: give one with --key-file',
    'write api_base: https://gateway.example.com/v1 (openai/ takes api_base as it is, with /v1)',
    'model_list[3].litellm_params.api_key is text, not a reference',
    'a basic check of risk-averse skills',
  ])
    t.equal(redactor.text(text), text);
  t.equal(redactor.text('one\u001b[31m two\r\nthree\u202e'), 'one [31m two three', 'no control characters');
  t.end();
});
