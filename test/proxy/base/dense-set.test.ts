import fc from 'fast-check';
import t from 'tap';
import { DenseSet, type Indexed } from '../../../proxy/base/dense-set.ts';

interface Guest extends Indexed {
  readonly name: number;
}

t.test('it holds what was added and not deleted, in whatever order', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(9))), (steps) => {
      const guests = Array.from({ length: 10 }, (_, name): Guest => ({ name, index: -1 }));
      const set = new DenseSet<Guest>();
      const expected = new Set<number>();
      for (const [adds, name] of steps) {
        const guest = guests[name] as Guest;
        if (adds && guest.index < 0) {
          set.add(guest);
          expected.add(name);
        } else if (!adds) {
          set.delete(guest);
          expected.delete(name);
        }
        const seen: number[] = [];
        set.forEach((one) => seen.push(one.name));
        if (seen.length !== expected.size || !seen.every((one) => expected.has(one))) return false;
        if (set.size !== expected.size || expected.has(name) !== guest.index >= 0) return false;
      }
      return true;
    }),
  );
  t.pass('property held');
});

t.test('deleting while it is walked through leaves none out', async (t) => {
  const guests = Array.from({ length: 6 }, (_, name): Guest => ({ name, index: -1 }));
  const set = new DenseSet<Guest>();
  for (const guest of guests) set.add(guest);
  const seen = new Set<number>();
  set.forEach((one) => {
    seen.add(one.name);
    set.delete(one);
  });
  t.equal(seen.size, 6);
  t.equal(set.size, 0);
});
