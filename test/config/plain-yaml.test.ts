import fc from 'fast-check';
import t from 'tap';
import { plainTree } from '../../config/plain-yaml.ts';
import { thoroughly } from '../../config/thorough-yaml.ts';
import { textFile } from '../../config/tree.ts';
import type { Tree } from '../../config/tree.ts';

/** All that the two readers must agree on. As text, because -0, NaN and Infinity are values too. */
function shown(tree: Tree): string {
  if (tree.kind === 'scalar') {
    const value = Object.is(tree.value, -0) ? '-0' : String(tree.value);
    return `${typeof tree.value} ${JSON.stringify(value)}@${tree.offset}`;
  }
  if (tree.kind === 'list') return `[${tree.items.map(shown).join(', ')}]@${tree.offset}`;
  const members = [...tree.members].map(
    ([key, member]) => `${JSON.stringify(key)}@${member.keyOffset} ${shown(member.tree)}`,
  );
  return `{${members.join(', ')}}@${tree.offset}`;
}

const WORDS =
  'a b key 1 -1 +3 007 0x1F 0o17 0b1 1.5 .5 5. 1e3 1e400 -.inf .NaN 1_000 1:30 true False yes ~ null NULL - -- --- ... ? : :: = ' +
  '"q" \'s\' "a\\n" [ ] { } , # *a &a !t !!str | > |- % @ ` \\ https://x.y/z:1 2026-01-01 \u2028 \u0085 \ufeff \u00e9 __proto__:';
const word = fc.constantFrom(...WORDS.split(' '));
const pieces = [
  '\n',
  '\n',
  '\n  ',
  '\n    ',
  '\r\n',
  '\r',
  '\t',
  ' ',
  '  ',
  '- ',
  ': ',
  ' # c',
  '<<: ',
  '[x, y]',
];
const soup = fc.array(fc.oneof(word, fc.constantFrom(...pieces)), { maxLength: 12 });
const line = fc.tuple(
  fc.constantFrom('', '  ', '    ', '- ', '  - ', '- - '),
  fc.constantFrom('a', 'b', 'c', '"d"', "'e'", '1', '1.0', 'true', '~'),
  fc.constantFrom(':', ': ', ' : '),
  fc.array(word, { maxLength: 2 }).map((words) => words.join(' ')),
  fc.constantFrom('\n', '\r\n', '\n\n', ' # x\n'),
);
const lines = fc.array(line, { maxLength: 6 }).map((all) => all.flat());

t.test('what the fast reader reads, the thorough one reads alike: values, keys and places', async (t) => {
  let read = 0;
  fc.assert(
    fc.property(fc.oneof(soup, lines), (parts) => {
      const text = parts.join('');
      const file = textFile('a.yaml', text);
      const tree = plainTree(file, text);
      if (tree === null) return;
      read += 1;
      const thorough = thoroughly(file, text);
      if (!thorough.ok) throw new Error(`refused: ${thorough.issues[0]?.message}`);
      if (shown(tree) !== shown(thorough.tree)) throw new Error(`${shown(tree)} or ${shown(thorough.tree)}`);
    }),
    { numRuns: 20_000 },
  );
  t.ok(read > 400, `the fast reader read ${read} of them`);
});

t.test('a configuration as generators write it is read fast', async (t) => {
  const text = [
    '# models',
    'model_list:',
    '  - model_name: "a b"',
    '    litellm_params: {model: litellm_proxy/a, timeout: 30}',
    '    model_info:',
    '  - model_name: os.environ/NAME',
    '    tags: [\'x\', "y"]',
    '',
  ].join('\n');
  for (const written of [text, text.replaceAll('\n', '\r\n')])
    t.not(plainTree(textFile('a.yaml', written), written), null);
});

t.test('what is wrong or rare is left to the thorough reader', async (t) => {
  const others = {
    'an anchor': 'a: &x 1',
    'an alias': 'a: *x',
    'a merge key': 'a: {<<: {b: 1}}',
    'a tag': 'a: !!str 1',
    'a block text': 'a: |\n  b\n',
    'a directive': '%YAML 1.1\n---\na: yes',
    'two documents': 'a: 1\n---\nb: 1',
    'a key that stands twice': 'a: 1\na: 2',
    'a key that is no text': '[a]: 1',
    'an empty list item': '- \n- a',
    'a list': '- a',
    'a tab': 'a:\t1',
    'a bracket that PyYAML reads at any column': 'a: [\n  b\n]',
    'an open quote': 'a: "b',
    'a number beyond a double': 'a: 1e400',
    'a document mark that is indented': '  ---\nb: a',
    nothing: '',
  };
  for (const [what, text] of Object.entries(others))
    t.equal(plainTree(textFile('a.yaml', text), text), null, what);
});
