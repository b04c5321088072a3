// Furnishes a house: what differs from one house to the next is brought along, everything else is new and empty. Decides
// nothing.
import { Catalogue } from '../config/catalogue.ts';
import { systemClock } from './base/clock.ts';
import { CallIds } from './base/ids.ts';
import { Estimator } from './spend/estimate/estimator.ts';
import { IdempotencyCache } from './http/idempotency-cache.ts';
import { VERSION, type House } from './live.ts';
import { LoopLag } from './observe/loop-lag.ts';
import { Metrics } from './observe/metrics.ts';
import { Admission } from './routing/admission.ts';
import { EntryStates } from './routing/entry-state.ts';
import { RetryBudget } from './routing/retry-budget.ts';
import { noSiblings } from './siblings.ts';
import { Deadlines } from './upstream/deadlines.ts';
import { Departures } from './upstream/departures.ts';

/** What every house brings along; of the rest, what it has of its own. */
export type Brought = Pick<House, 'ledger' | 'log' | 'pools'> & Partial<House>;

/** A whole house. @param inFlight for metrics: requests under way */
export function furnish(brought: Brought, inFlight: () => number = () => 0): House {
  const { ledger, clock = systemClock } = brought;
  const metrics = new Metrics(() => ledger.status, inFlight, VERSION);
  return {
    clock,
    ids: new CallIds(),
    metrics,
    siblings: noSiblings(ledger, metrics),
    unrouted: metrics.forModel(''),
    deadlines: new Deadlines(clock.mono),
    departures: new Departures(),
    entries: new EntryStates(),
    budget: new RetryBudget(),
    admission: new Admission(),
    lag: new LoopLag(clock.mono),
    idempotency: new IdempotencyCache(clock.mono),
    estimator: new Estimator(),
    traces: null,
    spans: null,
    catalogue: new Catalogue(),
    random: Math.random,
    callers: null,
    wing: null,
    ...brought,
  };
}
