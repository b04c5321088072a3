// The estimate of a prompt stays above what a real tokenizer counts, of whatever text; pictures do not count by their length.
import { randomBytes, randomUUID } from 'node:crypto';
import t from 'tap';
import {
  IMAGE_TOKENS,
  promptTokensAtMost,
  withPlainLetters,
} from '../../../../proxy/access/budgets/prompt-tokens.ts';
import { tokensIn } from '../../../../proxy/spend/estimate/count.ts';
import { readFileSync } from 'node:fs';
import { seededRandom } from '../../../support/seeded-random.ts';

const here = (name: string): string => readFileSync(new URL(`../../../../${name}`, import.meta.url), 'utf8');
const random = seededRandom(24);
const often = (text: string): string => Array.from({ length: 40 }, () => text).join(' ');
const letters = (count: number): string =>
  Array.from({ length: count }, () => String.fromCodePoint(97 + Math.floor(random() * 26))).join('');

const TEXTS: Readonly<Record<string, string>> = {
  prose: here('README.md'),
  code: here('proxy/pipeline/plan.ts'),
  json: here('package.json'),
  generated: here('config/gateway-validator.js').slice(0, 60_000),
  chinese: often('春眠不觉晓，处处闻啼鸟。人工智能正在改变世界。'),
  'rare characters': often('魑魅魍魉饕餮耄耋囹圄觊觎龌龊'),
  japanese: often('吾輩は猫である。名前はまだ無い。カタカナもある。'),
  korean: often('나는 오늘 학교에 갔다. 그리고 친구를 만났다.'),
  russian: often('Все счастливые семьи похожи друг на друга.'),
  arabic: often('في البداية كانت الكلمة والعلم نور'),
  hindi: often('सभी मनुष्यों को गौरव और अधिकारों के मामले में'),
  thai: often('มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน'),
  khmer: often('មនុស្សទាំងអស់កើតមកមានសេរីភាព'),
  amharic: often('የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና'),
  burmese: often('လူတိုင်းသည် တူညီ လွတ်လပ်သော'),
  tibetan: often('འགྲོ་བ་མིའི་རིགས་རྒྱུད'),
  german: often('Donaudampfschifffahrtsgesellschaftskapitän und Überwachung'),
  finnish: often('epäjärjestelmällistyttämättömyydellänsäkään'),
  vietnamese: often('Tất cả mọi người sinh ra đều được tự do'),
  greek: often('Όλοι οι άνθρωποι γεννιούνται ελεύθεροι'),
  emoji: often('😀🎉👨‍👩‍👧‍👦🏳️‍🌈🧑🏽‍🚀🫠'),
  base64: randomBytes(3_000)
    .toString('base64')
    .replaceAll(/(.{76})/g, '$1\n'),
  hexadecimal: randomBytes(3_000)
    .toString('hex')
    .replaceAll(/(.{64})/g, '$1\n'),
  numbers: Array.from({ length: 500 }, () => String(random() * 1e9)).join(','),
  capitals: often('SELECT COUNT FROM TABLE WHERE XQZJ KWVB'),
  ids: Array.from({ length: 100 }, () => randomUUID()).join('\n'),
  'random letters': letters(3_000),
  mathematics: often('∀ε>0 ∃δ>0: |x−a|<δ ⇒ |f(x)−f(a)|<ε ∑∏∫√∞≈≠≤≥'),
  boxes: often('┌──┬──┐│  │└──┘ ▓▒░ ✓✗→←'),
  blanks: often('a          \n\n\n\n\t\t\tb'),
};

for (const [name, text] of Object.entries(TEXTS)) {
  t.test(`${name}: no fewer than the tokenizer counts, and not many times as many`, (t) => {
    const [counted, estimated] = [tokensIn(text), promptTokensAtMost(Buffer.from(text))];
    t.ok(estimated >= counted, `${estimated} for ${counted}`);
    t.ok(estimated <= counted * 7, `${estimated} for ${counted}`);
    const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: text }] }));
    t.ok(promptTokensAtMost(body) >= counted, 'in the JSON of a request');
    t.end();
  });
}

t.test('a picture counts the same whatever its size, a file by its size', (t) => {
  const data = (bytes: number): string => randomBytes(bytes).toString('base64');
  const picture = (bytes: number): Buffer =>
    Buffer.from(
      JSON.stringify({
        content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${data(bytes)}` } }],
      }),
    );
  const [small, large] = [promptTokensAtMost(picture(30_000)), promptTokensAtMost(picture(3_000_000))];
  t.equal(small, large);
  t.ok(small >= IMAGE_TOKENS && small < IMAGE_TOKENS + 100, `${small}`);
  const anthropic = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: data(90_000) },
  };
  const two = promptTokensAtMost(Buffer.from(JSON.stringify({ content: [anthropic, anthropic] })));
  t.ok(two >= 2 * IMAGE_TOKENS && two < 2 * IMAGE_TOKENS + 200, `${two}`);
  const slashed = picture(30_000).toString().replaceAll('/', '\\/'); // as PHP writes JSON
  t.ok(promptTokensAtMost(Buffer.from(slashed)) < IMAGE_TOKENS + 100, 'slashes that are escaped');
  const drawn = { id: 'ig_1', result: data(30_000), status: 'completed', type: 'image_generation_call' };
  for (const one of [drawn, Object.fromEntries(Object.entries(drawn).toReversed())])
    t.ok(promptTokensAtMost(Buffer.from(JSON.stringify({ input: [one] }))) < 6_000, 'a picture drawn before');
  const linked = { content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] };
  t.ok(promptTokensAtMost(Buffer.from(JSON.stringify(linked))) >= IMAGE_TOKENS);
  const file = { type: 'file', file: { file_data: `data:application/pdf;base64,${data(300_000)}` } };
  const pages = promptTokensAtMost(Buffer.from(JSON.stringify(file)));
  t.ok(pages > 40_000 && pages < 60_000, `${pages}`);
  t.end();
});

t.test(
  'long data counts as text where no member holds it, and as a file where a picture is only claimed',
  (t) => {
    const data = randomBytes(30_000).toString('base64');
    const real = tokensIn(data);
    const url = `data:image/png;base64,${data}`;
    const texts = [data, url, `image/${data}`, `<img src="${url}">`, `"data":"${data}`, `{"url": "${url}"}`];
    for (const text of texts) {
      const body = JSON.stringify({ messages: [{ role: 'user', content: text }] });
      t.ok(promptTokensAtMost(Buffer.from(body)) >= real, text.slice(0, 30));
    }
    const source = { type: 'text', data, media_type: 'text/plain' };
    for (const one of [source, Object.fromEntries(Object.entries(source).toReversed())]) {
      const body = JSON.stringify({ content: [{ type: 'document', source: one }] });
      t.ok(promptTokensAtMost(Buffer.from(body)) >= real, 'a document that is text');
    }
    const encoded = `data:text/plain;base64,${Buffer.from(data).toString('base64')}`;
    const attached = JSON.stringify({ type: 'file', file: { filename: 'a.txt', file_data: encoded } });
    t.ok(promptTokensAtMost(Buffer.from(attached)) >= real, 'a file of text');
    const file = {
      type: 'file',
      file: { mime_type: 'image/png', file_data: `data:application/pdf;base64,${data}` },
    };
    t.ok(promptTokensAtMost(Buffer.from(JSON.stringify(file))) >= data.length / 8);
    t.end();
  },
);

t.test('letters that are escaped are read as letters; backslashes and other escapes stay', (t) => {
  const plain = (text: string): string => withPlainLetters(Buffer.from(text)).toString();
  t.equal(plain('{"\\u0069mage\\u005Furl": "\\u00e9"}'), '{"image_url": "\\u00e9"}');
  t.equal(plain('"\\\\u0069 \\u005c"'), '"\\\\u0069 \\u005c"');
  t.end();
});

/** The rules for ASCII, run by run, as prompt-tokens.ts states them. */
function tokensByRuns(text: string): number {
  let tokens = 0;
  let last = '';
  for (const [run] of text.matchAll(/[a-z]+|[A-Z]+|[0-9]+|[ \t\r\n]+|[^]/g)) {
    const { length } = run;
    const isId = /[0-9]$/.test(last);
    if (/[a-z]/.test(run))
      tokens += isId
        ? Math.ceil((length * 5) / 9)
        : Math.ceil(Math.min(length, 12) / 3) + (Math.max(0, length - 12) * 5) / 9;
    else if (/[A-Z]/.test(run)) tokens += Math.ceil(length / 1.5);
    else if (/[0-9]/.test(run)) tokens += Math.ceil(length / 2);
    else if (/\s/.test(run)) tokens += length === 1 ? 0 : Math.ceil(length / 8);
    else tokens += 1;
    last = run;
  }
  return (
    Math.ceil(tokens - 1e-6) +
    IMAGE_TOKENS * (text.match(/"image"|"(?:image_url|fileData)"\s*:/g)?.length ?? 0)
  );
}

t.test('every run of a body counts, and every picture, wherever it stands', (t) => {
  const parts = [
    '"image_url": ',
    '"image"',
    '"fileData":',
    '"file"',
    '"im',
    'aQ',
    '12ab',
    ' ',
    '  ',
    '"',
    '/',
    '\n',
    'Z',
  ];
  for (let sample = 0; sample < 300; sample += 1) {
    let text = '';
    for (let n = random() * 60; n > 0; n -= 1) {
      const part = parts[Math.floor(random() * parts.length)] ?? '';
      text += random() < 0.5 ? part : letters(random() * 20);
    }
    t.equal(promptTokensAtMost(Buffer.from(text)), tokensByRuns(text), text);
  }
  t.end();
});

t.test('an empty body has no tokens', (t) => {
  t.equal(promptTokensAtMost(Buffer.alloc(0)), 0);
  t.end();
});

t.test('a list of tokens has at least as many as it lists, alone or in a list of prompts', async (t) => {
  for (const token of [7, 1_000, 100_000]) {
    const tokens = Array.from({ length: 500 }, () => token);
    for (const input of [tokens, [tokens], tokens.map((one) => [one])])
      t.ok(promptTokensAtMost(Buffer.from(JSON.stringify({ input }))) >= 500, String(token));
  }
});
