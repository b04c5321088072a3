// Counting for several processes of one host: what one leaves behind when it ends, and sums that are read while others go on.
import t from 'tap';
import type { ReservingCall, SettledCall } from '../../../proxy/access/counters.ts';
import { HostCounters } from '../../../proxy/access/host-counters.ts';

const CAP = { budget: 'key:a', windowStartMs: 0, capPico: 10n };
const PLACES = { kind: 'parallel', limit: 'key:a', most: 3 } as const;
const call = (requestId: string, pico: bigint): ReservingCall => ({
  requestId,
  budgets: [CAP],
  pico,
  limits: [PLACES],
});
const settled = (requestId: string, pico: bigint): SettledCall => ({
  requestId,
  spent: [{ budget: CAP.budget, windowStartMs: 0, pico }],
  tokens: null,
});

function counted(): HostCounters {
  const counters = new HostCounters(() => 0);
  counters.seed(CAP, 0n, []);
  return counters;
}

t.test('all processes count together', async (t) => {
  const counters = counted();
  t.match(counters.reserve(1, call('a', 6n)), { kind: 'reserved', remaining: [2] });
  t.match(counters.reserve(2, call('b', 6n)), { kind: 'over_budget', refusal: { leftPico: 4n } });
  counters.tell([{ kind: 'settled', call: settled('a', 2n) }]);
  t.match(counters.reserve(2, call('b', 6n)), { kind: 'reserved', remaining: [2] });
});

t.test(
  'a process that is killed: its places are free at once, its money is what its records say',
  async (t) => {
    const counters = counted();
    counters.reserve(1, call('recorded', 3n));
    counters.reserve(1, call('never begun', 3n));
    counters.reserve(2, call('of another', 1n));
    counters.tell([{ kind: 'released', requestId: 'of another' }]);
    const left = counters.ended(1);
    t.same(left, ['recorded', 'never begun']);
    t.same(counters.read(CAP), { spentPico: 0n, reservedPico: 7n }, 'held until its journal is recovered');
    t.match(counters.reserve(2, call('next', 1n)), { kind: 'reserved', remaining: [2] });
    counters.recovered(left, [{ requestId: 'recorded', pico: 2n, tokens: 5 }]);
    t.same(counters.read(CAP), { spentPico: 2n, reservedPico: 2n });
    counters.recovered(left, [{ requestId: 'recorded', pico: 2n, tokens: 5 }]);
    t.same(counters.read(CAP), { spentPico: 2n, reservedPico: 2n }, 'once');
  },
);

t.test(
  'what is settled while a sum is read is neither lost nor counted twice; the first sum counts',
  async (t) => {
    const counters = new HostCounters(() => 0);
    t.match(counters.reserve(1, call('a', 1n)), { kind: 'unseeded', counters: [CAP] });
    for (const id of ['in the sum', 'later', 'later'])
      counters.tell([{ kind: 'settled', call: settled(id, 2n) }]);
    counters.seed(CAP, 5n, ['in the sum']);
    counters.seed(CAP, 9n, []);
    t.same(counters.read(CAP), { spentPico: 7n, reservedPico: 0n });
  },
);

t.test('a question that comes after the end of its process reserves nothing', async (t) => {
  const counters = counted();
  counters.reserve(1, call('a', 3n));
  t.same(counters.ended(1), ['a']);
  t.throws(() => counters.reserve(1, call('b', 3n)));
  counters.recovered(['a'], []);
  t.same(counters.read(CAP), { spentPico: 0n, reservedPico: 0n }, 'nobody would give it back');
});

t.test('what one process needs no more stays as long as others use it', async (t) => {
  let nowMs = 0;
  const counters = new HostCounters(() => nowMs);
  const unused = (): void => counters.tell([{ kind: 'unused', counter: CAP }]);
  counters.seed(CAP, 0n, []);
  counters.reserve(2, call('running', 3n));
  nowMs = 3_600_000;
  unused();
  t.same(counters.read(CAP), { spentPico: 0n, reservedPico: 3n });
  counters.tell([{ kind: 'settled', call: settled('running', 2n) }]);
  nowMs += 1_799_999;
  unused();
  t.same(counters.read(CAP), { spentPico: 2n, reservedPico: 0n }, 'its row may not be in the next sum yet');
  nowMs += 1;
  unused();
  t.equal(counters.read(CAP), null);
  counters.seed(CAP, 2n, []);
  counters.reserve(2, call('another', 3n));
  counters.tell([{ kind: 'forgotten', counter: CAP }]);
  t.equal(counters.read(CAP), null, 'what is stated anew is not waited for');
});
