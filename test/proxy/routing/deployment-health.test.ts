// Each end of a call gives its place back and tells the breaker what it has learnt.
import t from 'tap';
import { DeploymentHealth, HealthRegistry } from '../../../proxy/routing/deployment-health.ts';

const RULES = { allowedFails: 0, cooldownMs: 5_000 };

/** Rests since 0, and may be tried at 5,000. */
function rested(): DeploymentHealth {
  const health = new DeploymentHealth();
  health.startRequest(0).failed(0, RULES, null);
  return health;
}

t.test('every end of a call gives its place back', async (t) => {
  const health = new DeploymentHealth();
  const calls = [health.startRequest(0), health.startRequest(0), health.startRequest(0)];
  t.equal(health.inFlight, 3);
  calls[0]?.served(1, 1);
  t.equal(health.inFlight, 2);
  calls[1]?.abandoned();
  t.equal(health.inFlight, 1);
  t.equal(calls[2]?.failed(1, RULES, 1_000), true);
  t.equal(health.inFlight, 0);
});

t.test('the call that tries an entry decides, or gives its turn to the next one', async (t) => {
  const [served, abandoned, failed] = [rested(), rested(), rested()];
  for (const health of [served, abandoned, failed]) t.notOk(health.isAvailable(4_999));
  const trying = [served, abandoned, failed].map((health) => health.startRequest(5_000));
  for (const health of [served, abandoned, failed]) t.notOk(health.isAvailable(5_000), 'one at a time');
  trying[0]?.served(5_001, null);
  t.ok(served.isAvailable(5_001));
  t.equal(served.breaker.state(5_001), 'closed');
  trying[1]?.abandoned();
  t.ok(abandoned.isAvailable(5_001));
  t.equal(abandoned.breaker.state(5_001), 'half_open');
  trying[2]?.failed(5_001, RULES, null);
  t.notOk(failed.isAvailable(5_002));
});

t.test('an answer without a first byte is no measurement', async (t) => {
  const health = new DeploymentHealth();
  health.startRequest(0).served(10, null);
  t.equal(health.latency.at(10), 0);
  health.startRequest(10).served(20, 7);
  t.equal(health.latency.at(20), 7);
});

t.test(
  'an entry that a background check found ill is not available, whatever its breaker says',
  async (t) => {
    const health = new DeploymentHealth();
    t.ok(health.isAvailable(0));
    health.healthError = 'no answer';
    t.notOk(health.isAvailable(0));
  },
);

t.test('what nobody holds can be released without harm', async (t) => {
  const registry = new HealthRegistry();
  registry.release('a');
  const held = registry.acquire('a');
  t.equal(registry.acquire('a'), held);
});
