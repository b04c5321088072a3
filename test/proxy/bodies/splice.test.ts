// splice against the same edit made on the parsed object.
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { peek } from '../../../proxy/bodies/peek.ts';
import type { Member, PeekedBody } from '../../../proxy/bodies/members.ts';
import { splice, type Edit, copyWithCuts } from '../../../proxy/bodies/splice.ts';
import { runs } from '../../support/runs.ts';

const WANTED = { names: new Set(['model', 'stream_options']), prefixes: ['w'] };

function peeked(body: Buffer): PeekedBody {
  const found = peek(body, WANTED, 100);
  if (!found.ok) throw new Error(found.detail);
  return found;
}

function memberOf(body: Buffer, name: string): Member {
  const member = peeked(body).members.find((one) => one.name === name);
  if (member === undefined) throw new Error(`no ${name}`);
  return member;
}

function spliced(text: string, edit: (member: (name: string) => Member) => Edit[]): string {
  const body = Buffer.from(text);
  return splice(
    body,
    peeked(body),
    edit((name) => memberOf(body, name)),
  ).toString();
}

t.test('a value is replaced and nothing else', (t) => {
  t.equal(
    spliced('{ "seed": 12345678901234567890, "model" : "a/b"  ,"x":1.0 }', (m) => [
      { kind: 'replace', member: m('model'), value: '"é"' },
    ]),
    '{ "seed": 12345678901234567890, "model" : "é"  ,"x":1.0 }',
  );
  t.equal(
    spliced('{"model":1}', (m) => [{ kind: 'replace', member: m('model'), value: Buffer.from('[2]') }]),
    '{"model":[2]}',
  );
  t.end();
});

t.test('commas stay right whichever members go', (t) => {
  const remove = (text: string, names: string[]): string =>
    spliced(text, (m) => names.map((name) => ({ kind: 'remove', member: m(name) })));
  t.equal(remove('{"w1":1,"b":2}', ['w1']), '{"b":2}');
  t.equal(remove('{"a":1,"w2":2}', ['w2']), '{"a":1}');
  t.equal(remove('{"a":1,"w2":2,"w3":3,"b":4}', ['w3', 'w2']), '{"a":1,"b":4}');
  t.equal(remove('{"a":1,"w2":2,"w3":3}', ['w2', 'w3']), '{"a":1}');
  t.equal(remove('{"w1":1,"w2":2,"b":1,"w3":3,"w4":3}', ['w1', 'w2', 'w3', 'w4']), '{"b":1}');
  t.equal(remove('{"w1":1}', ['w1']), '{}');
  t.equal(remove('{ "w1" : 1 , "w2" : 2 }', ['w1', 'w2']), '{  }');
  t.equal(remove('{"w1":1,"w2":2,"w3":3}', ['w1', 'w3']), '{"w2":2}');
  t.end();
});

t.test('members are appended to full, empty and emptied objects', (t) => {
  const append: Edit = { kind: 'append', name: 'stream_options', value: '{"include_usage":true}' };
  t.equal(
    spliced('{"a":1 }', () => [append]),
    '{"a":1,"stream_options":{"include_usage":true} }',
  );
  t.equal(
    spliced(' {} ', () => [append, { kind: 'append', name: 'w"9', value: Buffer.from('0') }]),
    ' {"stream_options":{"include_usage":true},"w\\"9":0} ',
  );
  t.equal(
    spliced('{"w1":1}', (m) => [{ kind: 'remove', member: m('w1') }, append]),
    '{"stream_options":{"include_usage":true}}',
  );
  t.equal(
    spliced('{"a":1,"w1":1}', (m) => [append, { kind: 'remove', member: m('w1') }]),
    '{"a":1,"stream_options":{"include_usage":true}}',
  );
  t.end();
});

t.test('no edit gives back the same bytes, uncopied', (t) => {
  const body = Buffer.from('{"model":"x"}');
  t.equal(splice(body, peeked(body), []), body);
  t.end();
});

t.test('contradictory edits are a mistake of the caller and said so', (t) => {
  const body = Buffer.from('{"model":"x"}');
  const member = memberOf(body, 'model');
  const edits: Edit[] = [
    { kind: 'remove', member },
    { kind: 'replace', member, value: '1' },
  ];
  t.throws(() => splice(body, peeked(body), edits), {
    name: 'TypeError',
    message: 'two edits of the member model',
  });
  t.throws(
    () => splice(body, peeked(body), [{ kind: 'append', name: 'model', value: '1' }]),
    /the body has a member model/,
  );
  const overlapping = [
    { start: 0, end: 4, insert: [] },
    { start: 3, end: 5, insert: [] },
  ];
  t.throws(() => copyWithCuts(body, overlapping), RangeError);
  t.end();
});

t.test(
  'any edit of any object is the edit of the parsed object, and what is not edited keeps its bytes',
  (t) => {
    const key = fc.oneof(
      fc.constantFrom('model', 'w1', 'w2', 'w3', 'wé', 'w"'),
      fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => `_${text}`),
    );
    const plan = fc.record({
      value: fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 7 }),
      indent: fc.constantFrom('', '  ', '\t'),
      actions: fc.array(fc.constantFrom('keep', 'replace', 'remove'), { minLength: 7, maxLength: 7 }),
      added: fc.uniqueArray(fc.constantFrom('x1', 'x2', 'x"é'), { maxLength: 3 }),
      text: fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.stringify(value)),
      turn: fc.nat({ max: 9 }),
    });
    fc.assert(
      fc.property(plan, ({ value, indent, actions, added, text, turn }) => {
        const body = Buffer.from(JSON.stringify(value, null, indent));
        const found = peeked(body);
        const expected = JSON.parse(body.toString()) as Record<string, unknown>;
        const edits: Edit[] = [];
        found.members.forEach((member, i) => {
          if (actions[i] === 'replace') {
            edits.push({ kind: 'replace', member, value: text });
            expected[member.name] = JSON.parse(text);
          } else if (actions[i] === 'remove') {
            edits.push({ kind: 'remove', member });
            delete expected[member.name];
          }
        });
        for (const name of added) {
          edits.push({ kind: 'append', name, value: text });
          expected[name] = JSON.parse(text);
        }
        const edited = new Set(edits.map((edit) => (edit.kind === 'append' ? edit.name : edit.member.name)));
        const turned = [...edits.slice(turn), ...edits.slice(0, turn)];
        const result = splice(body, found, turned);
        return (
          isDeepStrictEqual(JSON.parse(result.toString()), expected) &&
          isDeepStrictEqual(bytesOf(result, edited), bytesOf(body, edited)) &&
          // No member was doubled, which JSON.parse would not tell.
          peeked(result).memberCount === Object.keys(expected).length &&
          (edits.length > 0 || result === body)
        );
      }),
      { numRuns: runs(375) },
    );
    t.pass('all objects');
    t.end();
  },
);

/** The members that are not edited, as they are written, in their order. */
function bytesOf(body: Buffer, edited: ReadonlySet<string>): string[] {
  const all = peek(body, { names: new Set(), prefixes: [''] }, 100);
  return all.members
    .filter((member) => !edited.has(member.name))
    .map((member) => body.toString('latin1', member.keyStart, member.valueEnd));
}
