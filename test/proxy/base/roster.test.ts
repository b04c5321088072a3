import fc from 'fast-check';
import t from 'tap';
import { Roster, type Seated } from '../../../proxy/base/roster.ts';

interface Guest extends Seated {
  readonly name: number;
}

t.test('it holds what was added and not deleted, in whatever order', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(9))), (steps) => {
      const guests = Array.from({ length: 10 }, (_, name): Guest => ({ name, seat: -1 }));
      const roster = new Roster<Guest>();
      const expected = new Set<number>();
      for (const [adds, name] of steps) {
        const guest = guests[name] as Guest;
        if (adds && guest.seat < 0) {
          roster.add(guest);
          expected.add(name);
        } else if (!adds) {
          roster.delete(guest);
          expected.delete(name);
        }
        const seen: number[] = [];
        roster.forEach((one) => seen.push(one.name));
        if (seen.length !== expected.size || !seen.every((one) => expected.has(one))) return false;
        if (roster.size !== expected.size || expected.has(name) !== guest.seat >= 0) return false;
      }
      return true;
    }),
  );
  t.pass('property held');
});

t.test('deleting while it is walked through leaves none out', async (t) => {
  const guests = Array.from({ length: 6 }, (_, name): Guest => ({ name, seat: -1 }));
  const roster = new Roster<Guest>();
  for (const guest of guests) roster.add(guest);
  const seen = new Set<number>();
  roster.forEach((one) => {
    seen.add(one.name);
    roster.delete(one);
  });
  t.equal(seen.size, 6);
  t.equal(roster.size, 0);
});
