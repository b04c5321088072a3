// Keys that one mapping has several times: which one LiteLLM used, and where the others are.
import t from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { parse } from '../../config/parse.ts';

function lines(text: string): string[] {
  const parsed = parse('f.yaml', text);
  return parsed.ok ? [] : parsed.issues.map(formatIssue);
}

t.test('a repeated key is said once, at the last, with the lines of the others', async (t) => {
  t.strictSame(lines('a:\n  b: 1\n  c: 2\n  b: 3\n'), [
    'f.yaml:4:3 this key appears twice in one mapping; LiteLLM uses this one, the last - delete the other in line 2 to keep what was in effect',
  ]);
  t.strictSame(lines('a: 1\nb: 2\na: 3\nc: {}\na: 4\n'), [
    'f.yaml:5:1 this key appears 3 times in one mapping; LiteLLM uses this one, the last - delete the others in line 1 and 3 to keep what was in effect',
  ]);
  t.strictSame(lines('a: { b: 1, "b": 2 }\n'), [
    'f.yaml:1:12 this key appears twice in one mapping; LiteLLM uses this one, the last - delete the other before it to keep what was in effect',
  ]);
});

t.test('several keys and other mistakes are each said', async (t) => {
  t.strictSame(
    lines('a: 1\na: 2\nb:\n  - { c: 1 }\n  - c: 1\n    c: 2\nd: %x\n').map((line) => line.slice(0, 30)),
    ['f.yaml:2:1 this key appears tw', 'f.yaml:6:5 this key appears tw', 'f.yaml:7:4 a value cannot begi'],
  );
});

t.test('the same key in two mappings, or beside a merge key, is no repetition', async (t) => {
  t.strictSame(lines('a: &a { x: 1 }\nb: &b { y: 1 }\nc:\n  <<: *a\n  z: 1\nd: { z: 1 }\n'), []);
});
