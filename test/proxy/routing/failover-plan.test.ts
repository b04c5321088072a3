// The way of a request among entries: who is next, when nobody is, and what the budget has to say.
import t from 'tap';
import type { Routable } from '../../../proxy/routing/routable.ts';
import { DeploymentHealth } from '../../../proxy/routing/deployment-health.ts';
import {
  FailoverPlan,
  type Failure,
  type FailureKind,
  type ModelGroup,
  type FailoverPolicy,
} from '../../../proxy/routing/failover-plan.ts';

interface Named extends Routable {
  readonly id: string;
}

const deployment = (id: string): Named => ({
  id,
  seed: 0,
  weight: 1,
  order: 0,
  limit: Infinity,
  health: new DeploymentHealth(),
});
const groupOf = (name: string, ...names: string[]): ModelGroup<Named> => ({
  name,
  deployments: names.map(deployment),
});

const rules = (
  more: Partial<FailoverPolicy<Named>> & { readonly groups?: readonly ModelGroup<Named>[] } = {},
) => ({
  takes: () => true,
  retries: () => ({ count: 2, again: false }),
  hasFallbacks: (more.groups ?? []).length > 0,
  fallbacks: () => more.groups ?? [],
  maxFallbacks: 5,
  sameFirst: { count: 0, longestMs: 0 },
  spend: () => true,
  minPauseMs: 0,
  random: () => 0,
  ...more,
});

const failure = (kind: FailureKind = 'server', retryAfterMs: number | null = null): Failure => ({
  kind,
  retryAfterMs,
});
const rest = ({ deployments }: ModelGroup<Named>, ...which: number[]): void => {
  for (const i of which)
    deployments[i]?.health.startRequest(0).failed(0, { allowedFails: 0, cooldownMs: 9_000 }, null);
};

t.test(
  'the groups that may take over are told in their order, each once, as far as fallbacks may go',
  (t) => {
    const [a, b, c] = [groupOf('a', 'a1'), groupOf('b', 'b1'), groupOf('c', 'c1')];
    const names = (plan: FailoverPlan<Named>): string[] => plan.others.map(({ name }) => name);
    t.same(names(new FailoverPlan(a, rules({ groups: [b, a, c, b] }), 0)), ['b', 'c']);
    t.same(names(new FailoverPlan(a, rules({ groups: [b, c], maxFallbacks: 1 }), 0)), ['b']);
    t.same(names(new FailoverPlan<Named>(a, rules(), 0)), []);
    const failed = new FailoverPlan<Named>(
      a,
      rules({ groups: [b, c], retries: () => ({ count: 0, again: false }) }),
      0,
    );
    failed.next(failure(), 0);
    t.same(names(failed), ['c'], 'none that it has left');
    rest(a, 0);
    t.same(
      names(new FailoverPlan(a, rules({ groups: [b, c] }), 0)),
      ['c', 'a'],
      'one that cools down is the last resort',
    );
    t.end();
  },
);

/** All stops of a request that fails everywhere, with the pauses before them. */
function stops(
  trip: FailoverPlan<Named>,
  kind: FailureKind = 'server',
  retryAfterMs: number | null = null,
): string[] {
  const seen = [trip.deployment.id];
  for (let i = 0; i < 20; i += 1) {
    const step = trip.next(failure(kind, retryAfterMs), 1);
    if (step === null) return seen;
    seen.push(`${step.how} ${trip.deployment.id}${step.pauseMs === 0 ? '' : ` after ${step.pauseMs}`}`);
  }
  throw new Error('it never ends');
}

t.test('unstated retries go to other entries at once, never to the same', async (t) => {
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a'), rules(), 0)), ['a']);
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a', 'b'), rules(), 0)), ['a', 'retry b']);
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a', 'b', 'c', 'd'), rules(), 0)), [
    'a',
    'retry b',
    'retry c',
  ]);
});

t.test('stated retries come back to entries that failed, after pauses that grow', async (t) => {
  const stated = rules({ retries: () => ({ count: 4, again: true }) });
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a'), stated, 0)), [
    'a',
    'retry a after 250',
    'retry a after 500',
    'retry a after 1000',
    'retry a after 2000',
  ]);
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a', 'b'), stated, 0)), [
    'a',
    'retry b',
    'retry a after 250',
    'retry b after 500',
    'retry a after 1000',
  ]);
});

t.test('a wish for patience is kept on the entry that has it; one beyond a minute ends it', async (t) => {
  const stated = rules({ retries: () => ({ count: 1, again: true }) });
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a'), stated, 0), 'rate_limit', 3_000), [
    'a',
    'retry a after 3000',
  ]);
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a', 'b'), stated, 0), 'rate_limit', 3_000), [
    'a',
    'retry b',
  ]);
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a'), stated, 0), 'rate_limit', 61_000), ['a']);
  const backed = rules({ retries: () => ({ count: 1, again: true }), groups: [groupOf('f', 'x')] });
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a'), backed, 0), 'rate_limit', 61_000), [
    'a',
    'fallback x',
  ]);
});

t.test('fallbacks follow when the entries are used up, each name once, five at most', async (t) => {
  const groups = ['f1', 'f2', 'f1', 'g', 'f3'].map((name) => groupOf(name, `${name}-a`, `${name}-b`));
  t.same(stops(new FailoverPlan<Named>(groupOf('g', 'a', 'b', 'c', 'd'), rules({ groups }), 0)), [
    'a',
    'retry b',
    'retry c',
    'fallback f1-a',
    'fallback f2-a',
    'fallback f3-a',
  ]);
  const many = Array.from({ length: 9 }, (_, i) => groupOf(`f${i}`, `x${i}`));
  t.equal(
    stops(new FailoverPlan<Named>(groupOf('g', 'a'), rules({ groups: many, maxFallbacks: 5 }), 0)).length,
    6,
  );
});

t.test('a refusal is met by the names made for it, and by no retry', async (t) => {
  const asked: FailureKind[] = [];
  const fallbacks = (kind: FailureKind): readonly ModelGroup<Named>[] => {
    asked.push(kind);
    return kind === 'context_window' ? [groupOf('large', 'x')] : [];
  };
  const trip = new FailoverPlan<Named>(groupOf('g', 'a', 'b'), rules({ fallbacks, hasFallbacks: false }), 0);
  t.equal(trip.next(failure('content_policy'), 0), null);
  t.match(trip.next(failure('context_window'), 0), { how: 'fallback', pauseMs: 0 });
  t.equal(trip.deployment.id, 'x');
  t.same(asked, ['content_policy', 'context_window']);
});

t.test('what rests is passed over; when all of a name rests, a fallback gets the call first', async (t) => {
  const group = groupOf('g', 'a', 'b', 'c');
  rest(group, 1);
  t.same(stops(new FailoverPlan<Named>(group, rules(), 0)), ['a', 'retry c']);
  rest(group, 0, 2);
  t.equal(
    new FailoverPlan<Named>(group, rules(), 0).deployment.id,
    'a',
    'nobody else: it serves all the same',
  );
  const backed = new FailoverPlan<Named>(group, rules({ groups: [groupOf('f', 'x')] }), 1);
  t.equal(backed.fallbacks, 1);
  t.same(stops(backed), ['x', 'fallback a'], 'and is the last resort of that fallback');
  const resting = groupOf('f', 'x');
  rest(resting, 0);
  t.equal(
    new FailoverPlan<Named>(group, rules({ groups: [resting] }), 1).deployment.id,
    'a',
    'all rest: in order',
  );
});

t.test('an entry may rest only while others can take its calls', async (t) => {
  const alone = new FailoverPlan<Named>(groupOf('g', 'a'), rules(), 0);
  t.notOk(alone.othersServe(0));
  const pair = groupOf('g', 'a', 'b');
  t.ok(new FailoverPlan<Named>(pair, rules(), 0).othersServe(0));
  rest(pair, 1);
  t.notOk(new FailoverPlan<Named>(pair, rules(), 0).othersServe(1), 'the last one of a group');
  t.ok(
    new FailoverPlan<Named>(pair, rules({ groups: [groupOf('f', 'x')] }), 0).othersServe(1),
    'a fallback counts',
  );
});

t.test('a call is alone where no other deployment can get it, whatever fails', async (t) => {
  const plan = (group: ModelGroup<Named>, more: Parameters<typeof rules>[0] = {}): FailoverPlan<Named> =>
    new FailoverPlan<Named>(group, rules(more), 0);
  t.ok(plan(groupOf('g', 'a')).isAlone);
  t.ok(plan(groupOf('g', 'a'), { retries: () => ({ count: 2, again: true }) }).isAlone, 'its own again');
  t.notOk(plan(groupOf('g', 'a', 'b')).isAlone);
  t.notOk(plan(groupOf('g', 'a'), { groups: [groupOf('f', 'x')] }).isAlone);
});

t.test('the budget has the last word, but a connection that never stood costs nothing', async (t) => {
  let left = 1;
  const spend = (): boolean => (left -= 1) >= 0;
  const trip = new FailoverPlan<Named>(
    groupOf('g', 'a', 'b', 'c', 'd'),
    rules({ spend, retries: () => ({ count: 9, again: false }) }),
    0,
  );
  t.ok(trip.next(failure('unreached'), 0));
  t.ok(trip.next(failure('server'), 0));
  t.notOk(trip.denied);
  t.equal(trip.next(failure('server'), 0), null);
  t.ok(trip.denied);
  t.equal(trip.deployment.id, 'c', 'it stays where it was');
  t.same([trip.retries, trip.fallbacks], [2, 0]);
});

t.test('whether there is more is known before anything fails', async (t) => {
  t.notOk(new FailoverPlan<Named>(groupOf('g', 'a'), rules(), 0).hasMore);
  t.ok(new FailoverPlan<Named>(groupOf('g', 'a', 'b'), rules(), 0).hasMore);
  t.ok(
    new FailoverPlan<Named>(groupOf('g', 'a'), rules({ retries: () => ({ count: 1, again: true }) }), 0)
      .hasMore,
  );
  const limited = (kind: FailureKind) => ({ count: kind === 'rate_limit' ? 1 : 0, again: true });
  t.ok(
    new FailoverPlan<Named>(groupOf('g', 'a'), rules({ retries: limited }), 0).hasMore,
    'by one kind of failure',
  );
  for (const one of ['server', 'timeout'] as const) {
    const retries = (kind: FailureKind) => ({ count: kind === one ? 1 : 0, again: true });
    t.ok(new FailoverPlan<Named>(groupOf('g', 'a'), rules({ retries }), 0).hasMore, one);
  }
  const once = new FailoverPlan<Named>(
    groupOf('g', 'a'),
    rules({ retries: () => ({ count: 1, again: true }) }),
    0,
  );
  once.next(failure(), 0);
  t.notOk(once.hasMore, 'the only retry was made');
  const trip = new FailoverPlan<Named>(
    groupOf('g', 'a'),
    rules({ groups: [groupOf('f', 'x')], maxFallbacks: 1 }),
    0,
  );
  t.ok(trip.hasMore);
  trip.next(failure(), 0);
  t.notOk(trip.hasMore);
});

t.test(
  'beside the present entry: those not asked yet that can take a call, within retries and budget',
  async (t) => {
    const group = groupOf('g', 'a', 'b', 'c', 'd');
    const idOf = (trip: FailoverPlan<Named>): string | undefined => trip.hedgeCandidate('timeout', 1)?.id;
    const trip = new FailoverPlan<Named>(group, rules(), 0);
    rest(group, 1);
    t.same(idOf(trip), 'c');
    t.ok(trip.branch(trip.hedgeCandidate('timeout', 1) as Named));
    t.same([trip.deployment.id, trip.retries, idOf(trip)], ['c', 1, 'd']);
    trip.next(failure(), 1);
    t.same([trip.retries, idOf(trip)], [2, undefined], 'no retry is left');
    const never = rules({ retries: () => ({ count: 0, again: false }) });
    t.equal(idOf(new FailoverPlan<Named>(group, never, 0)), undefined);
    const poor = new FailoverPlan<Named>(group, rules({ spend: () => false }), 0);
    t.notOk(poor.branch(poor.hedgeCandidate('timeout', 1) as Named));
    t.same([poor.deployment.id, poor.retries, poor.denied], ['a', 0, false], 'nothing has changed');
  },
);

t.test(
  'of two that ran side by side the one that failed is behind, the one that was outrun is next',
  async (t) => {
    const after = (winner: 0 | 1, otherFailed: boolean): string[] => {
      const trip = new FailoverPlan<Named>(
        groupOf('g', 'a', 'b', 'c'),
        rules({ retries: () => ({ count: 9, again: false }) }),
        0,
      );
      const both = [trip.deployment, trip.hedgeCandidate('timeout', 1) as Named] as const;
      trip.branch(both[1]);
      trip.keepTo(both[winner], otherFailed);
      return [
        trip.deployment.id,
        ...trip.openContinuers('timeout', 1, false).map(({ deployment }) => deployment.id),
      ];
    };
    t.same(after(0, true), ['a', 'c']);
    t.same(after(0, false), ['a', 'b', 'c']);
    t.same(after(1, true), ['b', 'c']);
    t.same(after(1, false), ['b', 'a', 'c']);
  },
);

t.test(
  'the present attempt may go to those that serve; where nobody does, to the one that is next',
  async (t) => {
    const group = groupOf('g', 'a', 'b', 'c');
    const open = (trip: FailoverPlan<Named>): string[] => trip.candidates(1).map(({ id }) => id);
    const trip = new FailoverPlan<Named>(group, rules(), 0);
    t.same(open(trip), ['a', 'b', 'c']);
    rest(group, 0, 2);
    t.same(open(trip), ['b'], 'one is enough');
    rest(group, 1);
    t.same(open(trip), ['a']);
    const moved = new FailoverPlan<Named>(groupOf('g', 'a', 'b', 'c'), rules(), 0);
    moved.moveTo(moved.candidates(1)[2] as Named);
    t.same(open(moved), ['c', 'a', 'b'], 'the one that was to get it is next');
    moved.next(failure(), 1);
    t.same(open(moved), ['a', 'b'], 'what was asked is not among them');
  },
);

t.test('a full name overflows into the first fallback that has room', async (t) => {
  const full = groupOf('full', 'x');
  for (const { health } of full.deployments) health.inFlight = Infinity;
  const resting = groupOf('resting', 'y');
  rest(resting, 0);
  const legs = [full, resting, groupOf('free', 'z'), groupOf('more', 'w')];
  const fallbacks = (kind: FailureKind) => (kind === 'server' ? legs : []);
  const trip = new FailoverPlan<Named>(groupOf('g', 'a'), rules({ groups: legs, fallbacks }), 1);
  t.ok(trip.overflow(1));
  t.same([trip.group.name, trip.deployment.id, trip.fallbacks], ['free', 'z', 1]);
  t.ok(trip.overflow(1));
  t.same([trip.group.name, trip.fallbacks], ['more', 2], 'each name once');
  t.notOk(trip.overflow(1), 'nobody else has room');
  t.same([trip.group.name, trip.fallbacks], ['more', 2]);
});

t.test('nothing overflows where there are no fallbacks, or no more are allowed', async (t) => {
  const legs = [groupOf('f', 'x'), groupOf('h', 'y')];
  const none = new FailoverPlan<Named>(groupOf('g', 'a'), rules({ groups: legs, hasFallbacks: false }), 0);
  t.notOk(none.overflow(0));
  const one = new FailoverPlan<Named>(groupOf('g', 'a'), rules({ groups: legs, maxFallbacks: 1 }), 0);
  t.ok(one.overflow(0));
  t.notOk(one.overflow(0));
  t.equal(one.deployment.id, 'x');
});

t.test('of the fallbacks the first that has room, then the first that serves, then the first', async (t) => {
  const [full, resting, free] = [groupOf('full', 'x'), groupOf('resting', 'y'), groupOf('free', 'z')];
  rest(resting, 0);
  for (const { health } of full.deployments) health.inFlight = Infinity;
  const next = (...groups: readonly ModelGroup<Named>[]): string => {
    const trip = new FailoverPlan<Named>(groupOf('g', 'a'), rules({ groups }), 0);
    t.match(trip.next(failure(), 1), { how: 'fallback', pauseMs: 0 });
    return trip.deployment.id;
  };
  t.equal(next(resting, full, free), 'z');
  t.equal(next(resting, full), 'x');
  t.equal(next(resting), 'y');
});

const once = { sameFirst: { count: 1, longestMs: 5_000 } };

t.test('retry_same_first: the one that failed is asked again first, then the others at once', async (t) => {
  const group = (): ModelGroup<Named> => groupOf('g', 'a', 'b');
  const legs = [groupOf('f', 'x')];
  t.same(stops(new FailoverPlan<Named>(group(), rules({ ...once, groups: legs }), 0)), [
    'a',
    'retry a after 250',
    'retry b',
    'fallback x',
  ]);
  t.same(
    stops(new FailoverPlan<Named>(groupOf('g', 'a'), rules({ ...once, groups: legs }), 0)),
    ['a', 'retry a after 250', 'fallback x', 'retry x after 250'],
    'also in a group of one, whose retries are not stated; what is left of them serves the fallback',
  );
  const twice = { sameFirst: { count: 2, longestMs: 5_000 } };
  t.same(stops(new FailoverPlan<Named>(group(), rules({ ...twice, groups: legs }), 0)), [
    'a',
    'retry a after 250',
    'retry a after 500',
    'fallback x',
  ]);
  const none = rules({ ...once, groups: legs, retries: () => ({ count: 0, again: false }) });
  t.same(stops(new FailoverPlan<Named>(group(), none, 0)), ['a', 'fallback x'], 'it is a retry');
});

t.test('retry_same_first: only where that is likely to help', async (t) => {
  const plan = (): FailoverPlan<Named> => new FailoverPlan<Named>(groupOf('g', 'a', 'b'), rules(once), 0);
  t.same(stops(plan(), 'rate_limit', 2_000).slice(0, 2), ['a', 'retry a after 2000']);
  t.same(stops(plan(), 'rate_limit', 5_001).slice(0, 2), ['a', 'retry b'], 'too long');
  t.same(stops(plan(), 'rate_limit').slice(0, 2), ['a', 'retry b'], 'it does not say when');
  t.same(stops(plan(), 'timeout').slice(0, 2), ['a', 'retry b']);
  t.same(stops(plan(), 'unreached').slice(0, 2), ['a', 'retry b']);
  t.same(stops(plan(), 'server', 6_000).slice(0, 2), ['a', 'retry b']);
  const group = groupOf('g', 'a', 'b');
  const cooling = new FailoverPlan<Named>(group, rules(once), 0);
  rest(group, 0);
  t.same(stops(cooling).slice(0, 2), ['a', 'retry b'], 'it has failed too often');
});

t.test('retry_same_first: the attempt stays where it is, although its deployment cools down', async (t) => {
  const group = groupOf('g', 'a', 'b');
  const plan = new FailoverPlan<Named>(group, rules(once), 0);
  t.ok(plan.hasMore);
  plan.next(failure('rate_limit', 1_000), 0);
  rest(group, 0);
  t.same(
    plan.candidates(1).map(({ id }) => id),
    ['a'],
  );
  plan.next(failure('rate_limit', 1_000), 1);
  t.same(
    plan.candidates(1).map(({ id }) => id),
    ['b'],
  );
  t.ok(new FailoverPlan<Named>(groupOf('g', 'a'), rules(once), 0).hasMore);
  t.notOk(new FailoverPlan<Named>(groupOf('g', 'a'), rules(), 0).hasMore);
});

t.test('a broken stream goes on in its group, then in the fallbacks where they are allowed', async (t) => {
  const legs = [groupOf('f', 'x', 'y'), groupOf('h', 'z')];
  const group = groupOf('g', 'a', 'b');
  const plan = new FailoverPlan<Named>(group, rules({ groups: legs }), 0);
  const ids = (over: boolean): string[] =>
    plan.openContinuers('server', 1, over).map(({ deployment }) => deployment.id);
  t.same(ids(false), ['b']);
  t.same(ids(true), ['b', 'x', 'y', 'z']);
  t.same(
    plan.continuers(true).map(({ id }) => id),
    ['b', 'x', 'y', 'z'],
  );
  rest(legs[0] as ModelGroup<Named>, 0);
  t.same(ids(true), ['b', 'y', 'z'], 'those that cool down are left out');
  const y = plan.openContinuers('server', 1, true)[1];
  if (y === undefined) throw new Error('nobody');
  t.ok(plan.continueAt(y));
  t.same([plan.group.name, plan.deployment.id, plan.fallbacks, plan.retries], ['f', 'y', 1, 0]);
  t.same(ids(true), ['z'], 'the group that was left is not asked again');
  const few = new FailoverPlan<Named>(group, rules({ groups: legs, maxFallbacks: 0 }), 0);
  t.equal(few.openContinuers('server', 1, true).length, 1);
  const poor = new FailoverPlan<Named>(group, rules({ groups: legs, spend: () => false }), 0);
  for (const place of poor.openContinuers('server', 1, true)) t.notOk(poor.continueAt(place));
  t.same([poor.group.name, poor.deployment.id], ['g', 'a'], 'nothing has changed');
});

t.test('one that does not take the call is nowhere on its way', async (t) => {
  const [without, last] = [groupOf('f', 'no-x'), groupOf('h', 'no-y', 'z')];
  const takes = (_: ModelGroup<Named>, { id }: Named): boolean => !id.startsWith('no-');
  let spent = 0;
  const spend = (): boolean => (spent += 1) > 0;
  const ruled = rules({ takes, spend, groups: [without, last] });
  const plan = (...names: string[]): FailoverPlan<Named> =>
    new FailoverPlan<Named>(groupOf('g', ...names), ruled, 0);
  t.same(stops(plan('no-a', 'b', 'no-c', 'd')), ['b', 'retry d', 'fallback z']);
  t.equal(spent, 2, 'nothing is spent on what is passed over');
  t.equal(plan('no-a', 'no-b').deployment.id, 'no-a', 'its refusal says why');
  t.equal(plan('no-a').deployment.id, 'no-a', 'one alone is not asked');
  const trip = plan('a', 'no-b', 'c');
  t.same(
    trip.candidates(0).map(({ id }) => id),
    ['a', 'c'],
  );
  t.equal(trip.hedgeCandidate('timeout', 0)?.id, 'c');
  const continuers = trip.openContinuers('server', 0, true);
  t.same(
    continuers.map(({ deployment: { id } }) => id),
    ['c', 'z'],
  );
  trip.deployment.health.inFlight = Infinity;
  t.equal(trip.openCandidate(0)?.id, 'c');
  t.ok(trip.overflow(0));
  t.equal(trip.deployment.id, 'z');
  const resting = groupOf('g', 'a', 'no-b');
  rest(resting, 0);
  const alone = new FailoverPlan<Named>(resting, rules({ takes }), 0);
  t.equal(alone.openCandidate(0)?.id, 'a', 'although it cools down');
  t.equal(new FailoverPlan<Named>(resting, ruled, 0).deployment.id, 'z');
});
