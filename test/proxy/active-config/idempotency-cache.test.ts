// What is known of calls by their keys, and its bounds, on a clock that is turned by hand.
import t from 'tap';
import {
  IdempotencyCache,
  type Ending,
  type IdempotencyLimits,
} from '../../../proxy/active-config/idempotency-cache.ts';
import { keptResponse } from '../../../proxy/downstream/kept-response.ts';

const LIMITS: IdempotencyLimits = { windowMs: 1_000, maxEntries: 100, maxBytes: 1_000_000 };
const call = (id: string) => ({ id, digest: 'd', stream: false });
const ending = (size: number): Ending => ({
  reason: 'complete',
  httpStatus: 200,
  response: keptResponse(200, [], Buffer.alloc(size)),
});

t.test('a call is known from its begin until its window is over; one that is forgotten is not', async (t) => {
  let now = 0;
  const replays = new IdempotencyCache(() => now);
  t.equal(replays.find('k'), null);
  t.ok(replays.begin('k', call('1'), LIMITS));
  now += 1_000_000;
  t.match(replays.find('k'), { id: '1', ending: null }, 'while it runs, however long');
  const over = replays.find('k')?.over;
  replays.settle('k', ending(10), LIMITS);
  t.match(await over, { reason: 'complete', httpStatus: 200 });
  t.equal(replays.find('k')?.ending?.response?.body.length, 10);
  now += 999;
  t.not(replays.find('k'), null);
  now += 1;
  t.equal(replays.find('k'), null);
  replays.begin('k', call('2'), LIMITS);
  const second = replays.find('k')?.over;
  replays.settle('k', null, LIMITS);
  t.equal(await second, null);
  t.same([replays.find('k'), replays.size, replays.bytes], [null, 0, 0], 'nothing is left');
});

t.test('beyond the number the oldest ended call goes; calls that run never do', async (t) => {
  const replays = new IdempotencyCache(() => 0);
  const limits = { ...LIMITS, maxEntries: 3 };
  for (const key of ['a', 'b', 'c']) replays.begin(key, call(key), limits);
  t.notOk(replays.begin('d', call('d'), limits), 'all run');
  for (const key of ['b', 'a']) replays.settle(key, ending(1), limits);
  t.ok(replays.begin('d', call('d'), limits));
  t.same(
    ['a', 'b', 'c', 'd'].map((key) => replays.find(key)?.id ?? null),
    ['a', null, 'c', 'd'],
    'the one that ended first',
  );
});

t.test(
  'beyond the bytes old answers go, and one that is too large is known without its answer',
  async (t) => {
    const replays = new IdempotencyCache(() => 0);
    const limits = { ...LIMITS, maxBytes: 10_000 };
    replays.begin('a', call('a'), limits);
    replays.settle('a', ending(4_000), limits);
    replays.begin('b', call('b'), limits);
    replays.settle('b', ending(6_000), limits);
    t.equal(replays.find('a'), null);
    t.equal(replays.find('b')?.ending?.response?.body.length, 6_000);
    replays.begin('c', call('c'), limits);
    replays.settle('c', ending(20_000), limits);
    t.match(replays.find('c'), { id: 'c', ending: { reason: 'complete', answer: null } });
    t.ok(replays.bytes <= limits.maxBytes);
  },
);
