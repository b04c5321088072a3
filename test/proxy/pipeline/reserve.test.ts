// What a call does where its counters are not known: shared counters come and go on a full machine, and what was seeded is gone
// again before it is asked for.
import t, { type Test } from 'tap';
import type { Counters, ReserveResult, ReservingCall } from '../../../proxy/access/counters.ts';
import { Budgets } from '../../../proxy/access/budgets/budgets.ts';
import { LocalCounters } from '../../../proxy/access/local-counters.ts';
import { forward } from '../../../proxy/pipeline/forward.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { systemClock } from '../../../proxy/base/clock.ts';
import { exchangeOf, liveOf, servicesOf } from '../../support/services.ts';

const CHAT = ENDPOINTS[0] as Endpoint;

/** Forgets all that it counts, so many times: as a connection that is lost again and again. */
class ComesAndGoes extends LocalCounters {
  left: number;

  constructor(times: number) {
    super(systemClock.mono);
    this.left = times;
  }

  override reserve(call: ReservingCall): ReserveResult {
    if (this.left <= 0) return super.reserve(call);
    this.left -= 1;
    return { kind: 'unseeded', counters: call.budgets };
  }
}

async function call(t: Test, counters: Counters): Promise<number | undefined> {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const plain = await servicesOf(t);
  const { ledger, clock, access, accessEvents: events } = plain;
  const budgets = new Budgets({ ledger, counters, directory: access.directory, clock, events });
  const active = liveOf(
    t,
    `model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: k } }]
budgets: [{ scope: proxy, max_budget: 10 }]
`,
    { ...plain, counters, budgets },
  );
  budgets.use(active.snapshot);
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] });
  const headers = { 'content-type': 'application/json' };
  const { x, answer } = await exchangeOf(t, active, { body, headers });
  await forward(x, { role: 'admin', keyHash: 'hash' }, CHAT, null);
  return (await answer).status;
}

t.test('counters that come and go are asked again until they stay', async (t) => {
  const counters = new ComesAndGoes(9);
  t.equal(await call(t, counters), 200);
  t.equal(counters.left, 0);
});
