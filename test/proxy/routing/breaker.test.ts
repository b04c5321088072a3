import t from 'tap';
import { Breaker } from '../../../proxy/routing/breaker.ts';
import { HealthRegistry } from '../../../proxy/routing/deployment-health.ts';

const RULES = { allowedFails: 3, cooldownMs: 5_000 };

/** Fails a call at `now`; whether the breaker opened by it. */
const fail = (breaker: Breaker, now: number, cooldownMs: number | null = null, rules = RULES): boolean =>
  breaker.failed(breaker.begin(now), now, rules, cooldownMs);
const serve = (breaker: Breaker, now: number): void => breaker.succeeded(breaker.begin(now), now);

t.test('more failures than are allowed within a minute open it, if they are half of its calls', async (t) => {
  const breaker = new Breaker();
  t.same(
    [1, 2, 3, 4].map((now) => fail(breaker, now)),
    [false, false, false, true],
  );
  t.equal(breaker.state(4), 'open');
  t.notOk(breaker.admits(4));
  const busy = new Breaker();
  for (let i = 0; i < 10; i += 1) serve(busy, i);
  for (let i = 0; i < 9; i += 1) t.notOk(fail(busy, 20 + i), 'a minority of the calls');
  t.ok(fail(busy, 30), '10 of 20');
  const seldom = new Breaker();
  for (let i = 0; i < 20; i += 1) t.notOk(fail(seldom, i * 30_001), 'two a minute');
});

t.test('when its rest is over, one call tries it and decides', async (t) => {
  const breaker = new Breaker();
  for (let now = 0; now < 4; now += 1) fail(breaker, now);
  t.equal(breaker.state(5_002), 'open');
  t.equal(breaker.state(5_003), 'half_open');
  const probe = breaker.begin(5_003);
  t.notOk(breaker.admits(5_003), 'one only');
  t.notOk(breaker.failed(probe, 5_010, RULES, null), 'it rested already');
  t.equal(breaker.state(10_009), 'open', 'and rests again, from now');
  const next = breaker.begin(10_010);
  breaker.abandoned(next);
  t.ok(breaker.admits(10_011), 'a client that left decided nothing: the next call tries');
  serve(breaker, 10_012);
  t.equal(breaker.state(10_012), 'closed');
  t.notOk(fail(breaker, 10_013), 'and it begins to count anew');
});

t.test('only the call that tries a half-open entry gives its place to the next one', async (t) => {
  const breaker = new Breaker();
  for (let now = 0; now < 4; now += 1) fail(breaker, now);
  const former = breaker.begin(5_003);
  const forced = breaker.begin(5_004);
  t.notOk(breaker.admits(5_004));
  breaker.abandoned(forced);
  t.notOk(breaker.admits(5_004), 'another call has left, the one that tries has not');
  breaker.failed(former, 5_010, RULES, null);
  breaker.begin(10_010);
  breaker.abandoned(former);
  t.notOk(breaker.admits(10_010), 'and one that tried before says nothing of the one that tries now');
});

t.test('a call from before says nothing about the time after', async (t) => {
  const breaker = new Breaker();
  const slow = breaker.begin(0);
  for (let now = 0; now < 4; now += 1) fail(breaker, now);
  breaker.succeeded(slow, 100);
  t.equal(breaker.state(100), 'open', 'a long stream that ends well does not close it');
  const forced = breaker.begin(200);
  t.notOk(breaker.failed(forced, 300, RULES, null));
  t.equal(breaker.state(5_003), 'half_open', 'a failure while it rests does not prolong the rest');
});

t.test('an upstream that asks for a rest gets it at once, within bounds', async (t) => {
  const breaker = new Breaker();
  t.ok(fail(breaker, 0, 20_000));
  t.equal(breaker.state(19_999), 'open');
  t.equal(breaker.state(20_000), 'half_open');
  const short = new Breaker();
  fail(short, 0, 1);
  t.equal(short.openUntilMs, 5_000, 'no shorter than cooldown_time');
  const long = new Breaker();
  fail(long, 0, 86_400_000);
  t.equal(long.openUntilMs, 300_000, 'no longer than five minutes');
});

t.test('where none may rest, nothing opens it', async (t) => {
  const breaker = new Breaker();
  for (let now = 0; now < 100; now += 1)
    t.notOk(fail(breaker, now, 60_000, { allowedFails: Infinity, cooldownMs: 5_000 }));
  t.equal(breaker.state(100), 'closed');
});

t.test('what is known of an entry outlives a configuration as long as one has it', async (t) => {
  const states = new HealthRegistry();
  const old = states.acquire('a');
  const visit = old.startRequest(0);
  const next = states.acquire('a');
  states.release('a');
  t.equal(next, old);
  t.equal(next.inFlight, 1);
  visit.served(50, 50);
  t.equal(next.inFlight, 0);
  t.equal(next.latency.at(50), 50);
  states.release('a');
  t.not(states.acquire('a'), old, 'forgotten with the last one');
});
