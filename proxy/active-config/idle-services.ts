// Services for those who resolve a configuration and build requests, but neither send nor record.
import type { Snapshot } from '../../config/snapshot.ts';
import type { BudgetPolicy } from '../access/budgets/budgets.ts';
import { systemClock } from '../base/clock.ts';
import { createServices } from './create-services.ts';
import type { Ledger } from '../spend/ledger.ts';
import type { Services } from './services.ts';
import { openLog } from '../observability/logger.ts';
import { Traces } from '../observability/traces.ts';
import { Pools } from '../upstream/pools.ts';

const refuse = (): never => {
  throw new Error('nothing is recorded here');
};

/** Recording with them is a bug and throws. @param otel adds trace headers as configured; no span is exported. @param access default: no objects */
export function idleServices(
  snapshot: Pick<Snapshot, 'otel'> & BudgetPolicy,
  access?: Services['access'],
): Services {
  const ledger: Ledger = {
    begin: refuse,
    settle: refuse,
    spentBefore: refuse,
    flush: refuse,
    reconfigure: refuse,
    close: refuse,
    get status() {
      return refuse();
    },
    reader: { query: refuse, summarize: refuse, activity: refuse, totals: refuse, findByUpstreamId: refuse },
    arrivals: { arrived: refuse },
    models: { listModels: refuse, putModel: refuse, deleteModel: refuse, modelsMark: refuse },
    extensionTables: null,
    journals: [],
    lastWriteMs: 0,
  };
  return createServices(snapshot, {
    ledger,
    log: openLog('silent').log,
    pools: new Pools(systemClock.mono),
    traces: snapshot.otel === null ? null : new Traces(snapshot.otel),
    random: () => 0,
    ...(access === undefined ? {} : { access }),
  });
}
