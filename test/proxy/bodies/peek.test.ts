// peek against JSON.parse: what one accepts the other must accept, and what one reads the other must read.
import fc from 'fast-check';
import t from 'tap';
import { peek, UNBOUNDED } from '../../../proxy/bodies/peek.ts';
import { readJson, readString, type PeekFaultKind, type Wanted } from '../../../proxy/bodies/members.ts';
import { anyText } from '../../support/any-text.ts';
import { runs } from '../../support/runs.ts';

const NONE: Wanted = { names: new Set(), prefixes: [] };
const ALL: Wanted = { names: new Set(), prefixes: [''] };
const SOME: Wanted = { names: new Set(['model', 'stream', 'metadata']), prefixes: ['litellm_'] };
const DEPTH = 10_000;

function isObjectText(bytes: Buffer): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function agrees(bytes: Buffer): boolean {
  const peeked = peek(bytes, NONE, DEPTH);
  return peeked.ok === isObjectText(bytes) && (peeked.ok || (peeked.at >= 0 && peeked.at <= bytes.length));
}

function faultOf(
  text: string | Buffer,
  maxDepth = DEPTH,
): { fault: PeekFaultKind; at: number; detail: string } {
  const peeked = peek(Buffer.from(text), SOME, maxDepth);
  if (peeked.ok) throw new Error(`accepted: ${text.toString()}`);
  const { fault, at, detail } = peeked;
  return { fault, at, detail };
}

const looseText = fc
  .tuple(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom('', ' ', '\t', '\n\r '))
  .map(([value, indent]) => `${indent}${JSON.stringify(value, null, indent)}${indent}`);
const TOKENS =
  '{ } [ ] , : "a" "model" "" "\\u00e9" "\\u00" "\\x" " 0 -0 - 01 1. 1.5 1e 1e5 1E+2 1e- .5 + true tru false nul null é \\ / NaN \u0000';
const tokenSoup = fc
  .array(fc.constantFrom(...TOKENS.split(' '), ' ', '\n', '\t', '\r', '\f', '\u00a0', '\ufeff'), {
    maxLength: 14,
  })
  .map((tokens) => tokens.join(''));

t.test('every JSON value is judged as JSON.parse judges it', (t) => {
  fc.assert(
    fc.property(looseText, (text) => agrees(Buffer.from(text))),
    { numRuns: runs(500) },
  );
  fc.assert(
    fc.property(fc.dictionary(anyText, fc.jsonValue()), (value) =>
      agrees(Buffer.from(JSON.stringify(value))),
    ),
    { numRuns: runs(250) },
  );
  t.pass('all texts');
  t.end();
});

t.test('every soup of tokens is judged as JSON.parse judges it', (t) => {
  fc.assert(
    fc.property(tokenSoup, (soup) => agrees(Buffer.from(soup)) && agrees(Buffer.from(`{"a":${soup}}`))),
    { numRuns: runs(1_000) },
  );
  fc.assert(
    fc.property(
      tokenSoup,
      (soup) => agrees(Buffer.from(`{${soup}}`)) && agrees(Buffer.from(`{"a":[${soup}]}`)),
    ),
    { numRuns: runs(1_000) },
  );
  t.pass('all texts');
  t.end();
});

t.test('a valid body with a few bytes changed, put in or cut off is judged as JSON.parse judges it', (t) => {
  const change = fc.record({
    at: fc.nat(),
    byte: fc.integer({ min: 0, max: 255 }),
    how: fc.constantFrom('set', 'add', 'cut'),
  });
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      (value, changes) => {
        let bytes = Buffer.from(JSON.stringify(value));
        for (const { at, byte, how } of changes) {
          const place = at % (bytes.length + 1);
          if (how === 'set' && place < bytes.length) bytes[place] = byte;
          if (how === 'add')
            bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place)]);
          if (how === 'cut') bytes = bytes.subarray(0, place);
        }
        return agrees(bytes);
      },
    ),
    { numRuns: runs(750) },
  );
  t.pass('all bodies');
  t.end();
});

t.test('every byte is judged in every place of a small body as JSON.parse judges it', (t) => {
  const body = Buffer.from('{"a\\n":[-1.5e+2,true,null,{"é":"\\ud83d"}]} ');
  for (let at = 0; at < body.length; at++) {
    for (let byte = 0; byte < 256; byte++) {
      const changed = Buffer.from(body);
      changed[at] = byte;
      if (!agrees(changed)) t.fail(`byte ${byte} at ${at}`);
    }
  }
  t.pass(`${body.length * 256} bodies`);
  t.end();
});

t.test('the members it reports are those that JSON.parse reads, by value and by place', (t) => {
  fc.assert(
    fc.property(fc.dictionary(anyText, fc.jsonValue()), fc.constantFrom(0, 2), (value, indent) => {
      const body = Buffer.from(JSON.stringify(value, null, indent));
      const peeked = peek(body, ALL, DEPTH);
      const parsed = JSON.parse(body.toString()) as Record<string, unknown>;
      return (
        peeked.ok &&
        peeked.memberCount === Object.keys(parsed).length &&
        peeked.members.length === peeked.memberCount &&
        peeked.members.every((one, i, all) => {
          const read = readJson(body, one);
          const comma = all[i + 1]?.commaBefore ?? -1;
          return (
            JSON.stringify(read) === JSON.stringify(parsed[one.name]) &&
            JSON.parse(body.toString('utf8', one.keyStart, one.keyEnd)) === one.name &&
            readString(body, one) === (typeof read === 'string' ? read : undefined) &&
            one.commaAfter === comma &&
            (comma === -1 || body[comma] === 0x2c)
          );
        })
      );
    }),
    { numRuns: runs(500) },
  );
  t.pass('all objects');
  t.end();
});

t.test('only wanted top-level members are reported, by name or by prefix', (t) => {
  const body = Buffer.from(
    '{"messages":[{"model":"inner"}],"model" : "gpt-4o","litellm_x":1,"models":2,"stream":true,"metadata":{"model":3}}',
  );
  const peeked = peek(body, SOME, 10);
  t.ok(peeked.ok);
  t.strictSame(
    peeked.members.map((one) => [one.name, readJson(body, one), readString(body, one)]),
    [
      ['model', 'gpt-4o', 'gpt-4o'],
      ['litellm_x', 1, undefined],
      ['stream', true, undefined],
      ['metadata', { model: 3 }, undefined],
    ],
  );
  t.equal(peeked.ok && peeked.memberCount, 6);
  t.end();
});

t.test('a key written with escapes is the key it stands for', (t) => {
  const body = Buffer.from('{"mod\\u0065l":"a","lite\\u006clm_é":"b\\n\\ud83d\\ude00"}');
  const peeked = peek(body, SOME, 10);
  t.strictSame(
    peeked.members.map((one) => [one.name, readString(body, one)]),
    [
      ['model', 'a'],
      ['litellm_é', 'b\n😀'],
    ],
  );
  t.end();
});

t.test('a wanted member that stands twice is refused, whatever its spelling; another one is not', (t) => {
  const twice = peek(Buffer.from('{"model":"a","x":1,"m\\u006fdel":"b"}'), SOME, 10);
  t.match(twice, { ok: false, fault: 'duplicate_member', name: 'model', at: 19 });
  t.match(twice.ok ? '' : twice.detail, /"model" stands in the body twice/);
  t.ok(peek(Buffer.from('{"x":1,"x":2,"deep":{"model":1,"model":2}}'), SOME, 10).ok);
  const long = peek(
    Buffer.from(`{"litellm_${'x'.repeat(5000)}":1,"litellm_${'x'.repeat(5000)}":2}`),
    SOME,
    10,
  );
  t.ok(!long.ok && long.detail.length < 250, 'a long name is cut in the sentence');
  t.end();
});

t.test('each fault is named, with its place', (t) => {
  const cases: [text: string | Buffer, fault: PeekFaultKind, at: number][] = [
    ['', 'not_json', 0],
    ['  ', 'not_json', 2],
    ['hello', 'not_json', 0],
    ['{"a":1', 'not_json', 6],
    ['{"a":1}}', 'not_json', 7],
    ['{"a":1} x', 'not_json', 8],
    ['{"a":1,}', 'not_json', 7],
    ["{'a':1}", 'not_json', 1],
    ['{"a" 1}', 'not_json', 5],
    ['{"a":"x\ny"}', 'not_json', 7],
    ['{"a":"\\q"}', 'not_json', 6],
    ['{"a":01}', 'not_json', 6],
    ['{"a":[1 2]}', 'not_json', 8],
    ['\ufeff{}', 'not_json', 0],
    ['[]', 'not_object', 0],
    [' "model"', 'not_object', 1],
    ['null', 'not_object', 0],
    ['[1,', 'not_json', 3],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'invalid_utf8', 2],
  ];
  for (const [text, fault, at] of cases) {
    const found = faultOf(text);
    t.strictSame([found.fault, found.at], [fault, at], JSON.stringify(text.toString()));
    t.match(found.detail, /^The body .*\.$/);
  }
  t.end();
});

t.test('the place of invalid UTF-8 is found to the byte', (t) => {
  const prefix = fc
    .array(fc.constantFrom('a', 'é', '€', '😀', '"'), { maxLength: 60 })
    .map((parts) => Buffer.from(parts.join('')));
  const broken = fc.constantFrom(
    [0xff],
    [0xc3],
    [0xe2, 0x82],
    [0xf0, 0x9f, 0x98],
    [0x80],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
  );
  fc.assert(
    fc.property(prefix, broken, fc.nat({ max: 40 }), (before, bytes, after) => {
      const found = faultOf(Buffer.concat([before, Buffer.from(bytes), Buffer.alloc(after, 'z')]));
      return found.fault === 'invalid_utf8' && found.at === before.length;
    }),
    { numRuns: runs(750) },
  );
  t.pass('all bodies');
  t.end();
});

t.test('each sentence says what belongs in the place of the fault', (t) => {
  const sentences: Readonly<Record<string, string>> = {
    '\ufeff{}': 'The body begins with a byte order mark; send JSON without one.',
    '[1]': 'The body is JSON but not an object; send a JSON object.',
    '{"a":1 "b":2}': 'The body is not valid JSON: unexpected " at byte 7, where a comma or } belongs.',
    '{"a":1} x': 'The body is not valid JSON: unexpected text at byte 8, where the end of the body belongs.',
    '[1] x': 'The body is not valid JSON: unexpected text at byte 4, where the end of the body belongs.',
    '{"a":1,}':
      'The body is not valid JSON: unexpected } at byte 7, where a member name in double quotes belongs.',
    '{"a"}': 'The body is not valid JSON: unexpected } at byte 4, where a colon belongs.',
    '{"a':
      'The body is not valid JSON: unexpected end of the body at byte 3, where the end of a string belongs.',
    '{"a":{"b":[]}}': 'The body nests deeper than 2 levels.',
  };
  for (const [text, sentence] of Object.entries(sentences)) t.equal(faultOf(text, 2).detail, sentence, text);
  t.equal(faultOf(Buffer.from([0x7b, 0x7d, 0xff])).detail, 'The body is not valid UTF-8 at byte 2.');
  t.end();
});

t.test('no sentence quotes what the client wrote', (t) => {
  const secrets = [
    '{"a":"my secret\nprompt"}',
    '{"a": secretprompt}',
    '{"secret" prompt}',
    '{"a":1}secret',
    '{"prompt":\\secret}',
  ];
  for (const text of secrets) t.notMatch(faultOf(text).detail, /secret|prompt/i);
  t.equal(
    faultOf('{"a":1,}').detail,
    'The body is not valid JSON: unexpected } at byte 7, where a member name in double quotes belongs.',
  );
  t.equal(
    faultOf('{"a":tomorrow}').detail,
    'The body is not valid JSON: unexpected text at byte 6, where the word true belongs.',
  );
  t.end();
});

t.test('nesting is bounded to the level, the top-level object being the first', (t) => {
  const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
  t.ok(peek(Buffer.from(nested(8)), SOME, 8).ok);
  t.match(faultOf(nested(9), 8), { fault: 'too_deep', at: 40 });
  t.ok(peek(Buffer.from(`{"a":${'['.repeat(7)}${']'.repeat(7)}}`), SOME, 8).ok);
  t.match(faultOf(`{"a":${'['.repeat(8)}`, 8), { fault: 'too_deep', at: 12 });
  t.match(faultOf('['.repeat(1_000_000), 512), { fault: 'too_deep', at: 512 });
  t.ok(
    peek(Buffer.from(nested(100_000)), SOME, 100_000).ok,
    'no recursion: 100,000 levels do not end the stack',
  );
  t.end();
});

t.test('hostile bodies are read to their end', (t) => {
  const size = 300_000;
  const strings: [text: string, isOk: boolean][] = [
    [`{"a":[${'"",'.repeat(size)}""]}`, true],
    [`{"a":"${'\\\\'.repeat(size)}"}`, true],
    [`{"a":"${'\\'.repeat(size * 2 + 1)}"}`, false],
    [`{"a":[${'[],'.repeat(size)}[]]}`, true],
    [`{"a":${'9'.repeat(size)}}`, true],
    [`{${' '.repeat(size)}}`, true],
    [`{${Array.from({ length: 50_000 }, (_, i) => `"litellm_${i}":0`).join(',')}}`, true],
  ];
  for (const [text, isOk] of strings) t.equal(peek(Buffer.from(text), SOME, 64).ok, isOk, text.slice(0, 12));
  t.end();
});

t.test('of a body that is cut the whole members before the cut are known', (t) => {
  const peeked = peek(Buffer.from('{"model":"a","stream":true,"metadata":{"x"'), SOME, 10);
  t.notOk(peeked.ok);
  t.strictSame(
    peeked.members.map((one) => one.name),
    ['model', 'stream'],
  );
  t.end();
});

t.test('values are counted at any depth, and a bound on them ends the scan where it is passed', (t) => {
  const counted = (text: string, bounds = UNBOUNDED): unknown => {
    const peeked = peek(Buffer.from(text), NONE, Infinity, bounds);
    return peeked.ok ? peeked.values : [peeked.fault, peeked.at < text.length / 2];
  };
  t.equal(counted('{}'), 1);
  t.equal(counted('{"a":1,"b":[],"c":{"d":[true,null,"x"]}}'), 8);
  const large = `{"a":[${'[],'.repeat(100_000)}1]}`;
  t.equal(counted(large), 100_003);
  t.equal(counted(large, { ...UNBOUNDED, values: 100_003 }), 100_003);
  t.same(counted(large, { ...UNBOUNDED, values: 100_002 }), ['too_complex', false]);
  t.same(counted(large, { ...UNBOUNDED, values: 10_000 }), ['too_complex', true], 'the rest is not scanned');
  t.match(counted(`{"a":${'['.repeat(2_000)}`, { ...UNBOUNDED, values: 100 }), ['too_complex']);
  t.end();
});
