// The strategies by themselves and put together: shares hold, ranks hold, and what rests comes last.
import fc from 'fast-check';
import t from 'tap';
import type { Routable, Strategy } from '../../../proxy/routing/routable.ts';
import { DeploymentHealth } from '../../../proxy/routing/deployment-health.ts';
import { leastBusy } from '../../../proxy/routing/least-busy.ts';
import { lowestLatency } from '../../../proxy/routing/lowest-latency.ts';
import { rank } from '../../../proxy/routing/rank.ts';
import { seedOf } from '../../../proxy/routing/session-affinity.ts';
import { weightedShuffle } from '../../../proxy/routing/weighted-shuffle.ts';

interface Named extends Routable {
  readonly id: string;
}

const deployment = (id: string, more: Partial<Routable> = {}): Named => ({
  id,
  seed: seedOf(id),
  weight: 1,
  order: Infinity,
  limit: Infinity,
  health: new DeploymentHealth(),
  ...more,
});

/** Uniform in [0, 1), the same in every run (mulberry32). */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ids = (deployments: readonly Named[]): string => deployments.map(({ id }) => id).join(' ');
const RULES = { strategy: 'simple-shuffle', sessionAffinity: true } as const;

/** How often each id is first in `rounds` draws. */
function firsts(
  strategy: Strategy,
  deployments: readonly Named[],
  rounds: number,
  seed = 7,
): Map<string, number> {
  const counts = new Map(deployments.map(({ id }) => [id, 0]));
  const random = dice(seed);
  for (let i = 0; i < rounds; i += 1) {
    const first = strategy(deployments, random, 0)[0] as Named;
    counts.set(first.id, (counts.get(first.id) ?? 0) + 1);
  }
  return counts;
}

t.test('a weighted shuffle gives each entry its share, within 1% of all draws', async (t) => {
  const rounds = 100_000;
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 2, maxLength: 5 }), (weights) => {
      const deployments = weights.map((weight, i) => deployment(`e${i}`, { weight }));
      const sum = weights.reduce((all, weight) => all + weight, 0);
      const counts = firsts(weightedShuffle, deployments, rounds);
      return deployments.every(({ id, weight }) => {
        return Math.abs((counts.get(id) ?? 0) / rounds - weight / sum) < 0.01;
      });
    }),
    { numRuns: 20 },
  );
  t.pass('property held');
});

t.test('a weight of 0 is asked last, and alone it serves', async (t) => {
  const [a, drained] = [deployment('a'), deployment('drained', { weight: 0 })];
  for (const strategy of [weightedShuffle, leastBusy, lowestLatency]) {
    t.same(Object.fromEntries(firsts(strategy, [drained, a], 500)), { a: 500, drained: 0 });
    t.equal(ids(strategy([drained], dice(1), 0)), 'drained');
  }
  for (let i = 0; i < 500; i += 1) {
    t.equal(rank([drained, a], RULES, `session ${i}`, dice(1), 0)[0], a);
  }
});

t.test('least busy: fewest calls under way for the weight, equals by weight', async (t) => {
  const [a, b, c] = [deployment('a'), deployment('b', { weight: 4 }), deployment('c')] as const;
  a.health.inFlight = 1;
  b.health.inFlight = 2;
  t.equal(ids(leastBusy([a, b, c], dice(1), 0)), 'c b a');
  a.health.inFlight = 0;
  b.health.inFlight = 0;
  const counts = firsts(leastBusy, [a, b], 10_000);
  t.ok(Math.abs((counts.get('b') ?? 0) - 8_000) < 200, `${counts.get('b')} of 10,000`);
});

t.test('lowest latency: a peak is seen at once, forgotten slowly, and calls under way count', async (t) => {
  const [fast, slow] = [deployment('fast'), deployment('slow')];
  fast.health.latency.observe(100, 0);
  slow.health.latency.observe(300, 0);
  t.equal(ids(lowestLatency([slow, fast], dice(1), 0)), 'fast slow');
  fast.health.inFlight = 3;
  t.equal(ids(lowestLatency([slow, fast], dice(1), 0)), 'slow fast', '100 ms x 4 against 300 ms x 1');
  fast.health.inFlight = 0;
  fast.health.latency.observe(5_000, 1_000);
  t.equal(fast.health.latency.at(1_000), 5_000, 'one stall is the whole average');
  t.equal(ids(lowestLatency([slow, fast], dice(1), 1_000)), 'slow fast');
  fast.health.latency.observe(100, 2_000);
  t.ok(fast.health.latency.at(2_000) > 4_500, 'one good answer does not undo it');
  t.ok(fast.health.latency.at(600_000) < 1, 'but ten quiet minutes do');
  t.equal(
    ids(lowestLatency([slow, deployment('new')], dice(1), 2_000)),
    'new slow',
    'what nobody measured is tried',
  );
});

t.test(
  'what nobody measured is tried by one call at a time, and a drained one not for its speed',
  async (t) => {
    const [slow, fresh, busy] = [deployment('slow'), deployment('fresh'), deployment('busy')];
    slow.health.latency.observe(300, 0);
    fresh.health.inFlight = 1;
    busy.health.inFlight = 2;
    t.equal(ids(lowestLatency([busy, fresh, slow], dice(1), 0)), 'slow fresh busy');
    fresh.health.inFlight = 0;
    t.equal(ids(lowestLatency([busy, slow, fresh], dice(1), 0)), 'fresh slow busy');
    const drained = deployment('drained', { weight: 0 });
    drained.health.latency.observe(1, 0);
    t.equal(ids(lowestLatency([drained, slow], dice(1), 0)), 'slow drained');
  },
);

t.test('a group of one is that one, whatever its state', async (t) => {
  const only = deployment('only', { weight: 0, limit: 0 });
  only.health.healthError = 'no answer';
  t.same(rank([only], RULES, 'session', dice(1), 0), [only]);
});

t.test('what is full comes after what has room, and before what rests', async (t) => {
  const [full, free, resting] = [
    deployment('full', { order: 1, limit: 1 }),
    deployment('free', { order: 3 }),
    deployment('resting', { order: 0 }),
  ];
  full.health.inFlight = 1;
  resting.health.healthError = 'no answer';
  t.equal(ids(rank([resting, full, free], RULES, null, dice(1), 0)), 'free full resting');
  t.equal(ids(rank([resting, full], RULES, null, dice(1), 0)), 'full resting', 'also where none has room');
});

t.test('ranks go before everything but rest; an entry that rests is still there, last', async (t) => {
  const [a, b, c] = [deployment('a', { order: 1 }), deployment('b', { order: 2 }), deployment('c')] as const;
  const all = [c, b, a];
  const asked = (session: string | null, now = 0): string => ids(rank(all, RULES, session, dice(3), now));
  for (let i = 0; i < 50; i += 1) t.equal(asked(`session ${i}`), 'a b c');
  t.equal(asked(null), 'a b c');
  const rules = { allowedFails: 0, cooldownMs: 5_000 };
  a.health.startRequest(0).failed(0, rules, null);
  t.equal(asked(null, 1), 'b c a');
  b.health.healthError = 'no answer';
  t.equal(asked(null, 1), 'c a b');
  c.health.startRequest(0).failed(0, rules, null);
  t.equal(asked(null, 1), 'a b c', 'when all of them rest, none does');
  t.equal(asked(null, 5_001), 'a c b', 'rested: one call may try each');
  a.health.startRequest(5_001);
  t.equal(asked(null, 5_001), 'c a b', 'and only one');
});

t.test('a session keeps its entry whatever the strategy says; without affinity it does not', async (t) => {
  const deployments = ['a', 'b', 'c', 'd'].map((id) => deployment(id));
  const own = ids(rank(deployments, RULES, 'session-1', dice(1), 0));
  for (let seed = 0; seed < 50; seed += 1)
    t.equal(ids(rank(deployments.toReversed(), RULES, 'session-1', dice(seed), 0)), own);
  const free = new Set<string>();
  for (let seed = 0; seed < 50; seed += 1)
    free.add(ids(rank(deployments, { ...RULES, sessionAffinity: false }, 'session-1', dice(seed), 0)));
  t.ok(free.size > 5, `${free.size} orders`);
});
