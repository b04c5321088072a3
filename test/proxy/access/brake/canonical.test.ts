import t from 'tap';
import {
  canonicalInput,
  canonicalText,
  errorClassOf,
  textOf,
} from '../../../../proxy/access/brake/canonical.ts';

const NONE: ReadonlySet<string> = new Set();

t.test('what changes by itself does not tell two results apart', (t) => {
  const same: readonly (readonly [string, string])[] = [
    ['done at 2026-11-22T10:00:01.123Z', 'done at 2027-01-02T23:59:59Z'],
    ['log of 2026-11-22 10:00:01,123', 'log of 2026-11-22 10:00:02,999'],
    ['10:00:01 ok', '23:59:59.5 ok'],
    ['took 0.53s, 12 ms', 'took 1.2s, 340 ms'],
    ['in 3 seconds', 'in 4 seconds'],
    ['id 0b1f3c9e-0000-4000-8000-000000000001', 'id 77777777-aaaa-4bbb-8ccc-dddddddddddd'],
    ['at 0x7ffeefbff5c8', 'at 0x1000deadbeef'],
    ['since 1790000000', 'since 1790000999'],
    ['PID: 4711 listens', 'PID: 12 listens'],
    ['Chunk ID: 36c2f2\nWall time: 0.1823 seconds', 'Chunk ID: dd3e4e\nWall time: 0.0100 seconds'], // Codex
    ['Signal: 0\nProcess Group PGID: 80859', 'Signal: 0\nProcess Group PGID: 1157'], // Gemini CLI
    ['Background PIDs: 4711, 4712', 'Background PIDs: 12, 13'],
    ['ok \n', 'ok'],
  ];
  for (const [a, b] of same) t.equal(canonicalText(a), canonicalText(b), a);
  const different: readonly (readonly [string, string])[] = [
    ['12 tests passed', '13 tests passed'],
    ['line 40', 'line 41'],
    ['v1.2.3', 'v1.2.4'],
    ['commit 1a2b3c4d', 'commit 5e6f7a8b'],
    ['50 %', '60 %'],
  ];
  for (const [a, b] of different) t.not(canonicalText(a), canonicalText(b), a);
  t.end();
});

t.test('hostile texts take linear time: they end', (t) => {
  for (const part of [
    '1',
    '1:',
    '0x',
    '1.',
    'a-',
    '12345678-',
    'pid:',
    'PIDs: 1, 1',
    'chunk id: 1',
    '2026-',
    ' ',
    '1 ',
    '\n1',
    'EXIT ',
    'Error',
  ]) {
    const text = part.repeat(Math.ceil(200_000 / part.length));
    t.ok(canonicalText(text).length >= 0);
    errorClassOf(text, true);
  }
  t.end();
});

t.test('inputs of tools: order, ids and what is written about the call do not count', (t) => {
  const ignored = new Set(['summary']);
  const one = canonicalInput('{"path": "/a", "n": {"b": 1, "a": [1, 2]}, "summary": "first"}', ignored);
  t.equal(
    one,
    canonicalInput({ n: { a: [1, 2], b: 1 }, path: '/a', request_id: 'x', summary: 'again' }, ignored),
  );
  t.not(one, canonicalInput({ n: { a: [2, 1], b: 1 }, path: '/a' }, ignored), 'the order of a list does');
  t.not(canonicalInput({ a: 1 }, NONE), canonicalInput({ a: '1' }, NONE));
  t.not(canonicalInput({ id: 1 }, NONE), canonicalInput({ id: 2 }, NONE), 'an id may be what is asked for');
  t.not(canonicalInput([['a', 1]], NONE), canonicalInput({ a: 1 }, NONE));
  t.not(canonicalInput('{"__proto__": 1}', NONE), canonicalInput('{}', NONE));
  t.equal(canonicalInput('not {json', NONE), 'not {json');
  t.equal(canonicalInput(undefined, NONE), '');
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  t.equal(canonicalInput(deep, NONE), deep, 'too deep to be ordered');
  t.end();
});

t.test('the text of a result', (t) => {
  t.equal(
    textOf([{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }]),
    textOf([{ type: 'text', text: 'a' }]),
  );
  t.equal(textOf(null), '');
  t.not(textOf([{ type: 'image', source: 'x' }]), textOf([{ type: 'image', source: 'y' }]));
  t.not(textOf({ a: 1 }), textOf({ a: 2 }));
  t.end();
});

/** A result of Codex. */
const codex = (code: number, output: string): string =>
  `Chunk ID: 36c2f2\nWall time: 0.1823 seconds\nProcess exited with code ${code}\nOriginal token count: 9\nOutput:\n${output}`;

t.test('what is an error, and of which kind', (t) => {
  const classes: readonly (readonly [string, boolean, string | null])[] = [
    ['all fine', false, null],
    ['the page explains what an Error is', false, null],
    ['0 errors, exit code 0', false, null],
    ['anything', true, 'anything'],
    ['Traceback (most recent call last):\n  ...\nFileNotFoundError: [Errno 2]', false, 'FileNotFoundError'],
    ["Error: ENOENT: no such file '/a'", false, 'ENOENT'],
    ['fatal: not a git repository: /x/y', false, 'fatal: not a git repository: #'],
    ['{"error": "quota of 12 reached"}', false, '{#: #}'],
    ['{"error": null, "rows": []}', false, null],
    ['some output\n[The command completed with exit code 127.]', false, 'some output'],
    [codex(2, `no rule to make target x\n${'and so on\n'.repeat(1_000)}`), false, 'no rule to make target x'],
    [codex(0, 'fine'), false, null],
    ['Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno such patch', false, 'no such patch'],
    ['Output: no such branch\nExit Code: 128\nProcess Group PGID: 1157', false, 'output: no such branch'], // Gemini CLI
  ];
  for (const [text, isError, kind] of classes) t.equal(errorClassOf(text, isError), kind, text);
  t.end();
});
