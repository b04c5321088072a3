// The plain reader must agree with the full parser, or keep out. A tab in a comment keeps it out, so that the same text
// can be read by both.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { parsePlain } from '../../config/parse-plain.ts';
import { parse } from '../../config/parse.ts';
import { placeIn, plainOf, textFile } from '../../config/tree.ts';
import type { Tree } from '../../config/tree.ts';

function plainly(text: string): Tree | null {
  return parsePlain(textFile('a.yaml', text), text);
}

/** Kinds, values and places. */
function shown(tree: Tree): unknown {
  if (tree.kind === 'scalar') return [tree.offset, tree.value, tree.reference];
  if (tree.kind === 'list') return [tree.offset, tree.items.map(shown)];
  return [tree.offset, [...tree.members].map(([key, one]) => [key, one.keyOffset, shown(one.tree)])];
}

function fully(text: string): unknown {
  const parsed = parse('a.yaml', `${text}\n#\t`);
  return parsed.ok ? shown(parsed.tree) : parsed.issues;
}

const LINES = `# a model list
model_list:
- model_name: team-1/model
  litellm_params:   # as sold
      model: openai/vendor/model-1
      api_base: 'https://gateway.example.com/v1'
      timeout: 60
      extra_headers:
        x-team: "team # 1"
  tags:
    - one
    - two words
    - 3e-06
-   model_name: *b*

`.replace('*b*', 'b*');

t.test('block mappings and lists of one-line values are read, with their places', async (t) => {
  const tree = plainly(LINES);
  if (tree === null) throw new Error('it is plain');
  t.strictSame(plainOf(tree), {
    model_list: [
      {
        model_name: 'team-1/model',
        litellm_params: {
          model: 'openai/vendor/model-1',
          api_base: 'https://gateway.example.com/v1',
          timeout: 60,
          extra_headers: { 'x-team': 'team # 1' },
        },
        tags: ['one', 'two words', 0.000003],
      },
      { model_name: 'b*' },
    ],
  });
  t.strictSame(shown(tree), fully(LINES));
  const timeout = LINES.indexOf('60');
  t.strictSame(placeIn(tree.file, timeout), { line: 7, column: 16 });
});

t.test('what is not plain to the last letter is left to the full parser', async (t) => {
  const texts = [
    '',
    'word',
    '- a',
    'a:',
    'a: b\n c',
    'a:\n  b: 1\n c: 2',
    'a: 1\na: 2',
    'a: b: c',
    'a:\tb',
    'a: b\r\nc: d',
    'a: [b]',
    'a: {b: c}',
    'a: &x b',
    'a: *x',
    'a: !!str b',
    'a: |\n  b',
    'a: "\\u0041"',
    "a: 'it''s'",
    'a: "b',
    'a: 0x1F',
    'a: -1',
    'a: ~',
    'a: .inf',
    'a: - b',
    'a: b\n---\nc: d',
    'true: a',
    '1: a',
    '<<: a',
    '__proto__: a',
    'a: - - b',
    '- - a',
    '? a\n: b',
  ];
  for (const text of texts) t.equal(plainly(text), null, JSON.stringify(text));
});

t.test('it agrees with the full parser on every file of this repository that it reads', async (t) => {
  let read = 0;
  for (const folder of [
    join(import.meta.dirname, 'golden'),
    join(import.meta.dirname, '../../config/samples'),
  ])
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.yaml')) continue;
      const text = readFileSync(join(folder, name), 'utf8');
      const tree = plainly(text);
      if (tree === null) continue;
      read += 1;
      t.strictSame(shown(tree), fully(text), name);
    }
  t.ok(read > 20, `${read} files`);
});

function agrees(t: { fail: (message: string) => unknown }, text: string): boolean {
  const tree = plainly(text);
  if (tree !== null && JSON.stringify(shown(tree)) !== JSON.stringify(fully(text)))
    t.fail(`read otherwise by the full parser: ${JSON.stringify(text)}`);
  return tree !== null;
}

const VALUES = [
  '1',
  '007',
  '1.',
  '1e5',
  '3e-06',
  'x',
  'a b',
  'a  b # c',
  "'s: t'",
  '"a # b"',
  'True',
  'null',
  'é ø',
].concat([
  'http://a:1/b',
  'a:b',
  'a*',
  '1_0',
  '12:30',
  '2024-01-01',
  '"" ',
  "''",
  'os.environ/KEY',
  '0.0.0.0',
  '1.5.2',
]);

t.test('it reads every nesting of mappings and lists, as the full parser does', async (t) => {
  type Block = (indent: number) => string;
  const pad = (indent: number): string => ' '.repeat(indent);
  const scalar = fc.constantFrom(...VALUES);
  const noise = fc.constantFrom('', '', '', '\n', '# note\n', '        # far\n');
  const { block } = fc.letrec<{ block: Block; map: Block; list: Block }>((tie) => ({
    block: fc.oneof({ maxDepth: 4 }, tie('map'), tie('list')),
    map: fc
      .array(fc.tuple(fc.oneof(scalar, tie('block')), fc.integer({ min: 1, max: 3 }), noise), {
        minLength: 1,
        maxLength: 3,
      })
      .map(
        (members) => (indent) =>
          members
            .map(([value, step, before], at) => {
              const key = `${at === 0 ? '' : before + pad(indent)}k${at}:`;
              if (typeof value === 'string') return `${key} ${value}\n`;
              return `${key}\n${pad(indent + step)}${value(indent + step)}`;
            })
            .join(''),
      ),
    list: fc
      .array(fc.tuple(fc.oneof(scalar, tie('map')), fc.integer({ min: 1, max: 3 }), noise), {
        minLength: 1,
        maxLength: 3,
      })
      .map(
        (items) => (indent) =>
          items
            .map(([value, step, before], at) => {
              const dash = `${at === 0 ? '' : before + pad(indent)}-${pad(step)}`;
              return typeof value === 'string' ? `${dash}${value}\n` : `${dash}${value(indent + 1 + step)}`;
            })
            .join(''),
      ),
  }));
  let read = 0;
  const runs = 1500;
  fc.assert(
    fc.property(block, (inner) => {
      if (agrees(t, `a0: 1\na1:\n  ${inner(2)}a2: x\n`)) read += 1;
    }),
    { numRuns: runs },
  );
  t.equal(read, runs, 'none is left to the full parser');
});

t.test('it agrees with the full parser on whatever else it reads', async (t) => {
  let read = 0;
  const value = fc.constantFrom(...VALUES, '', '0x1', '-', '#', '[', '&a', 'a ', '<<');
  const indent = fc.constantFrom(0, 0, 2, 2, 4, 1, 3);
  const key = fc.constantFrom('a: ', 'b: ', 'c:', 'd: ', 'e:', '');
  const line = fc
    .tuple(indent, fc.constantFrom('', '', '- ', '-   '), key, value)
    .map(([blanks, dash, name, text]) => `${' '.repeat(blanks)}${dash}${name}${text}`);
  const lines = fc.array(line, { maxLength: 5 }).map((all) => `a0: 1\n${all.join('\n')}`);
  const token = fc.constantFrom(...'ab: - \n\n  #\'"1.e,[*&|?!%@', ': ', '- ', '\n  ', 'x: 1\n');
  const tokens = fc.array(token, { maxLength: 12 }).map((all) => all.join(''));
  fc.assert(
    fc.property(fc.oneof(lines, tokens), (text) => {
      if (agrees(t, text)) read += 1;
    }),
    { numRuns: 20_000 },
  );
  t.ok(read > 100, `${read} texts were plain`);
});
