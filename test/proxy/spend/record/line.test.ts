// Journal lines: what is written is read back, what is damaged is never taken for an entry.
import t from 'tap';
import {
  beginLine,
  checkLine,
  eachLine,
  parseLine,
  requestIdOf,
  settleLine,
} from '../../../../proxy/spend/record/line.ts';
import { beginOf, settleOf } from './fixture/records.ts';

const lineBytes = (line: string): Buffer => Buffer.from(line).subarray(0, -1);

t.test('a begin and a settle are read back as they were written', async (t) => {
  const begin = beginOf('id-1', { endUser: 'Zoë \u2028 𝄞 \ud800 lone', tags: ['line\nbreak'] });
  const line = beginLine(begin);
  t.match(line, /^B [0-9a-f]{8} \{"requestId":"id-1",[^\n]*\}\n$/);
  t.equal(line.indexOf('\n'), line.length - 1, 'one newline, at the end');
  const read = parseLine(lineBytes(line));
  t.equal(read?.kind, 'B');
  t.same(JSON.parse(read?.json ?? ''), begin);
  const settle = settleOf(begin);
  const end = parseLine(lineBytes(settleLine(settle)));
  t.equal(end?.kind, 'S');
  t.same(JSON.parse(end?.json ?? ''), settle);
});

t.test('any changed, missing or added byte makes a line damaged', async (t) => {
  const good = lineBytes(settleLine(settleOf(beginOf('id-1'))));
  let taken = 0;
  for (let at = 0; at < good.length; at++) {
    const changed = Buffer.from(good);
    changed[at] = (changed[at] ?? 0) ^ 0x21;
    if (checkLine(changed) !== null) taken++;
    if (checkLine(good.subarray(0, at)) !== null) taken++;
  }
  t.equal(taken, 0);
  t.equal(checkLine(Buffer.concat([good, Buffer.from(' ')])), null);
  for (const text of ['', 'B', 'X 00000000 {}', 'B 0000000 {}', '\0'.repeat(40)])
    t.equal(parseLine(Buffer.from(text)), null);
});

t.test('a checksum has one spelling: eight digits, lower case', async (t) => {
  // Digits that would add up to the same number: `g` for 16, `:` for 10, a grave accent for 9, `/` for -1.
  const spellings: readonly (readonly [RegExp, (digits: string) => string])[] = [
    [/[a-f]/, (digit) => digit.toUpperCase()],
    [/[1-9a-e]0/, ([high = '']) => `${(parseInt(high, 16) - 1).toString(16)}g`],
    [/a/, () => ':'],
    [/9/, () => '`'],
    [/[0-8a-e]f/, ([high = '']) => `${(parseInt(high, 16) + 1).toString(16)}/`],
  ];
  let tried = 0;
  for (let n = 0; n < 300; n += 1) {
    const line = beginLine(beginOf(`id-${n}`)).slice(0, -1);
    if (checkLine(Buffer.from(line)) !== 'B') t.fail(`line ${n} is good`);
    for (const [digits, other] of spellings) {
      const odd = `B ${line.slice(2, 10).replace(digits, other)}${line.slice(10)}`;
      if (odd === line) continue;
      tried += 1;
      if (checkLine(Buffer.from(odd)) !== null) t.fail(odd.slice(0, 12));
    }
  }
  t.ok(tried > 300, `${tried} spellings`);
});

t.test('the request id is found wherever it stands in the entry, and only at the top', async (t) => {
  const begin = beginOf('id-1');
  const { requestId, ...rest } = begin;
  t.equal(requestIdOf(lineBytes(beginLine(begin))), 'id-1');
  t.equal(requestIdOf(lineBytes(beginLine({ ...rest, requestId }))), 'id-1');
  t.equal(requestIdOf(lineBytes(beginLine(beginOf('say "hi" \\')))), 'say "hi" \\');
  for (const json of ['{}', '{"requestId":7}', '{"id":"x","nested":{"requestId":"not-the-id"}}'])
    t.equal(requestIdOf(Buffer.from(`B 00000000 ${json}`)), '', json);
});

t.test('lines are cut at newlines; blank ones and an unended rest are left', async (t) => {
  const seen: [string, number][] = [];
  const used = eachLine(Buffer.from('ab\n\n\ncd\nrest'), (line, at) => seen.push([line.toString(), at]));
  t.same(seen, [
    ['ab', 0],
    ['cd', 5],
  ]);
  t.equal(used, 8);
  const behind: string[] = [];
  t.equal(
    eachLine(Buffer.from('\na\n'), (line) => behind.push(line.toString())),
    3,
  );
  t.same(behind, ['a'], 'also behind a blank one at the beginning');
  t.equal(
    eachLine(Buffer.alloc(0), () => t.fail('there is no line')),
    0,
  );
});
