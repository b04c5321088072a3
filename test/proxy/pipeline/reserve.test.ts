// What a call does where its counters are not known: shared counters come and go on a full machine, and what was seeded is gone
// again before it is asked for.
import t, { type Test } from 'tap';
import type { CounterName, Counters, ReserveResult, ReservingCall } from '../../../proxy/access/counters.ts';
import { Budgets } from '../../../proxy/access/budgets/budgets.ts';
import { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { LocalCounters } from '../../../proxy/access/local-counters.ts';
import { forward } from '../../../proxy/pipeline/forward.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { StoreUnavailable } from '../../../proxy/spend/store/store.ts';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { systemClock, type Clock } from '../../../proxy/base/clock.ts';
import { ManualClock } from '../../support/clock.ts';
import { exchangeOf, servicesOf, snapshotOf } from '../../support/services.ts';

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

const isKnown = ({ budget }: CounterName): boolean => budget.includes(' 1d');

/** Of budgets for a day alone is known what they have spent. */
class KnowsDays extends LocalCounters {
  override reserve(call: ReservingCall): ReserveResult {
    const unknown = call.budgets.filter((one) => !isKnown(one));
    return unknown.length === 0 ? super.reserve(call) : { kind: 'unseeded', counters: unknown };
  }
}

class BudgetsWithoutStore extends Budgets {
  override seed(counters: readonly CounterName[]): Promise<void> {
    return counters.every(isKnown)
      ? super.seed(counters)
      : Promise.reject(new StoreUnavailable('unavailable', 'It is away.'));
  }
}

class CountsQuestions extends BudgetsWithoutStore {
  static unanswered = 0;

  override seed(counters: readonly CounterName[]): Promise<void> {
    if (!counters.every(isKnown)) CountsQuestions.unanswered += 1;
    return super.seed(counters);
  }
}

/** The store does not even answer: a query ends by its own timeout. */
class BudgetsOfStuckStore extends BudgetsWithoutStore {
  static readonly clock = new ManualClock();

  override seed(counters: readonly CounterName[]): Promise<void> {
    BudgetsOfStuckStore.clock.advance(60_000);
    return super.seed(counters);
  }
}

/** The store hangs: nothing is known of it yet. */
class BudgetsOfHangingStore extends BudgetsWithoutStore {
  override seed(): Promise<void> {
    return new Promise(() => undefined);
  }
}

interface Case {
  readonly budgets: string;
  readonly general: string;
  readonly of: typeof Budgets;
  readonly clock: Clock;
}

const MODEST: Case = {
  budgets: '[{ scope: proxy, max_budget: 10 }]',
  general: '',
  of: Budgets,
  clock: systemClock,
};

const deployment = (url: string, id: string): string =>
  `{ model_name: m, model_info: { id: ${id} }, litellm_params: { model: litellm_proxy/demo, api_base: "${url}", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 } }`;

async function call(t: Test, counters: Counters, { budgets: caps, general, of: Of, clock } = MODEST) {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const plain = await servicesOf(t);
  const { ledger, access, accessEvents: events } = plain;
  const snapshot = snapshotOf(
    t,
    `model_list: [${deployment(demo.url, 'd1')}, ${deployment(demo.url, 'd2')}]
budgets: ${caps}
general_settings: { ${general} }
`,
  );
  const budgets = new Of(snapshot, { ledger, counters, directory: access.directory, clock, events });
  const active = new ActiveConfig(snapshot, { ...plain, clock, counters, budgets });
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

t.test('a call that is served although a budget of it is not known is held by those that are', async (t) => {
  const general = 'allow_requests_on_db_unavailable: true';
  const day = (most: number): string =>
    `[{ scope: proxy, max_budget: 10 }, { scope: proxy, max_budget: ${most}, budget_duration: 1d }]`;
  const ask = (budgets: string, more = general) =>
    call(t, new KnowsDays(systemClock.mono), { ...MODEST, budgets, general: more, of: BudgetsWithoutStore });
  t.equal(await ask(day(1)), 200);
  t.equal(await ask(day(0.000_001)), 422);
  t.equal(await ask(MODEST.budgets), 200);
  t.equal(await ask(MODEST.budgets, ''), 503, 'nothing allows it');
});

t.test(
  'the store is asked once for what it does not say, however many deployments have no room',
  async (t) => {
    const budgets =
      '[{ scope: proxy, max_budget: 10 }, { scope: deployment, id: d1, max_budget: 0.000001, budget_duration: 1d }]';
    const general = 'allow_requests_on_db_unavailable: true';
    const status = await call(t, new KnowsDays(systemClock.mono), {
      ...MODEST,
      budgets,
      general,
      of: CountsQuestions,
    });
    t.equal(status, 200);
    t.equal(CountsQuestions.unanswered, 1);
  },
);

t.test('it is served however long its store takes to say nothing', async (t) => {
  const { clock } = BudgetsOfStuckStore;
  const general = 'allow_requests_on_db_unavailable: true';
  t.equal(
    await call(t, new KnowsDays(clock.mono), { ...MODEST, general, of: BudgetsOfStuckStore, clock }),
    200,
  );
});

t.test('it is served though its store hangs, and nobody has found that out yet', async (t) => {
  const general = 'allow_requests_on_db_unavailable: true';
  t.equal(
    await call(t, new KnowsDays(systemClock.mono), { ...MODEST, general, of: BudgetsOfHangingStore }),
    200,
  );
});
