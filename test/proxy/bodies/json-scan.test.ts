// A scan in slices finds what a scan at once finds, wherever the slices end, and gives the loop a turn in between.
import fc from 'fast-check';
import t from 'tap';
import { Scan } from '../../../proxy/bodies/json-scan.ts';
import type { Peeked, Wanted } from '../../../proxy/bodies/members.ts';
import { peek, peekInSlices } from '../../../proxy/bodies/peek.ts';
import { TextBeginnings } from '../../../proxy/bodies/text-beginnings.ts';
import { anyText } from '../../support/any-text.ts';
import { runs } from '../../support/runs.ts';

const WANTED: Wanted = {
  names: new Set(['model', 'a']),
  prefixes: ['x_'],
  also: (name) => name.length > 2,
  texts: new TextBeginnings(['x_', 'mod']),
};
const FREE = { members: Infinity, nameBytes: Infinity };

function inSlices(body: Buffer, size: number, maxDepth = 64): Peeked {
  const scan = new Scan(body, WANTED, maxDepth, FREE);
  for (let limit = size; ; limit += size) {
    const peeked = scan.run(limit);
    if (peeked !== null) return peeked;
  }
}

/** All that is found, and in a fault its place and its sentence. */
function agrees(body: Buffer, size: number): boolean {
  const [sliced, whole] = [inSlices(body, size), peek(body, WANTED, 64)];
  // What is not UTF-8 is found in the slice that it stands in, after the faults of the slices before.
  if (!whole.ok && whole.fault === 'invalid_utf8') return !sliced.ok;
  return JSON.stringify(sliced) === JSON.stringify(whole);
}

const TOKENS =
  '{ } [ ] , : "a" "model" "x_é" "\\u00e9\\n" "\\u00" "\\x" 0 -0 - 01 1. 1.5 12345 1e5 1E+2 1e- true tru false nul null é 😀 \\ \u0000';
const soup = fc
  .array(fc.constantFrom(...TOKENS.split(' '), ' ', '\n   '), { maxLength: 14 })
  .map((tokens) => tokens.join(''));

t.test('objects, and what is nearly one, cut anywhere', async (t) => {
  const size = fc.integer({ min: 1, max: 40 });
  const value = fc.dictionary(anyText, fc.jsonValue());
  const indent = fc.constantFrom(0, 3);
  fc.assert(
    fc.property(value, indent, size, (object, spaces, bytes) =>
      agrees(Buffer.from(JSON.stringify(object, null, spaces)), bytes),
    ),
    { numRuns: runs(750) },
  );
  const frames = fc.constantFrom(
    (text: string) => text,
    (text: string) => `{${text}}`,
    (text: string) => `{"a":${text}}`,
    (text: string) => `{"model":"m","a":[${text}],"x_b":{"c":${text}}} `,
  );
  fc.assert(
    fc.property(soup, frames, size, (text, frame, bytes) => agrees(Buffer.from(frame(text)), bytes)),
    { numRuns: runs(1_250) },
  );
  t.pass('all bodies');
});

t.test('every cut of one body, every byte of it changed', async (t) => {
  const body = Buffer.from('{"a\\n":[-1.5e+2,true,null,{"é":"\\ud83d"}],"model":"é","a":{}} ');
  for (let size = 1; size <= body.length; size++) t.ok(agrees(body, size), `slices of ${size}`);
  for (let at = 0; at < body.length; at++) {
    for (let byte = 0; byte < 256; byte++) {
      const changed = Buffer.from(body);
      changed[at] = byte;
      if (!agrees(changed, 7)) t.fail(`byte ${byte} at ${at}`);
    }
  }
});

const MIB = 1_048_576;

/** Turns of the loop that a scan of `text` takes. */
async function turnsOf(text: string, members = Infinity): Promise<{ peeked: Peeked; turns: number }> {
  let turns = 0;
  const turn = async (): Promise<void> => void (turns += 1);
  const bounds = { members, nameBytes: 1024 };
  const peeked = await peekInSlices(Buffer.from(text), WANTED, 64, bounds, turn);
  return { peeked, turns };
}

t.test('a large body of many values gives the loop a turn for every 50,000 to 200,000 of them', async (t) => {
  const values = MIB;
  const bodies = {
    numbers: `{"a":[${'1,'.repeat(values)}1]}`,
    lists: `{"a":[${'[],'.repeat(values)}1]}`,
    texts: `{"a":[${'"",'.repeat(values)}1]}`,
    members: `{"a":{${'"b":1,'.repeat(values)}"c":1}}`,
  };
  for (const [name, text] of Object.entries(bodies)) {
    const { peeked, turns } = await turnsOf(text);
    t.equal(peeked.ok, true, name);
    t.ok(turns >= values / 200_000, `${name}: ${turns} turns`);
  }
});

t.test('long texts and white space give it one for every 2 MiB', async (t) => {
  for (const text of [
    `{"a":"${'x'.repeat(8 * MIB)}"}`,
    `{"a":"${'\\u00e9'.repeat(1.5 * MIB)}"}`,
    `{"a":${' '.repeat(8 * MIB)}1}`,
  ]) {
    const { peeked, turns } = await turnsOf(text);
    t.equal(peeked.ok, true);
    t.ok(turns >= 3 && turns <= 5, `${turns} turns`);
  }
});

t.test('what an agent sends is scanned at once', async (t) => {
  const messages = Array.from({ length: 200 }, (_, i) => ({
    role: 'user',
    content: `${i} ${'word '.repeat(600)}`,
  }));
  const { peeked, turns } = await turnsOf(JSON.stringify({ model: 'm', messages }));
  t.same([peeked.ok, turns], [true, 0]);
});

t.test(
  'the scan gives up at a number of members, at a long name, and in a large body at a long number',
  async (t) => {
    const members = (count: number): string =>
      `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join(',')}}`;
    t.equal((await turnsOf(members(10_000), 10_000)).peeked.ok, true);
    t.match((await turnsOf(members(10_001), 10_000)).peeked, { ok: false, fault: 'too_complex' });
    const million = await turnsOf(members(1_000_000), 10_000);
    t.match(
      million,
      { peeked: { fault: 'too_complex' }, turns: 0 },
      'of a million it reads the first 10,001',
    );
    t.match((await turnsOf(`{"${'n'.repeat(1_023)}":1}`)).peeked, { fault: 'too_complex' });
    t.equal((await turnsOf(`{"${'n'.repeat(1_022)}":1}`)).peeked.ok, true);
    t.match((await turnsOf(`{"a":${'9'.repeat(MIB)}}`)).peeked, { fault: 'too_complex' });
    t.equal((await turnsOf(`{"a":${'9'.repeat(60_000)},"b":"${'x'.repeat(MIB)}"}`)).peeked.ok, true);
  },
);
