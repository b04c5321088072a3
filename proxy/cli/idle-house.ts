// A house in which nothing happens: for commands that resolve and shape, but neither send nor record.
import { Catalogue } from '../../config/catalogue.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { systemClock } from '../base/clock.ts';
import { CallIds } from '../base/ids.ts';
import { Estimator } from '../estimate/estimator.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { House } from '../live.ts';
import { openLog } from '../observe/logger.ts';
import { Replays } from '../http/replays.ts';
import { LoopLag } from '../observe/loop-lag.ts';
import { Metrics } from '../observe/metrics.ts';
import { Traces } from '../observe/traces.ts';
import { Admission } from '../routing/admission.ts';
import { noSiblings } from '../siblings.ts';
import { EntryStates } from '../routing/entry-state.ts';
import { RetryBudget } from '../routing/retry-budget.ts';
import { Deadlines } from '../upstream/deadlines.ts';
import { Departures } from '../upstream/departures.ts';
import { Pools } from '../upstream/pools.ts';
import { VERSION } from '../live.ts';

const refuse = (): never => {
  throw new Error('this command records nothing');
};

/** Recording in it is a bug and throws. @param otel calls are traced as they would be, and no span is made */
export function idleHouse({ otel }: Pick<Snapshot, 'otel'>): House {
  const ledger: Ledger = {
    begin: refuse,
    settle: refuse,
    flush: refuse,
    reconfigure: refuse,
    close: refuse,
    get status() {
      return refuse();
    },
    reader: { query: refuse, summarize: refuse, activity: refuse, totals: refuse, findByUpstreamId: refuse },
    models: { listModels: refuse, putModel: refuse, deleteModel: refuse },
    guests: null,
  };
  const metrics = new Metrics(
    () => ledger.status,
    () => 0,
    VERSION,
  );
  return {
    clock: systemClock,
    ids: new CallIds(),
    ledger,
    log: openLog('silent').log,
    metrics,
    siblings: noSiblings(ledger, metrics),
    unrouted: metrics.forModel(''),
    deadlines: new Deadlines(systemClock.mono),
    departures: new Departures(),
    entries: new EntryStates(),
    budget: new RetryBudget(),
    admission: new Admission(),
    lag: new LoopLag(systemClock.mono),
    replays: new Replays(systemClock.mono),
    pools: new Pools(systemClock.mono),
    estimator: new Estimator(),
    traces: otel === null ? null : new Traces(otel),
    spans: null,
    catalogue: new Catalogue(),
    random: () => 0,
    callers: null,
    wing: null,
  };
}
