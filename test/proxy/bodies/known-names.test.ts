// The text of a name is the same whether it was met before or not, and whatever stood in its place.
import fc from 'fast-check';
import t from 'tap';
import { KnownNames } from '../../../proxy/bodies/known-names.ts';
import { runs } from '../../support/runs.ts';

t.test('names are those of the bytes, met for the first time and again', async (t) => {
  const names = new KnownNames();
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', maxLength: 80 }), fc.nat(3), (name, before) => {
      const bytes = Buffer.from(`${'"'.repeat(before)}${name}":1`);
      const expected = name.includes('\\') ? null : name;
      for (let time = 0; time < 2; time += 1)
        t.equal(names.nameAt(bytes, before, before + name.length), expected);
    }),
    { numRuns: runs(300) },
  );
});

t.test('two names of one place do not take each other for themselves', async (t) => {
  const names = new KnownNames();
  // More names than places.
  for (let round = 0; round < 2; round += 1)
    for (let n = 0; n < 2_000; n += 1) {
      const name = `member_${n}`;
      if (names.nameAt(Buffer.from(name), 0, name.length) !== name) t.fail(name);
    }
  t.pass('4,000 names');
});

t.test('what has to be decoded is no text of its bytes', async (t) => {
  const names = new KnownNames();
  for (const name of ['mod\\u0065l', 'größe', '\ud83d\ude00']) {
    const bytes = Buffer.from(name);
    t.equal(names.nameAt(bytes, 0, bytes.length), null);
  }
});
