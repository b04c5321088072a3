import fc from 'fast-check';
import t from 'tap';
import { stringify } from 'yaml';
import { parse } from '../../config/parse.ts';
import { nodeAt, pathText, placeIn, plainOf, treeOf } from '../../config/tree.ts';
import type { Path, Tree } from '../../config/tree.ts';
import { runs } from '../support/runs.ts';

function treeFrom(text: string): Tree {
  const parsed = parse('a.yaml', text);
  if (!parsed.ok) throw new Error(parsed.issues.map((issue) => issue.message).join('; '));
  return parsed.tree;
}

function placeOf(text: string, path: Path): string {
  const node = nodeAt(treeFrom(text), path);
  if (node === undefined) return 'nothing there';
  const { line, column } = placeIn(node.file, node.offset);
  return `${line}:${column}`;
}

t.test('each value knows its line and column', async (t) => {
  const text = 'a:\n  b:\n    - x\n    - c: 12\n';
  t.equal(placeOf(text, ['a', 'b', 0]), '3:7');
  t.equal(placeOf(text, ['a', 'b', 1, 'c']), '4:10');
  t.equal(placeOf(text, ['a', 'b', 2]), 'nothing there');
  t.equal(placeOf(text.replaceAll('\n', '\r\n'), ['a', 'b', 1, 'c']), '4:10', 'CRLF counts like LF');
  t.equal(pathText(['a', 'b', 1, 'c']), 'a.b[1].c');
});

t.test('a plain value survives the way to YAML and back', async (t) => {
  const key = fc.string({ minLength: 1 }).filter((text) => text !== '__proto__' && text !== '<<');
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.oneof(
        fc.string(),
        fc.boolean(),
        fc.integer(),
        fc.constant(null),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
      ),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(tree, (value) => {
      const plain: unknown = JSON.parse(JSON.stringify({ value }));
      // As text: tap takes an own member named `constructor` for the class of the object.
      const text = JSON.stringify(plain);
      const yaml = stringify(plain, { aliasDuplicateObjects: false });
      t.equal(JSON.stringify(plainOf(treeFrom(yaml))), text);
      t.equal(JSON.stringify(plainOf(treeOf(plain, { name: 'x', lineStarts: null }))), text);
    }),
    { numRuns: runs(50) },
  );
});

t.test('anchors, aliases and merge keys mean what they mean in the dialect', async (t) => {
  const text = [
    'base: &b {x: 1, y: 1}',
    'more: &m {y: 2, z: 2}',
    'one: {<<: *b, x: 9}',
    'two: {<<: [*m, *b]}',
    'again: &b {x: 5}',
    'three: *b',
  ].join('\n');
  const plain = plainOf(treeFrom(text));
  t.match(plain, { one: { x: 9, y: 1 }, two: { x: 1, y: 2, z: 2 }, three: { x: 5 } });
  t.match(parse('a.yaml', 'a: {<<: 5}'), { ok: false, issues: [{ message: /<< takes a mapping/ }] });
});

t.test('a thousand levels are refused, not a crash', async (t) => {
  t.match(parse('a.yaml', `a: ${'['.repeat(100_000)}`), { ok: false, issues: [{ severity: 'error' }] });
  t.match(parse('a.yaml', `a: ${'{a: '.repeat(20_000)}${'}'.repeat(20_000)}`), { ok: false });
});

t.test('a tag that is not known, or does not fit, is an error that names it', async (t) => {
  const cases: readonly (readonly [yaml: string, place: string, message: RegExp, fix: RegExp])[] = [
    ['a: !ENV NAME', '1:4', /^the tag !ENV is not known here$/, /^write os\.environ\/NAME without a tag/],
    ['a: 1\nb: [!secret name]', '2:5', /^the tag !secret is/, /os\.environ/],
    ['a: !include {b: c}', '1:4', /^the tag !include is/, /os\.environ/],
    ['a: !vault |\n  text', '1:4', /^the tag !vault is/, /os\.environ/],
    ['!k a: 1', '1:1', /^the tag !k is/, /os\.environ/],
    ['a: !!python/name:os.x y', '1:4', /^the tag !!python\/name:os\.x is/, /os\.environ/],
    ['a: !!bool yes', '1:4', /^the value does not fit the tag !!bool$/, /^remove the tag$/],
    ['a: !!int five', '1:4', /^the value does not fit the tag !!int$/, /^remove the tag$/],
    ['a: !!binary aGk=', '1:13', /^the tag !!binary makes a value that nothing here takes$/, /in quotes/],
    ['a: !!timestamp 2024-10-21', '1:16', /^the tag !!timestamp makes/, /in quotes/],
    ['a: !!set {b, c}', '1:10', /^the tag !!set makes/, /^remove the tag/],
    // What begins with ! may be a password that was to be quoted.
    ['a: !hunter', '1:4', /^a value cannot begin with !, which begins a tag$/, /^put text in quotes/],
    ['{a: !hunter, b: 1}', '1:5', /^a value cannot begin with !/, /^put text in quotes/],
    ['a: !sk-hunter x', '1:4', /^this tag is not known here$/, /os\.environ/],
  ];
  for (const [yaml, place, message, fix] of cases) {
    const parsed = parse('a.yaml', yaml);
    const issues = parsed.ok ? [] : parsed.issues;
    t.match(issues, [{ severity: 'error', message, fix }], yaml);
    t.strictSame(
      issues.map(({ line, column }) => `${line}:${column}`),
      [place],
      yaml,
    );
    t.notMatch(JSON.stringify(issues), /hunter/);
  }
});

t.test('the tags of YAML itself mean what they say', async (t) => {
  const text = 'a: !!str 12\nb: !!int "12"\nc: !!bool true\nd: !!null ~\ne: !!map {f: !!seq [! 1]}\n';
  t.strictSame(plainOf(treeFrom(text)), { a: '12', b: 12, c: true, d: null, e: { f: ['1'] } });
});

t.test(
  'a file that says %YAML 1.1 has merge keys, and a version that looks like a day stays text',
  async (t) => {
    const text = '%YAML 1.1\n---\nbase: &b {x: 2024-10-21}\none: {<<: *b, z: yes}\n';
    t.strictSame(plainOf(treeFrom(text)), {
      base: { x: '2024-10-21' },
      one: { z: true, x: '2024-10-21' },
    });
  },
);
