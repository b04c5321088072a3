// What follows the end of an answer is read for a second, no longer.
import t from 'tap';
import type { Watched } from '../../../proxy/relay/deadlines.ts';
import { Remainder } from '../../../proxy/relay/remainder.ts';

function started(): {
  readonly asked: string[];
  readonly watched: Set<Watched>;
  readonly remainder: Remainder;
} {
  const asked: string[] = [];
  const watched = new Set<Watched>();
  const note = (what: string) => (): void => void asked.push(what);
  const remainder = new Remainder(
    { pause: note('pause'), resume: note('resume'), destroy: note('destroy') },
    { add: (one) => void watched.add(one), delete: (one) => void watched.delete(one) },
    5_000,
  );
  return { asked, watched, remainder };
}

t.test('a response that ends leaves its connection as it is', async (t) => {
  const { asked, watched, remainder } = started();
  t.same(asked, ['resume'], 'a slow client may have stopped it');
  remainder.check(6_000);
  remainder.over();
  t.same(asked, ['resume']);
  t.equal(watched.size, 0);
});

t.test('one that does not is broken off', async (t) => {
  const { asked, watched, remainder } = started();
  t.equal(watched.size, 1);
  remainder.check(6_001);
  t.same(asked, ['resume', 'destroy']);
  t.equal(watched.size, 0);
});
