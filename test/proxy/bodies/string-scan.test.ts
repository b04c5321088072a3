// The wide scan of long strings: whatever is in them, and wherever blocks and windows cut them, the answer is that of
// JSON.parse.
import fc from 'fast-check';
import t from 'tap';
import { peek } from '../../../proxy/bodies/peek.ts';
import { runs } from '../../support/runs.ts';

const WANTED = { names: new Set(['model', 'text', 'after']), prefixes: [] };
const WINDOW = 262_144;

/** Whether peek and JSON.parse agree on a body with this raw string in the middle. */
function agrees(raw: string): boolean {
  const body = Buffer.from(`{"model":"m","text":"${raw}","after":[1,"two"]}`);
  let parsed: { after?: unknown } | null = null;
  try {
    parsed = JSON.parse(body.toString()) as { after?: unknown };
  } catch {
    // refused
  }
  const peeked = peek(body, WANTED, 10);
  if (!peeked.ok || parsed === null) return peeked.ok === (parsed !== null);
  return peeked.members.every((member) => {
    const name = body.toString('utf8', member.keyStart, member.keyEnd);
    const value = body.toString('utf8', member.valueStart, member.valueEnd);
    return (
      JSON.stringify(JSON.parse(value)) ===
        JSON.stringify((parsed as Record<string, unknown>)[member.name]) && name === `"${member.name}"`
    );
  });
}

/** Pieces of a string: mostly sound, some not. */
const piece = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('a', 'the quick brown fox ', 'é', '漢字', '😀', '{}[]:,', "'", '/'),
  },
  {
    weight: 6,
    arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\t', '\\/', '\\b', '\\f', '\\r', '\\u00e9', '\\uD83D'),
  },
  { weight: 2, arbitrary: fc.nat(140).map((size) => 'x'.repeat(size)) },
  { weight: 1, arbitrary: fc.nat(40).map((size) => '\\'.repeat(size)) },
);
const oddPiece = fc.constantFrom(
  '\n',
  '\0',
  '\u001f',
  '\\x',
  '\\u00g0',
  '\\u12',
  '"',
  '\\',
  '\\u',
  '\t',
  '\\ ',
);

t.test('sound strings and odd ones are told apart as JSON.parse does', async (t) => {
  const text = fc.array(piece, { maxLength: 60 }).map((parts) => parts.join(''));
  fc.assert(fc.property(text, agrees), { numRuns: runs(375) });
  const odd = fc.tuple(text, oddPiece, text).map((parts) => parts.join(''));
  fc.assert(fc.property(odd, agrees), { numRuns: runs(375) });
  t.pass('properties held');
});

t.test('each kind of byte, at each place of a block', async (t) => {
  const kinds = ['\\n', '\\"', '\\\\', '\\u00e9', '\\u00zz', '\\q', '\u0001', '"', 'é', '\\'];
  const wrong: string[] = [];
  for (const kind of kinds) {
    for (let before = 50; before < 270; before += 1) {
      for (const after of [0, 1, 5, 64, 200]) {
        if (!agrees('y'.repeat(before) + kind + 'z'.repeat(after)))
          wrong.push(`${kind} at ${before}, ${after} after`);
      }
    }
  }
  t.same(wrong, []);
});

t.test('runs of backslashes over the edges of blocks', async (t) => {
  const wrong: string[] = [];
  for (let before = 60; before < 200; before += 1) {
    for (let run = 1; run < 12; run += 1) {
      if (!agrees('y'.repeat(before) + '\\'.repeat(run))) wrong.push(`${run} at ${before}`);
      if (!agrees(`${'y'.repeat(before)}${'\\'.repeat(run)}n${'z'.repeat(90)}`))
        wrong.push(`${run} at ${before}, n`);
    }
  }
  t.same(wrong, []);
});

t.test('strings longer than a window, cut at every place of an escape', async (t) => {
  const wrong: string[] = [];
  for (const kind of ['\\n', '\\u00e9', '\\"', '\\\\', '\\q', '\\u00zz', '\n']) {
    for (let at = WINDOW - 20; at < WINDOW + 120; at += 1) {
      if (!agrees(`${'w'.repeat(at)}${kind}${'v'.repeat(at % 97)}`)) wrong.push(`${kind} at ${at}`);
    }
  }
  t.same(wrong, []);
  t.ok(agrees('\\\\'.repeat(WINDOW)), 'half a megabyte of backslashes');
  t.ok(agrees('\\u0041'.repeat(100_000)));
});

t.test('a body is not mistaken for the one before', async (t) => {
  t.ok(agrees('a'.repeat(1_000)));
  t.notOk(peek(Buffer.from(`{"text":"${'a'.repeat(500)}\n${'a'.repeat(500)}"}`), WANTED, 10).ok);
  t.ok(agrees('b'.repeat(1_000)));
});
